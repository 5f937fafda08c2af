//! From names to slots.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::entry::Entry;
use crate::item::Item;
use crate::slab::Slab;

/// Finds entries by their items' keys. One key may have several entries: one that waits, and
/// attempts under way on this or earlier incarnations.
// The keys stay in the items; the table has slot numbers only. Entries remember the hash of
// their key, since a key may be a few cache misses away. The table is never walked, so that its
// hasher may be seeded at random: names often come from outsiders.
#[derive(Default)]
pub(crate) struct Index {
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The hash of a key, cut to what an entry has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHash(u32);

impl KeyHash {
    /// Spread over all bits again: the table takes some from either end.
    fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Index {
    pub(crate) fn hash<T: Item>(&self, key: &T::Key) -> KeyHash {
        KeyHash((self.hasher.hash_one(key) >> 32) as u32)
    }

    pub(crate) fn insert<T>(&mut self, id: u32, entries: &Slab<Entry<T>>) {
        let rehash = |&other: &u32| entries[other].record.hash.spread();
        self.table.insert_unique(entries[id].record.hash.spread(), id, rehash);
    }

    pub(crate) fn remove<T>(&mut self, id: u32, entries: &Slab<Entry<T>>) {
        let hash = entries[id].record.hash.spread();
        if let Ok(found) = self.table.find_entry(hash, |&other| other == id) {
            found.remove();
        }
    }

    /// Who goes by that key: the entry that waits, and how many attempts are under way.
    pub(crate) fn look_up<T: Item>(
        &self,
        key: &T::Key,
        hash: KeyHash,
        entries: &Slab<Entry<T>>,
    ) -> Present {
        let mut present = Present { waiting: None, attempts: 0 };
        for id in self.all(key, hash, entries) {
            if entries[id].is_waiting() {
                present.waiting = Some(id);
            } else {
                present.attempts += 1;
            }
        }
        present
    }

    /// Entries of that key that are being tried, in no particular order.
    pub(crate) fn in_flight<T: Item>(
        &self,
        key: &T::Key,
        hash: KeyHash,
        entries: &Slab<Entry<T>>,
    ) -> impl Iterator<Item = u32> {
        self.all(key, hash, entries).filter(|id| !entries[*id].is_waiting())
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    fn all<T: Item>(
        &self,
        key: &T::Key,
        hash: KeyHash,
        entries: &Slab<Entry<T>>,
    ) -> impl Iterator<Item = u32> {
        let is_it = move |id: &u32| {
            let entry = &entries[*id];
            entry.record.hash == hash && entry.item.key() == key
        };
        self.table.iter_hash(hash.spread()).copied().filter(is_it)
    }
}

/// Who goes by one key.
#[derive(Clone, Copy)]
pub(crate) struct Present {
    pub(crate) waiting: Option<u32>,
    pub(crate) attempts: usize,
}
