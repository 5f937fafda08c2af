//! What one may ask a queue.

use std::ops::Range;

use super::{Attempt, Queue};
use crate::entry::{Entry, Spot};
use crate::in_flight::Logged;
use crate::item::{Item, NodeId};
use crate::order::QueueSort;
use crate::place::Place;
use crate::plugin::PluginId;
use crate::policy::Policy;
use crate::rejection::Rejectors;
use crate::time::Time;

impl<P: Policy, S: QueueSort<P::Item>, V> Queue<P, S, V> {
    /// Where the item of that key is: where it waits, or else in flight.
    pub fn place(&self, key: &<P::Item as Item>::Key) -> Option<Place> {
        let waiting = self.waiting_id(key).and_then(|id| self.place_of(id));
        waiting.or_else(|| self.attempts_on(key).next().map(|_| Place::InFlight))
    }

    /// The item of that key, if it waits.
    pub fn get(&self, key: &<P::Item as Item>::Key) -> Option<Waiting<'_, P::Item>> {
        self.waiting_id(key).map(|id| self.waiting(id))
    }

    /// The item that an attempt is made on.
    pub fn item(&self, attempt: &Attempt) -> Option<&P::Item> {
        self.resolve(attempt).map(|id| &self.entries[id].item)
    }

    /// Whether the item of an attempt was deleted since the attempt began.
    pub fn is_deleted(&self, attempt: &Attempt) -> bool {
        self.resolve(attempt)
            .is_some_and(|id| matches!(self.entries[id].spot, Spot::InFlight { deleted: true, .. }))
    }

    /// Active items, in the order in which they will be tried.
    pub fn active(&self) -> impl Iterator<Item = Waiting<'_, P::Item>> {
        self.active.iter().map(|ranked| self.waiting(ranked.id))
    }

    /// Items that back off after a rejection, then those after an error, each in the order in
    /// which they will be free.
    pub fn backoff(&self) -> impl Iterator<Item = Waiting<'_, P::Item>> {
        self.backoff_ids().map(|id| self.waiting(id))
    }

    /// Unschedulable and gated items, in no particular order.
    pub fn pool(&self) -> impl Iterator<Item = Waiting<'_, P::Item>> {
        self.pool.items().map(|id| self.waiting(id))
    }

    /// How many items of the pool are held for the same reason; one reason may come more than
    /// once. It costs as much as there are classes, however many items they have.
    pub fn held(&self) -> impl Iterator<Item = Held<'_>> {
        self.pool.buckets().map(|bucket| Held {
            gate: bucket.key.gate,
            rejectors: self.rejections.get(bucket.key.rejection),
            items: self.pool.groups_in(bucket).map(|(_, group)| group.members.len()).sum(),
        })
    }

    /// Items with an attempt under way for which events are kept, in no particular order.
    pub fn in_flight(&self) -> impl Iterator<Item = &P::Item> {
        self.in_flight_ids().map(|id| &self.entries[id].item)
    }

    /// How many slots there are, free ones included. An item keeps its slot for as long as it is in
    /// the queue; afterwards another may have it.
    pub fn slots(&self) -> usize {
        self.entries.slots()
    }

    /// What waits or is tried in these slots, with the number of its slot. Whoever looks at one
    /// range after the other sees everything once that is there all the time, whatever happens in
    /// between.
    pub fn in_slots(
        &self,
        slots: Range<usize>,
    ) -> impl Iterator<Item = (usize, Waiting<'_, P::Item>)> {
        let listed = self.entries.range(slots).filter(|(_, entry)| entry.is_listed());
        listed.map(|(id, _)| (id as usize, self.waiting(id)))
    }

    /// The slots of what is active and of what backs off, in the order of [`active`](Self::active)
    /// and [`backoff`](Self::backoff). It looks at none of the items.
    pub fn slots_in_order(&self) -> impl Iterator<Item = usize> {
        self.active.iter().map(|ranked| ranked.id).chain(self.backoff_ids()).map(|id| id as usize)
    }

    /// The item of that key and incarnation, where it waits or is tried.
    pub fn find(
        &self,
        key: &<P::Item as Item>::Key,
        incarnation: u64,
    ) -> Option<Waiting<'_, P::Item>> {
        let is_it = |id: &u32| {
            let entry = &self.entries[*id];
            entry.item.incarnation() == incarnation && entry.is_listed()
        };
        let id = self.waiting_id(key).filter(is_it);
        id.or_else(|| self.attempts_on(key).find(is_it)).map(|id| self.waiting(id))
    }

    /// How many active items will be tried before this one; `None` if it is not active.
    pub fn position(&self, key: &<P::Item as Item>::Key) -> Option<usize> {
        let id = self.waiting_id(key)?;
        let Spot::Active { order } = self.entries[id].spot else { return None };
        let position = self.active.position(&self.ranked(id, order));
        // A sort that does not stand by its ranks: find the item the slow way.
        position.or_else(|| self.active.iter().position(|other| other.id == id))
    }

    /// Tells this queue from all others of the program.
    pub fn serial(&self) -> u32 {
        self.serial
    }

    /// Labels of the events that are kept for attempts under way, oldest first.
    pub fn in_flight_events(&self) -> impl ExactSizeIterator<Item = crate::event::Label<'_>> {
        self.in_flight.events().map(|logged| match logged {
            Logged::Event(event, _) => event.label(),
            Logged::Activated(_) => crate::observer::Cause::Activated.label(),
        })
    }

    /// How many items there are in each place.
    pub fn counts(&self) -> Counts {
        let gated = self.pool.gated();
        Counts {
            active: self.active.len(),
            backoff: self.backoff.len(),
            error_backoff: self.error_backoff.len(),
            unschedulable: self.pool.len() - gated,
            gated,
            in_flight: self.in_flight.attempts(),
        }
    }

    /// Whether [`pop`](Self::pop) would find something.
    pub fn has_next(&self) -> bool {
        !self.active.is_empty() || (self.config.pop_from_backoff && !self.backoff.is_empty())
    }

    /// How many attempts ever began.
    pub fn scheduling_cycle(&self) -> u64 {
        self.scheduling_cycle
    }

    /// In which scheduling cycle the latest move request came, if any came.
    pub fn move_request_cycle(&self) -> Option<u64> {
        self.move_request_cycle
    }

    /// Whether the queue was closed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Items that are nominated to a node, in the order in which they came.
    pub fn nominated_to(&self, node: NodeId) -> impl Iterator<Item = Nominated<'_, P::Item>> {
        self.nominator.on(node).iter().map(|nominee| {
            let key = std::borrow::Borrow::borrow(&nominee.key);
            let item = self.waiting_id(key).map(|id| &self.entries[id].item);
            Nominated { key, incarnation: nominee.incarnation, item }
        })
    }

    /// The node that an item is nominated to.
    pub fn nomination(&self, key: &<P::Item as Item>::Key, incarnation: u64) -> Option<NodeId> {
        self.nominator.node_of(key, incarnation)
    }

    /// The nodes that anybody is nominated to, in order.
    pub fn nominated_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.nominator.nodes()
    }

    /// Whether nobody is nominated to any node.
    pub fn has_no_nominations(&self) -> bool {
        self.nominator.is_empty()
    }

    pub(super) fn in_flight_ids(&self) -> impl Iterator<Item = u32> {
        let watched = self.entries.iter().filter(|(_, entry)| entry.marker().is_some());
        watched.map(|(id, _)| id)
    }

    fn backoff_ids(&self) -> impl Iterator<Item = u32> {
        let rejected = self.backoff.iter().map(|due| due.ranked.id);
        rejected.chain(self.error_backoff.iter().map(|due| due.ranked.id))
    }

    fn waiting(&self, id: u32) -> Waiting<'_, P::Item> {
        let entry = &self.entries[id];
        Waiting {
            entry,
            place: self.place_of(id).unwrap_or(Place::Active),
            rejectors: self.rejections.get(entry.record.rejection),
        }
    }
}

/// An item that waits or is tried, with all that the queue knows of it.
pub struct Waiting<'a, T> {
    entry: &'a Entry<T>,
    place: Place,
    rejectors: &'a Rejectors,
}

impl<'a, T> Waiting<'a, T> {
    /// The item.
    pub fn item(&self) -> &'a T {
        &self.entry.item
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Who rejected it the last time, or holds it.
    pub fn rejectors(&self) -> &'a Rejectors {
        self.rejectors
    }

    /// The gate that refused it when the gates were last asked.
    pub fn gated_by(&self) -> Option<PluginId> {
        self.entry.record.gate
    }

    /// When it was added or last came back from an attempt.
    pub fn queued_at(&self) -> Time {
        self.entry.record.timestamp
    }

    /// When it came to where it is, to the millisecond: into its place, or into its attempt. A new
    /// version of the item, and an event that left it there, change nothing.
    pub fn since(&self) -> Time {
        self.entry.since()
    }

    /// When it first was ready to be tried, if it ever was.
    pub fn first_ready(&self) -> Option<Time> {
        self.entry.record.initial_attempt.get()
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.entry.record.attempts
    }

    /// How often it was rejected.
    pub fn unschedulable_count(&self) -> u32 {
        self.entry.record.unschedulable_count
    }

    /// How many of its last attempts in a row ended in an error.
    pub fn consecutive_errors(&self) -> u32 {
        self.entry.record.consecutive_errors
    }

    /// Whether it left the pool only because it had been there for too long.
    pub fn was_flushed(&self) -> bool {
        self.entry.record.was_flushed
    }
}

/// Items of the pool that have the same reason to be there.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// The gate that holds them, if one does.
    pub gate: Option<PluginId>,
    /// Who rejected them.
    pub rejectors: &'a Rejectors,
    /// How many they are.
    pub items: usize,
}

/// How many items are in each place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ready to be tried.
    pub active: usize,
    /// Backing off after a rejection.
    pub backoff: usize,
    /// Backing off after an error.
    pub error_backoff: usize,
    /// In the pool, and not held by a gate.
    pub unschedulable: usize,
    /// In the pool, and held by a gate.
    pub gated: usize,
    /// Being tried, with events kept for them.
    pub in_flight: usize,
}

impl Counts {
    /// How many items wait, all places together.
    pub fn waiting(&self) -> usize {
        self.active + self.backoff + self.error_backoff + self.unschedulable + self.gated
    }
}

/// An item that is nominated to a node.
pub struct Nominated<'a, T: Item> {
    /// Its key.
    pub key: &'a T::Key,
    /// Which item of that key.
    pub incarnation: u64,
    /// What waits under that key, if something does.
    pub item: Option<&'a T>,
}
