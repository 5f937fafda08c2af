//! The scheduling queue.

mod attempts;
mod changes;
mod events;
mod invariants;
mod placing;
mod questions;
mod timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::backoff::Backoff;
use crate::config::{Config, Requeueing};
use crate::entry::Entry;
use crate::event::{Action, Event, Resource};
use crate::in_flight::InFlight;
use crate::index::Index;
use crate::item::{Item, Profile};
use crate::nominator::Nominator;
use crate::order::{PrioritySort, QueueSort};
use crate::plugin::{Interest, Plugin, PluginId, Plugins};
use crate::policy::Policy;
use crate::pool::Pool;
use crate::rejection::Rejections;
use crate::slab::Slab;
use crate::sorted::SortedList;
use crate::time::Time;

pub use attempts::{Attempt, Finished, RejectError, Rejection};
pub use events::Audience;
pub use questions::{Counts, Held, Nominated, Waiting};
use timers::Timers;

/// The scheduling queue: a state machine that is told what happens and when.
///
/// Its methods are of four kinds:
///
/// - what the owner wants: [`add`](Self::add), [`pop`](Self::pop), [`finish`](Self::finish),
///   [`reject`](Self::reject), [`activate`](Self::activate), [`nominate`](Self::nominate) …;
/// - what happened: [`update`](Self::update), [`delete`](Self::delete),
///   [`on_event`](Self::on_event), [`on_time`](Self::on_time);
/// - questions: [`place`](Self::place), [`get`](Self::get), [`counts`](Self::counts), and the
///   listings;
/// - what the owner must do next: [`next_wakeup`](Self::next_wakeup).
///
/// # Misuse
///
/// No sequence of calls panics. A time before an earlier call's counts as that call's time. An
/// unknown key is left alone. An item that is added while one of its name waits takes the other
/// one's place, with a new record. An attempt that belongs to another queue is refused.
///
/// Items never wait twice under one key, but an item may be added or updated under a key whose
/// earlier incarnation is still in flight; the two then know nothing of each other, except that
/// an attempt cannot come back while another item waits under its key.
pub struct Queue<P, S = PrioritySort, V = ()>
where
    P: Policy,
    S: QueueSort<P::Item>,
{
    config: Config,
    backoff_rule: Backoff,
    plugins: Plugins,
    policy: P,
    sort: S,
    observer: V,

    entries: Slab<Entry<P::Item>>,
    index: Index,
    active: SortedList<Ranked<S::Rank>>,
    backoff: SortedList<Due<S::Rank>>,
    error_backoff: SortedList<Due<()>>,
    pool: Pool,
    rejections: Rejections,
    in_flight: InFlight<P::Object>,
    nominator: Nominator<P::Item>,

    /// Who hears of the kinds of event that happened lately.
    interests: Vec<(Resource, Action, Arc<Interest>)>,
    scheduling_cycle: u64,
    move_request_cycle: Option<u64>,
    /// Counts arrivals in ordered places. It may wrap: it only breaks ties between equal ranks.
    arrivals: u32,
    now: Time,
    timers: Option<Timers>,
    closed: bool,
    /// Tells this queue's attempts from those of others.
    serial: u32,
}

/// An active item in its order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked<R> {
    rank: R,
    order: u32,
    id: u32,
}

/// An item that backs off, in its order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Due<R> {
    until: End,
    ranked: Ranked<R>,
}

/// The end of a backoff; none at all comes before every end.
// As the ranks of priorities, aligned to four bytes, so that nothing is wasted between the two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End([u32; 2]);

impl End {
    fn new(until: Option<Time>) -> Self {
        let number = until.map_or(0, |until| until.as_nanos().saturating_add(1));
        Self([(number >> 32) as u32, number as u32])
    }

    fn get(self) -> Option<Time> {
        let number = u64::from(self.0[0]) << 32 | u64::from(self.0[1]);
        number.checked_sub(1).map(Time::from_nanos)
    }
}

/// Counts the queues that were made.
static QUEUES: AtomicU32 = AtomicU32::new(0);

impl<P: Policy> Queue<P> {
    /// An empty queue, ordered by priority, that nobody observes.
    pub fn new(config: Config, plugins: Plugins, policy: P) -> Self {
        Self::with(config, plugins, policy, PrioritySort, ())
    }
}

impl<P: Policy, S: QueueSort<P::Item>, V> Queue<P, S, V> {
    /// An empty queue with an order and an observer of its own.
    pub fn with(config: Config, plugins: Plugins, policy: P, sort: S, observer: V) -> Self {
        Self {
            backoff_rule: Backoff::new(&config),
            plugins,
            policy,
            sort,
            observer,
            entries: Slab::new(),
            index: Index::default(),
            active: SortedList::new(),
            backoff: SortedList::new(),
            error_backoff: SortedList::new(),
            pool: Pool::default(),
            rejections: Rejections::default(),
            in_flight: InFlight::new(config.max_in_flight_events),
            nominator: Nominator::new(),
            interests: Vec::new(),
            scheduling_cycle: 0,
            move_request_cycle: None,
            arrivals: 0,
            now: Time::ZERO,
            timers: None,
            closed: false,
            serial: QUEUES.fetch_add(1, Relaxed),
            config,
        }
    }

    /// What answers the queue's questions.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// What answers the queue's questions, to change its answers.
    pub fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }

    /// Who is told of everything.
    pub fn observer(&self) -> &V {
        &self.observer
    }

    /// Who is told of everything, to change it.
    pub fn observer_mut(&mut self) -> &mut V {
        &mut self.observer
    }

    /// The plugins that the queue was made with.
    pub fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    /// Adds a plugin, or more registrations of one, while the queue is in use. Items that the
    /// plugin rejects from now on are woken by what it registered for.
    pub fn add_plugin(&mut self, profile: Profile, plugin: Plugin) -> PluginId {
        self.interests.clear();
        self.plugins.add_to(profile, plugin)
    }

    /// How the queue was told to behave.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Time never goes back: a time before the latest known one counts as that one.
    fn at(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    fn hints(&self) -> bool {
        self.config.requeueing == Requeueing::QueueingHints
    }

    /// Who hears of such events.
    fn interest(&mut self, event: &Event<P::Object>) -> Arc<Interest> {
        let known = self
            .interests
            .iter()
            .find(|(resource, action, _)| *action == event.action && *resource == event.resource);
        if let Some((_, _, interest)) = known {
            return Arc::clone(interest);
        }
        // Kinds of event are few; should somebody invent them without end, start afresh.
        if self.interests.len() >= 64 {
            self.interests.clear();
        }
        let interest = Arc::new(self.plugins.interest(event, self.hints()));
        self.interests.push((event.resource.clone(), event.action, Arc::clone(&interest)));
        interest
    }

    /// Every move of interest leaves its mark for the older way of requeueing.
    fn note_move_request(&mut self) {
        self.move_request_cycle = Some(self.scheduling_cycle);
    }

    fn waiting_id(&self, key: &<P::Item as Item>::Key) -> Option<u32> {
        self.index.look_up(key, self.index.hash::<P::Item>(key), &self.entries).waiting
    }

    /// Attempts under way on items of that key, in no particular order.
    fn attempts_on(&self, key: &<P::Item as Item>::Key) -> impl Iterator<Item = u32> {
        self.index.in_flight(key, self.index.hash::<P::Item>(key), &self.entries)
    }
}

#[cfg(test)]
mod tests;
