//! What the queue knows of one item.

use std::hash::Hash;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::index::KeyHash;
use crate::item::Item;
use crate::plugin::PluginId;
use crate::pool::Seat;
use crate::rejection::RejectionId;
use crate::time::{MaybeTime, Time};

/// An item with its record.
// Kept small: beside the item this is most of what waiting costs.
pub(crate) struct Entry<T> {
    pub(crate) item: T,
    pub(crate) record: Record,
    pub(crate) spot: Spot,
    /// When it came to where it is: so long after the record's timestamp.
    pub(crate) entered: Millis,
}

/// The one thing that says where an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// On the way from one place to another, inside one operation.
    Nowhere,
    /// `order` is the order of arrival among equal ranks.
    Active {
        order: u32,
    },
    Backoff {
        order: u32,
    },
    ErrorBackoff {
        order: u32,
    },
    Pool(Seat),
    /// Popped, in the scheduling cycle of that number, as far as there is room for it.
    InFlight {
        marker: Marker,
        cycle: u32,
        deleted: bool,
    },
}

/// A duration in whole milliseconds, exact for hours, and to a second or so for a year.
// Four bytes, which would be padding otherwise; and an integer of them would end after 50 days.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Millis(f32);

impl Millis {
    fn of(duration: Duration) -> Self {
        Self(duration.as_millis() as f32)
    }

    fn get(self) -> Duration {
        Duration::from_millis(self.0 as u64)
    }
}

/// Where an attempt is in the log of events, while events are kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker(u32);

impl Marker {
    /// No events are kept.
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn some(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn get(self) -> Option<u32> {
        (self != Self::NONE).then_some(self.0)
    }
}

/// What has happened to an item so far.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// When it was added or last came back.
    pub(crate) timestamp: Time,
    pub(crate) initial_attempt: MaybeTime,
    pub(crate) flushed_at: MaybeTime,
    pub(crate) attempts: u32,
    pub(crate) unschedulable_count: u32,
    pub(crate) consecutive_errors: u32,
    pub(crate) rejection: RejectionId,
    pub(crate) gate: Option<PluginId>,
    pub(crate) was_flushed: bool,
    /// Whether an attempt on an item of the same key may be under way while this one waits.
    pub(crate) has_twin: bool,
    /// Of the item's key.
    pub(crate) hash: KeyHash,
}

impl Record {
    pub(crate) fn new(now: Time, hash: KeyHash) -> Self {
        Self {
            timestamp: now,
            initial_attempt: MaybeTime::NONE,
            flushed_at: MaybeTime::NONE,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors: 0,
            rejection: RejectionId::NOBODY,
            gate: None,
            was_flushed: false,
            has_twin: false,
            hash,
        }
    }

    /// Since when the leftover flush counts.
    pub(crate) fn waiting_since(&self) -> Time {
        self.flushed_at.get().map_or(self.timestamp, |flushed| flushed.max(self.timestamp))
    }
}

impl<T> Entry<T> {
    /// An item on its way to its first place.
    pub(crate) fn new(item: T, record: Record) -> Self {
        Self { item, record, spot: Spot::Nowhere, entered: Millis::default() }
    }

    /// When it came to where it is.
    pub(crate) fn since(&self) -> Time {
        self.record.timestamp + self.entered.get()
    }

    /// It came to where it is.
    pub(crate) fn enter(&mut self, now: Time) {
        self.entered = Millis::of(now - self.record.timestamp);
    }
}

impl<T: Item> Entry<T> {
    pub(crate) fn backoff_end(&self, rule: &Backoff) -> Option<Time> {
        let record = &self.record;
        // Errors in a row count for themselves; after a rejection the count of rejections goes
        // on where it was.
        let failures = match record.consecutive_errors {
            0 => record.unschedulable_count,
            errors => errors,
        };
        rule.end(failures, record.timestamp, Identity(&self.item))
    }

    /// The marker of the attempt under way, while events are kept for it.
    pub(crate) fn marker(&self) -> Option<u32> {
        match self.spot {
            Spot::InFlight { marker, .. } => marker.get(),
            _ => None,
        }
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !matches!(self.spot, Spot::InFlight { .. })
    }

    /// Whether it waits, or is tried with events kept for it.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_waiting() || self.marker().is_some()
    }
}

/// What tells an item from all others, for jitter.
struct Identity<'a, T>(&'a T);

impl<T: Item> Hash for Identity<'_, T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.key().hash(state);
        self.0.incarnation().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_an_item_came_to_its_place_takes_no_memory_of_its_own() {
        let [record, spot] = [size_of::<Record>(), size_of::<Spot>()];
        assert_eq!((record, spot), (48, 12));
        assert_eq!(size_of::<Entry<u64>>(), 8 + record + spot + 4);
        assert_eq!(size_of::<Entry<u64>>() % align_of::<Entry<u64>>(), 0);
    }

    #[test]
    fn durations_of_hours_are_exact_and_longer_ones_nearly() {
        let day = 24 * 3600 * 1_000;
        for (millis, off_by) in [(0, 0), (103, 0), (4 * 3_600_000 + 1, 0), (day + 1, 4)] {
            let kept = Millis::of(Duration::from_millis(millis)).get().as_millis();
            assert!(kept.abs_diff(millis.into()) <= off_by, "{millis}: {kept}");
        }
        let year = Duration::from_millis(365 * day);
        assert!(Millis::of(year).get().abs_diff(year) < Duration::from_secs(2));
    }
}
