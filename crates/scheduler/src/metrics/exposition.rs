//! The text that Prometheus reads.

use std::fmt::Write as _;

/// Metrics in Prometheus' text format, version 0.0.4.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

impl Exposition {
    /// What was written.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Begins a metric: its name, what is said of it, and `counter`, `gauge` or `histogram`.
    pub fn begin(&mut self, name: &str, help: &str, kind: &str) {
        // Writing to a string does not fail; so below.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Writes a series of the metric that was begun.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.text, " {}", number(value));
    }

    /// Writes a series of the histogram that was begun. `buckets` are upper bounds, ascending, with
    /// how many observations are in each and in none before it; `count` is all of them.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (f64, u64)>,
        count: u64,
        sum: f64,
    ) {
        let mut below = 0;
        for (bound, observations) in buckets {
            below += observations;
            self.bucket(name, labels, Some(bound), below);
        }
        self.bucket(name, labels, None, count);
        self.sample(&format!("{name}_sum"), labels, sum);
        self.sample(&format!("{name}_count"), labels, count as f64);
    }

    /// How many observations are at most `bound`; all of them if there is none.
    fn bucket(&mut self, name: &str, labels: &[(&str, &str)], bound: Option<f64>, count: u64) {
        let bound = bound.map_or_else(|| "+Inf".to_owned(), number);
        let _ = write!(self.text, "{name}_bucket");
        self.labels(labels, Some(&bound));
        let _ = writeln!(self.text, " {count}");
    }

    fn labels(&mut self, labels: &[(&str, &str)], bound: Option<&str>) {
        let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        let mut before = '{';
        for (name, value) in labels {
            self.text.push(before);
            let _ = write!(self.text, "{name}=\"");
            for char in value.chars() {
                match char {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    other => self.text.push(other),
                }
            }
            self.text.push('"');
            before = ',';
        }
        if before == ',' {
            self.text.push('}');
        }
    }
}

/// A number as Go's clients print it, so that bounds are the same strings as kube-scheduler's.
fn number(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_gos() {
        let rows = [
            (0.0, "0"),
            (1.0, "1"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.00001 * 1.5, "1.5000000000000002e-05"),
            (0.01 * 2_f64.powi(19), "5242.88"),
            (1e21, "1e+21"),
        ];
        for (value, expected) in rows {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn values_of_labels_are_escaped() {
        let mut out = Exposition::default();
        out.sample("m", &[("a", "x\"\\\n"), ("b", "")], 1.0);
        out.sample("m", &[], 2.5);
        assert_eq!(out.into_text(), "m{a=\"x\\\"\\\\\\n\",b=\"\"} 1\nm 2.5\n");
    }
}
