//! How an entry gets from one place to another. Every transition is written here.

use std::mem::discriminant;

use super::{Due, End, Queue, Ranked};
use crate::config::Requeueing;
use crate::entry::{Entry, Record, Spot};
use crate::event::{Action, Label};

use crate::item::{Item, NodeId};
use crate::observer::{Cause, GateVerdict, Observer, Transition};
use crate::order::QueueSort;
use crate::place::Place;
use crate::plugin::PluginId;
use crate::policy::{Gate, Policy};
use crate::pool::BucketKey;
use crate::time::{MaybeTime, Time};

/// Whether and how an item is to be tried again. In order of eagerness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strategy {
    Skip,
    AfterBackoff,
    Immediately,
}

/// What a step is about: why it is made, when, and where the entry was.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) from: Option<Place>,
    pub(super) cause: Cause<'a>,
    pub(super) now: Time,
    /// The plugin whose hint asked for it.
    pub(super) by: Option<PluginId>,
}

impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Takes in an item that is not yet anywhere.
    pub(super) fn admit(&mut self, item: P::Item, record: Record) -> u32 {
        let id = self.entries.insert(Entry::new(item, record));
        self.index.insert(id, &self.entries);
        id
    }

    /// Lets an entry go that is in no place.
    pub(super) fn leave(&mut self, id: u32) -> Option<Entry<P::Item>> {
        self.index.remove(id, &self.entries);
        let entry = self.entries.remove(id)?;
        self.rejections.release(entry.record.rejection);
        Some(entry)
    }

    /// Drops an entry that has to give way to another of its name.
    pub(super) fn discard(&mut self, id: u32, from: Option<Place>, now: Time) {
        if let Some(entry) = self.leave(id) {
            self.tell_gone(&entry.item, Step { from, cause: Cause::Discarded, now, by: None });
        }
    }

    /// Takes an entry out of where it is, and tells where that was.
    pub(super) fn detach(&mut self, id: u32) -> Option<Place> {
        let from = self.place_of(id);
        let spot = std::mem::replace(&mut self.entries[id].spot, Spot::Nowhere);
        match spot {
            Spot::Nowhere | Spot::InFlight { .. } => {}
            Spot::Active { order } => {
                let ranked = self.ranked(id, order);
                if !self.active.remove(&ranked) {
                    // A sort that does not stand by its ranks: find the item the slow way.
                    self.active.remove_where(|other| other.id == id);
                }
            }
            Spot::Backoff { order } => {
                let due = self.due(id, order);
                if !self.backoff.remove(&due) {
                    self.backoff.remove_where(|other| other.ranked.id == id);
                }
            }
            Spot::ErrorBackoff { order } => {
                let due = self.error_due(id, order);
                self.error_backoff.remove(&due);
            }
            Spot::Pool(seat) => {
                if let Some(moved) = self.pool.remove(seat) {
                    self.entries[moved].spot = Spot::Pool(seat);
                }
            }
        }
        from
    }

    /// Puts a detached entry where the strategy says.
    pub(super) fn requeue(&mut self, id: u32, strategy: Strategy, step: Step<'_>) -> Place {
        match strategy {
            Strategy::Skip => self.enter_pool(id, step),
            Strategy::AfterBackoff if self.is_backing_off(id, step.now) => {
                self.enter_backoff(id, step)
            }
            Strategy::AfterBackoff | Strategy::Immediately => self.enter_active(id, step),
        }
    }

    /// Makes a detached entry active, if its gates let it.
    pub(super) fn enter_active(&mut self, id: u32, step: Step<'_>) -> Place {
        let from_backoff = step.from.is_some_and(Place::is_backoff);
        // With windows the gates were asked on the way into backoff.
        let ask = !(self.config.pop_from_backoff && from_backoff);
        if ask && self.is_held(id) {
            self.entries[id].record.was_flushed = false;
            return self.enter_pool(id, step);
        }
        let order = self.next_order();
        let entry = &mut self.entries[id];
        if entry.record.initial_attempt == MaybeTime::NONE {
            entry.record.initial_attempt = MaybeTime::some(step.now);
        }
        self.line_up(id, Spot::Active { order });
        let (Cause::Added(label) | Cause::Updated(label) | Cause::Event(label)) = step.cause else {
            return self.tell(id, step);
        };
        let resource = &self.config.item_resource;
        if label == Label::of(resource, Action::ADD) || label == Label::of(resource, Action::UPDATE)
        {
            self.nominate_as_it_says(id);
        }
        self.tell(id, step)
    }

    /// Lets a detached entry back off, if its gates let it.
    pub(super) fn enter_backoff(&mut self, id: u32, step: Step<'_>) -> Place {
        if self.config.pop_from_backoff && self.is_held(id) {
            self.entries[id].record.was_flushed = false;
            return self.enter_pool(id, step);
        }
        let order = self.next_order();
        let after_error = self.rejections.get(self.entries[id].record.rejection).is_empty();
        let spot = if after_error { Spot::ErrorBackoff { order } } else { Spot::Backoff { order } };
        self.line_up(id, spot);
        self.tell(id, step)
    }

    /// Puts a detached entry into the pool.
    pub(super) fn enter_pool(&mut self, id: u32, step: Step<'_>) -> Place {
        self.seat(id);
        self.tell(id, step)
    }

    /// Puts a detached entry into its order, at its place there.
    pub(super) fn line_up(&mut self, id: u32, spot: Spot) {
        self.entries[id].spot = spot;
        match spot {
            Spot::Active { order } => {
                let ranked = self.ranked(id, order);
                self.active.insert(ranked);
            }
            Spot::Backoff { order } => {
                let due = self.due(id, order);
                self.backoff.insert(due);
            }
            Spot::ErrorBackoff { order } => {
                let due = self.error_due(id, order);
                self.error_backoff.insert(due);
            }
            Spot::Nowhere | Spot::Pool(_) | Spot::InFlight { .. } => {}
        }
    }

    /// Seats a detached entry in the pool without telling anyone.
    pub(super) fn seat(&mut self, id: u32) {
        let entry = &self.entries[id];
        let key = self.bucket_key(entry);
        let (class, since) = (entry.item.class(), entry.record.waiting_since());
        let seat = self.pool.insert(id, key, class, since);
        self.entries[id].spot = Spot::Pool(seat);
    }

    /// Tells the observer of a step that ends where the entry is now.
    pub(super) fn tell(&mut self, id: u32, step: Step<'_>) -> Place {
        let to = self.place_of(id);
        let Step { from, cause, now, by } = step;
        if from.as_ref().map(discriminant) != to.as_ref().map(discriminant) {
            self.entries[id].enter(now);
        }
        // An item that stays where it was made no step, unless it was taken out first: by an
        // event out of the pool, or by a second change of its own out of backoff.
        let stayed = from == to
            && !from.is_some_and(Place::is_backoff)
            && matches!(cause, Cause::Added(_) | Cause::Updated(_) | Cause::Activated);
        if !stayed {
            let item = &self.entries[id].item;
            self.observer.transition(&Transition { item, from, to, cause, by, at: now });
        }
        to.unwrap_or(Place::Active)
    }

    /// Tells the observer that an item is gone.
    pub(super) fn tell_gone(&mut self, item: &P::Item, step: Step<'_>) {
        let Step { from, cause, now, by } = step;
        self.observer.transition(&Transition { item, from, to: None, cause, by, at: now });
    }

    /// Files the nomination that the item itself carries, if it carries one.
    fn nominate_as_it_says(&mut self, id: u32) {
        let item = &self.entries[id].item;
        if item.nominated_node().is_none() && self.nominator.is_empty() {
            return;
        }
        let node = item.nominated_node();
        file(&mut self.nominator, &self.policy, item, node);
    }

    pub(super) fn is_backing_off(&self, id: u32, now: Time) -> bool {
        self.backoff_rule.is_under_way(self.backoff_end(id), now)
    }

    pub(super) fn backoff_end(&self, id: u32) -> Option<Time> {
        self.entries[id].backoff_end(&self.backoff_rule)
    }

    pub(super) fn next_order(&mut self) -> u32 {
        self.arrivals = self.arrivals.wrapping_add(1);
        self.arrivals
    }

    pub(super) fn due(&self, id: u32, order: u32) -> Due<S::Rank> {
        Due { until: End::new(self.backoff_end(id)), ranked: self.ranked(id, order) }
    }

    fn error_due(&self, id: u32, order: u32) -> Due<()> {
        Due { until: End::new(self.backoff_end(id)), ranked: Ranked { rank: (), order, id } }
    }

    /// Asks the entry's gates, the one that holds it first. The first that refuses holds it and
    /// becomes one of its rejectors.
    pub(super) fn is_held(&mut self, id: u32) -> bool {
        let Entry { item, record, .. } = &mut self.entries[id];
        let gates = self.plugins.gates(item.profile());
        if gates.is_empty() {
            record.gate = None;
            return false;
        }
        let holder = record.gate.filter(|gate| gates.contains(gate));
        let others = gates.iter().copied().filter(|gate| Some(*gate) != holder);
        let before = self.observer.ticks();
        record.gate = holder.into_iter().chain(others).find(|&plugin| {
            let open = self.policy.gate(plugin, item) == Gate::Open;
            self.observer.gate(&GateVerdict { plugin, item, open });
            !open
        });
        let cost = self.observer.ticks().saturating_sub(before);
        self.observer.gates(item, cost);
        if let Some(plugin) = record.gate {
            record.rejection = self.rejections.exchange_with(record.rejection, plugin);
        }
        record.gate.is_some()
    }
}

impl<P: Policy, S: QueueSort<P::Item>, V> Queue<P, S, V> {
    /// Where an entry is, in the words that others use.
    pub(super) fn place_of(&self, id: u32) -> Option<Place> {
        let entry = self.entries.get(id)?;
        Some(match entry.spot {
            Spot::Nowhere => return None,
            Spot::Active { .. } => Place::Active,
            Spot::Backoff { .. } => Place::Backoff { until: entry.backoff_end(&self.backoff_rule) },
            Spot::ErrorBackoff { .. } => {
                Place::ErrorBackoff { until: entry.backoff_end(&self.backoff_rule) }
            }
            Spot::Pool(_) => match entry.record.gate {
                Some(by) => Place::Gated { by },
                None => Place::Unschedulable,
            },
            Spot::InFlight { .. } => Place::InFlight,
        })
    }

    pub(super) fn ranked(&self, id: u32, order: u32) -> Ranked<S::Rank> {
        let entry = &self.entries[id];
        Ranked { rank: self.sort.rank(&entry.item, entry.record.timestamp), order, id }
    }

    /// Which bucket of the pool an entry belongs to.
    pub(super) fn bucket_key(&self, entry: &Entry<P::Item>) -> BucketKey {
        BucketKey {
            rejection: entry.record.rejection,
            profile: entry.item.profile(),
            gate: entry.record.gate,
        }
    }

    pub(super) fn is_older_way(&self) -> bool {
        self.config.requeueing == Requeueing::MoveRequestCycle
    }
}

/// Files an item under a node, after ending what nomination it had. An item that is gone, or
/// that runs somewhere, is not nominated.
pub(super) fn file<P: Policy>(
    nominator: &mut crate::nominator::Nominator<P::Item>,
    policy: &P,
    item: &P::Item,
    node: Option<NodeId>,
) {
    nominator.remove(item.key(), item.incarnation());
    if let Some(node) = node.filter(|_| policy.may_be_nominated(item.key())) {
        nominator.file(item.key(), item.incarnation(), node);
    }
}
