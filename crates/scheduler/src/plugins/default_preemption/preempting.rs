//! The pods for which others are being evicted.

use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use roadstead_model::Text;

/// The pods, by uid, for which others are being evicted: they are not tried again until all
/// victims are on their way, or they would only find them still there.
///
/// Whoever evicts calls [`start`](Self::start), then [`last_victim`](Self::last_victim) when only
/// one eviction is left to be sent, and in any case [`finish`](Self::finish). Whoever watches
/// pods calls [`on_leaving`](Self::on_leaving).
#[derive(Debug, Default)]
pub struct Preempting {
    pods: Mutex<HashMap<Text, Progress>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Evicting,
    LastVictim(Text),
    /// All but the answer to the last eviction is known.
    Done,
}

impl Preempting {
    /// Pods are being evicted for this one.
    pub fn start(&self, pod: &Text) {
        self.with(|pods| pods.insert(pod.clone(), Progress::Evicting));
    }

    /// Only the eviction of `victim` is still to be sent.
    pub fn last_victim(&self, pod: &Text, victim: &Text) {
        self.with(|pods| {
            if let Some(progress) = pods.get_mut(pod) {
                *progress = Progress::LastVictim(victim.clone());
            }
        });
    }

    /// All evictions for the pod are answered, well or badly.
    pub fn finish(&self, pod: &Text) {
        self.with(|pods| pods.remove(pod));
    }

    /// A pod is gone, or is seen to be terminating.
    pub fn on_leaving(&self, victim: &Text) {
        self.with(|pods| {
            for progress in pods.values_mut() {
                if matches!(progress, Progress::LastVictim(last) if last == victim) {
                    *progress = Progress::Done;
                }
            }
        });
    }

    /// Whether the pod must wait.
    #[must_use]
    pub fn holds(&self, pod: &Text) -> bool {
        self.with(|pods| pods.get(pod).is_some_and(|progress| *progress != Progress::Done))
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<Text, Progress>) -> T) -> T {
        work(&mut self.pods.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_waits_until_its_last_victim_leaves() {
        let preempting = Preempting::default();
        let [pod, first, last] = ["pod", "first", "last"].map(Text::unshared);
        assert!(!preempting.holds(&pod), "not yet");

        preempting.start(&pod);
        preempting.on_leaving(&first);
        assert!(preempting.holds(&pod), "others are still to be evicted");

        preempting.last_victim(&pod, &last);
        preempting.on_leaving(&first);
        assert!(preempting.holds(&pod), "the last one is still to be evicted");
        preempting.on_leaving(&last);
        assert!(!preempting.holds(&pod), "the last one leaves");

        preempting.start(&pod);
        preempting.finish(&pod);
        assert!(!preempting.holds(&pod), "finished");
        preempting.last_victim(&pod, &last);
        assert!(!preempting.holds(&pod), "and not begun again by news that came late");
    }
}
