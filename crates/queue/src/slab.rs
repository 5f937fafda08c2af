//! Numbered slots that never move.

use std::ops::Range;

/// A store of values under small numbers, which are used again when they fall free.
///
/// Values are kept in pages, so that growing neither copies what is there nor leaves half of a
/// doubled vector unused.
pub(crate) struct Slab<E> {
    pages: Vec<Vec<Slot<E>>>,
    free: Option<u32>,
    len: usize,
}

enum Slot<E> {
    Taken(E),
    Free { next: Option<u32> },
}

impl<E> Default for Slab<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Slab<E> {
    pub(crate) const fn new() -> Self {
        Self { pages: Vec::new(), free: None, len: 0 }
    }

    pub(crate) fn insert(&mut self, value: E) -> u32 {
        self.len += 1;
        if let Some(id) = self.free {
            let slot = &mut self.pages[page(id)][offset(id)];
            if let Slot::Free { next } = *slot {
                self.free = next;
            }
            *slot = Slot::Taken(value);
            return id;
        }
        if self.pages.last().is_none_or(|page| page.len() == PAGE) {
            // Small stores stay small: only the first page grows step by step.
            let room = if self.pages.is_empty() { 0 } else { PAGE };
            self.pages.push(Vec::with_capacity(room));
        }
        let last = self.pages.len() - 1;
        let page = &mut self.pages[last];
        page.push(Slot::Taken(value));
        (last * PAGE + page.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<E> {
        let slot = self.pages.get_mut(page(id))?.get_mut(offset(id))?;
        if matches!(slot, Slot::Free { .. }) {
            return None;
        }
        let taken = std::mem::replace(slot, Slot::Free { next: self.free });
        self.free = Some(id);
        self.len -= 1;
        match taken {
            Slot::Taken(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&E> {
        match self.pages.get(page(id))?.get(offset(id))? {
            Slot::Taken(value) => Some(value),
            Slot::Free { .. } => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many numbers were ever given out.
    pub(crate) fn slots(&self) -> usize {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE + last.len())
    }

    /// What is under these numbers.
    pub(crate) fn range(&self, numbers: Range<usize>) -> impl Iterator<Item = (u32, &E)> {
        let numbers = numbers.start..numbers.end.min(self.slots());
        numbers.filter_map(|id| Some((id as u32, self.get(id as u32)?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &E)> {
        self.pages.iter().flatten().enumerate().filter_map(|(id, slot)| match slot {
            Slot::Taken(value) => Some((id as u32, value)),
            Slot::Free { .. } => None,
        })
    }
}

/// By a number that is known to be taken.
impl<E> std::ops::Index<u32> for Slab<E> {
    type Output = E;

    fn index(&self, id: u32) -> &E {
        match &self.pages[page(id)][offset(id)] {
            Slot::Taken(value) => value,
            Slot::Free { .. } => unreachable!("slot {id} is free"),
        }
    }
}

impl<E> std::ops::IndexMut<u32> for Slab<E> {
    fn index_mut(&mut self, id: u32) -> &mut E {
        match &mut self.pages[page(id)][offset(id)] {
            Slot::Taken(value) => value,
            Slot::Free { .. } => unreachable!("slot {id} is free"),
        }
    }
}

const PAGE: usize = 256;

const fn page(id: u32) -> usize {
    id as usize / PAGE
}

const fn offset(id: u32) -> usize {
    id as usize % PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_number_is_used_again() {
        let mut slab = Slab::new();
        let a = slab.insert("a");
        let b = slab.insert("b");
        assert_eq!(slab.remove(a), Some("a"));
        assert_eq!(slab.remove(a), None);
        assert_eq!(slab.get(a), None);

        assert_eq!(slab.insert("c"), a);
        assert_eq!((slab[a], slab[b], slab.len()), ("c", "b", 2));
    }

    #[test]
    fn numbers_go_on_over_pages() {
        let mut slab = Slab::new();
        for n in 0..3 * PAGE as u32 + 1 {
            assert_eq!(slab.insert(n), n);
        }
        for n in (0..3 * PAGE as u32).step_by(2) {
            assert_eq!(slab.remove(n), Some(n));
        }
        assert_eq!(slab.iter().count(), slab.len());
        assert!(slab.iter().all(|(id, &n)| id == n));
        assert_eq!(slab.get(u32::MAX), None);
        let slots = slab.slots();
        assert_eq!(slots, 3 * PAGE + 1);
        let parts = [0..1, 1..300, 300..300, 300..slots, slots..usize::MAX];
        assert!(parts.into_iter().flat_map(|part| slab.range(part)).eq(slab.iter()));
    }
}
