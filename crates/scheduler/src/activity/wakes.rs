//! Which events and hints wake pods, and whether it was worth it.

use hashbrown::HashMap;
use roadstead_queue::PluginId;

use super::words::WordId;

/// What is counted of events and hints.
pub(super) struct Wakes {
    events: HashMap<WordId, Tally>,
    /// Without a plugin: of pods that were woken without a hint.
    hints: HashMap<(Option<PluginId>, WordId), Tally>,
    /// Pods that were woken and not tried since.
    woken: HashMap<u64, Waker>,
}

/// What came of an event, or of a plugin's word on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) seen: u64,
    pub(super) asked: u64,
    pub(super) queue: u64,
    pub(super) skip: u64,
    pub(super) error: u64,
    /// Pods that it woke.
    pub(super) woke: u64,
    /// How many of them were tried since, as far as they were followed.
    pub(super) tried: u64,
    /// How many of those got a node.
    pub(super) placed: u64,
    /// In the observer's ticks.
    pub(super) cost: u64,
    /// What the attempts cost that placed nobody, in the observer's ticks.
    pub(super) wasted: u64,
}

impl Tally {
    /// How many of the pods that were tried got a node.
    pub(super) fn precision(&self) -> Option<f64> {
        (self.tried > 0).then(|| self.placed as f64 / self.tried as f64)
    }
}

#[derive(Clone, Copy)]
struct Waker {
    event: WordId,
    plugin: Option<PluginId>,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self { events: HashMap::new(), hints: HashMap::new(), woken: HashMap::new() }
    }

    pub(super) fn event(&mut self, event: WordId) -> &mut Tally {
        // There is a bound to words.
        self.events.entry(event).or_default()
    }

    pub(super) fn hint(&mut self, plugin: PluginId, event: WordId) -> &mut Tally {
        self.hints.entry((Some(plugin), event)).or_default()
    }

    pub(super) fn woke(&mut self, pod: u64, event: WordId, plugin: Option<PluginId>) {
        let waker = Waker { event, plugin };
        self.each(waker, |tally| tally.woke += 1);
        if self.woken.len() < MOST_FOLLOWED {
            self.woken.insert(pod, waker);
        }
    }

    /// An attempt on a pod came to its end, and cost that much.
    pub(super) fn tried(&mut self, pod: u64, is_placed: bool, cost: u64) {
        if self.woken.is_empty() {
            return;
        }
        if let Some(waker) = self.woken.remove(&pod) {
            self.each(waker, |tally| {
                tally.tried += 1;
                tally.placed += u64::from(is_placed);
                tally.wasted += if is_placed { 0 } else { cost };
            });
        }
    }

    pub(super) fn forget(&mut self, pod: u64) {
        self.woken.remove(&pod);
    }

    pub(super) fn events(&self) -> impl Iterator<Item = (WordId, &Tally)> {
        self.events.iter().map(|(event, tally)| (*event, tally))
    }

    pub(super) fn hints(&self) -> impl Iterator<Item = (Option<PluginId>, WordId, &Tally)> {
        self.hints.iter().map(|((plugin, event), tally)| (*plugin, *event, tally))
    }

    fn each(&mut self, waker: Waker, count: impl Fn(&mut Tally)) {
        count(self.event(waker.event));
        count(self.hints.entry((waker.plugin, waker.event)).or_default());
    }
}

/// Pods beyond these are counted as woken, and not followed: 24 bytes each.
const MOST_FOLLOWED: usize = 100_000;
