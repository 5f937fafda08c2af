//! A scheduler at work on a cluster: the thread that owns it, what it hears and what it writes.

use std::thread::JoinHandle;

use kube::Client;
use roadstead_cluster::kubernetes::election::Leadership;
use roadstead_cluster::kubernetes::writing::{Limits, Writer};
use roadstead_cluster::kubernetes::{Input, WatchOptions, Watching, watch};
use roadstead_recording::Recorder;
use roadstead_scheduler::{JournalLimits, Scheduler, Setup};
use tokio::sync::{mpsc, watch as channel};

use crate::clock::Clock;
use crate::driver::{Driver, Orders, Questions};
use crate::error::Error;
use crate::recording::Recording;
use crate::{observing, stopping};

/// What a scheduler works with.
pub(crate) struct Parts {
    pub(crate) client: Client,
    pub(crate) setup: Setup,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    /// Asked before every write.
    pub(crate) leadership: Leadership,
    /// What decides between equally good nodes.
    pub(crate) seed: u64,
    /// Whether a sample of sleeping pods is tried out now and then.
    pub(crate) verifies_wakeups: bool,
    /// Takes down everything that the scheduler is told.
    pub(crate) recorder: Option<Recorder>,
    /// Called once everything that was there at the start has been shown.
    pub(crate) on_synced: Box<dyn FnOnce() + Send>,
}

/// A scheduler at work.
pub(crate) struct Engine {
    client: Client,
    questions: Questions,
    orders: channel::Sender<Orders>,
    writer: Writer,
    /// Until the cluster is watched.
    inputs: Option<mpsc::Sender<Input>>,
    watching: Option<Watching>,
    thread: JoinHandle<()>,
}

impl Engine {
    /// Starts the scheduler's thread, which stands by and hears nothing yet.
    pub(crate) fn start(parts: Parts) -> Result<Self, Error> {
        let Parts { client, setup, clock, limits, leadership, .. } = parts;
        let (inputs, heard) = mpsc::channel(WAITING_INPUTS);
        let (orders, ordered) = channel::channel(Orders::Standby);
        let writer = Writer::start(client.clone(), inputs.clone(), limits, leadership);
        let Setup { world, profiles, queue } = setup;
        let observers = observing::observers(JournalLimits::default());
        let driver = Driver {
            scheduler: Scheduler::new(queue, profiles, observers, parts.seed),
            world,
            clock,
            hands: writer.clone(),
            inputs: heard,
            orders: ordered,
            on_synced: Some(parts.on_synced),
            verifies_wakeups: parts.verifies_wakeups,
            recording: Recording::new(parts.recorder),
        };
        let (questions, thread) = driver.start().map_err(Error::Threads)?;
        let (inputs, watching) = (Some(inputs), None);
        Ok(Self { client, questions, orders, writer, inputs, watching, thread })
    }

    pub(crate) fn questions(&self) -> &Questions {
        &self.questions
    }

    pub(crate) fn orders(&self) -> &channel::Sender<Orders> {
        &self.orders
    }

    /// Lets the scheduler hear what is in the cluster and what happens there.
    pub(crate) fn watch(&mut self) {
        if let Some(inputs) = self.inputs.take() {
            self.watching = Some(watch(self.client.clone(), inputs, WatchOptions::default()));
        }
    }

    /// Tries no more pods. While it still may write, those under way are seen to, for a bounded
    /// time.
    pub(crate) async fn finish(&self, may_write: bool) {
        let _ = self.orders.send(Orders::Finish);
        if may_write {
            stopping::finish(&self.questions, self.writer.clone()).await;
        }
    }

    /// Ends the thread.
    pub(crate) async fn end(self) -> Result<(), Error> {
        let Self { thread, orders, writer, inputs, watching, .. } = self;
        // It ends when nobody has anything to tell it any more.
        drop((orders, writer, inputs, watching));
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        match joined {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::Panicked),
        }
    }
}

/// What the cluster shows waits here for the scheduler; watches wait if there is more.
const WAITING_INPUTS: usize = 1024;
