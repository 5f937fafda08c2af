//! What changes as a replay goes on, step by step.

use std::time::Duration;

use roadstead_cluster::{Notice, Object};
use roadstead_model::World;
use roadstead_queue::Time;
use roadstead_recording::{Digest, Header, Recorded, Step};
use roadstead_scheduler::{Command, Observer, Scheduler, Setup};

use super::effects::Effects;
use crate::simulation::{Progress, not_understood, slept};
use crate::statistics::{Journal, Noted, Statistics};
use crate::wakers::Wakers;

/// All that changes as a replay goes on.
pub(super) struct State<X> {
    pub(super) scheduler: Scheduler<Noted<X>>,
    world: World,
    pub(super) wakers: Wakers,
    pub(super) statistics: Statistics,
    effects: Effects,
    pub(super) troubles: Vec<String>,
    pub(super) start: Time,
    pub(super) now: Time,
    pub(super) cycles: u64,
    pub(super) steps: u64,
    pub(super) digest: Digest,
    /// How many commands the marks say there were.
    marked: u64,
    pub(super) difference: Option<Difference>,
    /// Whether a cycle may follow that is the first after something else.
    is_first_cycle: bool,
}

/// Where a replay first came to something else than the recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the step after which it shows.
    pub step: u64,
    /// When that was, since the start.
    pub at: Duration,
    /// How many commands the recorded run had come to.
    pub recorded: u64,
    /// How many the replay had come to.
    pub replayed: u64,
}

impl<X: Observer> State<X> {
    pub(super) fn new(header: &Header, setup: Setup, extra: X) -> Self {
        let Setup { world, profiles, queue } = setup;
        let wakers = Wakers::new(&profiles);
        let observers = (Some(Journal::default()), extra);
        Self {
            scheduler: Scheduler::new(queue, profiles, observers, header.seed),
            world,
            wakers,
            statistics: Statistics::default(),
            effects: Effects::default(),
            troubles: Vec::new(),
            start: header.start(),
            now: header.start(),
            cycles: 0,
            steps: 0,
            digest: Digest::default(),
            marked: 0,
            difference: None,
            is_first_cycle: true,
        }
    }

    /// Does a step, and returns what came out.
    pub(super) fn perform(&mut self, recorded: Recorded) -> Vec<Command> {
        let Recorded { number, at, step } = recorded;
        self.steps = number + 1;
        if at > self.now {
            self.advance(at);
        }
        match step {
            Step::Set(object) => self.show(&object, true),
            Step::Gone(object) => self.show(&object, false),
            Step::Bound { uid, result } => {
                let time = self.since_start();
                self.effects.bound(&uid, &result, &mut self.statistics, time);
                self.scheduler.bound(&uid, result, at);
            }
            Step::Written { uid, result } => self.scheduler.written(&uid, result, at),
            Step::Evicted { preemptor, result } => {
                self.effects.evicted(&preemptor, &result, &mut self.statistics);
                self.scheduler.evicted(&preemptor, &result, at);
            }
            Step::OnTime => self.scheduler.on_time(at),
            Step::Cycle => {
                if std::mem::take(&mut self.is_first_cycle) {
                    self.statistics.note_depth(&self.scheduler, self.since_start());
                }
                if self.scheduler.schedule_one(at) {
                    self.cycles += 1;
                    self.statistics.count_attempt(self.since_start());
                }
            }
            Step::Verify { budget } => {
                let budget = usize::try_from(budget).unwrap_or(usize::MAX);
                let missed = self.scheduler.verify_wakeups(budget, at);
                self.troubles.extend(missed.iter().map(slept));
            }
            Step::Trouble(trouble) => self.troubles.push(trouble),
            Step::Decided { commands, digest } => {
                self.marked += commands;
                let is_same = self.digest.commands() == self.marked && self.digest.end() == digest;
                self.compare(is_same, number, self.marked);
            }
            Step::Ended { commands, digest } => {
                let is_same = self.digest.commands() == commands && self.digest.value() == digest;
                self.compare(is_same, number, commands);
            }
            // A reader of this version knows no others.
            _ => {}
        }
        let commands: Vec<Command> = self.scheduler.commands().collect();
        let time = self.since_start();
        for command in &commands {
            self.digest.add(command);
            self.effects.command(command, &mut self.statistics, time);
        }
        commands
    }

    fn show(&mut self, object: &Object, is_there: bool) {
        let (now, time) = (self.now, self.since_start());
        let notice = match Notice::of(object, &mut self.world) {
            Ok(Some(notice)) => notice,
            Ok(None) => return,
            Err(error) => return self.troubles.push(not_understood(object, &error)),
        };
        if let (Notice::Pod(pod), Object::Pod(shown)) = (&notice, object) {
            if is_there {
                self.statistics.pod_shown(pod, shown, time);
                self.effects.shown(pod, &mut self.statistics, time);
            } else {
                self.statistics.pod_gone(pod, time);
            }
        }
        match is_there {
            true => notice.tell(&mut self.scheduler, now),
            false => notice.tell_gone(&mut self.scheduler, now),
        }
    }

    fn compare(&mut self, is_same: bool, step: u64, recorded: u64) {
        if !is_same && self.difference.is_none() {
            let replayed = self.digest.commands();
            let at = self.now - self.start;
            self.difference = Some(Difference { step, at, recorded, replayed });
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            now: self.since_start(),
            bound: self.statistics.bound_count(),
            waiting: self.scheduler.queue().counts().waiting(),
            cycles: self.cycles,
        }
    }

    pub(super) fn advance(&mut self, next: Time) {
        let now = self.since_start();
        self.statistics.note_depth(&self.scheduler, now);
        let then = Time::ZERO + (next - self.start);
        if self.statistics.is_in_another_bucket(now, then) {
            self.statistics.sample(&self.scheduler, now);
        }
        self.now = next;
        self.is_first_cycle = true;
    }

    /// Takes down how things are, for an outcome as of now.
    pub(super) fn take_stock(&mut self) {
        let now = self.since_start();
        self.statistics.note_depth(&self.scheduler, now);
        self.statistics.sample(&self.scheduler, now);
    }

    /// Outcomes count from the start of the run, whatever clock the scheduler has.
    pub(super) fn since_start(&self) -> Time {
        Time::ZERO + (self.now - self.start)
    }
}
