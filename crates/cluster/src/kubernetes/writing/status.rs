//! What is to be written to the status of a pod, and what was.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_scheduler::Condition;

/// A change of a pod's status.
#[derive(Clone, Debug)]
pub struct StatusWrite {
    /// Whose.
    pub pod: Arc<Pod>,
    /// The condition `PodScheduled=False`, if it changes.
    pub condition: Option<Condition>,
    /// The nominated node, if it changes; empty to clear it.
    pub nominated_node: Option<Text>,
    /// How often it was sent.
    pub tries: u32,
}

impl StatusWrite {
    /// Lets a later change stand, and keeps of this one what the later says nothing of.
    pub(super) fn then(self, later: Self) -> Self {
        Self {
            condition: later.condition.or(self.condition),
            nominated_node: later.nominated_node.or(self.nominated_node),
            ..later
        }
    }
}

/// What pods' conditions say, as far as we wrote them: a pod that is tried again and again for the
/// same reason is not written again and again.
///
/// Bounded: the pods that were remembered first are forgotten first, and written once more than
/// necessary.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    shown: BTreeMap<Text, u64>,
    order: VecDeque<Text>,
}

impl Conditions {
    /// Whether the pod shows this already.
    pub(super) fn shows(&self, uid: &Text, condition: &Condition) -> bool {
        self.shown.get(uid) == Some(&hash_of(condition))
    }

    /// Whether we gave the pod a condition.
    pub(super) fn knows(&self, uid: &Text) -> bool {
        self.shown.contains_key(uid)
    }

    pub(super) fn note(&mut self, uid: &Text, condition: &Condition) {
        if self.shown.insert(uid.clone(), hash_of(condition)).is_none() {
            self.order.push_back(uid.clone());
        }
        // Pods that were bound are in the order still; they do not count.
        while self.order.len() > MOST_REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.shown.remove(&oldest);
            }
        }
    }

    pub(super) fn forget(&mut self, uid: &Text) {
        self.shown.remove(uid);
    }
}

/// The generation is left out, as upstream compares conditions without it.
fn hash_of(condition: &Condition) -> u64 {
    let mut hasher = DefaultHasher::new();
    (condition.reason, &condition.message).hash(&mut hasher);
    hasher.finish()
}

const MOST_REMEMBERED: usize = 100_000;
