//! Figures of both sides, as a table or for programs.

use std::collections::BTreeMap;

use crate::peer::Measurement;

/// What was measured of each side, by work and depth, in the order of first measurement.
#[derive(Default)]
pub(crate) struct Figures {
    order: Vec<(String, usize)>,
    values: BTreeMap<(String, usize), [Vec<f64>; 2]>,
}

/// Whose figures.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Ours,
    Peer,
}

impl Figures {
    pub(crate) fn add(&mut self, side: Side, measurements: Vec<Measurement>) {
        for Measurement { work, depth, ns } in measurements {
            let key = (work, depth);
            if !self.values.contains_key(&key) {
                self.order.push(key.clone());
            }
            self.values.entry(key).or_default()[side as usize].push(ns);
        }
    }

    /// The table for people.
    pub(crate) fn print_table(&self) {
        println!("{:<22} {:>9} {:>14} {:>14} {:>9}", "work", "depth", "ours", "peer", "ratio");
        for row in self.rows() {
            let unit = if row.work.starts_with("bytes") { bytes } else { time };
            let [ours, peer] = [row.ours, row.peer].map(|value| value.map_or("-".into(), unit));
            let ratio = row.ratio().map_or("-".into(), |ratio| format!("{ratio:.1}"));
            println!("{:<22} {:>9} {ours:>14} {peer:>14} {ratio:>9}", row.work, row.depth);
        }
    }

    /// The list for programs.
    pub(crate) fn print_json(&self) {
        let round = |value: f64| (value * 1_000.0).round() / 1_000.0;
        let rows: Vec<_> = self
            .rows()
            .map(|row| {
                serde_json::json!({
                    "work": row.work,
                    "depth": row.depth,
                    "ours_ns": row.ours.map(round),
                    "peer_ns": row.peer.map(round),
                    "ratio": row.ratio().map(round),
                })
            })
            .collect();
        println!("{}", serde_json::Value::from(rows));
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.order.iter().map(|key| {
            let [ours, peer] = self.values[key].each_ref().map(|values| median(values));
            Row { work: &key.0, depth: key.1, ours, peer }
        })
    }
}

struct Row<'a> {
    work: &'a str,
    depth: usize,
    ours: Option<f64>,
    peer: Option<f64>,
}

impl Row<'_> {
    /// How many times the peer's figure is ours.
    fn ratio(&self) -> Option<f64> {
        Some(self.peer? / self.ours?)
    }
}

fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => Some(values[middle]),
        _ => Some((values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0),
    }
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}

fn bytes(value: f64) -> String {
    format!("{value:.0} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_those_of_all_rounds() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn a_side_that_did_not_run_has_no_ratio() {
        let mut figures = Figures::default();
        let measurement = |ns| vec![Measurement { work: "add".into(), depth: 10, ns }];
        figures.add(Side::Ours, measurement(2.0));
        assert_eq!(figures.rows().next().and_then(|row| row.ratio()), None);
        figures.add(Side::Peer, measurement(50.0));
        assert_eq!(figures.rows().next().and_then(|row| row.ratio()), Some(25.0));
    }
}
