//! Who is nominated to which node.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::item::{Item, NodeId};

/// Nominations: an item is filed under one node at most, a node lists its items in the order in
/// which they came.
pub(crate) struct Nominator<T: Item> {
    by_item: HashTable<(Nominee<T::Key>, NodeId)>,
    by_node: BTreeMap<NodeId, Vec<Nominee<T::Key>>>,
    /// Nodes whose lists changed since somebody last asked. Each is there once, so that there are
    /// never more than there were ever nodes.
    changed: BTreeSet<NodeId>,
    hasher: DefaultHashBuilder,
}

/// An item that is nominated, by name and incarnation.
pub(crate) struct Nominee<K: ToOwned + ?Sized> {
    pub(crate) key: K::Owned,
    pub(crate) incarnation: u64,
}

impl<T: Item> Nominator<T> {
    pub(crate) fn new() -> Self {
        Self {
            by_item: HashTable::new(),
            by_node: BTreeMap::new(),
            changed: BTreeSet::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Files the item under `node`, wherever it was before.
    pub(crate) fn file(&mut self, key: &T::Key, incarnation: u64, node: NodeId) {
        self.remove(key, incarnation);
        let hash = self.hasher.hash_one(key);
        let nominee = || Nominee { key: key.to_owned(), incarnation };
        let hasher = &self.hasher;
        self.by_item
            .insert_unique(hash, (nominee(), node), |(other, _)| hasher.hash_one(borrow(other)));
        self.by_node.entry(node).or_default().push(nominee());
        self.changed.insert(node);
    }

    /// Ends the nomination of this incarnation.
    pub(crate) fn remove(&mut self, key: &T::Key, incarnation: u64) {
        if self.by_item.is_empty() {
            return;
        }
        let is_it = |nominee: &Nominee<T::Key>| {
            nominee.incarnation == incarnation && borrow(nominee) == key
        };
        let hash = self.hasher.hash_one(key);
        let Ok(found) = self.by_item.find_entry(hash, |(nominee, _)| is_it(nominee)) else {
            return;
        };
        let ((_, node), _) = found.remove();
        self.changed.insert(node);
        if let Some(list) = self.by_node.get_mut(&node) {
            list.retain(|nominee| !is_it(nominee));
            if list.is_empty() {
                self.by_node.remove(&node);
            }
        }
    }

    /// Ends the nominations of every incarnation of `key`.
    pub(crate) fn remove_all(&mut self, key: &T::Key) {
        if self.by_item.is_empty() {
            return;
        }
        let hash = self.hasher.hash_one(key);
        while let Some((nominee, _)) = self.by_item.find(hash, |(n, _)| borrow(n) == key) {
            self.remove(key, nominee.incarnation);
        }
    }

    pub(crate) fn node_of(&self, key: &T::Key, incarnation: u64) -> Option<NodeId> {
        let hash = self.hasher.hash_one(key);
        self.by_item
            .find(hash, |(n, _)| n.incarnation == incarnation && borrow(n) == key)
            .map(|(_, node)| *node)
    }

    pub(crate) fn on(&self, node: NodeId) -> &[Nominee<T::Key>] {
        self.by_node.get(&node).map_or(&[], |list| list)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.by_node.keys().copied()
    }

    pub(crate) fn take_changed(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.changed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_node.is_empty()
    }

    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        let filed: usize = self.by_node.values().map(Vec::len).sum();
        if filed != self.by_item.len() || self.by_node.values().any(Vec::is_empty) {
            return Err("the nominator's two lists do not agree");
        }
        let agree = self.by_node.iter().all(|(node, list)| {
            list.iter().all(|n| self.node_of(borrow(n), n.incarnation) == Some(*node))
        });
        if !agree {
            return Err("an item is filed under another node than the nominator says");
        }
        Ok(())
    }
}

fn borrow<K: ToOwned + ?Sized>(nominee: &Nominee<K>) -> &K {
    std::borrow::Borrow::borrow(&nominee.key)
}
