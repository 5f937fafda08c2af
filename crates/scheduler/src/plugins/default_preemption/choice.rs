//! Which pods matter more, and which node costs least.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use roadstead_model::Pod;

use super::dry_run::PreemptionCandidate;

/// The order of importance: higher priority first, then who has run longer.
pub(super) fn by_importance(a: &Pod, b: &Pod, now: i128) -> Ordering {
    let key = |pod: &Pod| (Reverse(pod.spec().priority), started(pod, now));
    key(a).cmp(&key(b))
}

/// The candidate that costs least; among equals the first.
pub(super) fn cheapest(
    candidates: Vec<PreemptionCandidate>,
    now: i128,
) -> Option<PreemptionCandidate> {
    candidates.into_iter().min_by_key(|candidate| cost(candidate, now))
}

/// What counts, in this order: budgets violated, the most important victim's priority, the sum of
/// priorities, the number of victims, and how long the most important ones have run.
fn cost(candidate: &PreemptionCandidate, now: i128) -> impl Ord + use<> {
    let PreemptionCandidate { victims, pdb_violations, .. } = candidate;
    let priority = |victim: &Arc<Pod>| i64::from(victim.spec().priority);
    let highest = victims.iter().map(priority).max();
    // Each priority is raised above zero: one victim more costs more, also if it is negative.
    let sum: i64 = victims.iter().map(|victim| priority(victim) + (1 << 31)).sum();
    let first_started = victims
        .iter()
        .filter(|victim| Some(priority(victim)) == highest)
        .map(|victim| started(victim, now))
        .min();
    (*pdb_violations, highest, sum, victims.len(), Reverse(first_started))
}

/// A pod that has not been started yet counts as started now.
fn started(pod: &Pod, now: i128) -> i128 {
    pod.started.map_or(now, |time| i128::from(time.as_micros()) * 1000)
}
