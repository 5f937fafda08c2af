//! Tasks that wait for something to happen.

use std::collections::BTreeMap;
use std::task::Waker;

/// Who waits, each at most once.
#[derive(Debug, Default)]
pub(super) struct Sleepers {
    waiting: BTreeMap<u64, Waker>,
    last: u64,
}

impl Sleepers {
    /// A place to wait in.
    pub(super) fn place(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Waits in a place. Who polls again before it was woken replaces its own waker.
    pub(super) fn sleep(&mut self, place: u64, waker: &Waker) {
        self.waiting.insert(place, waker.clone());
    }

    /// Gives up a place.
    pub(super) fn leave(&mut self, place: u64) {
        self.waiting.remove(&place);
    }

    /// Everyone who waits, to be woken when no lock is held.
    pub(super) fn take(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
