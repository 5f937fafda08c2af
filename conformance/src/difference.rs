//! Where two results, states or end records are not the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use serde::Serialize;

use crate::trace::{End, Outcome, PodState, State};

/// One field in which two sides are not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The field, as a path: `result`, `state.active`, `state.pods["ns/a"].attempts`.
    pub field: String,
    /// What the first side has there.
    pub left: String,
    /// What the second side has there.
    pub right: String,
}

/// Compares what an operation returned.
pub(crate) fn outcomes(left: &Outcome, right: &Outcome) -> Vec<Difference> {
    let mut found = Found::default();
    if left != right {
        found.add("result".to_owned(), left.to_string(), right.to_string());
    }
    found.0
}

/// Compares states, field by field and pod by pod.
pub(crate) fn states(left: &State, right: &State) -> Vec<Difference> {
    let mut found = Found::default();
    if left == right {
        return found.0;
    }
    found.compare("state.active", &left.active, &right.active);
    found.compare("state.backoff", &left.backoff, &right.backoff);
    found.compare("state.unschedulable", &left.unschedulable, &right.unschedulable);
    found.compare("state.gated", &left.gated, &right.gated);
    found.compare("state.in_flight", &left.in_flight, &right.in_flight);
    found.compare("state.in_flight_events", &left.in_flight_events, &right.in_flight_events);
    found.compare("state.cycle", &left.cycle, &right.cycle);
    found.compare("state.move_cycle", &left.move_cycle, &right.move_cycle);
    found.compare_maps("state.pods", &left.pods, &right.pods, Found::compare_pods);
    found.0
}

/// Compares end records.
pub(crate) fn ends(left: &End, right: &End) -> Vec<Difference> {
    let mut found = Found::default();
    found.compare("end.drained", &left.drained, &right.drained);
    found.compare_maps(
        "end.incoming",
        &left.incoming,
        &right.incoming,
        |found, at, left, right| {
            found.compare(at, left, right);
        },
    );
    found.compare("end.pending.active", &left.pending.active, &right.pending.active);
    found.compare("end.pending.backoff", &left.pending.backoff, &right.pending.backoff);
    let (unschedulable, other) = (left.pending.unschedulable, right.pending.unschedulable);
    found.compare("end.pending.unschedulable", &unschedulable, &other);
    found.compare("end.pending.gated", &left.pending.gated, &right.pending.gated);
    found.0
}

/// Writes differences one a line, with what the two sides are called.
pub(crate) fn write(
    f: &mut fmt::Formatter<'_>,
    differences: &[Difference],
    [left, right]: [&str; 2],
) -> fmt::Result {
    for it in differences {
        write!(f, "\n    {}: {left} {}, {right} {}", it.field, it.left, it.right)?;
    }
    Ok(())
}

#[derive(Default)]
struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, field: String, left: String, right: String) {
        self.0.push(Difference { field, left, right });
    }

    fn compare<T: PartialEq + Serialize>(&mut self, field: &str, left: &T, right: &T) {
        if left != right {
            self.add(field.to_owned(), json(left), json(right));
        }
    }

    fn compare_maps<K: Ord + Clone + Display, V: Serialize>(
        &mut self,
        field: &str,
        left: &BTreeMap<K, V>,
        right: &BTreeMap<K, V>,
        compare: impl Fn(&mut Self, &str, &V, &V),
    ) {
        let keys: BTreeSet<&K> = left.keys().chain(right.keys()).collect();
        for key in keys {
            let field = format!("{field}[\"{key}\"]");
            match (left.get(key), right.get(key)) {
                (Some(left), Some(right)) => compare(self, &field, left, right),
                (left, right) => {
                    let side = |value: Option<&V>| value.map_or("nothing".to_owned(), json);
                    self.add(field, side(left), side(right));
                }
            }
        }
    }

    fn compare_pods(&mut self, at: &str, left: &PodState, right: &PodState) {
        let at = |field: &str| format!("{at}.{field}");
        self.compare(&at("attempts"), &left.attempts, &right.attempts);
        let (count, other) = (left.unschedulable_count, right.unschedulable_count);
        self.compare(&at("unschedulable_count"), &count, &other);
        self.compare(&at("errors"), &left.errors, &right.errors);
        self.compare(&at("timestamp_ms"), &left.timestamp_ms, &right.timestamp_ms);
        self.compare(&at("plugins"), &left.plugins, &right.plugins);
        self.compare(&at("pending"), &left.pending, &right.pending);
    }
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("numbers, strings and lists of them have a JSON form")
}
