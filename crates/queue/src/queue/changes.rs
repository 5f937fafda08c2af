//! Items that come, change and go.

use super::Queue;
use super::placing::{Step, Strategy, file};
use crate::entry::{Record, Spot};
use crate::event::{Action, Event, Label};
use crate::in_flight::Logged;
use crate::item::{Item, Name, NodeId};
use crate::observer::{Cause, Observer};
use crate::order::QueueSort;
use crate::place::Place;
use crate::policy::Policy;
use crate::time::Time;

impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Takes in a new item: it becomes active, or gated if a gate refuses it.
    ///
    /// Where an item of that key waits already, the new one takes its place with a new record;
    /// unless it is refused by a gate while the other one is active or backs off: then it is
    /// dropped, and the other one stays.
    pub fn add(&mut self, item: P::Item, now: Time) -> Place {
        let now = self.at(now);
        let resource = self.config.item_resource.clone();
        self.take_in(item, Cause::Added(Label::of(&resource, Action::ADD)), now)
    }

    /// Tells that an item changed, and in which ways: `changes`, one event for each.
    ///
    /// - In flight: the changes are kept for the attempts under way, and the new version is the
    ///   one that comes back if the attempt fails.
    /// - Active or backing off: the item gets its new place in the order, nothing else.
    /// - Unschedulable or gated: the changes are judged like any event, one after the other,
    ///   until one brings the item back. With no changes it stays.
    /// - Unknown: it is added.
    ///
    /// With the [older way](crate::Requeueing::MoveRequestCycle) any change brings an
    /// unschedulable item back, and an item in flight counts as unknown.
    pub fn update(
        &mut self,
        item: P::Item,
        changes: impl IntoIterator<Item = Event<P::Object>>,
        now: Time,
    ) -> Place {
        let now = self.at(now);
        if let Some(id) = self.attempt_on(&item) {
            for event in changes {
                let interest = self.interest(&event);
                self.in_flight.record(Logged::Event(event, interest));
            }
            self.entries[id].item = item;
            return Place::InFlight;
        }
        let Some(id) = self.waiting_id(item.key()) else {
            let resource = self.config.item_resource.clone();
            return self.take_in(item, Cause::Updated(Label::of(&resource, Action::UPDATE)), now);
        };
        self.replace(id, item);
        match self.place_of(id) {
            Some(place) if !place.is_pool() => place,
            _ if self.is_older_way() => self.wake_if_changed(id, changes.into_iter().count(), now),
            _ => self.wake_by_changes(id, changes, now),
        }
    }

    /// Tells that an item is gone, and returns what was waiting under its key.
    ///
    /// An attempt on it that is under way goes on; if it fails, [`reject`](Self::reject) lets
    /// the item go unless it is handed a newer version.
    pub fn delete<'a>(
        &mut self,
        name: impl Into<Name<'a, <P::Item as Item>::Key>>,
        now: Time,
    ) -> Option<P::Item>
    where
        <P::Item as Item>::Key: 'a,
    {
        let (name, now) = (name.into(), self.at(now));
        match name.incarnation {
            Some(incarnation) => self.nominator.remove(name.key, incarnation),
            None => self.nominator.remove_all(name.key),
        }
        self.mark_deleted(&name);
        let id = self.waiting_id(name.key)?;
        let from = self.detach(id);
        let entry = self.leave(id)?;
        self.tell_gone(&entry.item, Step { from, cause: Cause::Deleted, now, by: None });
        Some(entry.item)
    }

    /// Makes items active that wait in the pool or in backoff, whatever they wait for; gates
    /// are asked all the same.
    ///
    /// An item in flight comes back with backoff if its attempt fails. Others are left alone.
    pub fn activate<'a>(
        &mut self,
        names: impl IntoIterator<Item = impl Into<Name<'a, <P::Item as Item>::Key>>>,
        now: Time,
    ) where
        <P::Item as Item>::Key: 'a,
    {
        let now = self.at(now);
        for name in names {
            let name = name.into();
            if self.force_active(name.key, now) {
                continue;
            }
            if let Some(id) = self.latest_attempt(&name) {
                self.in_flight.record(Logged::Activated(id));
            }
            self.note_move_request();
        }
    }

    /// Nominates an item to a node, in place of any nomination that it had. The item need not
    /// wait in the queue; but it must [exist and run nowhere](Policy::may_be_nominated).
    pub fn nominate(&mut self, key: &<P::Item as Item>::Key, incarnation: u64, node: NodeId) {
        self.nominator.remove(key, incarnation);
        if self.policy.may_be_nominated(key) {
            self.nominator.file(key, incarnation, node);
        }
    }

    /// Ends an item's nomination.
    pub fn unnominate(&mut self, key: &<P::Item as Item>::Key, incarnation: u64) {
        self.nominator.remove(key, incarnation);
    }

    /// The nodes where nominations were made or ended since this was last asked, in order: for who
    /// remembers something of a node that depends on them.
    pub fn take_renominated(&mut self) -> impl Iterator<Item = NodeId> + use<P, S, V> {
        self.nominator.take_changed().into_iter()
    }

    /// Makes the item of that key active if it waits elsewhere; `false` if it did not work out.
    pub(super) fn force_active(&mut self, key: &<P::Item as Item>::Key, now: Time) -> bool {
        let Some(id) = self.waiting_id(key) else { return false };
        if matches!(self.entries[id].spot, Spot::Active { .. }) {
            return false;
        }
        let from = self.detach(id);
        self.enter_active(id, Step { from, cause: Cause::Activated, now, by: None })
            == Place::Active
    }

    fn take_in(&mut self, item: P::Item, cause: Cause<'_>, now: Time) -> Place {
        let hash = self.index.hash::<P::Item>(item.key());
        let present = self.index.look_up(item.key(), hash, &self.entries);
        let record = Record { has_twin: present.attempts > 0, ..Record::new(now, hash) };
        let id = self.admit(item, record);
        let mut from = None;
        if let Some(present) = present.waiting {
            from = self.place_of(present);
            if let Some(place) = from.filter(|place| !place.is_pool())
                && self.is_held(id)
            {
                // A refused newcomer must not push out an item that may go on.
                self.discard(id, None, now);
                return place;
            }
            self.detach(present);
            self.leave(present);
        }
        self.enter_active(id, Step { from, cause, now, by: None })
    }

    /// Gives a waiting entry a new version of its item, and the place that goes with it.
    fn replace(&mut self, id: u32, item: P::Item) {
        let spot = self.entries[id].spot;
        self.detach(id);
        self.exchange(id, item);
        match spot {
            Spot::Active { .. } | Spot::Backoff { .. } | Spot::ErrorBackoff { .. } => {
                self.line_up(id, spot);
            }
            Spot::Pool(_) => self.seat(id),
            Spot::Nowhere | Spot::InFlight { .. } => self.entries[id].spot = spot,
        }
    }

    /// Swaps the item itself. A nomination that only the queue knows of survives if the item
    /// says nothing of one, before and after.
    fn exchange(&mut self, id: u32, item: P::Item) {
        let old = std::mem::replace(&mut self.entries[id].item, item);
        let new = &self.entries[id].item;
        if self.nominator.is_empty() && new.nominated_node().is_none() {
            return;
        }
        let of = |item: &P::Item| self.nominator.node_of(item.key(), item.incarnation());
        let same = old.incarnation() == new.incarnation();
        let kept = match (old.nominated_node(), new.nominated_node()) {
            (None, None) if same => of(new),
            // What waited here was an earlier item of the name: the new one's own comes first.
            (_, None) if !same => {
                of(new).or_else(|| of(&old).filter(|_| old.nominated_node().is_none()))
            }
            (_, node) => node,
        };
        self.nominator.remove(old.key(), old.incarnation());
        file(&mut self.nominator, &self.policy, new, kept);
    }

    fn wake_if_changed(&mut self, id: u32, changes: usize, now: Time) -> Place {
        if changes == 0 {
            return self.place_of(id).unwrap_or(Place::Unschedulable);
        }
        let resource = self.config.item_resource.clone();
        let cause = Cause::Updated(Label::of(&resource, Action::UPDATE));
        let from = self.detach(id);
        self.requeue(id, Strategy::AfterBackoff, Step { from, cause, now, by: None })
    }

    fn wake_by_changes(
        &mut self,
        id: u32,
        changes: impl IntoIterator<Item = Event<P::Object>>,
        now: Time,
    ) -> Place {
        let mut place = self.place_of(id).unwrap_or(Place::Unschedulable);
        for event in changes {
            // Where popping leaves backoff alone, a later change may still cut the backoff
            // short, but none puts the item back into the pool.
            let settled = match place {
                Place::Active | Place::InFlight => true,
                Place::Backoff { .. } | Place::ErrorBackoff { .. } => self.config.pop_from_backoff,
                Place::Unschedulable | Place::Gated { .. } => false,
            };
            if settled {
                break;
            }
            let interest = self.interest(&event);
            let strategy = self.worth(id, &event, &interest);
            if strategy != Strategy::Skip {
                let from = self.detach(id);
                let step = Step { from, cause: Cause::Updated(event.label()), now, by: None };
                place = self.requeue(id, strategy, step);
            }
        }
        place
    }

    /// Attempts under way on a deleted item learn of it.
    fn mark_deleted(&mut self, name: &Name<'_, <P::Item as Item>::Key>) {
        let under_way: Vec<u32> = self.attempts_on(name.key).collect();
        for id in under_way {
            let entry = &mut self.entries[id];
            let is_it = name.is_incarnation(entry.item.incarnation());
            if let Spot::InFlight { deleted, .. } = &mut entry.spot {
                *deleted |= is_it;
            }
        }
    }

    /// The attempt under way on this very incarnation; the older way does not know of any.
    fn attempt_on(&self, item: &P::Item) -> Option<u32> {
        if self.is_older_way() {
            return None;
        }
        self.watched_attempt(item)
    }

    /// The latest attempt under way on that item, while events are kept for it.
    fn latest_attempt(&self, name: &Name<'_, <P::Item as Item>::Key>) -> Option<u32> {
        self.attempts_on(name.key)
            .filter(|&id| {
                let entry = &self.entries[id];
                entry.marker().is_some() && name.is_incarnation(entry.item.incarnation())
            })
            .max_by_key(|&id| self.entries[id].record.timestamp)
    }
}
