//! The scheduling queue in its plainest form: an executable reading of `spec/queue.md`.
//!
//! Everything is a list that is searched from the front. There is no heap, no index and no cache
//! to be wrong about, and the section numbers in the comments are those of the specification.
//! One thing differs from the real queue on purpose: a pod waits in one place at most (D1), so
//! what the real one does when it loses count cannot happen here.

mod backoff;
mod in_flight;
mod nominator;
mod place;
mod questions;
mod record;
mod requeue;

use std::collections::BTreeMap;
use std::sync::Arc;

use backoff::Backoff;
use in_flight::InFlight;
use nominator::Nominator;
use place::{Origin, Place};
use record::Record;
use requeue::{Registrations, Strategy};

use crate::subject::{Change, Failure, Object, PodUpdate, Popped, Reach, Subject};
use crate::trace::{Action, AlreadyQueued, Event, Header, Pending, Pod, PodName, State, Uid};

/// The reference queue.
#[derive(Clone)]
pub struct Reference {
    queueing_hints: bool,
    pop_from_backoff: bool,
    max_in_unschedulable_ms: u64,
    backoff: Backoff,
    registrations: Registrations,
    /// Every pod that waits; no name is in it twice.
    waiting: Vec<(Place, Record)>,
    in_flight: InFlight,
    nominator: Nominator,
    cycle: i64,
    move_cycle: i64,
    incoming: BTreeMap<String, u64>,
}

impl Subject for Reference {
    type Attempt = Record;

    const NAME: &'static str = "reference";

    fn open(header: &Header) -> Self {
        Self {
            queueing_hints: header.queueing_hints,
            pop_from_backoff: header.pop_from_backoff,
            max_in_unschedulable_ms: header.max_in_unschedulable_ms,
            backoff: Backoff::new(header),
            registrations: Registrations::new(header),
            waiting: Vec::new(),
            in_flight: InFlight::default(),
            nominator: Nominator::default(),
            cycle: 0,
            move_cycle: -1,
            incoming: BTreeMap::new(),
        }
    }

    fn lister_has(&mut self, pod: &Arc<Pod>) {
        self.nominator.lister_has(pod);
    }

    fn lister_lost(&mut self, name: &PodName) {
        self.nominator.lister_lost(name);
    }

    /// 7.1.
    fn add(&mut self, now_ms: u64, pod: &Arc<Pod>) {
        // Upstream queues a copy and throws it away when it is popped (D1).
        if !self.in_flight.has(&pod.uid) {
            self.enter_active(Record::new(pod, now_ms), "UnschedulablePodAdd", Origin::Elsewhere);
        }
    }

    /// 7.5.
    fn pop(&mut self, _now_ms: u64) -> Option<Popped<Record>> {
        let (place, name) = self.next()?;
        let mut record = self.remove(&name)?;
        if place == Place::Backoff {
            self.count("active", "PopFromBackoffQ");
        }
        record.attempts += 1;
        self.cycle += 1;
        if self.queueing_hints {
            self.in_flight.begin(&record.pod);
        }
        Some(Popped { name, uid: record.pod.uid.clone(), attempt: record })
    }

    /// 7.8.
    fn reject(
        &mut self,
        now_ms: u64,
        mut record: Record,
        failure: &Failure<'_>,
    ) -> Result<(), AlreadyQueued> {
        record.take_blame(failure);
        let outcome = match self.place_of(&record.name()) {
            Some(Place::Pool) => Err(AlreadyQueued::Unschedulable),
            Some(Place::Active) => Err(AlreadyQueued::Active),
            Some(Place::Backoff | Place::ErrorBackoff) => Err(AlreadyQueued::Backoff),
            None => {
                record.came_back(now_ms);
                self.take_back(now_ms, record, failure.cycle.unwrap_or(self.cycle));
                Ok(())
            }
        };
        self.in_flight.end(&failure.pod.uid);
        outcome
    }

    /// 7.7.
    fn done(&mut self, _now_ms: u64, record: &mut Record) {
        self.in_flight.end(&record.pod.uid);
    }

    fn discard(&mut self, _record: Record) {}

    /// 7.2.
    fn update(&mut self, now_ms: u64, update: &PodUpdate) {
        if self.in_flight.has(&update.new.uid) {
            for change in update.changes() {
                self.in_flight.keep(change);
            }
            return;
        }
        let name = update.new.full_name();
        let Some((place, record)) = self.get_mut(&name) else {
            let record = Record::new(&update.new, now_ms);
            self.enter_active(record, "UnschedulablePodUpdate", Origin::Elsewhere);
            return;
        };
        record.pod = update.new.clone();
        let (place, record) = (*place, record.clone());
        self.nominator.update(&update.old, &update.new);
        match place {
            Place::Active | Place::Backoff | Place::ErrorBackoff => {}
            Place::Pool if self.queueing_hints => self.update_in_pool(now_ms, update),
            Place::Pool => self.update_in_pool_the_older_way(now_ms, record, update),
        }
    }

    /// 7.3.
    fn delete(&mut self, _now_ms: u64, pod: &Arc<Pod>) {
        self.nominator.remove(&pod.uid);
        self.remove(&pod.full_name());
    }

    /// 7.9, and 7.11: they differ only in whom they reach.
    fn happened(&mut self, now_ms: u64, change: &Change, reach: Reach<'_>) {
        let candidates = self.waiting.iter().filter(|(place, record)| {
            *place == Place::Pool
                && reach.includes(&record.pod, |plugin| record.unschedulable.contains(plugin))
        });
        let candidates = candidates.map(|(_, record)| record.name()).collect();
        self.move_pods(now_ms, candidates, change, &change.event.label());
    }

    /// 7.4.
    fn activate(&mut self, _now_ms: u64, pods: &[Arc<Pod>]) {
        for pod in pods {
            if !self.activate_one(&pod.full_name()) {
                if self.in_flight.has(&pod.uid) {
                    let new = Some(Object::from_pod(pod));
                    self.in_flight.keep(Change { new, ..wildcard() });
                }
                self.move_cycle = self.cycle;
            }
        }
    }

    fn nominate(&mut self, pod: &Arc<Pod>, node: Option<&str>) {
        self.nominator.add(pod, node);
    }

    fn unnominate(&mut self, pod: &Arc<Pod>) {
        self.nominator.remove(&pod.uid);
    }

    /// 7.12.
    fn flush_backoff(&mut self, now_ms: u64) {
        let is_over = |(place, record): &&(Place, Record)| {
            matches!(place, Place::Backoff | Place::ErrorBackoff)
                && !self.backoff.lasts(record, now_ms)
        };
        let over: Vec<_> = self.waiting.iter().filter(is_over).map(|(_, it)| it.name()).collect();
        for name in over {
            if let Some(record) = self.remove(&name) {
                self.enter_active(record, "BackoffComplete", Origin::Backoff);
            }
        }
    }

    /// 7.13.
    fn flush_unschedulable(&mut self, now_ms: u64) {
        let limit_ms = self.max_in_unschedulable_ms;
        let mut leftover = Vec::new();
        for (place, record) in &mut self.waiting {
            if *place == Place::Pool
                && now_ms.saturating_sub(record.untouched_since_ms()) > limit_ms
            {
                record.flushed_ms = Some(now_ms);
                leftover.push(record.name());
            }
        }
        if !leftover.is_empty() {
            self.move_pods(now_ms, leftover, &wildcard(), "UnschedulableTimeout");
        }
    }

    fn nominated(&self, node: &str) -> Vec<PodName> {
        self.nominator.nominated(node)
    }

    fn waiting(&self, name: &PodName) -> Option<Uid> {
        self.get(name).map(|(_, record)| record.pod.uid.clone())
    }

    fn state(&self) -> State {
        let mut state = State {
            in_flight: self.in_flight.names(),
            in_flight_events: self.in_flight.events(),
            cycle: self.cycle,
            move_cycle: self.move_cycle,
            ..State::default()
        };
        for (place, record) in &self.waiting {
            let name = record.name();
            state.pods.insert(name.clone(), record.state());
            match place {
                Place::Active => state.active.push(name),
                Place::Backoff | Place::ErrorBackoff => {
                    state.backoff.push((name, self.backoff.end_ms(record).unwrap_or(0)));
                }
                Place::Pool if record.is_gated => state.gated.push(name),
                Place::Pool => state.unschedulable.push(name),
            }
        }
        state.active.sort();
        state.backoff.sort();
        state.unschedulable.sort();
        state.gated.sort();
        state.in_flight.sort();
        state
    }

    fn incoming(&self) -> BTreeMap<String, u64> {
        self.incoming.clone()
    }

    fn pending(&self) -> Pending {
        let mut pending = Pending::default();
        for (place, record) in &self.waiting {
            match place {
                Place::Active => pending.active += 1,
                Place::Backoff | Place::ErrorBackoff => pending.backoff += 1,
                Place::Pool if record.is_gated => pending.gated += 1,
                Place::Pool => pending.unschedulable += 1,
            }
        }
        pending
    }
}

/// The parts of operations.
impl Reference {
    /// The pod that a pop takes: the first of active, or else the first of backoff (section 3).
    fn next(&self) -> Option<(Place, PodName)> {
        let of = |wanted: Place| {
            self.waiting.iter().filter(move |(place, _)| *place == wanted).map(|(_, it)| it)
        };
        let active = of(Place::Active).min_by_key(|record| record.urgency());
        if let Some(record) = active {
            return Some((Place::Active, record.name()));
        }
        if !self.pop_from_backoff {
            return None;
        }
        let backoff = of(Place::Backoff);
        let first = backoff.min_by_key(|record| (self.backoff.end_ms(record), record.urgency()))?;
        Some((Place::Backoff, first.name()))
    }

    /// 7.8 from step 4 on.
    fn take_back(&mut self, now_ms: u64, record: Record, cycle: i64) {
        let label = "ScheduleAttemptFailure";
        if self.queueing_hints {
            let strategy = self.strategy_coming_back(&record);
            self.requeue(now_ms, record, strategy, label);
        } else if self.move_cycle >= cycle || !record.has_rejector() {
            self.enter_backoff(record, label);
        } else {
            self.enter_pool(record, label);
        }
    }

    /// 9.2.
    fn strategy_coming_back(&self, record: &Record) -> Strategy {
        if !record.has_rejector() {
            return Strategy::AfterBackoff;
        }
        let Some(seen) = self.in_flight.since(&record.pod.uid) else {
            return Strategy::AfterBackoff;
        };
        let answers = seen.map(|change| self.registrations.worth_requeueing(record, change));
        answers.max().unwrap_or(Strategy::Skip)
    }

    /// 7.2 step 4.
    fn update_in_pool(&mut self, now_ms: u64, update: &PodUpdate) {
        let name = update.new.full_name();
        for change in update.changes() {
            let Some((place, record)) = self.get(&name).cloned() else {
                return;
            };
            let strategy = self.registrations.worth_requeueing(&record, &change);
            // Without popping, an earlier kind may have moved it to backoff. Upstream then puts
            // it into the pool as well (D1); here it stays where it is.
            if strategy == Strategy::Skip && place != Place::Pool {
                continue;
            }
            match self.requeue(now_ms, record, strategy, &change.event.label()) {
                Place::Active => return,
                Place::Backoff | Place::ErrorBackoff if self.pop_from_backoff => return,
                Place::Backoff | Place::ErrorBackoff | Place::Pool => {}
            }
        }
    }

    /// Section 11, "Update, pod in pool".
    fn update_in_pool_the_older_way(&mut self, now_ms: u64, record: Record, update: &PodUpdate) {
        let label = "UnschedulablePodUpdate";
        if !update.is_more_than_status {
            return;
        }
        if self.backoff.lasts(&record, now_ms) {
            self.enter_backoff(record, label);
        } else {
            self.enter_active(record, label, Origin::Elsewhere);
        }
    }

    fn activate_one(&mut self, name: &PodName) -> bool {
        match self.get(name).cloned() {
            Some((Place::Pool, record)) => {
                self.enter_active(record, "ForceActivate", Origin::Elsewhere)
            }
            Some((Place::Backoff | Place::ErrorBackoff, record)) => {
                // Taken out first: if a gate holds it now, it counts as new to the pool.
                self.remove(name);
                self.enter_active(record, "ForceActivate", Origin::Backoff)
            }
            Some((Place::Active, _)) | None => false,
        }
    }

    /// 7.10.
    fn move_pods(&mut self, now_ms: u64, names: Vec<PodName>, change: &Change, label: &str) {
        if !self.registrations.is_of_interest(&change.event) {
            return;
        }
        for name in names {
            let Some((_, record)) = self.get(&name) else {
                continue;
            };
            if record.is_gated && !self.registrations.gate_hears(&change.event) {
                continue;
            }
            let strategy = self.registrations.worth_requeueing(record, change);
            if strategy == Strategy::Skip {
                continue;
            }
            // Taken out first: if a gate still holds it, it counts as new to the pool.
            if let Some(record) = self.remove(&name) {
                self.requeue(now_ms, record, strategy, label);
            }
        }
        self.move_cycle = self.cycle;
        if !self.in_flight.is_empty() {
            self.in_flight.keep(change.clone());
        }
    }
}

/// The event that everyone hears.
fn wildcard() -> Change {
    Change { event: Event::new("*", Action::ALL), old: None, new: None }
}
