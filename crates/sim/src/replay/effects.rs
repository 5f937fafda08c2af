//! What commands came to, as far as a scheduler hears of it.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Pod, Text};
use roadstead_queue::Time;
use roadstead_recording::Answer;
use roadstead_scheduler::Command;

use crate::statistics::Statistics;

/// Takes down what commands came to.
#[derive(Default)]
pub(super) struct Effects {
    /// Bindings that are not known to have succeeded, by the pod's uid.
    binds: HashMap<Text, (Arc<Pod>, Text)>,
    /// Evictions that were not answered, by the preemptor's uid.
    evictions: HashMap<Text, VecDeque<(Arc<Pod>, Arc<Pod>)>>,
}

impl Effects {
    pub(super) fn command(&mut self, command: &Command, statistics: &mut Statistics, now: Time) {
        match command {
            Command::Bind { pod, node } => {
                self.binds.insert(pod.uid.clone(), (Arc::clone(pod), node.clone()));
            }
            Command::Write { .. } => {}
            Command::PatchStatus { pod, condition, .. } => {
                if let Some(condition) = condition {
                    statistics.refused(&pod.uid, &condition.message);
                }
            }
            Command::Evict { victim, preemptor } => {
                let pair = (Arc::clone(victim), Arc::clone(preemptor));
                self.evictions.entry(preemptor.uid.clone()).or_default().push_back(pair);
            }
            Command::RecordEvent(record) => statistics.record(record.clone(), now),
        }
    }

    /// A binding was answered. One that failed may have been carried out all the same.
    pub(super) fn bound(
        &mut self,
        uid: &Text,
        result: &Answer,
        statistics: &mut Statistics,
        now: Time,
    ) {
        if result.is_ok()
            && let Some((pod, node)) = self.binds.remove(uid)
        {
            statistics.bound(&pod, &node, now);
        }
    }

    /// The cluster shows a pod, perhaps on the node that it was to be bound to.
    pub(super) fn shown(&mut self, pod: &Pod, statistics: &mut Statistics, now: Time) {
        let Some(node) = &pod.node_name else { return };
        if let Some((bound, wanted)) = self.binds.remove(&pod.uid)
            && wanted == *node
        {
            statistics.bound(&bound, node, now);
        }
    }

    /// An eviction was answered.
    pub(super) fn evicted(
        &mut self,
        preemptor: &Text,
        result: &Answer,
        statistics: &mut Statistics,
    ) {
        let Some(open) = self.evictions.get_mut(preemptor) else { return };
        if let Some((victim, preemptor)) = open.pop_front()
            && result.is_ok()
        {
            statistics.evicted(&victim, &preemptor);
        }
        if open.is_empty() {
            self.evictions.remove(preemptor);
        }
    }
}
