//! What goes on in a scheduler, second by second: an observer for whoever watches.

mod document;
mod flows;
mod held;
mod recent;
mod seconds;
mod wakes;
mod words;

use roadstead_queue::{Cause, HintVerdict, Item, Place, Plugins, Time, Transition, Verdict};

use crate::events::Object;
use crate::observer::{AttemptResult, Happening, Observer};
use crate::scheduler::{QueuedPod, Scheduler};
pub use document::{
    ActivityDocument, Depths, EventActivity, Flow, HintActivity, RecentMove, Sample, Series, Totals,
};
use flows::{FlowKey, Flows};
pub use held::HeldPods;
use recent::Recent;
use seconds::Seconds;
use wakes::{Tally, Wakes};
use words::Words;

/// Counts what a scheduler does: in all, by flow from place to place, by second, by event and by
/// hint.
///
/// Everything it keeps has a bound, and is taken from memory once: words are kept by number, seconds
/// and moves in rings. What it shows is in [`document`](Self::document).
pub struct Activity {
    plugins: Plugins,
    words: Words,
    totals: Totals,
    flows: Flows,
    seconds: Seconds,
    wakes: Wakes,
    recent: Recent,
    /// What the attempt cost that ended last: it is told just before the pod goes back.
    attempt_cost: u64,
    /// The latest time that anybody spoke of.
    now: Time,
}

/// One end of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum End {
    New,
    Active,
    Backoff,
    Unschedulable,
    Gated,
    InFlight,
    Bound,
    Gone,
}

impl End {
    fn from(place: Option<Place>) -> Self {
        place.map_or(Self::New, Self::of)
    }

    fn to(place: Option<Place>, cause: Cause<'_>) -> Self {
        match (place, cause) {
            (Some(place), _) => Self::of(place),
            (None, Cause::Finished) => Self::Bound,
            (None, _) => Self::Gone,
        }
    }

    fn of(place: Place) -> Self {
        match place {
            Place::Active => Self::Active,
            Place::Backoff { .. } | Place::ErrorBackoff { .. } => Self::Backoff,
            Place::Unschedulable => Self::Unschedulable,
            Place::Gated { .. } => Self::Gated,
            Place::InFlight => Self::InFlight,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
            Self::Gated => "gated",
            Self::InFlight => "inFlight",
            Self::Bound => "bound",
            Self::Gone => "gone",
        }
    }
}

impl Default for Activity {
    fn default() -> Self {
        Self::new()
    }
}

impl Activity {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            plugins: Plugins::new(),
            words: Words::new(),
            totals: Totals::default(),
            flows: Flows::new(),
            seconds: Seconds::new(),
            wakes: Wakes::new(),
            recent: Recent::new(),
            attempt_cost: 0,
            now: Time::ZERO,
        }
    }

    /// What happened in all.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// How many items are in each place, by the moves that were seen.
    #[must_use]
    pub fn depths(&self) -> Depths {
        self.seconds.depths()
    }

    fn at(&mut self, time: Time) {
        if time > self.now {
            self.now = time;
            self.seconds.roll(time);
        }
    }
}

impl std::fmt::Debug for Activity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Activity").field("totals", &self.totals).finish_non_exhaustive()
    }
}

impl roadstead_queue::Observer<QueuedPod, Object> for Activity {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        self.at(step.at);
        let cause = self.words.of_label(step.cause.label());
        let (from, to) = (End::from(step.from), End::to(step.to, step.cause));
        self.totals.moves += 1;
        self.seconds.moved(from, to);
        self.flows.note(FlowKey { from, to, cause }, step.at);
        self.recent.note(step, from, to, cause);
        match step.cause {
            Cause::Event(_) if matches!(from, End::Unschedulable | End::Gated) => {
                // One that a gate holds again was not woken.
                if matches!(to, End::Active | End::Backoff) {
                    self.wakes.woke(step.item.incarnation(), cause, step.by);
                }
            }
            _ if from == End::InFlight => {
                let cost = std::mem::take(&mut self.attempt_cost);
                self.wakes.tried(step.item.incarnation(), to == End::Bound, cost);
            }
            _ if step.to.is_none() => self.wakes.forget(step.item.incarnation()),
            _ => {}
        }
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, QueuedPod, Object>) {
        let event = self.words.of_label(verdict.event.label());
        let hint = self.wakes.hint(verdict.plugin, event);
        hint.asked += 1;
        hint.cost += verdict.cost;
        match verdict.verdict {
            Verdict::Queue => hint.queue += 1,
            Verdict::Skip => hint.skip += 1,
            Verdict::Error(_) => hint.error += 1,
        }
    }
}

impl Observer for Activity {
    fn happened(&mut self, happening: &Happening<'_>) {
        match *happening {
            Happening::Attempted { result, cost, .. } => {
                self.totals.attempts += 1;
                self.attempt_cost = cost;
                self.seconds.attempted();
                match result {
                    AttemptResult::Scheduled => {}
                    AttemptResult::Unschedulable => self.totals.unschedulable += 1,
                    AttemptResult::Error => self.totals.errors += 1,
                }
            }
            Happening::Scheduled { first_ready, at, .. } => {
                self.at(at);
                self.totals.bound += 1;
                self.seconds.bound(first_ready.map(|first| at - first));
            }
            Happening::Preempted { victims, at, .. } => {
                self.at(at);
                // Those that were leaving already leave for nobody.
                let chosen = victims.iter().filter(|victim| !victim.is_terminating()).count();
                self.totals.preempted += chosen as u64;
            }
            Happening::EventHandled { event, cost } => {
                let event = self.words.of(event);
                let Tally { seen, cost: all, .. } = self.wakes.event(event);
                *seen += 1;
                *all += cost;
            }
            _ => {}
        }
    }

    fn start(&mut self, plugins: &Plugins) {
        self.plugins = plugins.clone();
    }
}

impl Depths {
    /// How many pods of a scheduler are in each place.
    #[must_use]
    pub fn of<V: Observer>(scheduler: &Scheduler<V>) -> Self {
        let counts = scheduler.queue().counts();
        Self {
            active: counts.active,
            backoff: counts.backoff + counts.error_backoff,
            unschedulable: counts.unschedulable,
            gated: counts.gated,
            in_flight: counts.in_flight,
            binding: scheduler.bindings(),
        }
    }
}
