//! What is kept of a running scheduler's doings.

use roadstead_scheduler::{Activity, Journal, JournalLimits, Metrics, Scheduler};
use roadstead_sim::Noted;

use crate::clock;

/// Who hears of everything that a running scheduler does: its metrics, its journal of pods, and
/// what the dashboard shows.
pub(crate) type Watchers = (Metrics, (Journal, Activity));

/// A scheduler that runs, with all that is kept of its doings: as a replay has it, so that both
/// are asked in the same way. Only a replay notes what an outcome needs.
pub(crate) type Observed = Scheduler<Noted<Watchers>>;

pub(crate) fn watchers(limits: JournalLimits) -> Watchers {
    (Metrics::new(Some(clock::ticks)), (Journal::with_thread(limits), Activity::new()))
}

pub(crate) fn observers(limits: JournalLimits) -> Noted<Watchers> {
    (None, watchers(limits))
}

pub(crate) fn metrics(scheduler: &Observed) -> &Metrics {
    &scheduler.queue().observer().1.0
}

pub(crate) fn metrics_mut(scheduler: &mut Observed) -> &mut Metrics {
    &mut scheduler.observer_mut().1.0
}

pub(crate) fn journal(scheduler: &Observed) -> &Journal {
    &scheduler.queue().observer().1.1.0
}

pub(crate) fn activity(scheduler: &Observed) -> &Activity {
    &scheduler.queue().observer().1.1.1
}

pub(crate) fn activity_mut(scheduler: &mut Observed) -> &mut Activity {
    &mut scheduler.observer_mut().1.1.1
}
