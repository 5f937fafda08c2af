//! The best of many numbers, of which few change at a time.

/// A number for each node that has one, in the order of nodes. The highest is found without
/// looking at all of them: each block of nodes knows its own.
#[derive(Debug, Default)]
pub(super) struct Totals {
    numbers: Vec<Option<i64>>,
    /// The highest number of each block.
    blocks: Vec<Option<i64>>,
}

impl Totals {
    /// These numbers.
    pub(super) fn new(numbers: Vec<Option<i64>>) -> Self {
        let blocks = numbers.chunks(BLOCK).map(highest).collect();
        Self { numbers, blocks }
    }

    /// There are more nodes.
    pub(super) fn resize(&mut self, nodes: usize) {
        self.numbers.resize(nodes, None);
        self.blocks.resize(nodes.div_ceil(BLOCK), None);
    }

    pub(super) fn set(&mut self, at: usize, number: Option<i64>) {
        self.numbers[at] = number;
        let block = at / BLOCK;
        self.blocks[block] = highest(&self.numbers[self.range(block)]);
    }

    pub(super) fn of(&self, at: usize) -> Option<i64> {
        self.numbers.get(at).copied().flatten()
    }

    /// The highest number, or the highest below another.
    pub(super) fn highest_below(&self, limit: Option<i64>) -> Option<i64> {
        let Some(limit) = limit else { return highest(&self.blocks) };
        let numbers = self.blocks.iter().enumerate().flat_map(|(block, best)| {
            // Only in blocks that reach the limit it is not the block's highest.
            match best {
                Some(best) if *best >= limit => &self.numbers[self.range(block)],
                _ => std::slice::from_ref(best),
            }
        });
        numbers.flatten().copied().filter(|number| *number < limit).max()
    }

    /// Where this number is, from `start` on to the end, and from the beginning on to there.
    pub(super) fn places_of(&self, number: i64, start: usize) -> impl Iterator<Item = usize> {
        let first = start / BLOCK;
        // The block of the start is looked at twice, once for each of its ends.
        let blocks = (first..self.blocks.len()).chain(0..=first);
        let blocks = blocks.filter(move |block| self.blocks[*block].is_some_and(|n| n >= number));
        blocks.enumerate().flat_map(move |(turn, block)| {
            let is_turn = move |at: &usize| block != first || (*at >= start) == (turn == 0);
            self.range(block).filter(is_turn).filter(move |at| self.numbers[*at] == Some(number))
        })
    }

    fn range(&self, block: usize) -> std::ops::Range<usize> {
        block * BLOCK..self.numbers.len().min((block + 1) * BLOCK)
    }
}

fn highest(numbers: &[Option<i64>]) -> Option<i64> {
    numbers.iter().copied().flatten().max()
}

/// Blocks are searched one by one, and so are the numbers in one: with ten thousand nodes both
/// take about as long.
const BLOCK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_those_that_a_search_finds() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut numbers = vec![None; 200];
        let mut totals = Totals::new(numbers.clone());
        assert_eq!(totals.highest_below(None), None);
        for _ in 0..5_000 {
            let at = random(200) as usize;
            numbers[at] = (random(3) > 0).then(|| random(5) as i64 - 2);
            totals.set(at, numbers[at]);
            let mut limit = None;
            loop {
                let is_below = |number: &&i64| limit.is_none_or(|limit| **number < limit);
                let next = numbers.iter().flatten().filter(is_below).max().copied();
                assert_eq!(totals.highest_below(limit), next, "below {limit:?}");
                let Some(next) = next else { break };
                let start = random(200) as usize;
                let order = (start..200).chain(0..start);
                let places: Vec<usize> = order.filter(|at| numbers[*at] == Some(next)).collect();
                assert_eq!(totals.places_of(next, start).collect::<Vec<_>>(), places);
                limit = Some(next);
            }
        }
        assert_eq!(Totals::new(numbers).blocks, totals.blocks);
    }
}
