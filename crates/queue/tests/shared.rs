//! `SharedQueue` among real threads and tasks.
#![cfg(not(shuttle))]

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use roadstead_queue::{
    Action, Ask, Config, Event, Item, ManualClock, Place, Plugin, PluginId, Plugins, Policy,
    PrioritySort, Queue, Rejection, Resource, SharedQueue, Time,
};

const NODE: Resource = Resource::new("Node");

#[derive(Clone, Debug, PartialEq, Eq)]
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

fn shared() -> (Shared, PluginId, ManualClock) {
    let mut plugins = Plugins::new();
    let fit = plugins.add(Plugin::new("Fit").on(NODE, Action::ADD, Ask::Nobody));
    let clock = ManualClock::new(Time::from_secs(100));
    let config = Config { pop_from_backoff: false, ..Config::default() };
    let queue = Queue::new(config, plugins, NoRules);
    (SharedQueue::with_clock(queue, clock.clone()), fit, clock)
}

#[test]
fn every_item_is_delivered_once_to_one_of_many_poppers() {
    let (queue, _, _) = shared();
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        let poppers: Vec<_> = (0..4)
            .map(|_| {
                threads.spawn(|| {
                    while let Some(attempt) = queue.pop() {
                        seen.lock().unwrap().push(attempt.item().0);
                        attempt.finish();
                    }
                })
            })
            .collect();
        let adders: Vec<_> = (0..4u32)
            .map(|adder| {
                let queue = &queue;
                threads.spawn(move || {
                    for n in 0..500 {
                        queue.add(Job(adder * 500 + n));
                    }
                })
            })
            .collect();
        adders.into_iter().for_each(|adder| adder.join().unwrap());
        queue.close();
        poppers.into_iter().for_each(|popper| popper.join().unwrap());
    });
    let seen = seen.into_inner().unwrap();
    assert_eq!(seen.len(), 2_000);
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>().len(), 2_000);
}

#[test]
fn close_wakes_everyone() {
    let (queue, _, _) = shared();
    std::thread::scope(|threads| {
        let poppers: Vec<_> = (0..3).map(|_| threads.spawn(|| queue.pop().is_none())).collect();
        queue.close();
        assert!(poppers.into_iter().all(|popper| popper.join().unwrap()));
    });
}

#[test]
fn a_dropped_attempt_goes_back_with_backoff() {
    let (queue, _, clock) = shared();
    queue.add(Job(1));
    drop(queue.pop());
    let place = queue.with(|queue, _| queue.place(&1));
    assert!(matches!(place, Some(Place::ErrorBackoff { .. })), "{place:?}");

    assert!(queue.try_pop().is_none());
    clock.advance(Duration::from_secs(3));
    let attempt = queue.try_pop().expect("the backoff is over, and nobody else saw to the timers");
    assert_eq!(attempt.number(), 2);
    attempt.finish();
}

#[test]
fn a_dropped_attempt_on_a_deleted_item_is_over() {
    let (queue, _, _) = shared();
    queue.add(Job(1));
    let attempt = queue.pop();
    queue.delete(&1);
    drop(attempt);
    assert_eq!(queue.with(|queue, _| queue.place(&1)), None);
}

#[test]
fn an_event_wakes_a_sleeping_popper() {
    let (queue, fit, clock) = shared();
    queue.add(Job(1));
    let rejected = queue.pop().expect("it is active").reject(Rejection::by(&[fit]));
    assert_eq!(rejected, Ok(Place::Unschedulable));
    clock.advance(Duration::from_secs(60));
    std::thread::scope(|threads| {
        let popper = threads.spawn(|| queue.pop().and_then(|attempt| attempt.finish()));
        queue.on_event(Event::new(NODE, Action::ADD));
        assert_eq!(popper.join().unwrap().map(|finished| finished.into_item()), Some(Job(1)));
    });
}

#[test]
fn time_alone_wakes_a_sleeping_popper() {
    let (queue, _, clock) = shared();
    queue.add(Job(1));
    drop(queue.pop());
    std::thread::scope(|threads| {
        let popper = threads.spawn(|| queue.pop().map(|attempt| attempt.number()));
        clock.advance(Duration::from_secs(5));
        queue.tick();
        assert_eq!(popper.join().unwrap(), Some(2));
    });
}

#[test]
fn a_thread_that_runs_the_timers_ends_with_the_queue() {
    let (queue, _, _) = shared();
    std::thread::scope(|threads| {
        let timers = threads.spawn(|| queue.run_timers());
        queue.close();
        timers.join().unwrap();
    });
    assert!(queue.pop().is_none());
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_task_is_woken_when_there_is_something() {
    let (queue, _, _) = shared();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);

    let mut pop = pin!(queue.pop_async());
    assert!(pop.as_mut().poll(&mut context).is_pending());
    assert!(pop.as_mut().poll(&mut context).is_pending(), "asking twice waits once");
    queue.add(Job(1));
    assert_eq!(woken.0.load(SeqCst), 1);
    let Poll::Ready(Some(attempt)) = pop.as_mut().poll(&mut context) else {
        panic!("there is something");
    };
    assert_eq!(*attempt.item(), Job(1));
    attempt.finish();
}

#[test]
fn a_task_that_gave_up_leaves_the_item_to_others() {
    let (queue, _, _) = shared();
    let woken = [(); 2].map(|()| Arc::new(Woken::default()));
    let [first, second] = woken.each_ref().map(|woken| Waker::from(Arc::clone(woken)));
    let mut impatient = Box::pin(queue.pop_async());
    let mut patient = Box::pin(queue.pop_async());
    assert!(impatient.as_mut().poll(&mut Context::from_waker(&first)).is_pending());
    assert!(patient.as_mut().poll(&mut Context::from_waker(&second)).is_pending());
    queue.add(Job(1));
    drop(impatient);
    assert_eq!(woken[1].0.load(SeqCst), 1, "everyone was woken");
    assert!(patient.as_mut().poll(&mut Context::from_waker(&second)).is_ready());
}

#[test]
fn a_closed_queue_ends_waiting_tasks() {
    let (queue, _, _) = shared();
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut pop = pin!(queue.pop_async());
    assert!(pop.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    queue.close();
    assert_eq!(woken.0.load(SeqCst), 1);
    assert!(matches!(pop.poll(&mut Context::from_waker(&waker)), Poll::Ready(None)));
}
