//! What the parts of a search cost, by the observer's clock.

use std::cell::RefCell;

use super::search::mixed;
use crate::framework::Status;

/// The runs of extension points during a search, which cannot be told while it goes on.
#[derive(Default)]
pub(super) struct Laps {
    clock: Option<fn() -> u64>,
    laps: RefCell<Vec<Lap>>,
}

/// A run of an extension point.
pub(super) struct Lap {
    pub(super) point: &'static str,
    pub(super) status: &'static str,
    pub(super) cost: u64,
}

impl Laps {
    pub(super) fn new(clock: Option<fn() -> u64>) -> Self {
        Self { clock, laps: RefCell::default() }
    }

    /// Runs a point. Without a clock it is only run.
    pub(super) fn run<T, E>(
        &self,
        point: &'static str,
        call: impl FnOnce() -> Result<T, E>,
        status: impl FnOnce(&E) -> &'static str,
    ) -> Result<T, E> {
        let Some(clock) = self.clock else { return call() };
        let before = clock();
        let result = call();
        let cost = clock().saturating_sub(before);
        let status = result.as_ref().map_or_else(status, |_| "Success");
        self.laps.borrow_mut().push(Lap { point, status, cost });
        result
    }

    pub(super) fn into_laps(self) -> Vec<Lap> {
        self.laps.into_inner()
    }
}

/// Whether calls of plugins are measured in the cycle of that number: in a tenth of all, unlike
/// each other, so that no rhythm of the workload meets them. No random number of the scheduler's is
/// drawn, or measuring would change what it decides.
pub(super) fn is_measured(cycle: u64) -> bool {
    mixed(cycle).is_multiple_of(10)
}

/// The name of a status in metrics.
pub(super) fn name(status: &Status) -> &'static str {
    status.code().name()
}
