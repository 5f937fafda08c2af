//! A sorted list: cheap at its ends, compact, and as fast at a million as at a thousand.
//!
//! The queue's orders are taken from the front and mostly added to behind everything of the same
//! urgency. A binary heap pays for every pop with a walk through all of its levels, each a cache
//! miss once the heap is large; a B-tree of the standard library keeps its nodes half full under
//! such additions. Runs of a few hundred elements, themselves in order, avoid both.

use std::collections::VecDeque;

/// Elements in ascending order.
pub(crate) struct SortedList<E> {
    /// Runs in ascending order, none empty, none longer than [`RUN`].
    runs: VecDeque<VecDeque<E>>,
    /// The last element of each run, side by side: a search that went to the runs themselves
    /// would miss the cache at every step.
    lasts: VecDeque<E>,
    len: usize,
}

impl<E: Ord + Clone> SortedList<E> {
    pub(crate) const fn new() -> Self {
        Self { runs: VecDeque::new(), lasts: VecDeque::new(), len: 0 }
    }

    pub(crate) fn insert(&mut self, element: E) {
        self.len += 1;
        let at = self.run_of(&element);
        let pos = match self.runs.get(at) {
            Some(run) => run.partition_point(|other| *other < element),
            None => 0,
        };
        // Between two runs, or behind the last: the earlier one takes it while it has room, so
        // that runs that grow at their ends get full.
        if pos == 0 && at > 0 && self.runs[at - 1].len() < RUN {
            self.lasts[at - 1] = element.clone();
            self.runs[at - 1].push_back(element);
        } else if pos == 0 && self.runs.get(at).is_none_or(|run| run.len() >= RUN) {
            self.lasts.insert(at, element.clone());
            self.runs.insert(at, VecDeque::from([element]));
        } else if self.runs[at].len() < RUN {
            // Never behind the run's last, which is not less than the element.
            self.runs[at].insert(pos, element);
        } else {
            let cut = pos.clamp(RUN / 4, RUN / 4 * 3);
            let mut tail = self.runs[at].split_off(cut);
            if pos <= cut {
                self.runs[at].insert(pos, element);
            } else {
                tail.insert(pos - cut, element);
            }
            self.runs.insert(at + 1, tail);
            self.lasts.insert(at + 1, self.lasts[at].clone());
            self.note_last(at);
        }
    }

    pub(crate) fn first(&self) -> Option<&E> {
        self.runs.front()?.front()
    }

    pub(crate) fn pop_first(&mut self) -> Option<E> {
        let run = self.runs.front_mut()?;
        let element = run.pop_front()?;
        if run.is_empty() {
            self.runs.pop_front();
            self.lasts.pop_front();
        }
        self.len -= 1;
        Some(element)
    }

    /// Removes the element; `false` if it is not there.
    pub(crate) fn remove(&mut self, element: &E) -> bool {
        let at = self.run_of(element);
        let Some(pos) = self.runs.get(at).and_then(|run| run.binary_search(element).ok()) else {
            return false;
        };
        self.remove_at(at, pos);
        true
    }

    /// Removes the first element that `is_it` picks, by looking at all of them.
    pub(crate) fn remove_where(&mut self, mut is_it: impl FnMut(&E) -> bool) {
        let found = self
            .runs
            .iter()
            .enumerate()
            .find_map(|(at, run)| Some((at, run.iter().position(&mut is_it)?)));
        if let Some((at, pos)) = found {
            self.remove_at(at, pos);
        }
    }

    /// How many are before the element, if it is there.
    pub(crate) fn position(&self, element: &E) -> Option<usize> {
        let at = self.run_of(element);
        let within = self.runs.get(at)?.binary_search(element).ok()?;
        Some(self.runs.iter().take(at).map(VecDeque::len).sum::<usize>() + within)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.runs.iter().flatten()
    }

    pub(crate) fn check_invariants(&self) -> Result<(), &'static str> {
        if self.runs.iter().any(|run| run.is_empty() || run.len() > RUN) {
            return Err("a run of a sorted list is empty or too long");
        }
        if !self.iter().is_sorted() {
            return Err("a sorted list is out of order");
        }
        if self.iter().count() != self.len {
            return Err("a sorted list has lost count");
        }
        if !self.runs.iter().map(VecDeque::back).eq(self.lasts.iter().map(Some)) {
            return Err("a sorted list does not know where its runs end");
        }
        Ok(())
    }

    /// The first run that ends at or after `element`.
    fn run_of(&self, element: &E) -> usize {
        self.lasts.partition_point(|last| last < element)
    }

    fn remove_at(&mut self, at: usize, pos: usize) {
        self.len -= 1;
        self.runs[at].remove(pos);
        let left = self.runs[at].len();
        let previous = at.checked_sub(1).filter(|&p| self.runs[p].len() + left <= RUN / 2);
        if left == 0 {
            self.runs.remove(at);
            self.lasts.remove(at);
        } else if let Some(previous) = previous {
            // Two thin neighbours become one run, so that removals give memory back.
            if let Some(mut run) = self.runs.remove(at) {
                self.runs[previous].append(&mut run);
            }
            self.lasts.remove(at);
            self.note_last(previous);
        } else {
            self.note_last(at);
        }
    }

    fn note_last(&mut self, at: usize) {
        if let Some(last) = self.runs[at].back() {
            self.lasts[at] = last.clone();
        }
    }
}

/// The longest run: long enough that runs are few, short enough that an insertion moves little.
const RUN: usize = 256;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// A few bits of a multiplicative generator: any sequence will do, if it repeats.
    fn next(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *state >> 33
    }

    #[test]
    fn it_holds_what_a_b_tree_holds() {
        let mut state = 1;
        for range in [50, 5_000, 1 << 30] {
            let (mut list, mut tree) = (SortedList::new(), BTreeSet::new());
            for step in 0..60_000 {
                let growing = step % 20_000 < 12_000;
                let value = next(&mut state) % range;
                match next(&mut state) % 8 {
                    0..=4 if growing => {
                        if tree.insert(value) {
                            list.insert(value);
                        }
                    }
                    5 => assert_eq!(list.pop_first(), tree.pop_first()),
                    6 => assert_eq!(list.remove(&value), tree.remove(&value)),
                    _ => {
                        if let Some(&near) = tree.range(value..).next() {
                            tree.remove(&near);
                            list.remove_where(|e| *e == near);
                        }
                    }
                }
                assert_eq!(list.len(), tree.len());
                assert_eq!(list.first(), tree.first());
                if step % 500 == 0 {
                    list.check_invariants().unwrap();
                    assert!(list.iter().eq(&tree));
                    let positions = tree.iter().map(|value| list.position(value));
                    assert!(positions.eq((0..tree.len()).map(Some)));
                    assert_eq!(list.position(&u64::MAX), None);
                }
            }
        }
    }

    #[test]
    fn runs_that_grow_at_their_ends_get_full() {
        let mut list = SortedList::new();
        for at in 0..100_000u32 {
            list.insert((at % 10, at));
        }
        assert!(list.runs.len() < 100_000 / RUN * 11 / 10, "{} runs", list.runs.len());
        list.check_invariants().unwrap();
    }
}
