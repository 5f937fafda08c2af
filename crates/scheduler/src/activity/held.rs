//! What keeps pods waiting, and how many.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::observer::Observer;
use crate::scheduler::Scheduler;

/// Pods that wait for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HeldPods {
    /// The gate that holds them; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The plugins that rejected them, by name; none if a gate holds them.
    pub rejectors: Vec<String>,
    /// How many they are.
    pub pods: usize,
}

impl HeldPods {
    /// Those that are unschedulable or gated in a scheduler, most first.
    ///
    /// It looks at classes of pods, not at each pod.
    #[must_use]
    pub fn of<V: Observer>(scheduler: &Scheduler<V>) -> Vec<Self> {
        let queue = scheduler.queue();
        let name = |plugin| queue.plugins().name(plugin);
        let mut sums = BTreeMap::<(Option<&str>, Vec<&str>), usize>::new();
        for held in queue.held() {
            let gate = held.gate.map(name);
            let all = held.rejectors.unschedulable().iter().chain(held.rejectors.pending());
            let mut rejectors: Vec<_> =
                all.filter(|_| gate.is_none()).map(|plugin| name(*plugin)).collect();
            rejectors.sort_unstable();
            rejectors.dedup();
            *sums.entry((gate, rejectors)).or_default() += held.items;
        }
        let text = |name: &str| name.to_owned();
        let mut found: Vec<_> = sums
            .into_iter()
            .map(|((gate, rejectors), pods)| Self {
                gate: gate.map(text),
                rejectors: rejectors.into_iter().map(text).collect(),
                pods,
            })
            .collect();
        found.sort_by_key(|held| std::cmp::Reverse(held.pods));
        found.truncate(MOST);
        found
    }
}

const MOST: usize = 20;
