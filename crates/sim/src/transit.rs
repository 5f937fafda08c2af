//! What is under way between scheduler and cluster, and how long it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use roadstead_cluster::Kind;
use roadstead_cluster::embedded::Change;
use roadstead_model::Text;
use roadstead_queue::Time;
use roadstead_scheduler::Command;

use crate::random::Random;

/// How the way between scheduler and cluster behaves. By default it takes no time, and nothing
/// goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// From a command until the cluster carries it out.
    pub command_delay: Delay,
    /// From then until the scheduler hears what came of it.
    pub answer_delay: Delay,
    /// From a change in the cluster until the scheduler is shown it.
    pub watch_delay: Delay,
    /// How many of a thousand bindings do not reach the cluster and are answered with an error.
    pub failing_bindings: u16,
    /// How many of a thousand bindings are carried out and answered with an error.
    pub lost_answers: u16,
}

/// A delay somewhere between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The shortest.
    pub least: Duration,
    /// The longest.
    pub most: Duration,
}

impl Delay {
    /// Always the same.
    #[must_use]
    pub const fn of(delay: Duration) -> Self {
        Self { least: delay, most: delay }
    }
}

/// Something under way.
pub(crate) enum Parcel {
    /// The scheduler wants something done.
    Command(Command),
    /// What came of a command.
    Answer(Answer),
    /// The cluster shows a change.
    Shown(Shown),
}

pub(crate) enum Answer {
    Bound { uid: Text, result: Result<(), String> },
    Written { uid: Text, result: Result<(), String> },
    Evicted { preemptor: Text, result: Result<(), String> },
}

pub(crate) struct Shown {
    pub(crate) change: Change,
    /// Whether it may change where some pod fits: a status that the scheduler itself wrote does
    /// not.
    pub(crate) stirs: bool,
}

/// What fate has in store for a binding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Succeeds,
    Fails,
    LosesItsAnswer,
}

/// Everything under way, by the time of its arrival.
pub(crate) struct Transit {
    faults: Faults,
    random: Random,
    parcels: BTreeMap<(Time, u64), Parcel>,
    sent: u64,
    /// When the last command arrives that must not be overtaken by those after it.
    commands: Time,
    /// When the last change of each kind is shown: each kind is watched on its own, in order.
    shown: BTreeMap<Kind, Time>,
}

impl Transit {
    pub(crate) fn new(faults: Faults, seed: u64) -> Self {
        Self {
            faults,
            random: Random::new(seed),
            parcels: BTreeMap::new(),
            sent: 0,
            commands: Time::ZERO,
            shown: BTreeMap::new(),
        }
    }

    pub(crate) fn send_command(&mut self, command: Command, now: Time) {
        let earliest = (now + self.delay(self.faults.command_delay)).max(self.commands);
        // Bindings run beside each other, everything else in its order, and nothing overtakes an
        // earlier write to the same pod.
        if !matches!(command, Command::Bind { .. }) {
            self.commands = earliest;
        }
        self.send(earliest, Parcel::Command(command));
    }

    pub(crate) fn send_answer(&mut self, answer: Answer, now: Time) {
        let at = now + self.delay(self.faults.answer_delay);
        self.send(at, Parcel::Answer(answer));
    }

    pub(crate) fn send_change(&mut self, shown: Shown, now: Time) {
        let kind = shown.change.object.kind();
        let last = self.shown.get(&kind).copied().unwrap_or(now);
        let at = (now + self.delay(self.faults.watch_delay)).max(last);
        self.shown.insert(kind, at);
        self.send(at, Parcel::Shown(shown));
    }

    /// The next one that has arrived by `now`.
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Parcel> {
        let first = self.parcels.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// When the next one arrives.
    pub(crate) fn next(&self) -> Option<Time> {
        self.parcels.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn fate_of_binding(&mut self) -> Fate {
        let Faults { failing_bindings, lost_answers, .. } = self.faults;
        if failing_bindings == 0 && lost_answers == 0 {
            return Fate::Succeeds;
        }
        match self.random.below(1000) {
            drawn if drawn < u64::from(failing_bindings) => Fate::Fails,
            drawn if drawn < u64::from(failing_bindings) + u64::from(lost_answers) => {
                Fate::LosesItsAnswer
            }
            _ => Fate::Succeeds,
        }
    }

    fn delay(&mut self, delay: Delay) -> Duration {
        if delay.most.is_zero() {
            return Duration::ZERO;
        }
        self.random.between(delay.least, delay.most)
    }

    fn send(&mut self, at: Time, parcel: Parcel) {
        self.parcels.insert((at, self.sent), parcel);
        self.sent += 1;
    }
}
