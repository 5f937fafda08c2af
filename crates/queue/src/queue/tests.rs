//! What the queue promises, one sentence a test. Recordings of the real queue and random runs
//! beside a naive one are in the conformance crate; here is what those cannot show.

use std::time::Duration;

use super::*;
use crate::config::Jitter;
use crate::observer::{Cause, GateVerdict, HintVerdict, Incoming, Observer, Transition};
use crate::place::Place;
use crate::plugin::{Ask, Plugin};
use crate::policy::{Gate, Hint, HintError};

const NODE: Resource = Resource::new("Node");
const VOLUME: Resource = Resource::new("Volume");
const SIZE: Action = Action::update(0, "UpdateSize");

#[derive(Clone, Debug)]
struct Job {
    name: &'static str,
    size: u64,
    priority: i32,
    life: u64,
    held: bool,
    profile: u16,
}

fn job(name: &'static str) -> Job {
    Job { name, size: 1, priority: 0, life: 0, held: false, profile: 0 }
}

impl Job {
    fn size(self, size: u64) -> Self {
        Self { size, ..self }
    }

    fn priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    fn life(self, life: u64) -> Self {
        Self { life, ..self }
    }

    fn held(self) -> Self {
        Self { held: true, ..self }
    }
}

impl Item for Job {
    type Key = str;

    fn key(&self) -> &str {
        self.name
    }

    fn priority(&self) -> i32 {
        self.priority
    }

    fn incarnation(&self) -> u64 {
        self.life
    }

    fn class(&self) -> Option<u64> {
        Some(self.size)
    }

    fn profile(&self) -> Profile {
        Profile(self.profile)
    }
}

/// A job fits a node of its size; it is held while it says so.
struct Rules;

impl Policy for Rules {
    type Item = Job;
    type Object = u64;

    fn hint(&self, _: PluginId, job: &Job, event: &Event<u64>) -> Result<Hint, HintError> {
        match event.new {
            Some(size) if size >= job.size => Ok(Hint::Queue),
            Some(_) => Ok(Hint::Skip),
            None => Err("no node to look at".into()),
        }
    }

    fn gate(&self, _: PluginId, job: &Job) -> Gate {
        if job.held { Gate::Closed } else { Gate::Open }
    }
}

struct Fixture<V = ()> {
    queue: Queue<Rules, PrioritySort, V>,
    fit: PluginId,
    volumes: PluginId,
    gate: PluginId,
    now: Time,
}

const START: Time = Time::from_secs(1_000);

fn fixture() -> Fixture {
    fixture_with(Config::default(), ())
}

fn fixture_with<V: Observer<Job, u64>>(config: Config, observer: V) -> Fixture<V> {
    let mut plugins = Plugins::new();
    let fit = plugins.add(Plugin::new("Fit").on(NODE, Action::ADD | SIZE, Ask::Class));
    let volumes = plugins.add(Plugin::new("Volumes").on(VOLUME, Action::ADD, Ask::Nobody));
    let gate = plugins.add(Plugin::new("Gate").gate());
    let queue = Queue::with(config, plugins, Rules, PrioritySort, observer);
    Fixture { queue, fit, volumes, gate, now: START }
}

impl<V: Observer<Job, u64>> Fixture<V> {
    fn after(&mut self, millis: u64) -> &mut Self {
        self.now = self.now + Duration::from_millis(millis);
        self
    }

    fn add(&mut self, job: Job) -> Place {
        let place = self.queue.add(job, self.now);
        self.check();
        place
    }

    fn pop(&mut self) -> Attempt {
        let attempt = self.queue.pop(self.now).expect("something can be popped");
        self.check();
        attempt
    }

    fn reject(&mut self, attempt: Attempt, by: &[PluginId]) -> Place {
        let place = self.queue.reject(attempt, Rejection::by(by), self.now).expect("it waits");
        self.check();
        place
    }

    fn happens(&mut self, event: Event<u64>) {
        self.queue.on_event(event, self.now);
        self.check();
    }

    fn place(&self, name: &str) -> Option<Place> {
        self.queue.place(name)
    }

    fn popped(&mut self) -> &'static str {
        let attempt = self.pop();
        let name = self.queue.item(&attempt).expect("it is under way").name;
        self.queue.finish(attempt);
        name
    }

    fn check(&self) {
        self.queue.check_invariants().unwrap();
    }
}

#[test]
fn a_rejected_item_wakes_on_the_event_its_rejector_named() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    let fit = q.fit;
    assert_eq!(q.reject(attempt, &[fit]), Place::Unschedulable);

    q.happens(Event::new(VOLUME, Action::ADD));
    assert_eq!(q.place("web"), Some(Place::Unschedulable));

    q.happens(Event::added(NODE, 1));
    assert_eq!(q.place("web"), Some(Place::Backoff { until: Some(Time::from_secs(1_001)) }));
}

#[test]
fn equal_ranks_go_in_order_of_arrival() {
    let mut q = fixture();
    for name in ["a", "b", "c", "d"] {
        q.add(job(name));
    }
    q.add(job("urgent").priority(1));
    let order: Vec<_> = (0..5).map(|_| q.popped()).collect();
    assert_eq!(order, ["urgent", "a", "b", "c", "d"]);
}

#[test]
fn whoever_looks_at_slots_in_turn_sees_all_that_stay_whatever_happens_meanwhile() {
    let mut f = fixture();
    for name in ["a", "b", "c", "d", "e", "held"] {
        f.add(if name == "held" { job(name).held() } else { job(name) });
    }
    let plugin = f.fit;
    let seen = |f: &Fixture, slots| {
        let names = f.queue.in_slots(slots).map(|(_, waiting)| waiting.item().name);
        names.collect::<Vec<_>>()
    };
    assert_eq!(seen(&f, 0..2), ["a", "b"]);
    // One is tried, one is rejected, one goes, and one comes into its slot.
    let attempt = f.pop();
    f.reject(attempt, &[plugin]);
    let _tried = f.pop();
    let now = f.now;
    f.queue.delete("c", now);
    f.add(job("new"));
    assert_eq!(seen(&f, 2..4), ["new", "d"]);
    assert_eq!(seen(&f, 4..usize::MAX), ["e", "held"]);
    assert_eq!(f.queue.slots(), 6);
    assert_eq!(f.queue.find("b", 0).map(|waiting| waiting.place()), Some(Place::InFlight));
    assert!(f.queue.find("c", 0).is_none() && f.queue.find("a", 7).is_none());

    let order: Vec<_> = f.queue.slots_in_order().collect();
    assert_eq!(order, [3, 4, 2]);
    for (at, name) in ["d", "e", "new"].into_iter().enumerate() {
        assert_eq!(f.queue.position(name), Some(at), "{name}");
    }
    assert_eq!((f.queue.position("a"), f.queue.position("b")), (None, None));
}

#[test]
fn an_update_that_changes_nothing_keeps_the_place_in_the_order() {
    let mut q = fixture();
    q.add(job("a"));
    q.add(job("b"));
    let now = q.now;
    assert_eq!(q.queue.update(job("a"), [], now), Place::Active);
    assert_eq!(q.popped(), "a");
}

#[test]
fn a_hint_is_asked_once_a_class() {
    #[derive(Default)]
    struct Asked(Vec<usize>);
    impl Observer<Job, u64> for Asked {
        fn hint(&mut self, verdict: &HintVerdict<'_, Job, u64>) {
            self.0.push(verdict.items);
        }
    }
    let mut q = fixture_with(Config::default(), Asked::default());
    let names = ["a", "b", "c", "d", "e"];
    for (name, size) in names.into_iter().zip([1, 1, 1, 9, 9]) {
        q.add(job(name).size(size));
        let attempt = q.pop();
        let fit = q.fit;
        q.reject(attempt, &[fit]);
    }
    q.after(60_000).happens(Event::added(NODE, 5));
    let mut asked = q.queue.observer().0.clone();
    asked.sort_unstable();
    assert_eq!(asked, [2, 3]);
    assert_eq!(q.queue.counts().active, 3);
    assert_eq!(q.queue.counts().unschedulable, 2);
}

#[test]
fn a_hint_that_fails_counts_as_queue() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    let fit = q.fit;
    q.reject(attempt, &[fit]);
    q.after(60_000).happens(Event::new(NODE, Action::ADD));
    assert_eq!(q.place("web"), Some(Place::Active));
}

#[test]
fn a_full_log_counts_as_something_relevant() {
    let config = Config { max_in_flight_events: 2, ..Config::default() };
    let mut q = fixture_with(config, ());
    q.add(job("web").size(100));
    let attempt = q.pop();
    for _ in 0..3 {
        q.happens(Event::added(NODE, 1));
    }
    assert_eq!(q.queue.in_flight_events().len(), 2);
    let fit = q.fit;
    assert!(matches!(q.reject(attempt, &[fit]), Place::Backoff { .. }));

    let attempt = q.pop();
    q.happens(Event::added(NODE, 1));
    assert_eq!(q.reject(attempt, &[fit]), Place::Unschedulable);
}

#[test]
fn a_deleted_item_does_not_come_back_from_its_attempt() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    assert!(q.queue.delete("web", q.now).is_none());
    assert!(q.queue.is_deleted(&attempt));

    let rejected = q.queue.reject(attempt, Rejection::error(), q.now);
    assert_eq!(rejected, Err(RejectError::Deleted));
    assert_eq!(q.place("web"), None);
    q.check();
}

#[test]
fn a_version_handed_in_is_proof_that_the_item_exists() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    q.queue.delete("web", q.now);
    let rejection = Rejection::error().newest(job("web"));
    assert!(q.queue.reject(attempt, rejection, q.now).is_ok_and(Place::is_backoff));
    q.check();
}

#[test]
fn an_attempt_on_an_item_that_was_made_anew_gives_way_to_the_new_one() {
    let mut q = fixture();
    q.add(job("web").life(1));
    let first = q.pop();
    q.queue.delete("web", q.now);
    q.add(job("web").life(2));
    let rejected = q.queue.reject(first, Rejection::error().newest(job("web").life(1)), q.now);
    assert_eq!(rejected, Err(RejectError::AlreadyWaiting(Place::Active)));
    q.check();

    let second = q.pop();
    assert_eq!(q.queue.item(&second).map(|job| job.life), Some(2));
    q.queue.finish(second);
    q.check();
}

#[test]
fn an_incarnation_is_in_flight_once() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    q.add(job("web"));
    q.add(job("db"));
    assert_eq!(q.popped(), "db", "the copy is dropped when its turn comes");
    assert_eq!(q.queue.scheduling_cycle(), 2);
    q.queue.finish(attempt);
    q.check();
}

#[test]
fn an_attempt_of_another_queue_is_refused() {
    let (mut q, mut other) = (fixture(), fixture());
    other.add(job("web"));
    let foreign = other.pop();
    q.add(job("db"));
    let own = q.pop();
    assert_eq!(q.queue.item(&foreign).map(|job| job.name), None);
    let rejected = q.queue.reject(foreign, Rejection::error(), q.now);
    assert_eq!(rejected, Err(RejectError::UnknownAttempt));
    assert_eq!(q.queue.item(&own).map(|job| job.name), Some("db"));
    q.queue.finish(own);
}

#[test]
fn unknown_keys_are_left_alone() {
    let mut q = fixture();
    q.queue.activate(["nobody"], q.now);
    assert!(q.queue.delete("nobody", q.now).is_none());
    assert!(q.queue.pop_specific("nobody", q.now).is_none());
    q.queue.unnominate("nobody", 0);
    assert_eq!(q.queue.counts(), Counts::default());
    q.check();
}

#[test]
fn time_that_goes_back_counts_as_the_latest() {
    let mut q = fixture();
    q.add(job("a"));
    q.queue.add(job("b"), Time::ZERO);
    assert_eq!(q.queue.get("b").map(|waiting| waiting.queued_at()), Some(q.now));
    assert_eq!(q.popped(), "a");
}

#[test]
fn an_item_is_where_it_is_since_it_came_there() {
    let mut q = fixture();
    let fit = q.fit;
    let since = |q: &Fixture| q.queue.get("web").map(|waiting| waiting.since() - START);
    let millis = |millis| Some(Duration::from_millis(millis));
    q.add(job("web").size(4));
    assert_eq!(since(&q), millis(0));

    let attempt = q.after(100).pop();
    let tried = q.queue.find("web", 0).map(|tried| tried.since() - START);
    assert_eq!(tried, millis(100), "in flight");
    q.after(100).reject(attempt, &[fit]);
    assert_eq!(since(&q), millis(200), "unschedulable");
    q.after(100).happens(Event::added(NODE, 1));
    assert_eq!(since(&q), millis(200), "what does not help leaves it there");
    q.after(100).happens(Event::added(NODE, 4));
    assert_eq!(since(&q), millis(400), "backs off");
    q.after(100);
    q.queue.update(job("web").size(3), [], q.now);
    assert_eq!(since(&q), millis(400), "a new version changes nothing");
    q.queue.on_time(q.now);
    q.after(2_000);
    q.queue.on_time(q.now);
    assert_eq!((q.place("web"), since(&q)), (Some(Place::Active), millis(2_500)));

    let week = 7 * 24 * 3_600_000;
    q.after(week).add(job("gated").held());
    q.after(week);
    q.queue.activate(["gated"], q.now);
    let gated = q.queue.get("gated").expect("it waits");
    assert_eq!(gated.since() - START, Duration::from_millis(2_500 + week), "still gated");
}

#[test]
fn adding_a_waiting_item_again_gives_it_a_new_record() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    let fit = q.fit;
    q.reject(attempt, &[fit]);
    assert_eq!(q.add(job("web")), Place::Active);
    assert_eq!(q.queue.get("web").map(|waiting| waiting.attempts()), Some(0));

    assert_eq!(q.add(job("web").held()), Place::Active, "a refused newcomer changes nothing");
    assert!(q.queue.get("web").is_some_and(|waiting| !waiting.item().held));
}

#[test]
fn a_gate_is_asked_again_only_when_something_it_registered_for_happens() {
    #[derive(Default)]
    struct Gates(usize);
    impl Observer<Job, u64> for Gates {
        fn gate(&mut self, _: &GateVerdict<'_, Job>) {
            self.0 += 1;
        }
    }
    let mut q = fixture_with(Config::default(), Gates::default());
    let gate = q.gate;
    assert_eq!(q.add(job("web").held()), Place::Gated { by: gate });
    assert_eq!(q.queue.observer().0, 1);
    q.happens(Event::added(NODE, 1));
    assert_eq!(q.queue.observer().0, 1);
    q.happens(Event::wildcard("Everything"));
    assert_eq!(q.queue.observer().0, 2);
    assert_eq!(q.place("web"), Some(Place::Gated { by: gate }));
    assert_eq!((q.queue.counts().gated, q.queue.counts().unschedulable), (1, 0));
}

#[test]
fn a_pending_plugin_skips_the_backoff() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    let (fit, volumes) = (q.fit, q.volumes);
    q.queue.reject(attempt, Rejection::by(&[fit]).pending(&[volumes]), q.now).unwrap();
    q.happens(Event::new(VOLUME, Action::ADD));
    assert_eq!(q.place("web"), Some(Place::Active));
}

#[test]
fn popping_a_specific_item_takes_it_out_of_turn() {
    let mut q = fixture();
    q.add(job("first").priority(9));
    q.add(job("web"));
    let attempt = q.queue.pop_specific("web", q.now).expect("it is active");
    assert_eq!(q.queue.item(&attempt).map(|job| job.name), Some("web"));
    let fit = q.fit;
    q.reject(attempt, &[fit]);

    let attempt = q.queue.pop_specific("web", q.now).expect("even out of the pool");
    assert_eq!(attempt.number(), 2);
    assert!(q.queue.pop_specific("web", q.now).is_none(), "it is under way");
    q.queue.finish(attempt);
    q.add(job("held").held());
    assert!(q.queue.pop_specific("held", q.now).is_none());
    q.check();
}

#[test]
fn a_finished_item_can_be_taken_back() {
    let mut q = fixture();
    q.add(job("web"));
    let attempt = q.pop();
    let finished = q.queue.finish(attempt).expect("it was under way");
    assert_eq!(q.place("web"), None);
    let fit = q.fit;
    let place = q.queue.reject_finished(finished, Rejection::by(&[fit]), q.now);
    assert!(place.is_ok_and(Place::is_backoff), "no events were kept, so it backs off");
    assert_eq!(q.queue.get("web").map(|waiting| waiting.attempts()), Some(1));
    q.check();
}

#[test]
fn closing_ends_attention_to_attempts_but_not_the_attempts() {
    let mut q = fixture();
    q.add(job("a"));
    q.add(job("b"));
    let attempt = q.pop();
    q.queue.close();
    assert_eq!(q.queue.in_flight().count(), 0);
    assert_eq!(q.popped(), "b", "what is left can be popped");
    let fit = q.fit;
    assert!(q.reject(attempt, &[fit]).is_backoff());
}

#[test]
fn timers_do_what_is_due_and_say_when() {
    let mut q = fixture();
    q.queue.on_time(q.now);
    assert_eq!(q.queue.next_wakeup(), None, "nothing waits for time");
    q.add(job("a"));
    let attempt = q.pop();
    q.after(400);
    q.reject(attempt, &[]);
    let due = q.queue.next_wakeup().expect("a backoff ends");
    assert_eq!(due, Time::from_secs(1_002), "floor(1000.4 + 1) + 1");

    q.queue.on_time(Time::from_nanos(due.as_nanos() - 1));
    assert!(q.place("a").is_some_and(Place::is_backoff));
    q.queue.on_time(due);
    assert_eq!(q.place("a"), Some(Place::Active));
}

#[test]
fn leftovers_are_found_by_the_timer() {
    let mut q = fixture();
    q.queue.on_time(q.now);
    q.add(job("a"));
    let attempt = q.pop();
    let fit = q.fit;
    q.reject(attempt, &[fit]);
    let due = q.queue.next_wakeup().expect("leftovers are flushed");
    assert_eq!(due, q.now + Duration::from_secs(330), "not after exactly five minutes, but then");
    q.queue.on_time(due);
    assert_eq!(q.place("a"), Some(Place::Active));
    assert!(q.queue.get("a").is_some_and(|waiting| waiting.was_flushed()));
}

#[test]
fn jitter_repeats_with_its_seed() {
    let ends = |seed| {
        let jitter = Some(Jitter { fraction: 0.9, seed });
        let config = Config { jitter, pop_from_backoff: false, ..Config::default() };
        let mut q = fixture_with(config, ());
        for name in ["a", "b", "c"] {
            q.add(job(name));
            let attempt = q.pop();
            q.reject(attempt, &[]);
        }
        ["a", "b", "c"].map(|name| q.place(name))
    };
    assert_eq!(ends(1), ends(1));
    assert_ne!(ends(1), ends(2));
}

#[test]
fn every_step_is_told() {
    #[derive(Default)]
    struct Steps(Vec<String>);
    impl Observer<Job, u64> for Steps {
        fn transition(&mut self, step: &Transition<'_, Job>) {
            let name = |place: Option<Place>| match place {
                None => "-",
                Some(Place::Active) => "active",
                Some(Place::Backoff { .. }) => "backoff",
                Some(Place::ErrorBackoff { .. }) => "error",
                Some(Place::Unschedulable) => "pool",
                Some(Place::Gated { .. }) => "gated",
                Some(Place::InFlight) => "flight",
            };
            self.0.push(format!("{}>{} {}", name(step.from), name(step.to), step.cause.label()));
        }
    }
    let mut q = fixture_with(Config::default(), (Steps::default(), Incoming::new()));
    q.add(job("a"));
    let attempt = q.pop();
    let fit = q.fit;
    q.reject(attempt, &[fit]);
    q.happens(Event::added(NODE, 1));
    let attempt = q.pop();
    q.reject(attempt, &[]);
    q.queue.activate(["a"], q.now);
    let attempt = q.pop();
    q.queue.finish(attempt);
    q.add(job("b"));
    q.queue.delete("b", q.now);
    let (steps, incoming) = q.queue.observer();
    assert_eq!(
        steps.0,
        [
            "->active ItemAdd",
            "active>flight Pop",
            "flight>pool ScheduleAttemptFailure",
            "pool>backoff NodeAdd",
            "backoff>flight PopFromBackoffQ",
            "flight>error ScheduleAttemptFailure",
            "error>active ForceActivate",
            "active>flight Pop",
            "flight>- Done",
            "->active ItemAdd",
            "active>- Delete",
        ]
    );
    let counted: Vec<_> = incoming
        .iter()
        .map(|(at, label, count)| format!("{}/{label} {count}", at.name()))
        .collect();
    assert_eq!(
        counted,
        [
            "active/ForceActivate 1",
            "active/ItemAdd 2",
            "active/PopFromBackoffQ 1",
            "backoff/NodeAdd 1",
            "backoff/ScheduleAttemptFailure 1",
            "unschedulable/ScheduleAttemptFailure 1",
        ]
    );
}

#[test]
fn an_order_of_ones_own_decides_who_goes_first() {
    struct ShortestFirst;
    impl QueueSort<Job> for ShortestFirst {
        type Rank = u64;

        fn rank(&self, job: &Job, _: Time) -> u64 {
            job.size
        }
    }
    let mut queue = Queue::with(Config::default(), Plugins::new(), Rules, ShortestFirst, ());
    for (name, size) in [("long", 9), ("short", 1), ("medium", 5)] {
        queue.add(job(name).size(size).priority(size as i32), Time::ZERO);
    }
    let order: Vec<_> = queue.active().map(|waiting| waiting.item().name).collect();
    assert_eq!(order, ["short", "medium", "long"]);
}

#[test]
fn an_order_that_does_not_stand_by_its_ranks_loses_nobody() {
    struct Whim(std::cell::Cell<u64>);
    impl QueueSort<Job> for Whim {
        type Rank = u64;

        fn rank(&self, _: &Job, _: Time) -> u64 {
            self.0.set(self.0.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            self.0.get() >> 33
        }
    }
    let whim = Whim(std::cell::Cell::new(1));
    let mut queue = Queue::with(Config::default(), Plugins::new(), Rules, whim, ());
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        queue.add(job(name), Time::ZERO);
    }
    queue.update(job("c"), [], Time::ZERO);
    assert!(queue.delete("b", Time::ZERO).is_some());
    let mut left: Vec<_> = queue.active().map(|waiting| waiting.item().name).collect();
    left.sort_unstable();
    assert_eq!(left, ["a", "c", "d", "e", "f"]);
}

#[test]
fn the_cause_of_a_discarded_copy_is_told() {
    #[derive(Default)]
    struct Discarded(usize);
    impl Observer<Job, u64> for Discarded {
        fn transition(&mut self, step: &Transition<'_, Job>) {
            self.0 += usize::from(step.cause == Cause::Discarded);
        }
    }
    let mut q = fixture_with(Config::default(), Discarded::default());
    q.add(job("web"));
    let attempt = q.pop();
    q.add(job("web"));
    assert!(q.queue.pop(q.now).is_none());
    assert_eq!(q.queue.observer().0, 1);
    q.queue.finish(attempt);
}

#[test]
fn an_update_in_error_backoff_does_not_lose_the_item_to_its_jitter() {
    let jitter = Some(Jitter { fraction: 1.0, seed: 3 });
    let mut q = fixture_with(Config { jitter, ..Config::default() }, ());
    q.add(job("web").life(1));
    let attempt = q.pop();
    q.reject(attempt, &[]);
    let now = q.now;
    assert!(q.queue.update(job("web").life(2), [], now).is_backoff());
    q.check();
    assert!(q.queue.delete("web", now).is_some());
    q.check();
}

#[test]
fn each_profile_has_registrations_and_gates_of_its_own() {
    let mut plugins = Plugins::new();
    let batch = Profile(1);
    let fit = plugins.add(Plugin::new("Fit").on(NODE, Action::ADD, Ask::Class));
    assert_eq!(plugins.add_to(batch, Plugin::new("Fit").on(VOLUME, Action::ADD, Ask::Nobody)), fit);
    let gate = plugins.add_to(batch, Plugin::new("Gate").gate());
    let mut queue = Queue::new(Config::default(), plugins, Rules);
    let later = Time::from_secs(60);

    let of_batch = |name| Job { profile: 1, ..job(name) };
    for job in [job("web"), of_batch("train")] {
        queue.add(job, Time::ZERO);
        let attempt = queue.pop(Time::ZERO).expect("it is active");
        queue.reject(attempt, Rejection::by(&[fit]), Time::ZERO).expect("it waits");
    }
    queue.on_event(Event::added(NODE, 1), later);
    assert_eq!(queue.place("web"), Some(Place::Active));
    assert_eq!(queue.place("train"), Some(Place::Unschedulable));
    queue.on_event(Event::new(VOLUME, Action::ADD), later);
    assert_eq!(queue.place("train"), Some(Place::Active));

    assert_eq!(queue.add(job("held").held(), later), Place::Active, "no gate in its profile");
    assert_eq!(queue.add(of_batch("secret").held(), later), Place::Gated { by: gate });
    queue.check_invariants().unwrap();
}

#[test]
fn an_event_for_some_leaves_the_others_but_reaches_attempts_under_way() {
    let mut q = fixture();
    let fit = q.fit;
    for (name, size) in [("small", 1), ("large", 5), ("flying", 1)] {
        q.add(job(name).size(size));
        let attempt = q.pop();
        q.reject(attempt, &[fit]);
    }
    let attempt = q.queue.pop_specific("flying", q.now).expect("it waits");
    q.after(60_000);
    let is_small = |job: &Job, _: &crate::Rejectors| job.size < 3;
    let event = Event::added(NODE, 9);
    q.queue.on_event_for(event, &Audience::Classes(&is_small), q.now);
    q.check();
    assert_eq!(q.place("small"), Some(Place::Active));
    assert_eq!(q.place("large"), Some(Place::Unschedulable));
    assert!(q.reject(attempt, &[fit]).is_backoff(), "it saw the event");
}
