//! Whatever moves is told.

use std::collections::BTreeMap;

use crate::event::{Event, Label};
use crate::place::Place;
use crate::plugin::PluginId;
use crate::time::Time;

/// Hears of everything that happens in a queue.
///
/// Metrics, journals and streams are observers. Two of them make one as a pair; `()` hears
/// nothing and costs nothing. An observer must not take long: the queue waits for it.
pub trait Observer<T, O> {
    /// An item moved, came or went.
    fn transition(&mut self, transition: &Transition<'_, T>) {
        let _ = transition;
    }

    /// A plugin was asked whether an event is worth a retry.
    fn hint(&mut self, verdict: &HintVerdict<'_, T, O>) {
        let _ = verdict;
    }

    /// A gate was asked whether it lets an item through.
    fn gate(&mut self, verdict: &GateVerdict<'_, T>) {
        let _ = verdict;
    }

    /// The gates of an item were asked, until one refused it or all had let it through. What that
    /// cost is in the observer's own [ticks](Self::ticks).
    fn gates(&mut self, item: &T, cost: u64) {
        let _ = (item, cost);
    }

    /// A reading of whatever hints and gates are to be charged with: nanoseconds, instructions. The
    /// queue takes one before and one after; it has no clock of its own.
    fn ticks(&mut self) -> u64 {
        0
    }
}

impl<T, O> Observer<T, O> for () {}

impl<T, O, A: Observer<T, O>, B: Observer<T, O>> Observer<T, O> for (A, B) {
    fn transition(&mut self, transition: &Transition<'_, T>) {
        self.0.transition(transition);
        self.1.transition(transition);
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, T, O>) {
        self.0.hint(verdict);
        self.1.hint(verdict);
    }

    fn gate(&mut self, verdict: &GateVerdict<'_, T>) {
        self.0.gate(verdict);
        self.1.gate(verdict);
    }

    fn gates(&mut self, item: &T, cost: u64) {
        self.0.gates(item, cost);
        self.1.gates(item, cost);
    }

    /// The first one's, unless it has none.
    fn ticks(&mut self) -> u64 {
        match self.0.ticks() {
            0 => self.1.ticks(),
            ticks => ticks,
        }
    }
}

/// An observer that may be absent; then nobody hears anything.
impl<T, O, A: Observer<T, O>> Observer<T, O> for Option<A> {
    fn transition(&mut self, transition: &Transition<'_, T>) {
        if let Some(observer) = self {
            observer.transition(transition);
        }
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, T, O>) {
        if let Some(observer) = self {
            observer.hint(verdict);
        }
    }

    fn gate(&mut self, verdict: &GateVerdict<'_, T>) {
        if let Some(observer) = self {
            observer.gate(verdict);
        }
    }

    fn gates(&mut self, item: &T, cost: u64) {
        if let Some(observer) = self {
            observer.gates(item, cost);
        }
    }

    fn ticks(&mut self) -> u64 {
        self.as_mut().map_or(0, |observer| observer.ticks())
    }
}

/// An item's step from one place to another.
#[derive(Debug)]
pub struct Transition<'a, T> {
    /// The item.
    pub item: &'a T,
    /// Where it was; `None` if it is new, or had left the queue.
    pub from: Option<Place>,
    /// Where it is now; `None` if it is gone.
    pub to: Option<Place>,
    /// Why.
    pub cause: Cause<'a>,
    /// The plugin whose hint found an event worth a retry, if that is why.
    pub by: Option<PluginId>,
    /// When.
    pub at: Time,
}

/// Why an item moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<'a> {
    /// It is new.
    Added(Label<'a>),
    /// It changed itself.
    Updated(Label<'a>),
    /// Something happened that may help it.
    Event(Label<'a>),
    /// An attempt failed.
    Failure,
    /// Its backoff ended.
    BackoffComplete,
    /// It was asked to be activated.
    Activated,
    /// It was in the pool for too long.
    Leftover,
    /// An attempt began.
    Popped,
    /// An attempt began although the backoff had not ended, since nothing was active.
    PoppedFromBackoff,
    /// An attempt came to its end.
    Finished,
    /// The item was deleted.
    Deleted,
    /// There was another of the same name or incarnation, which stays.
    Discarded,
}

impl<'a> Cause<'a> {
    /// The cause's name, as kube-scheduler's metrics have it.
    pub fn label(self) -> Label<'a> {
        match self {
            Self::Added(label) | Self::Updated(label) | Self::Event(label) => label,
            Self::Failure => Label::fixed("ScheduleAttemptFailure"),
            Self::BackoffComplete => Label::fixed("BackoffComplete"),
            Self::Activated => Label::fixed("ForceActivate"),
            Self::Leftover => Label::fixed("UnschedulableTimeout"),
            Self::Popped => Label::fixed("Pop"),
            Self::PoppedFromBackoff => Label::fixed("PopFromBackoffQ"),
            Self::Finished => Label::fixed("Done"),
            Self::Deleted => Label::fixed("Delete"),
            Self::Discarded => Label::fixed("Discard"),
        }
    }
}

/// A plugin's word on an event.
#[derive(Debug)]
pub struct HintVerdict<'a, T, O> {
    /// The plugin.
    pub plugin: PluginId,
    /// What happened.
    pub event: &'a Event<O>,
    /// The item that it was asked about.
    pub item: &'a T,
    /// For how many items the answer counts: all of a class, or one.
    pub items: usize,
    /// Its answer, or why it could not give one.
    pub verdict: Verdict<'a>,
    /// What the answer cost, in the observer's own [ticks](Observer::ticks).
    pub cost: u64,
    /// When.
    pub at: Time,
}

/// What a hint said.
#[derive(Clone, Copy, Debug)]
pub enum Verdict<'a> {
    /// The event may help.
    Queue,
    /// The event cannot help.
    Skip,
    /// The hint failed, which counts as `Queue`.
    Error(&'a (dyn std::error::Error + Send + Sync + 'static)),
}

/// A gate's word on an item.
#[derive(Debug)]
pub struct GateVerdict<'a, T> {
    /// The gate.
    pub plugin: PluginId,
    /// The item.
    pub item: &'a T,
    /// Whether it may be tried.
    pub open: bool,
}

/// Counts how many items entered each place, by cause: kube-scheduler's
/// `queue_incoming_pods_total`.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    counts: BTreeMap<(Entrance, String), u64>,
}

/// A place that [`Incoming`] counts entries of. Gated items count as unschedulable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Entrance {
    /// Into the active items, or straight through them out of backoff.
    Active,
    /// Into either backoff.
    Backoff,
    /// Into the pool.
    Unschedulable,
}

impl Entrance {
    /// The place's name, as kube-scheduler's metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
        }
    }

    /// The place that a step enters, if it counts as entering one.
    pub fn of<T>(step: &Transition<'_, T>) -> Option<Self> {
        if step.cause == Cause::PoppedFromBackoff {
            return Some(Self::Active);
        }
        let stays_in_pool = step.from.is_some_and(Place::is_pool);
        match step.to? {
            Place::Active => Some(Self::Active),
            Place::Backoff { .. } | Place::ErrorBackoff { .. } => Some(Self::Backoff),
            // An event takes the item out of the pool before its gate is asked; an update of
            // the item itself, or activating it, does not.
            Place::Unschedulable | Place::Gated { .. } => match step.cause {
                Cause::Added(_) | Cause::Updated(_) | Cause::Activated if stays_in_pool => None,
                _ => Some(Self::Unschedulable),
            },
            Place::InFlight => None,
        }
    }
}

impl Incoming {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The counts so far, by place and cause.
    pub fn iter(&self) -> impl Iterator<Item = (Entrance, &str, u64)> {
        self.counts.iter().map(|((entrance, label), count)| (*entrance, &**label, *count))
    }
}

impl<T, O> Observer<T, O> for Incoming {
    fn transition(&mut self, step: &Transition<'_, T>) {
        if let Some(entrance) = Entrance::of(step) {
            *self.counts.entry((entrance, step.cause.label().to_string())).or_default() += 1;
        }
    }
}
