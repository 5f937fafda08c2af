//! What the queue remembers of one pod (section 2).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::subject::Failure;
use crate::trace::{Pod, PodName, PodState};

/// A pod's record. While the pod is in flight, its attempt holds it.
#[derive(Clone, Debug)]
pub struct Record {
    pub(super) pod: Arc<Pod>,
    pub(super) timestamp_ms: u64,
    pub(super) attempts: u32,
    pub(super) unschedulable_count: u32,
    pub(super) errors: u32,
    pub(super) unschedulable: BTreeSet<String>,
    pub(super) pending: BTreeSet<String>,
    /// Whether a gate held it when it was last asked for.
    pub(super) is_gated: bool,
    /// When the leftover flush last tried it, since its last failure.
    pub(super) flushed_ms: Option<u64>,
}

impl Record {
    pub(super) fn new(pod: &Arc<Pod>, now_ms: u64) -> Self {
        Self {
            pod: pod.clone(),
            timestamp_ms: now_ms,
            attempts: 0,
            unschedulable_count: 0,
            errors: 0,
            unschedulable: BTreeSet::new(),
            pending: BTreeSet::new(),
            is_gated: false,
            flushed_ms: None,
        }
    }

    /// What the failure handler does before the queue is told: who rejected the pod now is all
    /// that counts, and an old gate is forgotten without being asked again.
    pub(super) fn take_blame(&mut self, failure: &Failure<'_>) {
        self.pod = failure.pod.clone();
        self.unschedulable = failure.unschedulable.iter().cloned().collect();
        self.pending = failure.pending.iter().cloned().collect();
        self.is_gated = false;
    }

    /// 7.8 steps 2 and 3.
    pub(super) fn came_back(&mut self, now_ms: u64) {
        if self.has_rejector() {
            self.unschedulable_count += 1;
            self.errors = 0;
        } else {
            self.errors += 1;
        }
        self.timestamp_ms = now_ms;
        self.flushed_ms = None;
    }

    /// Section 5, for the one PreEnqueue plugin that there is. It stays among the rejectors when
    /// it lets the pod go.
    pub(super) fn ask_gates(&mut self) {
        self.is_gated = !self.pod.gates.is_empty();
        if self.is_gated {
            self.unschedulable.insert(super::requeue::GATES.to_owned());
        }
    }

    pub(super) fn name(&self) -> PodName {
        self.pod.full_name()
    }

    pub(super) fn is_named(&self, name: &PodName) -> bool {
        name.parts() == (&self.pod.namespace, &self.pod.name)
    }

    /// The order of active: the least is the first.
    pub(super) fn urgency(&self) -> (Reverse<i32>, u64) {
        (Reverse(self.pod.priority), self.timestamp_ms)
    }

    /// Failing without any rejector is an error.
    pub(super) fn has_rejector(&self) -> bool {
        !self.unschedulable.is_empty() || !self.pending.is_empty()
    }

    pub(super) fn untouched_since_ms(&self) -> u64 {
        self.flushed_ms.map_or(self.timestamp_ms, |flushed| flushed.max(self.timestamp_ms))
    }

    pub(super) fn state(&self) -> PodState {
        PodState {
            attempts: self.attempts,
            unschedulable_count: self.unschedulable_count,
            errors: self.errors,
            timestamp_ms: self.timestamp_ms,
            plugins: self.unschedulable.iter().cloned().collect(),
            pending: self.pending.iter().cloned().collect(),
        }
    }
}
