//! Pods of a queue as rows of a table.

use std::io::{self, Write};
use std::time::Duration;

use serde::Deserialize;

use crate::print;
use crate::serving::api::queue_places;

/// A pod as the API shows it, as far as a table does.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Item {
    namespace: String,
    name: String,
    uid: String,
    place: String,
    priority: i32,
    attempts: u32,
    queued: f64,
    since: f64,
    backoff_until: Option<f64>,
    rejectors: Vec<String>,
    gated_by: Option<String>,
    nominated_node: Option<String>,
    scheduler: String,
    message: Option<String>,
}

impl Item {
    /// What tells it from all others.
    pub(super) fn key(&self) -> (String, String, String) {
        (self.namespace.clone(), self.name.clone(), self.uid.clone())
    }

    /// Whether a row of the one tells what a row of the other does, but for the time.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self == other
    }

    /// It is not in the queue any more.
    pub(super) fn left(self) -> Self {
        Self { place: "left".to_owned(), ..self }
    }
}

/// How many pods there are in each place: `3 pods: 1 active, 2 gated`.
pub(super) fn summary(items: &[Item], total: Option<u64>) -> String {
    let mut places: Vec<(&str, usize)> = queue_places().map(|place| (place, 0)).collect();
    for item in items {
        match places.iter_mut().find(|(place, _)| *place == item.place) {
            Some((_, count)) => *count += 1,
            None => places.push((&item.place, 1)),
        }
    }
    let counts = places.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<_> = counts.map(|(place, count)| format!("{count} {place}")).collect();
    let pods = match total.filter(|total| *total > items.len() as u64) {
        Some(total) => format!("{} of {total} pods", items.len()),
        None => print::count(items.len(), "pod"),
    };
    format!("{pods}: {}", counts.join(", "))
}

/// The columns of a table, which stay as wide as they once were.
pub(super) struct Columns {
    with_namespace: bool,
    is_wide: bool,
    widths: Vec<usize>,
}

impl Columns {
    pub(super) fn new(with_namespace: bool, is_wide: bool) -> Self {
        Self { with_namespace, is_wide, widths: Vec::new() }
    }

    pub(super) fn print_with_titles(
        &mut self,
        items: &[Item],
        now: f64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut titles = vec!["NAME", "PLACE", "PRIORITY", "ATTEMPTS", "AGE", "REJECTED BY"];
        if self.with_namespace {
            titles.insert(0, "NAMESPACE");
        }
        if self.is_wide {
            titles.extend(["WAITS", "BACKOFF", "NOMINATED NODE", "SCHEDULER", "LAST REASON"]);
        }
        let titles = titles.into_iter().map(str::to_owned).collect();
        let rows = items.iter().map(|item| self.row(item, now));
        let rows: Vec<_> = std::iter::once(titles).chain(rows).collect();
        self.write(&rows, out)
    }

    pub(super) fn print(
        &mut self,
        items: &[Item],
        now: f64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let rows: Vec<_> = items.iter().map(|item| self.row(item, now)).collect();
        self.write(&rows, out)
    }

    fn row(&self, item: &Item, now: f64) -> Vec<String> {
        let by = match &item.gated_by {
            Some(gate) => gate.clone(),
            None => item.rejectors.join(","),
        };
        let or_none = |text: String| if text.is_empty() { NONE.to_owned() } else { text };
        let mut row = vec![
            item.name.clone(),
            item.place.clone(),
            item.priority.to_string(),
            item.attempts.to_string(),
            span(now - item.queued),
            or_none(by),
        ];
        if self.with_namespace {
            row.insert(0, item.namespace.clone());
        }
        if self.is_wide {
            let backoff = item.backoff_until.filter(|until| *until > now);
            row.extend([
                span(now - item.since),
                backoff.map_or(NONE.to_owned(), |until| span(until - now)),
                or_none(item.nominated_node.clone().unwrap_or_default()),
                item.scheduler.clone(),
                // A reason of several lines would break the table.
                or_none(item.message.clone().unwrap_or_default().replace('\n', " ")),
            ]);
        }
        row
    }

    fn write(&mut self, rows: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
        let width = |cell: &String| cell.chars().count();
        for row in rows {
            self.widths.resize(self.widths.len().max(row.len()), 0);
            for (wide, cell) in self.widths.iter_mut().zip(row) {
                *wide = width(cell).max(*wide);
            }
        }
        for row in rows {
            let mut line = String::new();
            for (cell, wide) in row.iter().zip(&self.widths) {
                line.push_str(cell);
                line.extend(std::iter::repeat_n(' ', wide - width(cell) + GAP));
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// A time in whole seconds: what is asked twice in a second looks the same.
fn span(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0).floor());
    print::duration(whole.unwrap_or_default())
}

const NONE: &str = "<none>";
const GAP: usize = 3;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item() -> Item {
        serde_json::from_value(json!({
            "namespace": "shop", "name": "web-0", "uid": "1", "place": "unschedulable",
            "priority": 0, "attempts": 2, "queued": 1000.0, "since": 1290.5,
            "rejectors": ["NodeResourcesFit", "TaintToleration"], "scheduler": "default-scheduler",
            "message": "3 Insufficient cpu",
        }))
        .expect("it is an item")
    }

    fn printed(with_namespace: bool, is_wide: bool, items: &[Item]) -> String {
        let mut out = Vec::new();
        let mut columns = Columns::new(with_namespace, is_wide);
        columns.print_with_titles(items, 1331.9, &mut out).expect("it prints");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn a_pod_is_a_row() {
        let expected = "\
NAME    PLACE           PRIORITY   ATTEMPTS   AGE     REJECTED BY
web-0   unschedulable   0          2          5m31s   NodeResourcesFit,TaintToleration
";
        assert_eq!(printed(false, false, &[item()]), expected);
        let wide = printed(true, true, &[item()]);
        let row = wide.lines().nth(1).expect("there is a row");
        assert!(row.starts_with("shop        web-0"), "{wide}");
        assert!(
            row.ends_with(
                "41s     <none>    <none>           default-scheduler   3 Insufficient cpu"
            ),
            "{wide}"
        );
    }

    #[test]
    fn pods_are_counted_by_place() {
        let gated = Item { place: "gated".to_owned(), ..item() };
        let all = [item(), gated, item()];
        assert_eq!(summary(&all, Some(3)), "3 pods: 2 unschedulable, 1 gated");
        assert_eq!(summary(&all[..1], Some(3)), "1 of 3 pods: 1 unschedulable");
        assert_eq!(summary(&all[..1], None), "1 pod: 1 unschedulable");
    }

    #[test]
    fn rows_that_come_later_stand_below_those_before() {
        let mut out = Vec::new();
        let mut columns = Columns::new(false, false);
        columns.print_with_titles(&[item()], 1331.9, &mut out).expect("it prints");
        let short = Item { name: "a".to_owned(), ..item() };
        columns.print(&[short.left()], 1332.0, &mut out).expect("it prints");
        let text = String::from_utf8(out).expect("it is text");
        let last = text.lines().last().expect("there is a row");
        assert_eq!(last.find("left"), text.find("PLACE"), "{text}");
    }
}
