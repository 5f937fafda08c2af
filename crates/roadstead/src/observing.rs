//! What is kept of a running scheduler's doings.

use roadstead_scheduler::{Journal, JournalLimits, Metrics, Scheduler};

use crate::clock;

/// Who hears of everything that a running scheduler does: its metrics, and its journal of pods.
pub(crate) type Observers = (Metrics, Journal);

/// A scheduler that runs, with all that is kept of its doings.
pub(crate) type Observed = Scheduler<Observers>;

pub(crate) fn observers(limits: JournalLimits) -> Observers {
    (Metrics::new(Some(clock::ticks)), Journal::new(limits))
}

pub(crate) fn metrics(scheduler: &Observed) -> &Metrics {
    &scheduler.queue().observer().0
}
