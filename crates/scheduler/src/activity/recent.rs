//! A sample of the latest moves.

use std::collections::VecDeque;

use roadstead_queue::{Item, Time, Transition};

use super::End;
use super::words::WordId;
use crate::scheduler::{PodKey, QueuedPod};

/// The latest moves, some of each stretch of time.
pub(super) struct Recent {
    moves: VecDeque<Move>,
    stretch: u64,
    /// How many of this stretch were taken.
    taken: usize,
}

pub(super) struct Move {
    pub(super) at: Time,
    pub(super) key: PodKey,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) cause: WordId,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { moves: VecDeque::with_capacity(KEPT), stretch: 0, taken: 0 }
    }

    pub(super) fn note(
        &mut self,
        step: &Transition<'_, QueuedPod>,
        from: End,
        to: End,
        cause: WordId,
    ) {
        let stretch = step.at.as_nanos() / STRETCH;
        if stretch != self.stretch {
            (self.stretch, self.taken) = (stretch, 0);
        }
        if self.taken >= OF_A_STRETCH {
            return;
        }
        self.taken += 1;
        if self.moves.len() >= KEPT {
            self.moves.pop_front();
        }
        let key = step.item.key().clone();
        self.moves.push_back(Move { at: step.at, key, from, to, cause });
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Move> {
        self.moves.iter()
    }
}

const KEPT: usize = 50;
/// A quarter of a second, so that a rush does not show its beginning only.
const STRETCH: u64 = 250_000_000;
const OF_A_STRETCH: usize = 5;
