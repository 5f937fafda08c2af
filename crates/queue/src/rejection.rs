//! Who rejected an item, kept once for all items that the same plugins rejected.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::plugin::PluginId;
use crate::slab::Slab;

/// The plugins that rejected an item the last time it was tried, or that hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejectors {
    unschedulable: Box<[PluginId]>,
    pending: Box<[PluginId]>,
}

impl Rejectors {
    /// Plugins that found no way to place the item, and gates that refused it.
    pub fn unschedulable(&self) -> &[PluginId] {
        &self.unschedulable
    }

    /// Plugins that wait for something in particular: once it happens the item need not back off.
    pub fn pending(&self) -> &[PluginId] {
        &self.pending
    }

    /// Whether nobody rejected the item: it is new, or its last attempt failed with an error.
    pub fn is_empty(&self) -> bool {
        self.unschedulable.is_empty() && self.pending.is_empty()
    }

    /// Whether `plugin` is one of them.
    pub fn contains(&self, plugin: PluginId) -> bool {
        self.unschedulable.contains(&plugin) || self.pending.contains(&plugin)
    }

    /// Everyone once; pending ones first, since their word settles the matter.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PluginId, Standing)> {
        let only_unschedulable =
            self.unschedulable.iter().filter(|plugin| !self.pending.contains(plugin));
        self.pending
            .iter()
            .map(|plugin| (*plugin, Standing::Pending))
            .chain(only_unschedulable.map(|plugin| (*plugin, Standing::Unschedulable)))
    }
}

/// In which of the two lists a rejector stands; pending where it is in both.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Unschedulable,
    Pending,
}

/// The number of a set of rejectors in [`Rejections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RejectionId(u32);

impl RejectionId {
    /// Nobody rejected the item.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
}

/// Every set of rejectors that some item has, with the number of items that have it.
#[derive(Default)]
pub(crate) struct Rejections {
    sets: Slab<Counted>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    nobody: Rejectors,
}

struct Counted {
    rejectors: Rejectors,
    holders: usize,
}

impl Rejections {
    /// The number of this set. The caller holds it until it [releases](Self::release) it.
    pub(crate) fn hold(&mut self, unschedulable: &[PluginId], pending: &[PluginId]) -> RejectionId {
        if unschedulable.is_empty() && pending.is_empty() {
            return RejectionId::NOBODY;
        }
        let rejectors =
            Rejectors { unschedulable: sorted(unschedulable), pending: sorted(pending) };
        let hash = self.hash(&rejectors);
        if let Some(&id) = self.table.find(hash, |&id| self.sets[id].rejectors == rejectors) {
            self.sets[id].holders += 1;
            return RejectionId(id);
        }
        let id = self.sets.insert(Counted { rejectors, holders: 1 });
        self.table.insert_unique(hash, id, |&id| hash_of(&self.hasher, &self.sets[id].rejectors));
        RejectionId(id)
    }

    /// The set `id` with `plugin` among the unschedulable ones, in place of `id`.
    pub(crate) fn exchange_with(&mut self, id: RejectionId, plugin: PluginId) -> RejectionId {
        let old = self.get(id);
        if old.unschedulable.contains(&plugin) {
            return id;
        }
        let unschedulable = [&*old.unschedulable, &[plugin]].concat();
        let pending = old.pending.clone();
        let new = self.hold(&unschedulable, &pending);
        self.release(id);
        new
    }

    pub(crate) fn release(&mut self, id: RejectionId) {
        if id == RejectionId::NOBODY {
            return;
        }
        let counted = &mut self.sets[id.0];
        counted.holders -= 1;
        if counted.holders > 0 {
            return;
        }
        let hash = self.hash(&self.sets[id.0].rejectors);
        if let Ok(found) = self.table.find_entry(hash, |&other| other == id.0) {
            found.remove();
        }
        self.sets.remove(id.0);
    }

    pub(crate) fn get(&self, id: RejectionId) -> &Rejectors {
        if id == RejectionId::NOBODY { &self.nobody } else { &self.sets[id.0].rejectors }
    }

    /// How many items hold any set at all.
    pub(crate) fn holders(&self) -> usize {
        self.sets.iter().map(|(_, counted)| counted.holders).sum()
    }

    fn hash(&self, rejectors: &Rejectors) -> u64 {
        hash_of(&self.hasher, rejectors)
    }
}

fn hash_of(hasher: &DefaultHashBuilder, rejectors: &Rejectors) -> u64 {
    hasher.hash_one((&rejectors.unschedulable, &rejectors.pending))
}

fn sorted(plugins: &[PluginId]) -> Box<[PluginId]> {
    let mut plugins = plugins.to_vec();
    plugins.sort_unstable();
    plugins.dedup();
    plugins.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins() -> [PluginId; 2] {
        [PluginId::new(0), PluginId::new(1)]
    }

    #[test]
    fn equal_sets_are_kept_once_and_only_while_held() {
        let [a, b] = plugins();
        let mut rejections = Rejections::default();
        let first = rejections.hold(&[b, a, b], &[]);
        let second = rejections.hold(&[a, b], &[]);
        assert_eq!(first, second);
        assert_ne!(first, rejections.hold(&[a], &[b]));
        assert_eq!(rejections.hold(&[], &[]), RejectionId::NOBODY);
        assert_eq!((rejections.sets.len(), rejections.holders()), (2, 3));

        rejections.release(first);
        assert_eq!(rejections.get(second).unschedulable(), [a, b]);
        rejections.release(second);
        assert_eq!(rejections.sets.len(), 1);
        assert_eq!(rejections.table.len(), 1);
    }

    #[test]
    fn a_gate_joins_the_unschedulable_ones() {
        let [a, b] = plugins();
        let mut rejections = Rejections::default();
        let only_a = rejections.hold(&[a], &[]);
        let both = rejections.exchange_with(only_a, b);
        assert_eq!(rejections.get(both).unschedulable(), [a, b]);
        assert_eq!(rejections.exchange_with(both, a), both);
        assert_eq!(rejections.holders(), 1);
    }
}
