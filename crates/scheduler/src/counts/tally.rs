//! Numbers by place, where most places have none.

/// How many there are of something at each of many places.
///
/// Places are small integers: nodes' slots, or domains. While only a few have anything they are
/// listed; then there is a number for each place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    numbers: Numbers,
    total: u64,
    /// How many places have any.
    places: usize,
    /// How many places have each number but 0, by number.
    places_of: Vec<(u32, usize)>,
}

#[derive(Clone, Debug)]
enum Numbers {
    /// Sorted by place, none of them 0.
    Few(Vec<(u32, u32)>),
    /// By place; places beyond the end have none.
    Many(Vec<u32>),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Tally {
    /// That many more at a place.
    pub(crate) fn add(&mut self, place: u32, number: u32) {
        if number == 0 {
            return;
        }
        self.total += u64::from(number);
        let before = self.at(place);
        self.recount(before, before + number);
        match &mut self.numbers {
            Numbers::Few(list) => match list.binary_search_by_key(&place, |(place, _)| *place) {
                Ok(at) => list[at].1 += number,
                Err(at) => {
                    list.insert(at, (place, number));
                    self.places += 1;
                    if list.len() > FEW {
                        self.numbers = many(list);
                    }
                }
            },
            Numbers::Many(all) => {
                let at = place as usize;
                if at >= all.len() {
                    all.resize(at + 1, 0);
                }
                self.places += usize::from(all[at] == 0);
                all[at] += number;
            }
        }
    }

    /// That many fewer at a place, which has them.
    pub(crate) fn take(&mut self, place: u32, number: u32) {
        if number == 0 {
            return;
        }
        let before = self.at(place);
        assert!(number <= before, "{number} of {before} at place {place}");
        self.total -= u64::from(number);
        self.recount(before, before - number);
        match &mut self.numbers {
            Numbers::Few(list) => {
                if let Ok(at) = list.binary_search_by_key(&place, |(place, _)| *place) {
                    list[at].1 -= number;
                    if list[at].1 == 0 {
                        list.remove(at);
                        self.places -= 1;
                    }
                }
            }
            Numbers::Many(all) => {
                let at = place as usize;
                all[at] -= number;
                self.places -= usize::from(all[at] == 0);
                // Well below the size at which it grew, so that it does not go to and fro.
                if self.places < FEW / 2 {
                    self.numbers = Numbers::Few(self.iter().collect());
                }
            }
        }
    }

    /// How many there are at a place.
    pub(crate) fn at(&self, place: u32) -> u32 {
        match &self.numbers {
            Numbers::Few(list) => {
                let at = list.binary_search_by_key(&place, |(place, _)| *place);
                at.map_or(0, |at| list[at].1)
            }
            Numbers::Many(all) => all.get(place as usize).copied().unwrap_or(0),
        }
    }

    /// How many there are, all places together.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many places have any.
    pub(crate) fn places(&self) -> usize {
        self.places
    }

    /// The numbers that some place has, from the lowest on and without 0, and how many places have
    /// each.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = (u32, usize)> {
        self.places_of.iter().copied()
    }

    /// One place has another number than before.
    fn recount(&mut self, before: u32, after: u32) {
        let find = |list: &[(u32, usize)], number: u32| list.binary_search_by_key(&number, |n| n.0);
        if before > 0
            && let Ok(at) = find(&self.places_of, before)
        {
            self.places_of[at].1 -= 1;
            if self.places_of[at].1 == 0 {
                self.places_of.remove(at);
            }
        }
        if after > 0 {
            match find(&self.places_of, after) {
                Ok(at) => self.places_of[at].1 += 1,
                Err(at) => self.places_of.insert(at, (after, 1)),
            }
        }
    }

    /// The places that have any, in order, and how many each has.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        let (few, many) = match &self.numbers {
            Numbers::Few(list) => (&list[..], &[][..]),
            Numbers::Many(all) => (&[][..], &all[..]),
        };
        let many = (0..).zip(many.iter().copied()).filter(|(_, number)| *number > 0);
        few.iter().copied().chain(many)
    }
}

/// What is counted is equal, however it is kept.
impl PartialEq for Tally {
    fn eq(&self, other: &Self) -> bool {
        self.total == other.total && self.places == other.places && self.iter().eq(other.iter())
    }
}

impl Eq for Tally {}

fn many(list: &[(u32, u32)]) -> Numbers {
    let len = list.last().map_or(0, |(place, _)| *place as usize + 1);
    let mut all = vec![0; len];
    for (place, number) in list {
        all[*place as usize] = *number;
    }
    Numbers::Many(all)
}

/// How many places are listed one by one.
const FEW: usize = 32;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::testing::Random;

    #[test]
    fn a_tally_counts_as_a_map_does() {
        let mut random = Random::new(7);
        for places in [3, 40, 400] {
            let (mut tally, mut map) = (Tally::default(), BTreeMap::<u32, u32>::new());
            for step in 0..4_000 {
                // First it mostly grows, then it mostly shrinks.
                let grows = random.below(10) < if step < 2_000 { 7 } else { 3 };
                let place = random.below(places) as u32;
                let number = random.below(3) as u32;
                if grows {
                    tally.add(place, number);
                    *map.entry(place).or_default() += number;
                } else {
                    let number = number.min(tally.at(place));
                    tally.take(place, number);
                    *map.entry(place).or_default() -= number;
                }
                map.retain(|_, number| *number > 0);
                assert_eq!(tally.at(place), map.get(&place).copied().unwrap_or(0));
                assert_eq!((tally.places(), tally.total()), (map.len(), total(&map)));
                let mut numbers = BTreeMap::<u32, usize>::new();
                map.values().for_each(|number| *numbers.entry(*number).or_default() += 1);
                assert!(tally.numbers().eq(numbers));
                assert!(tally.iter().eq(map.iter().map(|(place, number)| (*place, *number))));
            }
        }
    }

    fn total(map: &BTreeMap<u32, u32>) -> u64 {
        map.values().copied().map(u64::from).sum()
    }
}
