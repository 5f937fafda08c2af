//! The best of many numbers, of which few change at a time.

/// A number for each node that has one, in the order of nodes. The highest is found without
/// looking at all of them: each block of nodes knows its own.
#[derive(Debug, Default)]
pub(super) struct Totals {
    numbers: Vec<Option<i64>>,
    /// The highest number of each block, and how many have it.
    blocks: Vec<Best>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Best {
    number: Option<i64>,
    count: usize,
}

impl Totals {
    /// These numbers.
    pub(super) fn new(numbers: Vec<Option<i64>>) -> Self {
        let blocks = numbers.chunks(BLOCK).map(|block| Best::of(block.iter().copied())).collect();
        Self { numbers, blocks }
    }

    pub(super) fn set(&mut self, at: usize, number: Option<i64>) {
        self.numbers[at] = number;
        let block = at / BLOCK;
        let end = self.numbers.len().min((block + 1) * BLOCK);
        self.blocks[block] = Best::of(self.numbers[block * BLOCK..end].iter().copied());
    }

    /// How many have the highest number.
    pub(super) fn best_count(&self) -> usize {
        let number = self.highest();
        self.blocks.iter().filter(|best| best.number == number).map(|best| best.count).sum()
    }

    /// Where the one is of those with the highest number before which there are `skip` others.
    pub(super) fn nth_best(&self, mut skip: usize) -> Option<usize> {
        let number = self.highest();
        for (block, best) in self.blocks.iter().enumerate() {
            if best.number != number {
                continue;
            }
            if skip >= best.count {
                skip -= best.count;
                continue;
            }
            let start = block * BLOCK;
            let numbers = self.numbers[start..].iter().enumerate();
            let mut equal = numbers.filter(|(_, other)| **other == number);
            return equal.nth(skip).map(|(at, _)| start + at);
        }
        None
    }

    fn highest(&self) -> Option<i64> {
        self.blocks.iter().filter_map(|best| best.number).max()
    }
}

impl Best {
    fn of(numbers: impl Iterator<Item = Option<i64>>) -> Self {
        let mut best = Self::default();
        for number in numbers.flatten() {
            match best.number {
                Some(highest) if number < highest => {}
                Some(highest) if number == highest => best.count += 1,
                _ => best = Self { number: Some(number), count: 1 },
            }
        }
        best
    }
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
        assert_eq!(totals.nth_best(0), None);
        for _ in 0..5_000 {
            let at = random(200) as usize;
            numbers[at] = (random(3) > 0).then(|| random(5) as i64 - 2);
            totals.set(at, numbers[at]);
            let highest = numbers.iter().flatten().max().copied();
            let best: Vec<usize> =
                (0..200).filter(|at| numbers[*at].is_some() && numbers[*at] == highest).collect();
            assert_eq!(totals.best_count(), best.len());
            let skip = random(best.len() as u64 + 1) as usize;
            assert_eq!(totals.nth_best(skip), best.get(skip).copied());
        }
        assert_eq!(Totals::new(numbers).blocks, totals.blocks);
    }
}
