//! The engine: cluster, scheduler and what is between them, in virtual time.

use std::io;
use std::time::Duration;

use roadstead_cluster::embedded::{ChangeKind, Cluster, Watch};
use roadstead_cluster::{ApiError, Notice, Object};
use roadstead_model::{ModelError, World};
use roadstead_queue::Time;
use roadstead_recording::{Recorder, Step, Written};
use roadstead_scheduler::explain::Explanation;
use roadstead_scheduler::{
    Command, History, JournalLimits, MissedWakeup, PodKey, Scheduler, Setup,
};

use crate::outcome::{Moment, Outcome};
use crate::statistics::{Journal, Observers, Statistics};
use crate::timeline::Timeline;
use crate::transit::{Answer, Faults, Parcel, Shown, Transit};
use crate::wakers::Wakers;

/// A cluster and its scheduler, run in virtual time.
///
/// ```
/// use roadstead_cluster::{embedded, manifests};
/// use roadstead_queue::Time;
/// use roadstead_sim::{Config, Setup, Simulation, Uneventful};
///
/// let text = "
/// {kind: Node, apiVersion: v1, metadata: {name: pier},
///  status: {allocatable: {cpu: 4, pods: 110}}}
/// ---
/// {kind: Pod, apiVersion: v1, metadata: {name: web},
///  spec: {containers: [{name: main, resources: {requests: {cpu: 3}}}]}}
/// ---
/// {kind: Pod, apiVersion: v1, metadata: {name: more},
///  spec: {containers: [{name: main, resources: {requests: {cpu: 3}}}]}}
/// ";
/// let mut cluster = embedded::Cluster::new(embedded::Config::default());
/// let _ = cluster.load(Time::ZERO, manifests::parse("web.yaml", text));
///
/// let mut simulation = Simulation::new(cluster, Setup::default(), Config::default());
/// simulation.run(&mut Uneventful, &mut |_| ())?;
/// let outcome = simulation.outcome();
/// assert_eq!((outcome.counts.placed, outcome.counts.waiting.unschedulable), (1, 1));
/// # Ok::<(), roadstead_sim::RunError>(())
/// ```
pub struct Simulation {
    pub(crate) config: Config,
    pub(crate) cluster: Cluster,
    pub(crate) scheduler: Scheduler<Observers>,
    pub(crate) transit: Transit,
    pub(crate) statistics: Statistics,
    pub(crate) wakers: Wakers,
    /// What went wrong without ending the run.
    troubles: Vec<String>,
    pub(crate) now: Time,
    recorder: Option<Recorder>,
    world: World,
    watch: Watch,
    /// When the scheduler last heard of something that may change where a pod fits.
    stirred: Time,
    cycles: u64,
    steps: u64,
}

/// How a simulation runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// What decides between equally good nodes, and what delays and failures are drawn from.
    /// Default 0.
    pub seed: u64,
    /// When to stop. By default when nothing happens any more.
    pub until: Option<Time>,
    /// How many scheduling cycles there may be. Default 100 million.
    pub max_cycles: u64,
    /// How the way between scheduler and cluster behaves.
    pub faults: Faults,
    /// How often pods are looked for that sleep though they could be placed. Default a sample.
    pub verify: Verify,
    /// How much is kept of what happened to each pod; nothing by default.
    pub journal: Option<JournalLimits>,
}

/// How often pods are looked for that sleep though they could be placed: a defect of whoever
/// rejected them. What is found is among the troubles of the outcome, and is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Now and then one class of pods, at hardly any cost.
    #[default]
    Sampled,
    /// After every step all of them, at the cost of a cycle each.
    Always,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            until: None,
            max_cycles: 100_000_000,
            faults: Faults::default(),
            verify: Verify::Sampled,
            journal: None,
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing will ever happen again, and trying everything that waits once more placed nothing.
    Quiet,
    /// The time was up.
    Stopped,
}

/// Why a run came to no end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// It went on for too long.
    #[error(
        "no quiet after {cycles} scheduling cycles, at {} s of virtual time: {waiting} pods wait; \
         stop it at a time, or allow more cycles",
        .now.as_millis() / 1000
    )]
    TooManyCycles {
        /// How many there were.
        cycles: u64,
        /// The virtual time.
        now: Time,
        /// How many pods wait.
        waiting: usize,
    },
    /// More happened at one time than the cluster keeps for watchers.
    #[error("too much happened at one time: {0}; let the cluster keep more changes")]
    MissedChanges(ApiError),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The virtual time.
    pub now: Time,
    /// How many pods were bound.
    pub bound: usize,
    /// How many pods wait.
    pub waiting: usize,
    /// How many scheduling cycles there were.
    pub cycles: u64,
}

impl Simulation {
    /// Puts a scheduler to work on a cluster, with all that is in it already.
    #[must_use]
    pub fn new(cluster: Cluster, setup: Setup, config: Config) -> Self {
        let Setup { world, profiles, queue } = setup;
        let wakers = Wakers::new(&profiles);
        let history = config.journal.map(roadstead_scheduler::Journal::new);
        let observers = (Some(Journal::default()), history);
        Self {
            scheduler: Scheduler::new(queue, profiles, observers, config.seed),
            transit: Transit::new(config.faults.clone(), config.seed),
            statistics: Statistics::default(),
            wakers,
            troubles: Vec::new(),
            now: Time::ZERO,
            recorder: None,
            world,
            // From the start, so that pods come in the order in which they were made.
            watch: Watch::new(Notice::KINDS, 0),
            stirred: Time::ZERO,
            cycles: 0,
            steps: 0,
            cluster,
            config,
        }
    }

    /// Records everything that the scheduler is told from here on, which is to be all of it: call it
    /// before [`run`](Self::run).
    pub fn record_to(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Ends the recording, if there is one, and says what was written.
    ///
    /// # Errors
    /// It could not be written.
    pub fn end_recording(&mut self) -> io::Result<Option<Written>> {
        let Some(mut recorder) = self.recorder.take() else { return Ok(None) };
        for (key, error) in self.cluster.troubles() {
            recorder.step(self.now, Step::Trouble(format!("{key}: {error}")));
        }
        recorder.finish(self.now).map(Some)
    }

    /// Runs until nothing happens any more, or until the time is up. `progress` is told now and
    /// then how far it is.
    ///
    /// # Errors
    /// The run came to no end.
    pub fn run(
        &mut self,
        timeline: &mut dyn Timeline,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<End, RunError> {
        loop {
            self.step(timeline, progress)?;
            let next = self.next(timeline);
            let Some(next) = next.filter(|next| !self.is_quiet(timeline, *next)) else {
                self.statistics.sample(&self.scheduler, self.now);
                return Ok(End::Quiet);
            };
            if let Some(until) = self.config.until
                && next > until
            {
                self.advance(until);
                self.statistics.sample(&self.scheduler, self.now);
                return Ok(End::Stopped);
            }
            self.advance(next);
        }
    }

    /// What the run came to.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let mut troubles = self.troubles.clone();
        troubles.extend(self.cluster.troubles().map(|(key, error)| format!("{key}: {error}")));
        Outcome::of(Moment {
            now: self.now,
            cycles: self.cycles,
            scheduler: &self.scheduler,
            statistics: &self.statistics,
            wakers: &self.wakers,
            troubles,
        })
    }

    /// The cluster as it is now.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The scheduler as it is now.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler<Observers> {
        &self.scheduler
    }

    /// Where a pod is now, what it waits for and what would place it; `None` if it is not there.
    pub fn explain(&mut self, pod: &PodKey) -> Option<Explanation> {
        self.scheduler.explain(pod, self.now)
    }

    /// What happened to a pod, if the run has kept it.
    #[must_use]
    pub fn history(&self, pod: &PodKey) -> Option<History> {
        self.scheduler.queue().observer().1.as_ref()?.history(pod)
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many scheduling cycles there were.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Everything that happens at the present time.
    fn step(
        &mut self,
        timeline: &mut dyn Timeline,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), RunError> {
        if timeline.next().is_some_and(|at| at <= self.now) {
            for trouble in timeline.act(self.now, &mut self.cluster) {
                self.note_trouble(trouble);
            }
        }
        self.cluster.on_time(self.now);
        self.publish(true)?;
        self.deliver()?;
        if self.scheduler.is_due(self.now) {
            self.record(|| Step::OnTime);
            self.scheduler.on_time(self.now);
        }
        self.deliver()?;
        self.statistics.note_depth(&self.scheduler, self.now);
        loop {
            while self.schedule_one() {
                self.count_cycle()?;
                self.deliver()?;
                if self.cycles.is_multiple_of(CYCLES_BETWEEN_PROGRESS) {
                    progress(&self.progress());
                }
            }
            if !self.verify_wakeups() {
                break;
            }
        }
        self.statistics.note_depth(&self.scheduler, self.now);
        progress(&self.progress());
        Ok(())
    }

    fn schedule_one(&mut self) -> bool {
        if !self.scheduler.queue().has_next() {
            return false;
        }
        self.record(|| Step::Cycle);
        self.scheduler.schedule_one(self.now)
    }

    /// Whether a pod was found that slept though it could be placed; it is to be tried now.
    fn verify_wakeups(&mut self) -> bool {
        self.steps += 1;
        let budget = match self.config.verify {
            Verify::Always => usize::MAX,
            Verify::Sampled if self.steps.is_multiple_of(STEPS_BETWEEN_SAMPLES) => 1,
            Verify::Sampled => return false,
        };
        self.record(|| Step::Verify { budget: budget as u64 });
        let missed = self.scheduler.verify_wakeups(budget, self.now);
        self.troubles.extend(missed.iter().map(slept));
        !missed.is_empty()
    }

    /// Passes on what the scheduler wants done, and whatever has arrived.
    fn deliver(&mut self) -> Result<(), RunError> {
        loop {
            let commands: Vec<Command> = self.scheduler.commands().collect();
            if let Some(recorder) = &mut self.recorder {
                recorder.decided(self.now, &commands);
            }
            for command in commands {
                self.transit.send_command(command, self.now);
            }
            let Some(parcel) = self.transit.arrived(self.now) else { return Ok(()) };
            match parcel {
                Parcel::Command(command) => {
                    let stirs = self.carry_out(command);
                    self.publish(stirs)?;
                }
                Parcel::Answer(Answer::Bound { uid, result }) => {
                    self.stirred = self.now;
                    self.record(|| Step::Bound { uid: uid.clone(), result: result.clone() });
                    self.scheduler.bound(&uid, result, self.now);
                }
                Parcel::Answer(Answer::Written { uid, result }) => {
                    self.stirred = self.now;
                    self.record(|| Step::Written { uid: uid.clone(), result: result.clone() });
                    self.scheduler.written(&uid, result, self.now);
                }
                Parcel::Answer(Answer::Evicted { preemptor, result }) => {
                    self.stirred = self.now;
                    self.record(|| Step::Evicted {
                        preemptor: preemptor.clone(),
                        result: result.clone(),
                    });
                    self.scheduler.evicted(&preemptor, &result, self.now);
                }
                Parcel::Shown(shown) => self.show(&shown),
            }
        }
    }

    fn show(&mut self, shown: &Shown) {
        if shown.stirs {
            self.stirred = self.now;
        }
        let is_there = shown.change.kind != ChangeKind::Deleted;
        let object = &shown.change.object;
        self.record(|| match is_there {
            true => Step::Set(object.clone()),
            false => Step::Gone(object.clone()),
        });
        let Self { scheduler, world, statistics, now, .. } = self;
        let notice = match Notice::of(object, world) {
            Ok(Some(notice)) => notice,
            Ok(None) => return,
            Err(error) => return self.troubles.push(not_understood(object, &error)),
        };
        if let (Notice::Pod(pod), Object::Pod(shown)) = (&notice, object) {
            match is_there {
                true => statistics.pod_shown(pod, shown, *now),
                false => statistics.pod_gone(pod, *now),
            }
        }
        match is_there {
            true => notice.tell(scheduler, *now),
            false => notice.tell_gone(scheduler, *now),
        }
    }

    /// Something went wrong outside of the scheduler.
    pub(crate) fn note_trouble(&mut self, trouble: String) {
        self.record(|| Step::Trouble(trouble.clone()));
        self.troubles.push(trouble);
    }

    fn record(&mut self, step: impl FnOnce() -> Step) {
        if let Some(recorder) = &mut self.recorder {
            recorder.step(self.now, step());
        }
    }

    /// Sends off what has changed in the cluster.
    fn publish(&mut self, stirs: bool) -> Result<(), RunError> {
        if self.watch.version() == self.cluster.version() {
            return Ok(());
        }
        let changes = self.cluster.changes(&mut self.watch).map_err(RunError::MissedChanges)?;
        self.cluster.forget_changes(self.watch.version());
        for change in changes {
            self.transit.send_change(Shown { change, stirs }, self.now);
        }
        Ok(())
    }

    fn next(&self, timeline: &dyn Timeline) -> Option<Time> {
        let next = [
            timeline.next(),
            self.cluster.next_wakeup(),
            self.transit.next(),
            self.scheduler.next_wakeup(),
        ];
        next.into_iter().flatten().min().map(|next| next.max(self.now))
    }

    /// Whether nothing but retries is left, and each pod that waits has had one that came to
    /// nothing. Retries go on for ever: what is in the pool is tried every five minutes, what
    /// backs off after an error every ten seconds.
    fn is_quiet(&self, timeline: &dyn Timeline, next: Time) -> bool {
        let queue = self.scheduler.queue();
        let counts = queue.counts();
        let is_busy = timeline.next().is_some()
            || self.cluster.next_wakeup().is_some()
            || self.transit.next().is_some()
            || self.scheduler.bindings() > 0
            || counts.active + counts.in_flight > 0;
        let config = queue.config();
        let round = if counts.unschedulable > 0 {
            config.leftover_after + LEFTOVER_SLACK
        } else {
            config.max_backoff + BACKOFF_SLACK
        };
        !is_busy && next > self.stirred + round
    }

    fn advance(&mut self, next: Time) {
        if self.statistics.is_in_another_bucket(self.now, next) {
            self.statistics.sample(&self.scheduler, self.now);
        }
        self.now = next;
    }

    fn count_cycle(&mut self) -> Result<(), RunError> {
        self.cycles += 1;
        self.statistics.count_attempt(self.now);
        if self.cycles <= self.config.max_cycles {
            return Ok(());
        }
        let waiting = self.scheduler.queue().counts().waiting();
        Err(RunError::TooManyCycles { cycles: self.config.max_cycles, now: self.now, waiting })
    }

    fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            bound: self.statistics.bound_count(),
            waiting: self.scheduler.queue().counts().waiting(),
            cycles: self.cycles,
        }
    }
}

/// A pod slept through what should have woken it, in words.
pub(crate) fn slept(missed: &MissedWakeup) -> String {
    let (namespace, name) = (missed.pod.namespace(), &missed.pod.name);
    let (plugins, events) = (missed.rejectors.join(", "), missed.events.join(", "));
    format!(
        "pod {namespace}/{name} slept though {} would take it: {plugins} rejected it and should \
         have heard of one of these: {events}",
        missed.node
    )
}

/// An object makes no sense to a scheduler, in words.
pub(crate) fn not_understood(object: &Object, error: &ModelError) -> String {
    format!("{} is not understood: {error}", object.key())
}

/// The pool is looked at every thirty seconds, backoffs every second: what is due at a time is
/// tried at most so much later.
const LEFTOVER_SLACK: Duration = Duration::from_secs(31);
const BACKOFF_SLACK: Duration = Duration::from_secs(2);

const CYCLES_BETWEEN_PROGRESS: u64 = 256;
const STEPS_BETWEEN_SAMPLES: u64 = 256;
