//! How many requests were sent and what came of them, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use super::lanes::{Class, Pushed};

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Refused,
    Throttled,
    Unclear,
    Withheld,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    classes: [Counters; 5],
}

#[derive(Debug, Default)]
struct Counters {
    outcomes: [AtomicU64; 5],
    looks: AtomicU64,
    merged: AtomicU64,
    unchanged: AtomicU64,
    dropped: AtomicU64,
}

/// What a writer has done and has to do, in one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Requests that were done.
    pub done: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that were told to come later.
    pub throttled: u64,
    /// Requests of which nobody knows what came of them: lost, too late, or a fault of the server.
    pub unclear: u64,
    /// Requests that were not sent because we do not lead.
    pub withheld: u64,
    /// Requests that looked what had come of others.
    pub looks: u64,
    /// Commands that were merged with one that had not been sent.
    pub merged: u64,
    /// Commands that said what was written already.
    pub unchanged: u64,
    /// Commands that were given up.
    pub dropped: u64,
    /// Writes that wait.
    pub waiting: usize,
    /// Writes under way.
    pub running: usize,
}

impl Counts {
    pub(super) fn sent(&self, class: Class, outcome: Outcome) {
        self.classes[class as usize].outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn looked(&self, class: Class) {
        self.classes[class as usize].looks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn pushed(&self, class: Class, pushed: Pushed) {
        let counters = &self.classes[class as usize];
        let counter = match pushed {
            Pushed::Waits => return,
            Pushed::Merged => &counters.merged,
            Pushed::Unchanged => &counters.unchanged,
            Pushed::Dropped => &counters.dropped,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn of(&self, class: Class) -> ClassCounts {
        let counters = &self.classes[class as usize];
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let outcome = |outcome| read(&counters.outcomes[outcome as usize]);
        ClassCounts {
            done: outcome(Outcome::Done),
            refused: outcome(Outcome::Refused),
            throttled: outcome(Outcome::Throttled),
            unclear: outcome(Outcome::Unclear),
            withheld: outcome(Outcome::Withheld),
            looks: read(&counters.looks),
            merged: read(&counters.merged),
            unchanged: read(&counters.unchanged),
            dropped: read(&counters.dropped),
            waiting: 0,
            running: 0,
        }
    }
}
