//! The figures, as a table or for programs.

use serde_json::{Value, json};

use crate::anchors::{Throughput, Work, cycle_ms};

/// What one case came to.
pub(crate) struct Row {
    pub(crate) case: &'static str,
    pub(crate) nodes: usize,
    /// How many pods the figures are of.
    pub(crate) pods: usize,
    /// Of all that the scheduler does for a pod: queue, cycle, cache, commands, notifications.
    pub(crate) pods_per_second: f64,
    /// A scheduling cycle alone, on average.
    pub(crate) cycle_us: f64,
    /// What the scheduler keeps for a measured pod, the pod itself included.
    pub(crate) bytes_per_pod: f64,
    pub(crate) go_throughput: Throughput,
    pub(crate) go_work: Work,
}

impl Row {
    /// How many times Go's throughput, and Go's cycle how many times ours.
    fn ratios(&self) -> (f64, f64) {
        let cycle = cycle_ms(self.go_work, self.nodes) * 1e3 / self.cycle_us;
        (self.pods_per_second / self.go_throughput.pods_per_second, cycle)
    }

    fn json(&self) -> Value {
        let (throughput, cycle) = self.ratios();
        json!({
            "case": self.case,
            "nodes": self.nodes,
            "pods": self.pods,
            "pods_per_second": self.pods_per_second.round(),
            "go_pods_per_second": self.go_throughput.pods_per_second,
            "go_pods_per_second_at_nodes": self.go_throughput.nodes,
            "throughput_ratio": tenths(throughput),
            "cycle_us": tenths(self.cycle_us),
            "go_cycle_us": cycle_ms(self.go_work, self.nodes) * 1e3,
            "cycle_ratio": tenths(cycle),
            "bytes_per_pod": self.bytes_per_pod.round(),
        })
    }
}

/// One case with few and with many nodes.
pub(crate) struct Scaling {
    pub(crate) case: &'static str,
    pub(crate) small: Row,
    pub(crate) large: Row,
}

impl Scaling {
    /// How many times longer a pod takes with the many nodes.
    fn ratio(&self) -> f64 {
        self.small.pods_per_second / self.large.pods_per_second
    }
}

pub(crate) fn cases(rows: impl Iterator<Item = Row>, as_json: bool) {
    if as_json {
        return println!("{}", Value::from(rows.map(|row| row.json()).collect::<Vec<_>>()));
    }
    println!(
        "{:<34} {:>6} {:>6} {:>9} {:>7} {:>7} {:>10} {:>8} {:>7} {:>8}",
        "case", "nodes", "pods", "pods/s", "go", "ratio", "cycle", "go", "ratio", "bytes"
    );
    for row in rows {
        let (throughput, cycle) = row.ratios();
        println!(
            "{:<34} {:>6} {:>6} {:>9.0} {:>7.0} {:>6.0}x {:>7.1} µs {:>5.1} ms {:>6.0}x {:>8.0}",
            row.case,
            row.nodes,
            row.pods,
            row.pods_per_second,
            row.go_throughput.pods_per_second,
            throughput,
            row.cycle_us,
            cycle_ms(row.go_work, row.nodes),
            cycle,
            row.bytes_per_pod,
        );
    }
}

pub(crate) fn scaling(rows: impl Iterator<Item = Scaling>, as_json: bool) {
    if as_json {
        let json = |row: Scaling| {
            json!({
                "case": row.case,
                "small": row.small.json(),
                "large": row.large.json(),
                "ratio": tenths(row.ratio()),
            })
        };
        return println!("{}", Value::from(rows.map(json).collect::<Vec<_>>()));
    }
    println!("{:<34} {:>14} {:>14} {:>7}", "case", "few nodes", "many nodes", "ratio");
    for row in rows {
        let [small, large] = [&row.small, &row.large]
            .map(|row| format!("{:.1} µs a pod", 1e6 / row.pods_per_second));
        println!("{:<34} {small:>14} {large:>14} {:>6.1}x", row.case, row.ratio());
    }
}

/// What observers leave of the throughput.
pub(crate) struct Cost {
    pub(crate) case: &'static str,
    pub(crate) observers: String,
    /// With them, where 1 is without.
    pub(crate) throughput: f64,
}

pub(crate) fn costs(rows: impl Iterator<Item = Cost>, as_json: bool) {
    if as_json {
        let json = |row: Cost| {
            let Cost { case, observers, throughput } = row;
            json!({"case": case, "observers": observers, "throughput": throughput})
        };
        return println!("{}", Value::from(rows.map(json).collect::<Vec<_>>()));
    }
    println!("{:<34} {:<20} {:>10}", "case", "observers", "throughput");
    for Cost { case, observers, throughput } in rows {
        println!("{case:<34} {observers:<20} {throughput:>10.3}");
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
