//! Memory that never moves.

use std::ops::{Index, IndexMut};

/// Things by number. There may be many, and to copy them all when there are more would take long.
pub(super) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Chunks<T> {
    pub(super) fn push(&mut self, value: T) -> u32 {
        if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let before = (self.chunks.len() - 1) * CHUNK;
        let last = &mut self.chunks[before / CHUNK];
        last.push(value);
        (before + last.len() - 1) as u32
    }
}

impl<T> Index<u32> for Chunks<T> {
    type Output = T;

    fn index(&self, id: u32) -> &T {
        &self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }
}

impl<T> IndexMut<u32> for Chunks<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.chunks[id as usize / CHUNK][id as usize % CHUNK]
    }
}

/// How many memory is taken for at once.
const CHUNK: usize = 64;
