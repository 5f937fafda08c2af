//! The latest moves, a few of them: each the last of its pod.

use std::collections::VecDeque;

use roadstead_queue::{Item, Time, Transition};

use super::End;
use super::words::WordId;
use crate::scheduler::{PodKey, QueuedPod};

/// Some of the pods that moved lately, and the last move of each.
///
/// Of each stretch of time some pods are taken, and followed from then on: what is said of a pod is
/// never overtaken by a move that was left out.
pub(super) struct Recent {
    /// Oldest first.
    moves: VecDeque<Move>,
    /// A bit for every pod that is followed, so that most others are told at once.
    followed: [u64; WORDS],
    stretch: u64,
    /// How many pods were taken in this stretch.
    taken: usize,
}

pub(super) struct Move {
    pub(super) at: Time,
    pub(super) key: PodKey,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) cause: WordId,
    incarnation: u64,
}

impl Recent {
    pub(super) fn new() -> Self {
        let moves = VecDeque::with_capacity(KEPT);
        Self { moves, followed: [0; WORDS], stretch: 0, taken: 0 }
    }

    pub(super) fn note(
        &mut self,
        step: &Transition<'_, QueuedPod>,
        from: End,
        to: End,
        cause: WordId,
    ) {
        let incarnation = step.item.incarnation();
        let new = |key| Move { at: step.at, key, from, to, cause, incarnation };
        if let Some(known) = self.take(incarnation) {
            self.moves.push_back(new(known.key));
            return;
        }
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
            self.followed = [0; WORDS];
            for kept in &self.moves {
                let (word, bit) = place(kept.incarnation);
                self.followed[word] |= bit;
            }
        }
        let (word, bit) = place(incarnation);
        self.followed[word] |= bit;
        self.moves.push_back(new(step.item.key().clone()));
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Move> {
        self.moves.iter()
    }

    fn take(&mut self, incarnation: u64) -> Option<Move> {
        let (word, bit) = place(incarnation);
        if self.followed[word] & bit == 0 {
            return None;
        }
        let at = self.moves.iter().rposition(|kept| kept.incarnation == incarnation)?;
        self.moves.remove(at)
    }
}

/// Where the bit of a pod is.
fn place(incarnation: u64) -> (usize, u64) {
    // Incarnations may follow one another; the multiplication spreads them.
    let mixed = incarnation.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    (mixed as usize / 64, 1 << (mixed % 64))
}

const KEPT: usize = 50;
const WORDS: usize = 1024 / 64;
/// A quarter of a second, so that a rush does not show its beginning only.
const STRETCH: u64 = 250_000_000;
const OF_A_STRETCH: usize = 5;
