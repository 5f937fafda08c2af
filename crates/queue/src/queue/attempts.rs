//! Attempts: how they begin, and how they end.

use std::fmt;

use super::Queue;
use super::placing::{Step, Strategy};
use crate::entry::{Marker, Record, Spot};
use crate::in_flight::Logged;
use crate::item::Item;
use crate::observer::{Cause, Observer};
use crate::order::QueueSort;
use crate::place::Place;
use crate::plugin::PluginId;
use crate::policy::Policy;
use crate::rejection::RejectionId;
use crate::time::{MaybeTime, Time};

/// An attempt under way. It ends by being [finished](Queue::finish) or
/// [rejected](Queue::reject); until then the queue keeps the events that happen.
#[derive(Debug)]
#[must_use = "an attempt that is neither finished nor rejected keeps its item in flight for ever"]
pub struct Attempt {
    queue: u32,
    id: u32,
    cycle: u32,
    number: u32,
}

impl Attempt {
    /// How many attempts there were on this item, this one included.
    pub fn number(&self) -> u32 {
        self.number
    }
}

/// An item whose attempt is finished. Normally it is let go; should it fail after all, as a
/// binding may, it is [taken back](Queue::reject_finished).
#[derive(Debug)]
pub struct Finished<T> {
    item: T,
    record: Record,
}

impl<T> Finished<T> {
    /// The item.
    pub fn item(&self) -> &T {
        &self.item
    }

    /// The item, for good.
    pub fn into_item(self) -> T {
        self.item
    }

    /// How many attempts there were on it.
    pub fn attempts(&self) -> u32 {
        self.record.attempts
    }

    /// When it first was ready to be tried.
    pub fn first_ready(&self) -> Option<Time> {
        self.record.initial_attempt.get()
    }

    /// Whether its last attempt came only because it had been in the pool for too long.
    pub fn was_flushed(&self) -> bool {
        self.record.was_flushed
    }
}

/// Why an attempt failed, and what comes back.
#[derive(Clone, Debug)]
pub struct Rejection<'a, T> {
    /// Plugins that found no way to place the item.
    pub unschedulable: &'a [PluginId],
    /// Plugins that wait for something in particular; when it happens, the item does not back
    /// off.
    pub pending: &'a [PluginId],
    /// The item's newest version, where the queue was not told of it by an update.
    pub newest: Option<T>,
    /// The scheduling cycle in which the attempt failed, for the older way of requeueing; the
    /// queue's current one if `None`.
    pub cycle: Option<u64>,
}

impl<'a, T> Rejection<'a, T> {
    /// These plugins rejected the item.
    pub fn by(unschedulable: &'a [PluginId]) -> Self {
        Self { unschedulable, pending: &[], newest: None, cycle: None }
    }

    /// Nobody rejected the item: something went wrong, and it is tried again after a backoff.
    pub fn error() -> Self {
        Self::by(&[])
    }

    /// These plugins wait for something in particular.
    pub fn pending(self, pending: &'a [PluginId]) -> Self {
        Self { pending, ..self }
    }

    /// The item's newest version. It is proof that the item exists, so that it comes back even
    /// if the queue was told that it was deleted.
    pub fn newest(self, item: T) -> Self {
        Self { newest: Some(item), ..self }
    }
}

/// Why an item did not come back from an attempt. The attempt is over all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectError {
    /// Another item waits under its key, in this place.
    AlreadyWaiting(Place),
    /// It was deleted during the attempt.
    Deleted,
    /// The attempt is not one of this queue's.
    UnknownAttempt,
}

impl fmt::Display for RejectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyWaiting(Place::Active) => "an item of that key is already active",
            Self::AlreadyWaiting(Place::Backoff { .. } | Place::ErrorBackoff { .. }) => {
                "an item of that key already backs off"
            }
            Self::AlreadyWaiting(_) => "an item of that key is already unschedulable",
            Self::Deleted => "the item was deleted during the attempt",
            Self::UnknownAttempt => "the attempt is not one of this queue's",
        })
    }
}

impl std::error::Error for RejectError {}

impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Takes the most urgent item and opens an attempt on it.
    ///
    /// `None` means that nothing may be tried at `now`. While nothing is active the item whose
    /// backoff ends first is taken, however long it has still to go, if
    /// [so configured](crate::Config::pop_from_backoff).
    pub fn pop(&mut self, now: Time) -> Option<Attempt> {
        let now = self.at(now);
        loop {
            let (id, cause) = if let Some(ranked) = self.active.pop_first() {
                (ranked.id, Cause::Popped)
            } else if self.config.pop_from_backoff {
                (self.backoff.pop_first()?.ranked.id, Cause::PoppedFromBackoff)
            } else {
                return None;
            };
            if let Some(attempt) = self.begin(id, cause, now) {
                return Some(attempt);
            }
        }
    }

    /// Opens an attempt on the item of that key, whatever its turn. `None` if it does not wait,
    /// or if a gate refuses it.
    pub fn pop_specific(&mut self, key: &<P::Item as Item>::Key, now: Time) -> Option<Attempt> {
        let now = self.at(now);
        self.force_active(key, now);
        let id = self.waiting_id(key)?;
        let Spot::Active { order } = self.entries[id].spot else { return None };
        let ranked = self.ranked(id, order);
        if !self.active.remove(&ranked) {
            self.active.remove_where(|other| other.id == id);
        }
        self.begin(id, Cause::Popped, now)
    }

    /// Ends an attempt: the item leaves the queue, and no more events are kept for it.
    ///
    /// `None` if the attempt is not one of this queue's.
    pub fn finish(&mut self, attempt: Attempt) -> Option<Finished<P::Item>> {
        let id = self.resolve(&attempt)?;
        self.end(id);
        self.index.remove(id, &self.entries);
        let entry = self.entries.remove(id)?;
        // A finished item is in nobody's books: its rejectors count for it no more.
        self.rejections.release(entry.record.rejection);
        let record = Record { rejection: RejectionId::NOBODY, ..entry.record };
        let step =
            Step { from: Some(Place::InFlight), cause: Cause::Finished, now: self.now, by: None };
        self.tell_gone(&entry.item, step);
        Some(Finished { item: entry.item, record })
    }

    /// Ends an attempt that failed: the item comes back and waits for an event, for its backoff
    /// to end, or, if an event already happened that may help, for its turn.
    ///
    /// Returns where it waits.
    ///
    /// # Errors
    ///
    /// The attempt is over and the item gone if another one of its key waits already, if it was
    /// deleted meanwhile, or if the attempt is not one of this queue's.
    pub fn reject(
        &mut self,
        attempt: Attempt,
        rejection: Rejection<'_, P::Item>,
        now: Time,
    ) -> Result<Place, RejectError> {
        let now = self.at(now);
        let id = self.resolve(&attempt).ok_or(RejectError::UnknownAttempt)?;
        let result = self.put_back(id, Some(Place::InFlight), rejection, now);
        if result.is_err() {
            self.end(id);
            self.discard(id, Some(Place::InFlight), now);
        }
        result
    }

    /// Takes an item back whose attempt was finished and then failed after all. No events were
    /// kept for it, so it backs off whoever rejected it.
    ///
    /// # Errors
    ///
    /// The item is gone if another one of its key waits already.
    pub fn reject_finished(
        &mut self,
        finished: Finished<P::Item>,
        rejection: Rejection<'_, P::Item>,
        now: Time,
    ) -> Result<Place, RejectError> {
        let now = self.at(now);
        let Finished { item, record } = finished;
        let id = self.admit(item, record);
        self.entries[id].spot = Spot::InFlight { marker: Marker::NONE, cycle: 0, deleted: false };
        let result = self.put_back(id, None, rejection, now);
        if result.is_err() {
            self.discard(id, None, now);
        }
        result
    }

    /// Ends all attention to attempts under way, and marks the queue as closed. What waits may
    /// still be popped.
    pub fn close(&mut self) {
        self.closed = true;
        let under_way: Vec<u32> = self.in_flight_ids().collect();
        for id in under_way {
            self.end(id);
        }
    }

    /// An entry that was taken out of its order becomes an attempt; `None` if the same
    /// incarnation is under way already, and this entry was dropped.
    fn begin(&mut self, id: u32, cause: Cause<'_>, now: Time) -> Option<Attempt> {
        let from = self.place_of(id);
        let record = &mut self.entries[id].record;
        record.attempts = record.attempts.saturating_add(1);
        let marker = if self.hints() {
            let entry = &self.entries[id];
            if entry.record.has_twin && self.watched_attempt(&entry.item).is_some() {
                self.discard(id, from, now);
                return None;
            }
            // Set before the caller looks at the world: an event in between must count as seen
            // during this attempt, or the item could sleep through its cure.
            Marker::some(self.in_flight.begin())
        } else {
            Marker::NONE
        };
        self.scheduling_cycle += 1;
        let cycle = self.scheduling_cycle as u32;
        self.entries[id].spot = Spot::InFlight { marker, cycle, deleted: false };
        self.tell(id, Step { from, cause, now, by: None });
        let number = self.entries[id].record.attempts;
        Some(Attempt { queue: self.serial, id, cycle, number })
    }

    fn put_back(
        &mut self,
        id: u32,
        from: Option<Place>,
        rejection: Rejection<'_, P::Item>,
        now: Time,
    ) -> Result<Place, RejectError> {
        let Spot::InFlight { marker, deleted, .. } = self.entries[id].spot else {
            return Err(RejectError::UnknownAttempt);
        };
        match rejection.newest {
            Some(newest) => {
                self.index.remove(id, &self.entries);
                self.entries[id].record.hash = self.index.hash::<P::Item>(newest.key());
                self.entries[id].item = newest;
                self.index.insert(id, &self.entries);
            }
            None if deleted => return Err(RejectError::Deleted),
            None => {}
        }
        let entry = &self.entries[id];
        let present = self.index.look_up(entry.item.key(), entry.record.hash, &self.entries);
        if let Some(place) = present.waiting.and_then(|other| self.place_of(other)) {
            return Err(RejectError::AlreadyWaiting(place));
        }

        let rejectors = self.rejections.hold(rejection.unschedulable, rejection.pending);
        let record = &mut self.entries[id].record;
        self.rejections.release(record.rejection);
        record.rejection = rejectors;
        record.gate = None;
        if rejectors == RejectionId::NOBODY {
            record.consecutive_errors = record.consecutive_errors.saturating_add(1);
        } else {
            record.unschedulable_count = record.unschedulable_count.saturating_add(1);
            record.consecutive_errors = 0;
        }
        record.timestamp = now;
        record.flushed_at = MaybeTime::NONE;
        record.was_flushed = false;
        // The look-up found this attempt itself, which is over.
        record.has_twin = present.attempts > 1;

        let step = Step { from, cause: Cause::Failure, now, by: None };
        let place = if self.is_older_way() {
            self.entries[id].spot = Spot::Nowhere;
            let cycle = rejection.cycle.unwrap_or(self.scheduling_cycle);
            let moved = self.move_request_cycle.is_some_and(|latest| latest >= cycle);
            if moved || rejectors == RejectionId::NOBODY {
                self.enter_backoff(id, step)
            } else {
                self.enter_pool(id, step)
            }
        } else {
            let strategy = self.worth_coming_back(id, marker);
            self.entries[id].spot = Spot::Nowhere;
            self.requeue(id, strategy, step)
        };
        self.stop_keeping(marker);
        Ok(place)
    }

    /// How a failed item comes back, in view of what happened during its attempt.
    fn worth_coming_back(&mut self, id: u32, marker: Marker) -> Strategy {
        let rejectors = self.rejections.get(self.entries[id].record.rejection);
        let Some(marker) = marker.get().filter(|_| !rejectors.is_empty()) else {
            return Strategy::AfterBackoff;
        };
        let may_skip_backoff = !rejectors.pending().is_empty();
        let seen = self.in_flight.since(marker);
        let mut strategy = if seen.lost { Strategy::AfterBackoff } else { Strategy::Skip };
        for logged in seen.events {
            if strategy == Strategy::Immediately
                || (strategy == Strategy::AfterBackoff && !may_skip_backoff)
            {
                break;
            }
            let answer = match logged {
                Logged::Activated(activated) if *activated == id => Strategy::AfterBackoff,
                Logged::Activated(_) => Strategy::Skip,
                Logged::Event(event, interest) => {
                    let court = super::events::Court { event, interest, now: self.now };
                    let entry = &self.entries[id];
                    court.judge_one(&entry.item, rejectors, &self.policy, &mut self.observer)
                }
            };
            strategy = strategy.max(answer);
        }
        strategy
    }

    /// The attempt under way on this incarnation for which events are kept.
    pub(super) fn watched_attempt(&self, item: &P::Item) -> Option<u32> {
        self.attempts_on(item.key()).find(|&id| {
            let entry = &self.entries[id];
            entry.item.incarnation() == item.incarnation() && entry.marker().is_some()
        })
    }

    /// No more events are kept for the attempt on this entry.
    fn end(&mut self, id: u32) {
        if let Spot::InFlight { marker, .. } = &mut self.entries[id].spot {
            let marker = std::mem::replace(marker, Marker::NONE);
            self.stop_keeping(marker);
        }
    }

    fn stop_keeping(&mut self, marker: Marker) {
        if let Some(marker) = marker.get() {
            self.in_flight.end(marker);
        }
    }
}

impl<P: Policy, S: QueueSort<P::Item>, V> Queue<P, S, V> {
    /// The slot that an attempt of this queue speaks of.
    pub(super) fn resolve(&self, attempt: &Attempt) -> Option<u32> {
        let entry = self.entries.get(attempt.id)?;
        let is_it = match entry.spot {
            Spot::InFlight { cycle, .. } => {
                self.serial == attempt.queue
                    && cycle == attempt.cycle
                    && entry.record.attempts == attempt.number
            }
            _ => false,
        };
        is_it.then_some(attempt.id)
    }
}
