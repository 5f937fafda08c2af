//! A recorded run, once more.

mod effects;
mod state;

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use roadstead_queue::Time;
use roadstead_recording::{Ending, Header, ReadError, Reader, Recorded};
use roadstead_scheduler::config::{ConfigError, SchedulerConfiguration};
use roadstead_scheduler::explain::Explanation;
use roadstead_scheduler::{
    Command, History, Journal as PodJournal, Observer, PodKey, Registry, Scheduler, Setup,
    SetupError,
};

use crate::outcome::{Moment, Outcome};
use crate::simulation::Progress;
use crate::statistics::{Noted, PodRecord};
pub use state::Difference;
use state::State;

/// A scheduler to which is done what was done to another, as a recording tells it, in virtual time.
///
/// Equal calls give equal decisions: what comes out is compared with the marks of the recording, and
/// the first [difference](Self::difference) is kept. [`run_to`](Self::run_to) goes on to any moment,
/// at which everything can be asked that a running scheduler can be asked; to go back, begin
/// [again](Self::begin_again).
///
/// `X` hears of everything that the scheduler does, beside what an [`Outcome`] needs.
pub struct Replay<X = Option<PodJournal>, R = BufReader<File>> {
    reader: Reader<R>,
    /// Read, and not reached yet.
    next: Option<Recorded>,
    state: State<X>,
}

/// Why no scheduler can be made for a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The configuration of the recording does not read.
    #[error("its configuration: {0}")]
    Config(ConfigError),
    /// No scheduler can be made of it.
    #[error("its configuration: {0}")]
    Setup(SetupError),
}

/// The scheduler that a recording asks for, as it was: with the configuration that was in force.
///
/// # Errors
/// The configuration does not read, or names a plugin that is not in the registry.
pub fn setup_of(header: &Header, file: &str, registry: &Registry) -> Result<Setup, ReplayError> {
    let text = header.configuration.to_string();
    let name = format!("{file} (its configuration)");
    let configuration = SchedulerConfiguration::read(&name, &text, registry.known());
    setup_with(header, &configuration.map_err(ReplayError::Config)?, registry)
}

/// The scheduler that a recording asks for, with another configuration.
///
/// # Errors
/// No scheduler can be made of the configuration.
pub fn setup_with(
    header: &Header,
    configuration: &SchedulerConfiguration,
    registry: &Registry,
) -> Result<Setup, ReplayError> {
    let mut setup = Setup::new(configuration, registry).map_err(ReplayError::Setup)?;
    if let Some(leftover_after) = header.leftover_after() {
        setup.queue.leftover_after = leftover_after;
    }
    Ok(setup)
}

impl<X: Observer, R: Read + Seek> Replay<X, R> {
    /// Begins with the first step. The setup is [that of the recording](setup_of).
    #[must_use]
    pub fn new(mut reader: Reader<R>, setup: Setup, extra: X) -> Self {
        reader.rewind();
        let state = State::new(reader.header(), setup, extra);
        Self { reader, next: None, state }
    }

    /// Begins again with the first step, to go to a moment that is past.
    pub fn begin_again(&mut self, setup: Setup, extra: X) {
        self.reader.rewind();
        self.next = None;
        self.state = State::new(self.reader.header(), setup, extra);
    }

    /// Does everything up to and at a time of the scheduler's clock, or all there is. `progress` is
    /// told now and then how far it is.
    ///
    /// # Errors
    /// The recording cannot be read further.
    pub fn run_to(
        &mut self,
        until: Option<Time>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<(), ReadError> {
        while let Some(recorded) = self.take_until(until)? {
            let number = recorded.number;
            self.state.perform(recorded);
            if number.is_multiple_of(STEPS_BETWEEN_PROGRESS) {
                progress(&self.state.progress());
            }
        }
        // Past the end of a recording nothing is known.
        if let Some(until) = until.filter(|until| self.next.is_some() && *until > self.state.now) {
            self.state.advance(until);
        }
        self.state.take_stock();
        Ok(())
    }

    /// Does the next step, if there is one, and returns it with what came out.
    ///
    /// # Errors
    /// The recording cannot be read further.
    pub fn step(&mut self) -> Result<Option<(Recorded, Vec<Command>)>, ReadError> {
        self.step_until(None)
    }

    /// The same, if the step is not after that time.
    pub(crate) fn step_until(
        &mut self,
        until: Option<Time>,
    ) -> Result<Option<(Recorded, Vec<Command>)>, ReadError> {
        let Some(recorded) = self.take_until(until)? else { return Ok(None) };
        let commands = self.state.perform(recorded.clone());
        Ok(Some((recorded, commands)))
    }

    /// Every pod that there was, as it was placed.
    pub(crate) fn pod_records(&self) -> &[PodRecord] {
        self.state.statistics.pods()
    }

    /// The recording, at whatever step it is.
    #[must_use]
    pub fn into_reader(self) -> Reader<R> {
        self.reader
    }

    /// How the recording ends, once its end was reached.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.reader.ending().filter(|_| self.next.is_none())
    }

    /// How many bytes follow the end of a complete recording, once that was reached.
    #[must_use]
    pub fn bytes_after_end(&self) -> u64 {
        if self.next.is_none() { self.reader.bytes_after_end() } else { 0 }
    }

    /// What the recording is of.
    #[must_use]
    pub fn header(&self) -> &Header {
        self.reader.header()
    }

    /// Where the replay first came to something else than the recorded run.
    #[must_use]
    pub fn difference(&self) -> Option<Difference> {
        self.state.difference
    }

    /// How many steps were done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.state.steps
    }

    /// How many commands came out.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.state.digest.commands()
    }

    /// The time of the scheduler's clock.
    #[must_use]
    pub fn now(&self) -> Time {
        self.state.now
    }

    /// When the run began, by the scheduler's clock.
    #[must_use]
    pub fn start(&self) -> Time {
        self.state.start
    }

    /// The scheduler as it is now.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler<Noted<X>> {
        &self.state.scheduler
    }

    /// The scheduler as it is now, to be asked what takes a look at all nodes. Whoever tells it
    /// anything makes another run of it.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler<Noted<X>> {
        &mut self.state.scheduler
    }

    /// Where a pod is now, what it waits for and what would place it; `None` if it is not there.
    pub fn explain(&mut self, pod: &PodKey) -> Option<Explanation> {
        let now = self.state.now;
        self.state.scheduler.explain(pod, now)
    }

    /// What the run has come to by now.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let State { scheduler, statistics, wakers, troubles, cycles, .. } = &self.state;
        Outcome::of(Moment {
            now: self.state.since_start(),
            cycles: *cycles,
            scheduler,
            statistics,
            wakers,
            troubles: troubles.clone(),
        })
    }

    /// The next step, if it is not after that time.
    fn take_until(&mut self, until: Option<Time>) -> Result<Option<Recorded>, ReadError> {
        if self.next.is_none() {
            self.next = match self.reader.next_step() {
                // Nobody wants what is behind the damage.
                Err(ReadError::Damaged { .. })
                    if until.is_some_and(|until| until <= self.state.now) =>
                {
                    None
                }
                read => read?,
            };
        }
        Ok(self.next.take_if(|next| until.is_none_or(|until| next.at <= until)))
    }
}

impl<R: Read + Seek> Replay<Option<PodJournal>, R> {
    /// What happened to a pod, if it is kept.
    #[must_use]
    pub fn history(&self, pod: &PodKey) -> Option<History> {
        self.state.scheduler.queue().observer().1.as_ref()?.history(pod)
    }
}

const STEPS_BETWEEN_PROGRESS: u64 = 1024;
