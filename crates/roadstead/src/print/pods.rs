//! A table of every pod.

use std::io::{self, Write};

use roadstead_sim::{Outcome, PodOutcome, PodState};

use super::words::{columns, seconds};

/// Prints every pod that there was, by namespace and name.
pub(crate) fn pods(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let titles = ["NAMESPACE", "NAME", "STATE", "NODE", "ATTEMPTS", "WAITED", "LAST REASON"];
    let mut rows = vec![titles.map(str::to_owned).to_vec()];
    rows.extend(outcome.pods.iter().map(row));
    columns(&rows).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn row(pod: &PodOutcome) -> Vec<String> {
    let state = match pod.state {
        PodState::Placed => "placed",
        PodState::Finished => "finished",
        PodState::Deleted if pod.preempted_by.is_some() => "preempted",
        PodState::Deleted => "deleted",
        PodState::Waiting(place) => place.name(),
    };
    vec![
        pod.namespace.clone(),
        pod.name.clone(),
        state.to_owned(),
        pod.node.clone().unwrap_or_else(|| NONE.to_owned()),
        pod.attempts.to_string(),
        seconds(pod.waited),
        pod.reason.clone().unwrap_or_else(|| NONE.to_owned()),
    ]
}

const NONE: &str = "-";
