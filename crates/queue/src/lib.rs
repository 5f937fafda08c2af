//! The Kubernetes scheduling queue as a library, for anyone who schedules anything.
//!
//! Items wait to be tried. The most urgent goes first; one that fails waits for its backoff to
//! end, or, if somebody rejected it, for something to happen in the world that may help. Nobody
//! polls: whoever rejects an item has said which events could change its mind, and is asked
//! about each.
//!
//! Here jobs wait for machines with enough GPUs:
//!
//! ```
//! use roadstead_queue::*;
//!
//! struct Job { name: &'static str, gpus: u64 }
//!
//! impl Item for Job {
//!     type Key = str;
//!     fn key(&self) -> &str { self.name }
//!     fn class(&self) -> Option<u64> { Some(self.gpus) } // equal needs: asked about once
//! }
//!
//! const MACHINE: Resource = Resource::new("Machine");
//!
//! struct Gpus;
//!
//! impl Policy for Gpus {
//!     type Item = Job;
//!     type Object = u64; // what an event carries: the free GPUs of a machine
//!     fn hint(&self, _: PluginId, job: &Job, event: &Event<u64>) -> Result<Hint, HintError> {
//!         let enough = event.new.is_some_and(|free| free >= job.gpus);
//!         Ok(if enough { Hint::Queue } else { Hint::Skip })
//!     }
//! }
//!
//! let mut plugins = Plugins::new();
//! let gpus = plugins.add(Plugin::new("Gpus").on(MACHINE, Action::ADD, Ask::Class));
//! let mut queue = Queue::new(Config::default(), plugins, Gpus);
//!
//! queue.add(Job { name: "train", gpus: 8 }, Time::from_secs(0));
//! let attempt = queue.pop(Time::from_secs(0)).expect("it is active");
//! queue.reject(attempt, Rejection::by(&[gpus]), Time::from_secs(0)).unwrap(); // no machine has 8
//!
//! queue.on_event(Event::added(MACHINE, 4), Time::from_secs(60)); // too small to help
//! assert_eq!(queue.place("train"), Some(Place::Unschedulable));
//! queue.on_event(Event::added(MACHINE, 8), Time::from_secs(90));
//! assert_eq!(queue.place("train"), Some(Place::Active));
//! ```
//!
//! # The parts
//!
//! - [`Queue`] is a state machine: no clock, no lock, no thread, no I/O. The time is an argument,
//!   so the same code runs live, in a test, and in a simulation of a week in a second.
//! - [`SharedQueue`] puts it behind a lock for threads and tasks, with blocking and async pops.
//! - [`Item`] is what waits, [`Policy`] answers the queue's questions, [`Plugins`] says who may
//!   reject items and on which [`Event`]s they want to be asked again.
//! - [`Observer`] hears of every transition, every hint and every gate.
//! - [`QueueSort`] is the order among active items; by default [`PrioritySort`].
//!
//! # Where an item is
//!
//! In exactly one [`Place`]: active, backing off after a rejection or after an error,
//! unschedulable, gated, or in flight.
//!
//! # What an event costs
//!
//! Items may name a [class](Item::class): equal scheduling needs. Unschedulable items are indexed
//! by who rejected them and by class. An event touches only what rejected by somebody who
//! registered for it, and a hint is asked once a class: an event with 100,000 items waiting in
//! 100 classes takes a few microseconds.
//!
//! # How it relates to kube-scheduler
//!
//! The behaviour is that of kube-scheduler v1.36's queue, checked against recordings of it step
//! by step, in its present form (queueing hints and in-flight events) and in its
//! [older one](Requeueing::MoveRequestCycle). Where it differs on purpose, the project's
//! `docs/differences.md` says so.

mod backoff;
mod clock;
mod config;
mod entry;
mod event;
mod in_flight;
mod index;
mod item;
mod nominator;
mod observer;
mod order;
mod place;
mod plugin;
mod policy;
mod pool;
mod queue;
mod rejection;
mod shared;
mod slab;
mod sorted;
mod sync;
mod time;

pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{Config, Jitter, Requeueing};
pub use event::{Action, Event, Label, Resource};
pub use item::{Item, Name, NodeId, Profile};
pub use observer::{
    Cause, Entrance, GateVerdict, HintVerdict, Incoming, Observer, Transition, Verdict,
};
pub use order::{PriorityRank, PrioritySort, QueueSort};
pub use place::Place;
pub use plugin::{Ask, Plugin, PluginId, Plugins};
pub use policy::{Gate, Hint, HintError, Policy};
pub use queue::{
    Attempt, Audience, Counts, Finished, Held, Nominated, Queue, RejectError, Rejection, Waiting,
};
pub use rejection::Rejectors;
pub use shared::{AttemptGuard, Pop, SharedQueue};
pub use time::Time;
