//! In which order active items are tried.

use crate::item::Item;
use crate::time::Time;

/// The order among active items (in Kubernetes, the QueueSort plugin).
pub trait QueueSort<T> {
    /// Where an item stands: the least rank goes first. Equal ranks go in order of arrival.
    type Rank: Ord + Clone;

    /// The rank of `item`, which was queued at `queued_at`.
    ///
    /// The same arguments must give the same rank. The queue asks again when the item is updated.
    fn rank(&self, item: &T, queued_at: Time) -> Self::Rank;
}

/// Higher priority first, then who was queued earlier. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrioritySort;

impl<T: Item> QueueSort<T> for PrioritySort {
    type Rank = PriorityRank;

    fn rank(&self, item: &T, queued_at: Time) -> PriorityRank {
        let nanos = queued_at.as_nanos();
        PriorityRank {
            urgency: !(item.priority() as u32 ^ SIGN),
            queued_at: [(nanos >> 32) as u32, nanos as u32],
        }
    }
}

/// The rank that [`PrioritySort`] gives.
// Twelve bytes with an alignment of four: a rank is kept for every waiting item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PriorityRank {
    urgency: u32,
    queued_at: [u32; 2],
}

/// Flipping it makes the order of signed numbers that of unsigned ones.
const SIGN: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    struct Job(i32);

    impl Item for Job {
        type Key = i32;

        fn key(&self) -> &i32 {
            &self.0
        }

        fn priority(&self) -> i32 {
            self.0
        }
    }

    #[test]
    fn ranks_follow_priority_then_time() {
        let late = Time::from_secs(1 << 33);
        let ranked = [
            (i32::MAX, late),
            (7, Time::ZERO),
            (7, Time::from_nanos(1)),
            (7, Time::from_nanos(1 << 32)),
            (0, Time::ZERO),
            (-1, Time::ZERO),
            (i32::MIN, Time::ZERO),
        ]
        .map(|(priority, at)| PrioritySort.rank(&Job(priority), at));
        assert!(ranked.is_sorted_by(|a, b| a < b), "{ranked:?}");
    }
}
