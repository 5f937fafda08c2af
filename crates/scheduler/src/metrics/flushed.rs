//! Pods that only the leftover flush has brought back: whoever should have woken them did not.

use std::collections::BTreeSet;

use roadstead_model::Text;
use roadstead_queue::{Cause, Place, Transition};

use super::exposition::Exposition;
use super::instruments::{About, Counter};
use crate::scheduler::QueuedPod;

/// Counts the pods that were bound by the attempt that the flush brought them.
// kube-scheduler means the same and always says 0: it loses the mark on the way (S4).
#[derive(Clone, Debug)]
pub(super) struct Flushed {
    /// Those that were not tried since, or are being bound, by uid.
    pods: BTreeSet<Text>,
    scheduled: Counter,
}

impl Flushed {
    pub(super) fn new() -> Self {
        let scheduled = Counter::new(About {
            name: "scheduler_pod_scheduled_after_flush_total",
            help: "[ALPHA] Number of pods that were successfully scheduled after being flushed from \
                   unschedulablePods due to timeout. This metric helps detect potential queueing \
                   hint misconfigurations or event handling issues.",
            labels: &[],
        });
        Self { pods: BTreeSet::new(), scheduled }
    }

    pub(super) fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        let is_ready = matches!(step.to, Some(Place::Active | Place::Backoff { .. }));
        match step.cause {
            Cause::Leftover if is_ready => {
                self.pods.insert(step.item.pod().uid.clone());
            }
            Cause::Failure | Cause::Deleted | Cause::Discarded if !self.pods.is_empty() => {
                self.pods.remove(&step.item.pod().uid);
            }
            _ => {}
        }
    }

    pub(super) fn scheduled(&mut self, pod: &Text) {
        if !self.pods.is_empty() && self.pods.remove(pod) {
            self.scheduled.add(&[], 1);
        }
    }

    pub(super) fn reset(&mut self) {
        self.scheduled = Self::new().scheduled;
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        self.scheduled.expose(out);
    }
}
