//! A queue that does something else than the real one is found out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use roadstead_conformance::{
    AlreadyQueued, Change, Failure, Header, Pending, Pod, PodName, PodUpdate, Popped, Reach,
    Reference, Report, State, Subject, Traces, Uid, compare, from_seed, replay,
};

/// Hears only every other event.
const DEAF: u8 = 0;
/// Never lets go of an attempt that is done.
const CLINGING: u8 = 1;
/// Counts a pop from backoff as nothing.
const MISCOUNTING: u8 = 2;

/// The reference queue with one thing wrong.
struct Faulty<const FAULT: u8> {
    queue: Reference,
    events: usize,
}

impl<const FAULT: u8> Subject for Faulty<FAULT> {
    type Attempt = <Reference as Subject>::Attempt;

    const NAME: &'static str = "faulty";

    fn open(header: &Header) -> Self {
        Self { queue: Reference::open(header), events: 0 }
    }

    fn happened(&mut self, now_ms: u64, change: &Change, reach: Reach<'_>) {
        self.events += 1;
        if FAULT != DEAF || self.events.is_multiple_of(2) {
            self.queue.happened(now_ms, change, reach);
        }
    }

    fn done(&mut self, now_ms: u64, attempt: &mut Self::Attempt) {
        if FAULT != CLINGING {
            self.queue.done(now_ms, attempt);
        }
    }

    fn incoming(&self) -> BTreeMap<String, u64> {
        let mut incoming = self.queue.incoming();
        if FAULT == MISCOUNTING {
            incoming.remove("active/PopFromBackoffQ");
        }
        incoming
    }

    fn lister_has(&mut self, pod: &Arc<Pod>) {
        self.queue.lister_has(pod);
    }

    fn lister_lost(&mut self, name: &PodName) {
        self.queue.lister_lost(name);
    }

    fn add(&mut self, now_ms: u64, pod: &Arc<Pod>) {
        self.queue.add(now_ms, pod);
    }

    fn pop(&mut self, now_ms: u64) -> Option<Popped<Self::Attempt>> {
        self.queue.pop(now_ms)
    }

    fn reject(
        &mut self,
        now_ms: u64,
        attempt: Self::Attempt,
        failure: &Failure<'_>,
    ) -> Result<(), AlreadyQueued> {
        self.queue.reject(now_ms, attempt, failure)
    }

    fn discard(&mut self, attempt: Self::Attempt) {
        self.queue.discard(attempt);
    }

    fn update(&mut self, now_ms: u64, update: &PodUpdate) {
        self.queue.update(now_ms, update);
    }

    fn delete(&mut self, now_ms: u64, pod: &Arc<Pod>) {
        self.queue.delete(now_ms, pod);
    }

    fn activate(&mut self, now_ms: u64, pods: &[Arc<Pod>]) {
        self.queue.activate(now_ms, pods);
    }

    fn nominate(&mut self, pod: &Arc<Pod>, node: Option<&str>) {
        self.queue.nominate(pod, node);
    }

    fn unnominate(&mut self, pod: &Arc<Pod>) {
        self.queue.unnominate(pod);
    }

    fn flush_backoff(&mut self, now_ms: u64) {
        self.queue.flush_backoff(now_ms);
    }

    fn flush_unschedulable(&mut self, now_ms: u64) {
        self.queue.flush_unschedulable(now_ms);
    }

    fn nominated(&self, node: &str) -> Vec<PodName> {
        self.queue.nominated(node)
    }

    fn waiting(&self, name: &PodName) -> Option<Uid> {
        self.queue.waiting(name)
    }

    fn state(&self) -> State {
        self.queue.state()
    }

    fn pending(&self) -> Pending {
        self.queue.pending()
    }
}

fn replay_scenarios<S: Subject>() -> Report {
    let path: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "data", "traces-scenarios.jsonl"].iter().collect();
    replay::<S>(Traces::open(&path).expect("the data is checked in")).expect("it is well formed")
}

#[test]
fn a_dropped_wake_up_is_found_and_told_readably() {
    let report = replay_scenarios::<Faulty<DEAF>>();
    let failing = report.failing.iter().find(|it| it.trace == "event-in-flight");
    let failing = failing.expect("its one event was dropped");

    let text = failing.to_string();
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("trace `event-in-flight` ("), "{text}");
    assert!(first.ends_with("the rejector's hint answers with Queue: backoff."), "{text}");
    let line = format!("\n  line {}: {{\"op\":\"event\",", failing.differs_on_line());
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("\n    state.in_flight_events: expected 1, got 0"), "{text}");
    assert!(text.contains("\n    state.move_cycle: expected 1, got -1"), "{text}");
    assert_eq!(failing.differences().len(), 2, "nothing else is named:\n{text}");
}

#[test]
fn an_attempt_that_is_not_let_go_is_found() {
    let report = replay_scenarios::<Faulty<CLINGING>>();
    assert!(report.failing.iter().any(|it| it.trace == "done-then-reject"));
}

#[test]
fn a_metric_that_is_wrong_is_found_at_the_end() {
    let report = replay_scenarios::<Faulty<MISCOUNTING>>();
    let failing = report.failing.iter().find(|it| it.trace == "pop-from-backoff").unwrap();
    let text = failing.to_string();
    assert!(text.contains(": end\n"), "{text}");
    let field = "end.incoming[\"active/PopFromBackoffQ\"]: expected 2, got nothing";
    assert!(text.contains(field), "{text}");
}

#[test]
fn made_up_sequences_find_them_too() {
    fn finds<S: Subject>() -> bool {
        (0..200).any(|seed| compare::<Reference, S>(&from_seed(seed, 100)).is_some())
    }
    assert!(finds::<Faulty<DEAF>>());
    assert!(finds::<Faulty<CLINGING>>());
    assert!(finds::<Faulty<MISCOUNTING>>());
    assert!(!finds::<Faulty<{ u8::MAX }>>(), "a queue without a fault is not one");
}

#[test]
fn a_divergence_is_told_with_what_reproduces_it() {
    let divergence = (0..200)
        .find_map(|seed| compare::<Reference, Faulty<DEAF>>(&from_seed(seed, 100)))
        .expect("they part");
    let text = divergence.to_string();
    assert!(text.starts_with("{\"header\":{\"name\":\"seed-"), "{text}");
    assert!(text.contains("\n{\"op\":"), "{text}");
    assert!(text.contains(": reference "), "{text}");
    assert!(text.contains(", faulty "), "{text}");
    assert!(compare::<Reference, Faulty<DEAF>>(&divergence.sequence).is_some(), "it reproduces");
}
