//! Which events may help a pod that was rejected.

use roadstead_model::{Labels, NodeInclusion, Pod, SpreadConstraint};
use roadstead_queue::{Hint, HintError};

use super::counts::has_all_keys;
use crate::events::{self, ClusterEvent};

/// A pod came, went, or is otherwise than before.
pub(super) fn on_pod(
    hard: impl FnOnce() -> Result<Vec<SpreadConstraint>, String>,
    pod: &Pod,
    event: &ClusterEvent,
) -> Result<Hint, HintError> {
    let (old, new) = events::pods(event)?;
    if [old, new].into_iter().flatten().any(|other| !is_involved(pod, other)) {
        return Ok(Hint::Skip);
    }
    let hard = hard()?;
    let counts = |constraint: &SpreadConstraint, other: &Pod| {
        constraint.selector.matches(&other.spec().labels)
    };
    let helps = match (old, new) {
        (Some(old), Some(new)) => {
            let tolerates_other = new.uid == pod.uid
                && old.spec().tolerations != new.spec().tolerations
                && hard.iter().any(|c| c.node_taints_policy == NodeInclusion::Honor);
            tolerates_other || hard.iter().any(|c| counts(c, old) != counts(c, new))
        }
        (Some(other), None) | (None, Some(other)) => hard.iter().any(|c| counts(c, other)),
        (None, None) => true,
    };
    Ok(if helps { Hint::Queue } else { Hint::Skip })
}

/// A node came, went, or has other labels or taints. Only nodes with the labels of all constraints
/// count.
pub(super) fn on_node(
    hard: impl FnOnce() -> Result<Vec<SpreadConstraint>, String>,
    event: &ClusterEvent,
) -> Result<Hint, HintError> {
    let (old, new) = events::nodes(event)?;
    let hard = hard()?;
    let counts = |labels: &Labels| has_all_keys(labels, &hard);
    let helps = match (old, new) {
        (Some(old), Some(new)) => {
            let moves = || {
                let mut keys = hard.iter().map(|constraint| &constraint.topology_key);
                keys.any(|key| old.labels.get(key) != new.labels.get(key))
            };
            let (did_count, does_count) = (counts(&old.labels), counts(&new.labels));
            did_count != does_count || (does_count && (moves() || old.taints != new.taints))
        }
        (Some(node), None) | (None, Some(node)) => counts(&node.labels),
        (None, None) => true,
    };
    Ok(if helps { Hint::Queue } else { Hint::Skip })
}

/// Whether the other pod may count for the waiting one, or is it.
fn is_involved(pod: &Pod, other: &Pod) -> bool {
    let has_place = other.node_name.is_some() || other.nominated_node.is_some();
    other.uid == pod.uid || (other.namespace() == pod.namespace() && has_place)
}
