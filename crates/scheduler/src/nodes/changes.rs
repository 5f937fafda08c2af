//! Which nodes changed, latest first.

/// A node's number among the nodes of a cluster. It stays as long as the node is there; after
/// that another may get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(u32);

impl Slot {
    /// Of a node that is not part of a cluster.
    pub(crate) const NOWHERE: Self = Self(u32::MAX);

    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than four billion nodes"))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// Nodes in the order of their last change, each with the time of it.
///
/// Who remembers something of all nodes notes the [`clock`](Self::clock), and later walks from the
/// latest change back to what it has seen. Nothing is ever dropped, and a node that changed often
/// is met once: upstream's cache keeps its snapshot up to date in the same way.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    clock: u64,
    latest: Slot,
    /// By slot.
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    changed: u64,
    newer: Slot,
    older: Slot,
}

impl Changes {
    /// Counts changes; never goes back.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// The node at that slot changed, came or went.
    pub(crate) fn note(&mut self, slot: Slot) {
        if slot.index() >= self.links.len() {
            self.links.resize(slot.index() + 1, UNLINKED);
        }
        self.unlink(slot);
        self.clock += 1;
        self.links[slot.index()] =
            Link { changed: self.clock, newer: Slot::NOWHERE, older: self.latest };
        if let Some(latest) = self.links.get_mut(self.latest.index()) {
            latest.newer = slot;
        }
        self.latest = slot;
    }

    /// The slots of nodes that changed after `clock`, latest first.
    pub(crate) fn since(&self, clock: u64) -> impl Iterator<Item = Slot> {
        let linked = |slot: Slot| self.links.get(slot.index()).map(|link| (slot, link));
        let links = std::iter::successors(linked(self.latest), move |(_, link)| linked(link.older));
        links.take_while(move |(_, link)| link.changed > clock).map(|(slot, _)| slot)
    }

    fn unlink(&mut self, slot: Slot) {
        let Link { newer, older, .. } = std::mem::replace(&mut self.links[slot.index()], UNLINKED);
        if self.latest == slot {
            self.latest = older;
        }
        if let Some(link) = self.links.get_mut(newer.index()) {
            link.older = older;
        }
        if let Some(link) = self.links.get_mut(older.index()) {
            link.newer = newer;
        }
    }
}

impl Default for Changes {
    fn default() -> Self {
        Self { clock: 0, latest: Slot::NOWHERE, links: Vec::new() }
    }
}

const UNLINKED: Link = Link { changed: 0, newer: Slot::NOWHERE, older: Slot::NOWHERE };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_met_once_and_latest_first() {
        let mut changes = Changes::default();
        let since = |changes: &Changes, clock| -> Vec<usize> {
            changes.since(clock).map(Slot::index).collect()
        };
        for slot in [0, 1, 2, 1] {
            changes.note(Slot::new(slot));
        }
        assert_eq!(since(&changes, 0), [1, 2, 0]);
        let seen = changes.clock();
        assert_eq!(since(&changes, seen), [0; 0]);

        changes.note(Slot::new(0));
        changes.note(Slot::new(2));
        assert_eq!(since(&changes, seen), [2, 0]);
        assert_eq!(since(&changes, 0), [2, 0, 1]);
    }
}
