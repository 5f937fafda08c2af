//! What an event moves.

use super::Queue;
use super::placing::{Step, Strategy};
use crate::entry::Spot;
use crate::event::Event;
use crate::in_flight::Logged;
use crate::item::Item;
use crate::observer::{Cause, HintVerdict, Observer, Verdict};
use crate::order::QueueSort;
use crate::place::Place;
use crate::plugin::{Ask, Asks, Interest, PluginId};
use crate::policy::{Hint, Policy};
use crate::pool::{Bucket, Group};
use crate::rejection::{Rejectors, Standing};
use crate::time::Time;

/// Which waiting items an event is for: the event's pre-check.
///
/// Attempts under way hear of the event whatever its audience.
pub enum Audience<'a, T> {
    /// All of them.
    Everyone,
    /// Those of whose class the predicate, asked of one item, is true.
    Classes(&'a dyn Fn(&T, &Rejectors) -> bool),
    /// Those of which the predicate is true, asked of every item.
    Items(&'a dyn Fn(&T, &Rejectors) -> bool),
}

impl<T> Audience<'_, T> {
    fn admits(&self, item: &T, rejectors: &Rejectors) -> bool {
        match self {
            Self::Everyone => true,
            Self::Classes(is_for) | Self::Items(is_for) => is_for(item, rejectors),
        }
    }
}

impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Tells that something happened in the world. Items that it may help leave the pool.
    ///
    /// It costs what it touches: items that nobody who registered for the event rejected are
    /// not looked at, and of the others one for each class is, unless a hint
    /// [needs every item](Ask::Item).
    pub fn on_event(&mut self, event: Event<P::Object>, now: Time) {
        self.on_event_for(event, &Audience::Everyone, now);
    }

    /// Tells that something happened which is meant for some of the waiting items only, as
    /// kube-scheduler's older way does for pods that were bound: those that asked to be near one.
    pub fn on_event_for(
        &mut self,
        event: Event<P::Object>,
        audience: &Audience<'_, P::Item>,
        now: Time,
    ) {
        let now = self.at(now);
        let interest = self.interest(&event);
        if !interest.is_any() {
            return;
        }
        let moves = self.moves(&event, &interest, audience);
        let cause = Cause::Event(event.label());
        for (whom, Word { strategy, by }) in moves {
            match whom {
                Whom::Group(group, from) => {
                    for id in self.pool.take(group) {
                        self.entries[id].spot = Spot::Nowhere;
                        self.requeue(id, strategy, Step { from: Some(from), cause, now, by });
                    }
                }
                Whom::Item(id) => {
                    let from = self.detach(id);
                    self.requeue(id, strategy, Step { from, cause, now, by });
                }
            }
        }
        self.note_move_request();
        self.in_flight.record(Logged::Event(event, interest));
    }

    /// Whether one entry's own change is worth a retry.
    pub(super) fn worth(
        &mut self,
        id: u32,
        event: &Event<P::Object>,
        interest: &Interest,
    ) -> Strategy {
        let entry = &self.entries[id];
        let rejectors = self.rejections.get(entry.record.rejection);
        let court = Court { event, interest, now: self.now };
        court.judge_one(&entry.item, rejectors, &self.policy, &mut self.observer)
    }

    /// Whom the event moves out of the pool, and how.
    fn moves(
        &mut self,
        event: &Event<P::Object>,
        interest: &Interest,
        audience: &Audience<'_, P::Item>,
    ) -> Vec<(Whom, Word)> {
        let mut moves = Vec::new();
        let court = Court { event, interest, now: self.now };
        for bucket in self.pool.buckets() {
            let rejectors = self.rejections.get(bucket.key.rejection);
            if !court.concerns(bucket, rejectors) {
                continue;
            }
            let from = bucket.key.gate.map_or(Place::Unschedulable, |by| Place::Gated { by });
            for (at, group) in self.pool.groups_in(bucket) {
                let item = |id: u32| &self.entries[id].item;
                if let Some(representative) = court.speaks_for(group, rejectors, bucket, audience) {
                    let one = item(representative);
                    if !audience.admits(one, rejectors) {
                        continue;
                    }
                    let all = group.members.len();
                    let case = Case { item: one, items: all, rejectors };
                    let word = court.judge(&case, |_| true, &self.policy, &mut self.observer);
                    if word.strategy != Strategy::Skip {
                        moves.push((Whom::Group(at, from), word));
                    }
                    continue;
                }
                let mut shared = None;
                for &id in &group.members {
                    let one = item(id);
                    if !audience.admits(one, rejectors) {
                        continue;
                    }
                    let for_class = group.class.is_some();
                    let common = *shared.get_or_insert_with(|| {
                        let items = group.members.len();
                        let case = Case { item: one, items, rejectors };
                        let of_class = |ask| for_class && ask != Ask::Item;
                        court.judge(&case, of_class, &self.policy, &mut self.observer)
                    });
                    let case = Case { item: one, items: 1, rejectors };
                    let of_item = |ask| !for_class || ask == Ask::Item;
                    let own = court.judge(&case, of_item, &self.policy, &mut self.observer);
                    let word = if own.strategy > common.strategy { own } else { common };
                    if word.strategy != Strategy::Skip {
                        moves.push((Whom::Item(id), word));
                    }
                }
            }
        }
        moves
    }
}

/// Whom an event moves: a whole group of the pool, which was in this place, or one item.
enum Whom {
    Group(u32, Place),
    Item(u32),
}

/// What is to be done with items, and the plugin whose hint said so, if one was asked.
#[derive(Clone, Copy)]
struct Word {
    strategy: Strategy,
    by: Option<PluginId>,
}

impl Word {
    /// It takes no hint to say so.
    fn unasked(strategy: Strategy) -> Self {
        Self { strategy, by: None }
    }
}

/// Decides whether an event is worth a retry.
pub(super) struct Court<'a, O> {
    pub(super) event: &'a Event<O>,
    pub(super) interest: &'a Interest,
    pub(super) now: Time,
}

/// What is to be decided: an item, for how many it stands, and who rejected it.
struct Case<'a, T> {
    item: &'a T,
    items: usize,
    rejectors: &'a Rejectors,
}

impl<O> Court<'_, O> {
    /// The verdict on one item, all of its rejectors heard.
    pub(super) fn judge_one<P, V>(
        &self,
        item: &P::Item,
        rejectors: &Rejectors,
        policy: &P,
        observer: &mut V,
    ) -> Strategy
    where
        P: Policy<Object = O>,
        V: Observer<P::Item, O>,
    {
        self.judge(&Case { item, items: 1, rejectors }, |_| true, policy, observer).strategy
    }

    /// The verdict of those rejectors whose way of asking is `heard`.
    fn judge<P, V>(
        &self,
        case: &Case<'_, P::Item>,
        heard: impl Fn(Ask) -> bool,
        policy: &P,
        observer: &mut V,
    ) -> Word
    where
        P: Policy<Object = O>,
        V: Observer<P::Item, O>,
    {
        let &Case { item, rejectors, .. } = case;
        if rejectors.is_empty() {
            return Word::unasked(Strategy::AfterBackoff);
        }
        if self.event.is_wildcard() {
            let other = self.event.new.as_ref().is_some_and(|object| !policy.is_item(object, item));
            let strategy = if other { Strategy::Skip } else { Strategy::AfterBackoff };
            return Word::unasked(strategy);
        }
        let Some(asks) = self.interest.of(item.profile()) else {
            return Word::unasked(Strategy::AfterBackoff);
        };
        for (plugin, standing) in rejectors.iter() {
            let Some(ask) = asks.of(plugin).filter(|ask| heard(*ask)) else { continue };
            if ask != Ask::Nobody && !self.is_queue(plugin, case, policy, observer) {
                continue;
            }
            // Pending plugins come first, so none of those that follow can do better.
            let strategy = match standing {
                Standing::Pending => Strategy::Immediately,
                Standing::Unschedulable => Strategy::AfterBackoff,
            };
            return Word { strategy, by: Some(plugin).filter(|_| ask != Ask::Nobody) };
        }
        Word::unasked(Strategy::Skip)
    }

    /// Whether the plugin's hint says Queue, or fails.
    fn is_queue<P, V>(
        &self,
        plugin: PluginId,
        case: &Case<'_, P::Item>,
        policy: &P,
        observer: &mut V,
    ) -> bool
    where
        P: Policy<Object = O>,
        V: Observer<P::Item, O>,
    {
        let before = observer.ticks();
        let answer = policy.hint(plugin, case.item, self.event);
        let cost = observer.ticks().saturating_sub(before);
        let verdict = match &answer {
            Ok(Hint::Queue) => Verdict::Queue,
            Ok(Hint::Skip) => Verdict::Skip,
            Err(error) => Verdict::Error(&**error),
        };
        let &Case { item, items, .. } = case;
        let event = self.event;
        observer.hint(&HintVerdict { plugin, event, item, items, verdict, cost, at: self.now });
        !matches!(answer, Ok(Hint::Skip))
    }

    /// Whether anybody in the bucket may be moved by the event.
    fn concerns(&self, bucket: &Bucket, rejectors: &Rejectors) -> bool {
        if bucket.key.gate.is_some_and(|gate| !self.interest.reaches_gate(gate)) {
            return false;
        }
        if self.event.is_wildcard() || rejectors.is_empty() {
            return true;
        }
        match self.interest.of(bucket.key.profile) {
            Some(asks) => rejectors.iter().any(|(plugin, _)| asks.of(plugin).is_some()),
            None => true,
        }
    }

    /// The member of a group that may stand for all of it, if one may.
    fn speaks_for<T>(
        &self,
        group: &Group,
        rejectors: &Rejectors,
        bucket: &Bucket,
        audience: &Audience<'_, T>,
    ) -> Option<u32> {
        let for_everyone = matches!(audience, Audience::Everyone);
        let representative = *group.members.first()?;
        if self.event.is_wildcard() {
            return (for_everyone && self.event.new.is_none()).then_some(representative);
        }
        let needs_each = |asks: Asks<'_>| {
            rejectors.iter().any(|(plugin, _)| match asks.of(plugin) {
                Some(Ask::Item) => true,
                Some(Ask::Class) => group.class.is_none(),
                Some(Ask::Nobody) | None => false,
            })
        };
        let asked_of_each = self.interest.of(bucket.key.profile).is_some_and(needs_each);
        let may = match audience {
            Audience::Everyone => !asked_of_each,
            Audience::Classes(_) => !asked_of_each && group.class.is_some(),
            Audience::Items(_) => false,
        };
        may.then_some(representative)
    }
}

/// What is due by time alone.
impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Makes items active whose backoff has ended. kube-scheduler does it every second, and
    /// [`on_time`](Self::on_time) when it is due.
    pub fn flush_backoff(&mut self, now: Time) {
        let now = self.at(now);
        while let Some(due) = self.backoff.first()
            && !self.backoff_rule.is_under_way(due.until.get(), now)
        {
            let id = due.ranked.id;
            self.end_backoff(id, now);
        }
        while let Some(due) = self.error_backoff.first()
            && !self.backoff_rule.is_under_way(due.until.get(), now)
        {
            let id = due.ranked.id;
            self.end_backoff(id, now);
        }
    }

    /// Tries items again that have been in the pool for too long. kube-scheduler does it every
    /// thirty seconds, and [`on_time`](Self::on_time) when it is due.
    pub fn flush_leftover(&mut self, now: Time) {
        let now = self.at(now);
        // Strictly longer than the limit: a wait that began just then is not over.
        let limit = now.as_nanos().checked_sub(crate::time::nanos(self.config.leftover_after));
        let Some(limit) = limit.map(Time::from_nanos) else { return };
        let entries = &self.entries;
        let due = self.pool.since_before(limit, |id| entries[id].record.waiting_since());
        if due.is_empty() {
            return;
        }
        for id in due {
            let from = self.detach(id);
            let record = &mut self.entries[id].record;
            record.was_flushed = true;
            record.flushed_at = crate::time::MaybeTime::some(now);
            self.requeue(
                id,
                Strategy::AfterBackoff,
                Step { from, cause: Cause::Leftover, now, by: None },
            );
        }
        self.note_move_request();
        let event = Event::wildcard("UnschedulableTimeout");
        let interest = self.interest(&event);
        self.in_flight.record(Logged::Event(event, interest));
    }

    fn end_backoff(&mut self, id: u32, now: Time) {
        let from = self.detach(id);
        self.enter_active(id, Step { from, cause: Cause::BackoffComplete, now, by: None });
    }
}
