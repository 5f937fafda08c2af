//! The pods of which anything is kept, and which of them is forgotten first.

use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::{HashMap, HashSet};
use roadstead_model::Text;
use roadstead_queue::Time;

use super::chunks::Chunks;
use super::names::NameId;
use super::record::Ring;
use super::{ClassKey, JournalLimits};
use crate::scheduler::PodKey;

/// What is kept of one pod.
pub(super) struct Kept {
    pub(super) key: PodKey,
    pub(super) incarnation: u64,
    pub(super) queued: Time,
    /// The event that brought it.
    pub(super) event: NameId,
    pub(super) attempts: u32,
    /// Its stamp since it has left; 0 while it is in the queue or tried.
    left: u32,
    /// The node that it is bound to.
    pub(super) node: Option<Text>,
    /// Its class when it last came to the pool.
    pub(super) class: ClassKey,
    pub(super) ring: Ring,
}

/// A pod that came to the queue.
pub(super) struct Arrival {
    pub(super) key: PodKey,
    pub(super) incarnation: u64,
    pub(super) at: Time,
    pub(super) event: NameId,
}

/// All of them.
pub(super) struct Pods {
    limits: JournalLimits,
    kept: Chunks<Kept>,
    /// By incarnation, of which no two pods have the same.
    ids: HashMap<u64, u32, BuildHasherDefault<InOrder>>,
    /// Places that nobody has, whose memory is used again.
    free: Vec<u32>,
    /// Pods that have left, in this order, and some that came back.
    left: VecDeque<Left>,
    stamps: u32,
    /// The stamps in that list of those that came back.
    returned: HashSet<u32>,
    /// Who was last spoken of, by incarnation: most often it is spoken of again.
    last: (u64, u32),
    untold: u64,
}

/// A pod that has left, with all that it takes to forget it: it is long since anybody looked at
/// what is kept of it.
struct Left {
    incarnation: u64,
    id: u32,
    stamp: u32,
}

impl Pods {
    pub(super) fn new(limits: JournalLimits) -> Self {
        Self {
            limits,
            kept: Chunks::default(),
            ids: HashMap::default(),
            free: Vec::new(),
            left: VecDeque::new(),
            stamps: 0,
            returned: HashSet::new(),
            last: NOBODY,
            untold: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// How many pods came for which there was no room.
    pub(super) fn untold(&self) -> u64 {
        self.untold
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.ids.values().map(|id| &self.kept[*id])
    }

    /// The names of those that have left, each once.
    pub(super) fn finished(&self) -> Vec<PodKey> {
        let gone = self.left.iter().filter(|left| !self.returned.contains(&left.stamp));
        let names: HashSet<_> = gone.map(|left| self.kept[left.id].key.clone()).collect();
        names.into_iter().collect()
    }

    pub(super) fn get(&self, incarnation: u64) -> Option<&Kept> {
        self.ids.get(&incarnation).map(|id| &self.kept[*id])
    }

    pub(super) fn get_mut(&mut self, incarnation: u64) -> Option<&mut Kept> {
        let id = self.id(incarnation)?;
        Some(&mut self.kept[id])
    }

    fn id(&mut self, incarnation: u64) -> Option<u32> {
        if self.last.0 != incarnation {
            self.last = (incarnation, *self.ids.get(&incarnation)?);
        }
        Some(self.last.1)
    }

    /// The pod of that name; of several the latest.
    pub(super) fn find(&self, key: &PodKey) -> Option<&Kept> {
        self.iter().filter(|kept| kept.key == *key).max_by_key(|kept| kept.incarnation)
    }

    /// The pod came to the queue, for the first time or again.
    pub(super) fn arrive(&mut self, arrival: Arrival, is_new: bool) {
        let Some(kept) = self.get_mut(arrival.incarnation) else {
            return self.keep(arrival, is_new);
        };
        let left = std::mem::take(&mut kept.left);
        if left != 0 {
            self.returned.insert(left);
        }
    }

    fn keep(&mut self, arrival: Arrival, is_new: bool) {
        if self.len() >= self.limits.pods {
            self.forget_first();
        }
        if self.len() >= self.limits.pods {
            self.untold += u64::from(is_new);
            return;
        }
        let Arrival { key, incarnation, at: queued, event } = arrival;
        let id = match self.free.pop() {
            Some(id) => {
                let kept = &mut self.kept[id];
                (kept.key, kept.incarnation) = (key, incarnation);
                (kept.queued, kept.event) = (queued, event);
                (kept.attempts, kept.left, kept.class) = (0, 0, 0);
                kept.node = None;
                kept.ring.clear();
                id
            }
            None => self.kept.push(Kept {
                key,
                incarnation,
                queued,
                event,
                attempts: 0,
                left: 0,
                node: None,
                class: 0,
                ring: Ring::new(self.limits.entries),
            }),
        };
        self.ids.insert(incarnation, id);
    }

    /// The pod has left the queue; it may come back.
    pub(super) fn leave(&mut self, incarnation: u64) {
        let Some(id) = self.id(incarnation) else { return };
        self.stamps = self.stamps.wrapping_add(1).max(1);
        let stamp = self.stamps;
        let before = std::mem::replace(&mut self.kept[id].left, stamp);
        if before != 0 {
            self.returned.insert(before);
        }
        self.left.push_back(Left { incarnation, id, stamp });
        if self.returned.len() > self.limits.finished.saturating_add(64) {
            self.left.retain(|left| !self.returned.remove(&left.stamp));
        }
        while self.left.len() - self.returned.len() > self.limits.finished {
            self.forget_first();
        }
    }

    /// Forgets the pod that left first, if any did.
    fn forget_first(&mut self) {
        while let Some(Left { incarnation, id, stamp }) = self.left.pop_front() {
            if !self.returned.is_empty() && self.returned.remove(&stamp) {
                continue;
            }
            self.ids.remove(&incarnation);
            if self.last.0 == incarnation {
                self.last = NOBODY;
            }
            // After a rush most of it would lie idle.
            if self.free.len() >= self.limits.finished {
                self.kept[id].ring.release();
            }
            self.free.push(id);
            return;
        }
    }
}

/// No pod has this incarnation: they are counted.
const NOBODY: (u64, u32) = (u64::MAX, 0);

/// Puts numbers that follow each other side by side in a table: pods mostly come, are tried and
/// are forgotten in one order, so what is needed next is near.
#[derive(Default)]
struct InOrder(u64);

impl Hasher for InOrder {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Whoever is not found is looked for to the end of a run of neighbours: no long ones. A
        // table looks at the highest bits before it compares, so they differ among neighbours.
        const NEIGHBOURS: u64 = 63;
        const HIGHEST: u64 = 0x7f << 57;
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let runs = (number & !NEIGHBOURS).wrapping_mul(ODD) & !NEIGHBOURS & !HIGHEST;
        self.0 = (number.wrapping_mul(ODD) & HIGHEST) | runs | (number & NEIGHBOURS);
    }
}
