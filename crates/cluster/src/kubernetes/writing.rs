//! What a scheduler wants done, done to a real cluster.
//!
//! [`Writer::send`] takes a command and returns at once. [`Lanes`] decides which write goes next;
//! a task sends it, sees to it that it is known what came of it, and gives the answer as an
//! [`Input`].
//!
//! What waits is bounded without anybody having to wait for it: there is one status for a pod, one
//! Event for what happens again, a bound on Events, and no more binds, volume writes and evictions
//! than pods the scheduler has under way.

mod bodies;
mod bucket;
mod counts;
mod jobs;
mod lanes;
mod series;
mod settling;
mod starving;
mod status;
mod wire;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use roadstead_model::Text;
use roadstead_scheduler::Command;
use roadstead_scheduler::config::ClientConnection;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub use self::counts::ClassCounts;
use self::counts::Counts;
pub use self::lanes::{Class, Job, Lanes, Pushed};
pub use self::series::{Draft, EventKey};
pub use self::status::StatusWrite;
use super::Input;
use super::election::{self, Leadership};

/// How much may be under way, and how fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Requests a second, over all classes; no limit if it is not positive.
    pub qps: f64,
    /// Requests at once after a pause, over all classes.
    pub burst: u32,
    /// Bindings and volume writes under way.
    pub binds: usize,
    /// Evictions under way.
    pub evictions: usize,
    /// Nominations under way.
    pub nominations: usize,
    /// Conditions under way.
    pub statuses: usize,
    /// Events under way.
    pub events: usize,
    /// Events that may wait; more are dropped, and counted.
    pub waiting_events: usize,
    /// Events that are remembered for what happens again to be one with them.
    pub kept_events: usize,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How long it may take to find out what came of a binding.
    pub bind_patience: Duration,
    /// How long evictions and volume writes are tried again.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            qps: 50.0,
            burst: 100,
            binds: 32,
            evictions: 8,
            nominations: 8,
            statuses: 8,
            events: 4,
            waiting_events: 10_000,
            kept_events: 4096,
            request_timeout: Duration::from_secs(10),
            bind_patience: Duration::from_secs(60),
            patience: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// The limits of a configuration.
    #[must_use]
    pub fn from_config(config: &ClientConnection) -> Self {
        let burst = u32::try_from(config.burst).unwrap_or(0);
        Self { qps: config.qps, burst, ..Self::default() }
    }
}

/// Carries commands out. Cloning one is cheap: the clones are the same writer. When the last one
/// is dropped, what has not been written is given up.
#[derive(Clone, Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    carrier: Arc<Carrier>,
}

/// Ends the task with the last writer.
#[derive(Debug)]
struct Carrier(Mutex<JoinSet<()>>);

struct Shared {
    client: Client,
    answers: mpsc::Sender<Input>,
    limits: Limits,
    leadership: Leadership,
    hostname: String,
    lanes: Mutex<Lanes>,
    /// There is something to do.
    wake: Notify,
    /// The carrier ends when there is nothing to do any more.
    is_draining: AtomicBool,
    counts: Counts,
}

impl Writer {
    /// Starts a writer. To be called within a tokio runtime.
    ///
    /// The client must not repeat requests by itself (`Config::default_retry` of kube is on by
    /// default): a repeated binding would hide what came of the first.
    #[must_use]
    pub fn start(
        client: Client,
        answers: mpsc::Sender<Input>,
        limits: Limits,
        leadership: Leadership,
    ) -> Self {
        let lanes = Lanes::new(&limits, Instant::now().into_std());
        let shared = Arc::new(Shared {
            client,
            answers,
            limits,
            leadership,
            hostname: election::hostname(),
            lanes: Mutex::new(lanes),
            wake: Notify::new(),
            is_draining: AtomicBool::new(false),
            counts: Counts::default(),
        });
        let mut task = JoinSet::new();
        task.spawn(carry(Arc::clone(&shared)));
        Self { shared, carrier: Arc::new(Carrier(Mutex::new(task))) }
    }

    /// Takes a command, and returns at once. May be called from any thread.
    pub fn send(&self, command: Command) {
        let class = class_of(&command);
        let now = Instant::now().into_std();
        let pushed = self.shared.lanes().push(now, Timestamp::now(), command);
        self.shared.counts.pushed(class, pushed);
        if pushed == Pushed::Waits {
            self.shared.wake.notify_one();
        }
    }

    /// What was done and what is to be done in a class.
    #[must_use]
    pub fn counts(&self, class: Class) -> ClassCounts {
        let lanes = self.shared.lanes();
        let (waiting, running) = (lanes.waiting(class), lanes.running(class));
        drop(lanes);
        ClassCounts { waiting, running, ..self.shared.counts.of(class) }
    }

    /// Writes what waits, the most urgent first, and stops. What is not done after `patience` is
    /// given up; returns how many writes that are.
    ///
    /// Answers must be taken meanwhile.
    pub async fn drain(self, patience: Duration) -> usize {
        self.shared.lanes().be_strict();
        self.shared.is_draining.store(true, Ordering::Release);
        self.shared.wake.notify_one();
        let mut task = {
            let mut carrier = self.carrier.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *carrier)
        };
        let _ = tokio::time::timeout(patience, task.join_next()).await;
        drop(task);
        let lanes = self.shared.lanes();
        Class::ALL.into_iter().map(|class| lanes.waiting(class) + lanes.running(class)).sum()
    }
}

impl Shared {
    /// A panic elsewhere is a bug that is seen there; the lanes are whole between calls.
    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a place back, for another write to take it.
    fn finish(&self, class: Class, pod: Option<&Text>) {
        self.lanes().finish(class, pod);
        self.wake.notify_one();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Starts writes as the lanes let them go. Its end is the end of all of them.
async fn carry(shared: Arc<Shared>) {
    let mut jobs = JoinSet::new();
    loop {
        let now = Instant::now();
        let wakeup = {
            let mut lanes = shared.lanes();
            while let Some(job) = lanes.take(now.into_std()) {
                let waited = wire::WAITED
                    .scope(Cell::new(Some(lanes.waited())), Arc::clone(&shared).run(job));
                jobs.spawn(waited);
            }
            // A job is there until its answer is taken.
            if shared.is_draining.load(Ordering::Acquire) && lanes.is_idle() && jobs.is_empty() {
                return;
            }
            lanes.next_wakeup(now.into_std())
        };
        let alarm = async {
            match wakeup {
                Some(at) => tokio::time::sleep_until(Instant::from_std(at)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = shared.wake.notified() => {}
            Some(_) = jobs.join_next() => while jobs.try_join_next().is_some() {},
            () = alarm => {}
        }
    }
}

fn class_of(command: &Command) -> Class {
    match command {
        Command::Bind { .. } | Command::Write { .. } => Class::Bind,
        Command::Evict { .. } => Class::Evict,
        Command::PatchStatus { nominated_node: Some(_), .. } => Class::Nominate,
        Command::PatchStatus { .. } => Class::Status,
        Command::RecordEvent(_) => Class::Event,
    }
}
