//! `roadstead queue --watch`: what changes, as it changes.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::rows::{Columns, Item};
use super::{Output, Queue, read};
use crate::commands::asking::Asking;
use crate::error::Error;

impl Queue {
    /// Prints what waits, and then every pod that comes, changes or leaves. It ends with an error:
    /// at once if the first look fails, and later when none has succeeded for long.
    pub(super) async fn follow(
        &self,
        asking: &mut Asking,
        out: &mut dyn Write,
    ) -> Result<u8, Error> {
        let mut told = match self.output {
            Output::Json => Told::Events,
            _ => Told::Table(self.columns()),
        };
        let began = Instant::now();
        let listed = self.list(asking).await?;
        let mut took = began.elapsed();
        let Look { now, pods } = told.read(asking, listed)?;
        told.begin(&pods, now, out)?;
        let mut known: BTreeMap<_, _> = pods.into_iter().map(|pod| (pod.item.key(), pod)).collect();
        loop {
            out.flush()?;
            sleep(pause(took, known.len())).await;
            let look;
            (look, took) = self.look(asking, &told).await?;
            let mut left = std::mem::take(&mut known);
            let mut changed = Vec::new();
            for pod in look.pods {
                let key = pod.item.key();
                let change = match left.remove(&key) {
                    None => Some(Change::Added),
                    Some(before) if before.item.is_like(&pod.item) => None,
                    Some(_) => Some(Change::Modified),
                };
                changed.extend(change.map(|change| (change, key.clone())));
                known.insert(key, pod);
            }
            let mut changes: Vec<_> =
                changed.iter().map(|(change, key)| (*change, &known[key])).collect();
            changes.extend(left.values().map(|pod| (Change::Deleted, pod)));
            told.tell(&changes, look.now, out)?;
        }
    }

    /// Looks until there is an answer, and how long that took. What may pass is waited for: who
    /// follows wants to see a scheduler that starts anew, not start anew themselves.
    async fn look(&self, asking: &mut Asking, told: &Told) -> Result<(Look, Duration), Error> {
        let first = Instant::now();
        let mut wait = FIRST_WAIT;
        let mut is_away = false;
        loop {
            let began = Instant::now();
            let error = match self.list(asking).await {
                Ok(listed) => {
                    if is_away {
                        eprintln!("it answers again");
                    }
                    return Ok((told.read(asking, listed)?, began.elapsed()));
                }
                Err(error) => error,
            };
            let may_pass = matches!(&error, Error::Ask(error) if error.may_pass());
            if !may_pass || first.elapsed() + wait > PATIENCE {
                return Err(error);
            }
            if !is_away {
                is_away = true;
                eprintln!("{error}\ntrying again for {} minutes", PATIENCE.as_secs() / 60);
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

/// How changes are told.
enum Told {
    /// As rows.
    Table(Columns),
    /// As lines of JSON, in the form of kubectl's watch events.
    Events,
}

/// What was seen at some time.
struct Look {
    now: f64,
    pods: Vec<Pod>,
}

struct Pod {
    item: Item,
    /// All that is known of it, where that is told.
    document: Value,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Change {
    Added,
    Modified,
    Deleted,
}

#[derive(Serialize)]
struct Event<'a> {
    r#type: Change,
    object: &'a Value,
}

impl Told {
    fn read(&self, asking: &Asking, listed: Value) -> Result<Look, Error> {
        let documents = match self {
            Self::Table(_) => Vec::new(),
            Self::Events => listed["items"].as_array().cloned().unwrap_or_default(),
        };
        let (now, items) = read(asking, listed)?;
        let documents = documents.into_iter().chain(std::iter::repeat(Value::Null));
        let pods = items.into_iter().zip(documents).map(|(item, document)| Pod { item, document });
        Ok(Look { now, pods: pods.collect() })
    }

    /// Tells what was there from the beginning.
    fn begin(&mut self, pods: &[Pod], now: f64, out: &mut dyn Write) -> Result<(), Error> {
        let Self::Table(columns) = self else {
            let added: Vec<_> = pods.iter().map(|pod| (Change::Added, pod)).collect();
            return self.tell(&added, now, out);
        };
        let items: Vec<_> = pods.iter().map(|pod| pod.item.clone()).collect();
        Ok(columns.print_with_titles(&items, now, out)?)
    }

    fn tell(
        &mut self,
        changes: &[(Change, &Pod)],
        now: f64,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        match self {
            Self::Table(columns) => {
                let row = |(change, pod): &(Change, &Pod)| match change {
                    Change::Added | Change::Modified => pod.item.clone(),
                    Change::Deleted => pod.item.clone().left(),
                };
                let rows: Vec<_> = changes.iter().map(row).collect();
                columns.print(&rows, now, out)?;
            }
            Self::Events => {
                for (r#type, pod) in changes {
                    let event = Event { r#type: *r#type, object: &pod.document };
                    serde_json::to_writer(&mut *out, &event)?;
                    writeln!(out)?;
                }
            }
        }
        Ok(())
    }
}

/// How long to wait after a look that took so long and found so many pods: each of them costs the
/// scheduler some of its time, of which this may take a small part only.
fn pause(took: Duration, pods: usize) -> Duration {
    let pods = u32::try_from(pods).unwrap_or(u32::MAX);
    BETWEEN_LOOKS.max(took * PAUSES_PER_LOOK).max((A_POD * pods).min(LONGEST_PAUSE))
}

const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
const PAUSES_PER_LOOK: u32 = 9;
const A_POD: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// For how long nobody need answer.
const PATIENCE: Duration = Duration::from_secs(300);
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_queue_is_looked_at_less_often() {
        let rows = [
            (10, 0, 1),
            (10, 10_000, 1),
            (10, 20_000, 2),
            (10, 100_000, 10),
            (10, usize::MAX, 60),
            (2_000, 100_000, 18),
        ];
        for (took, pods, seconds) in rows {
            let paused = pause(Duration::from_millis(took), pods);
            assert_eq!(paused, Duration::from_secs(seconds), "{took} ms, {pods} pods");
        }
    }
}
