//! `roadstead queue --watch`: what changes, as it changes.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::rows::Item;
use super::{Queue, read};
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
        let mut columns = self.columns();
        let began = Instant::now();
        let listed = self.list(asking).await?;
        let mut took = began.elapsed();
        let (now, items) = read(asking, listed)?;
        columns.print_with_titles(&items, now, out)?;
        let mut known: BTreeMap<_, _> = items.into_iter().map(|item| (item.key(), item)).collect();
        loop {
            out.flush()?;
            sleep(pause(took, known.len())).await;
            let (now, items);
            ((now, items), took) = self.look(asking).await?;
            let mut left = std::mem::take(&mut known);
            let mut changed = Vec::new();
            for item in items {
                let before = left.remove(&item.key());
                if !before.is_some_and(|before| before.is_like(&item)) {
                    changed.push(item.clone());
                }
                known.insert(item.key(), item);
            }
            changed.extend(left.into_values().map(Item::left));
            columns.print(&changed, now, out)?;
        }
    }

    /// Looks until there is an answer, and how long that took. What may pass is waited for: who
    /// follows wants to see a scheduler that starts anew, not start anew themselves.
    async fn look(&self, asking: &mut Asking) -> Result<((f64, Vec<Item>), Duration), Error> {
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
                    return Ok((read(asking, listed)?, began.elapsed()));
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
