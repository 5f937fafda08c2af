//! `SharedQueue` under a model checker that chooses who runs next: no item is lost or delivered
//! twice, nobody sleeps for ever. Built only with `RUSTFLAGS="--cfg shuttle"`.
#![cfg(shuttle)]

use roadstead_queue::{
    Action, Ask, Config, Event, Item, ManualClock, Plugin, PluginId, Plugins, Policy, PrioritySort,
    Queue, Rejection, Resource, SharedQueue, Time,
};
use shuttle::sync::{Arc, Mutex};
use shuttle::{check_random, thread};

const NODE: Resource = Resource::new("Node");
const SCHEDULES: usize = 20_000;

#[derive(Clone)]
struct Job(u32);

impl Item for Job {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

struct NoRules;

impl Policy for NoRules {
    type Item = Job;
    type Object = ();
}

type Shared = SharedQueue<NoRules, PrioritySort, (), ManualClock>;

fn shared() -> (Shared, PluginId) {
    let mut plugins = Plugins::new();
    let fit = plugins.add(Plugin::new("Fit").on(NODE, Action::ADD, Ask::Nobody));
    let config = Config { max_backoff: std::time::Duration::ZERO, ..Config::default() };
    let queue = Queue::new(config, plugins, NoRules);
    (SharedQueue::with_clock(queue, ManualClock::new(Time::from_secs(1))), fit)
}

/// Pops until the queue is closed, and notes what it got.
fn popper(queue: &Shared, seen: &Arc<Mutex<Vec<u32>>>) -> thread::JoinHandle<()> {
    let (queue, seen) = (queue.clone(), Arc::clone(seen));
    thread::spawn(move || {
        while let Some(attempt) = queue.pop() {
            seen.lock().unwrap().push(attempt.item().0);
            attempt.finish();
        }
    })
}

#[test]
fn items_are_delivered_once_and_close_wakes_everyone() {
    check_random(
        || {
            let (queue, _) = shared();
            let seen = Arc::new(Mutex::new(Vec::new()));
            let poppers = [popper(&queue, &seen), popper(&queue, &seen)];
            let adders = [1, 2].map(|number| {
                let queue = queue.clone();
                thread::spawn(move || {
                    queue.add(Job(number));
                })
            });
            adders.into_iter().for_each(|adder| adder.join().unwrap());
            queue.close();
            poppers.into_iter().for_each(|popper| popper.join().unwrap());
            let mut seen = seen.lock().unwrap().clone();
            seen.sort_unstable();
            assert_eq!(seen, [1, 2]);
        },
        SCHEDULES,
    );
}

#[test]
fn an_event_during_an_attempt_or_after_it_brings_the_item_back() {
    check_random(
        || {
            let (queue, fit) = shared();
            queue.add(Job(1));
            let source = {
                let queue = queue.clone();
                thread::spawn(move || queue.on_event(Event::new(NODE, Action::ADD)))
            };
            let attempt = queue.pop().expect("it is active");
            attempt.reject(Rejection::by(&[fit])).expect("nobody else has its name");
            source.join().unwrap();
            queue.on_event(Event::new(NODE, Action::ADD));
            let again = queue.pop().expect("the last event woke it");
            assert_eq!(again.number(), 2);
            again.finish();
        },
        SCHEDULES,
    );
}

#[test]
fn a_dropped_attempt_is_delivered_again_to_a_sleeping_popper() {
    check_random(
        || {
            let (queue, _) = shared();
            queue.add(Job(1));
            let quitter = {
                let queue = queue.clone();
                thread::spawn(move || drop(queue.try_pop()))
            };
            let worker = {
                let queue = queue.clone();
                thread::spawn(move || queue.pop().and_then(|attempt| attempt.finish()).is_some())
            };
            quitter.join().unwrap();
            assert!(worker.join().unwrap(), "whoever came first, it ends with the worker");
        },
        SCHEDULES,
    );
}

#[test]
fn tasks_are_woken_too() {
    check_random(
        || {
            let (queue, _) = shared();
            let tasks = [1, 2].map(|_| {
                let queue = queue.clone();
                thread::spawn(move || {
                    shuttle::future::block_on(queue.pop_async())
                        .and_then(|attempt| attempt.finish())
                        .map(|finished| finished.into_item().0)
                })
            });
            queue.add(Job(1));
            queue.add(Job(2));
            let mut got = tasks.map(|task| task.join().unwrap());
            got.sort_unstable();
            assert_eq!(got, [Some(1), Some(2)]);
        },
        SCHEDULES,
    );
}
