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

/// What evicting pods costs. What counts, in this order: budgets violated, the most important
/// victim's priority, the sum of priorities, the number of victims, and how long the most important
/// ones have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cost {
    pdb_violations: usize,
    highest: Option<i64>,
    sum: i64,
    victims: usize,
    /// When the first of the most important ones started, in microseconds; `None` if that is yet
    /// to come.
    first_started: Option<i64>,
}

impl Cost {
    pub(super) fn of(candidate: &PreemptionCandidate, now: i128) -> Self {
        let PreemptionCandidate { victims, pdb_violations, .. } = candidate;
        let priority = |victim: &Arc<Pod>| i64::from(victim.spec().priority);
        let highest = victims.iter().map(priority).max();
        // Each priority is raised above zero: one victim more costs more, also if it is negative.
        let sum = victims.iter().map(|victim| priority(victim) + (1 << 31)).sum();
        let most_important = victims.iter().filter(|victim| Some(priority(victim)) == highest);
        let first = most_important.min_by_key(|victim| started(victim, now));
        let first_started = first.and_then(|first| first.started).map(|time| time.as_micros());
        let pdb_violations = *pdb_violations;
        Self { pdb_violations, highest, sum, victims: victims.len(), first_started }
    }

    pub(super) fn violates_budgets(&self) -> bool {
        self.pdb_violations > 0
    }

    /// Which of two costs is less.
    pub(super) fn cmp(&self, other: &Self, now: i128) -> Ordering {
        let first = |cost: &Self| cost.first_started.map_or(now, |time| i128::from(time) * 1000);
        (self.pdb_violations.cmp(&other.pdb_violations))
            .then(self.highest.cmp(&other.highest))
            .then(self.sum.cmp(&other.sum))
            .then(self.victims.cmp(&other.victims))
            .then_with(|| match self.first_started == other.first_started {
                true => Ordering::Equal,
                false => first(other).cmp(&first(self)),
            })
    }
}

/// A pod that has not been started yet counts as started now.
fn started(pod: &Pod, now: i128) -> i128 {
    pod.started.map_or(now, |time| i128::from(time.as_micros()) * 1000)
}
