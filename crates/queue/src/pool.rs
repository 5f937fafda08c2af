//! The unschedulable pool, indexed by who rejected what class.
//!
//! An event costs what it touches: buckets whose rejectors registered for it, and in those one
//! question a class. Items that nobody will ask about are not looked at, however many they are.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

use crate::item::Profile;
use crate::plugin::PluginId;
use crate::rejection::RejectionId;
use crate::slab::Slab;
use crate::time::Time;

/// What items of one bucket have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketKey {
    pub(crate) rejection: RejectionId,
    pub(crate) profile: Profile,
    /// The gate that holds the items, if one does.
    pub(crate) gate: Option<PluginId>,
}

/// Where an item is in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    group: u32,
    index: u32,
}

/// Waiting items: buckets of groups of slot numbers.
#[derive(Default)]
pub(crate) struct Pool {
    buckets: Slab<Bucket>,
    bucket_of: HashTable<u32>,
    groups: Slab<Group>,
    group_of: HashTable<u32>,
    hasher: DefaultHashBuilder,
    len: usize,
}

/// Items that the same plugins rejected, class by class.
pub(crate) struct Bucket {
    pub(crate) key: BucketKey,
    groups: Vec<u32>,
}

/// Items of one class that the same plugins rejected; or all of a bucket that have no class.
pub(crate) struct Group {
    pub(crate) class: Option<u64>,
    pub(crate) members: Vec<u32>,
    bucket: u32,
    index: u32,
    /// No member is here since before this; it may be too early, since removals leave it.
    since_at_least: Time,
}

impl Pool {
    /// Seats item `id`, which has waited since `since`.
    pub(crate) fn insert(
        &mut self,
        id: u32,
        key: BucketKey,
        class: Option<u64>,
        since: Time,
    ) -> Seat {
        let bucket = self.bucket(key);
        let at = self.group(bucket, class);
        let group = &mut self.groups[at];
        if group.members.is_empty() || since < group.since_at_least {
            group.since_at_least = since;
        }
        group.members.push(id);
        self.len += 1;
        Seat { group: at, index: group.members.len() as u32 - 1 }
    }

    /// Empties a seat. Another item may have to sit there then: its number, for the caller to
    /// tell it, since its seat is now this one.
    pub(crate) fn remove(&mut self, seat: Seat) -> Option<u32> {
        self.len -= 1;
        let members = &mut self.groups[seat.group].members;
        members.swap_remove(seat.index as usize);
        let moved = members.get(seat.index as usize).copied();
        if members.is_empty() {
            self.drop_group(seat.group);
        }
        moved
    }

    /// Takes out a whole group.
    pub(crate) fn take(&mut self, group: u32) -> Vec<u32> {
        let members = std::mem::take(&mut self.groups[group].members);
        self.len -= members.len();
        self.drop_group(group);
        members
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many items are held by a gate.
    pub(crate) fn gated(&self) -> usize {
        let held = self.buckets.iter().filter(|(_, bucket)| bucket.key.gate.is_some());
        held.flat_map(|(_, bucket)| &bucket.groups).map(|&g| self.groups[g].members.len()).sum()
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = &Bucket> {
        self.buckets.iter().map(|(_, bucket)| bucket)
    }

    pub(crate) fn groups_in<'a>(
        &'a self,
        bucket: &'a Bucket,
    ) -> impl Iterator<Item = (u32, &'a Group)> {
        bucket.groups.iter().map(|&at| (at, &self.groups[at]))
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = u32> {
        self.groups.iter().flat_map(|(_, group)| group.members.iter().copied())
    }

    /// Items that have waited since before `limit`, where `since` tells an item's time.
    /// Groups whose members are all younger are not walked.
    pub(crate) fn since_before(&mut self, limit: Time, since: impl Fn(u32) -> Time) -> Vec<u32> {
        let mut found = Vec::new();
        let old: Vec<u32> = self
            .groups
            .iter()
            .filter(|(_, group)| group.since_at_least < limit)
            .map(|(at, _)| at)
            .collect();
        for at in old {
            let group = &mut self.groups[at];
            let mut youngest_start = None::<Time>;
            for &id in &group.members {
                let start = since(id);
                if start < limit {
                    found.push(id);
                }
                youngest_start = Some(youngest_start.map_or(start, |known| known.min(start)));
            }
            group.since_at_least = youngest_start.unwrap_or(limit);
        }
        found
    }

    /// No item has waited since before this; `None` if there is no item.
    pub(crate) fn since_at_least(&self) -> Option<Time> {
        self.groups.iter().map(|(_, group)| group.since_at_least).min()
    }

    /// `seat` must be the seat of `id`.
    pub(crate) fn is_seated(&self, id: u32, seat: Seat) -> bool {
        self.groups
            .get(seat.group)
            .is_some_and(|group| group.members.get(seat.index as usize) == Some(&id))
    }

    /// What a seat says of who sits there.
    pub(crate) fn describes(&self, seat: Seat) -> (BucketKey, Option<u64>) {
        let group = &self.groups[seat.group];
        (self.buckets[group.bucket].key, group.class)
    }

    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        if self.items().count() != self.len {
            return Err("the pool has lost count");
        }
        if self.groups.iter().any(|(_, group)| group.members.is_empty())
            || self.buckets().any(|bucket| bucket.groups.is_empty())
        {
            return Err("the pool keeps an empty group or bucket");
        }
        let listed = self.buckets().flat_map(|bucket| self.groups_in(bucket)).count();
        if listed != self.groups.len()
            || self.group_of.len() != self.groups.len()
            || self.bucket_of.len() != self.buckets.len()
        {
            return Err("the pool's index does not match its groups");
        }
        Ok(())
    }

    fn bucket(&mut self, key: BucketKey) -> u32 {
        let hash = self.hasher.hash_one(key);
        if let Some(&at) = self.bucket_of.find(hash, |&at| self.buckets[at].key == key) {
            return at;
        }
        let at = self.buckets.insert(Bucket { key, groups: Vec::new() });
        let (hasher, buckets) = (&self.hasher, &self.buckets);
        self.bucket_of.insert_unique(hash, at, |&at| hasher.hash_one(buckets[at].key));
        at
    }

    fn group(&mut self, bucket: u32, class: Option<u64>) -> u32 {
        let hash = self.hasher.hash_one((bucket, class));
        let is_it = |&at: &u32| self.groups[at].bucket == bucket && self.groups[at].class == class;
        if let Some(&at) = self.group_of.find(hash, is_it) {
            return at;
        }
        let index = self.buckets[bucket].groups.len() as u32;
        let group = Group { class, members: Vec::new(), bucket, index, since_at_least: Time::ZERO };
        let at = self.groups.insert(group);
        self.buckets[bucket].groups.push(at);
        let (hasher, groups) = (&self.hasher, &self.groups);
        self.group_of
            .insert_unique(hash, at, |&at| hasher.hash_one((groups[at].bucket, groups[at].class)));
        at
    }

    fn drop_group(&mut self, at: u32) {
        let Some(group) = self.groups.remove(at) else { return };
        let hash = self.hasher.hash_one((group.bucket, group.class));
        if let Ok(found) = self.group_of.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        let siblings = &mut self.buckets[group.bucket].groups;
        siblings.swap_remove(group.index as usize);
        if let Some(&moved) = siblings.get(group.index as usize) {
            self.groups[moved].index = group.index;
        }
        if siblings.is_empty()
            && let Some(bucket) = self.buckets.remove(group.bucket)
        {
            let hash = self.hasher.hash_one(bucket.key);
            if let Ok(found) = self.bucket_of.find_entry(hash, |&other| other == group.bucket) {
                found.remove();
            }
        }
    }
}
