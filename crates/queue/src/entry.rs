//! What the queue knows of one item.

use std::hash::Hash;

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
