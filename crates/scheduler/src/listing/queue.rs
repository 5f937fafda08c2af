//! Pods of the queue, and what is shown of each.

use std::ops::Range;

use roadstead_queue::{Item, Place, Time, Waiting};
use serde::Serialize;

use super::QueueListing;
use super::order::Sorted;
use crate::journal::{Journal, optional_seconds, seconds};
use crate::observer::Observer;
use crate::scheduler::{QueuedPod, Scheduler};

/// Which pods of the queue to list, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueQuery {
    /// Those of this namespace.
    pub namespace: Option<String>,
    /// Those in this place.
    pub place: Option<PlaceName>,
    /// Those in whose namespace and name this occurs.
    pub search: Option<String>,
    /// In this order.
    pub sorted: Sorted<QueueSortBy>,
}

/// What pods of the queue may be sorted by; names decide between equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are called after the fields of an item")]
pub enum QueueSortBy {
    /// Active ones as they will be tried, then those that back off as they will be free.
    Place,
    Namespace,
    Name,
    Priority,
    Attempts,
    Queued,
    Since,
    Backoff,
}

/// A place of the queue, as people know it: both backoffs are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "they are called after the places of the queue")]
pub enum PlaceName {
    Active,
    Backoff,
    Unschedulable,
    Gated,
    InFlight,
}

impl PlaceName {
    /// Of a place.
    #[must_use]
    pub fn of(place: Place) -> Self {
        match place {
            Place::Active => Self::Active,
            Place::Backoff { .. } | Place::ErrorBackoff { .. } => Self::Backoff,
            Place::Unschedulable => Self::Unschedulable,
            Place::Gated { .. } => Self::Gated,
            Place::InFlight => Self::InFlight,
        }
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
            Self::Gated => "gated",
            Self::InFlight => "inFlight",
        }
    }
}

/// A pod in the queue.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// What tells it from others of that name.
    pub uid: String,
    /// Where it is.
    pub place: PlaceName,
    /// If it is active, how many are tried before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// Its priority.
    pub priority: i32,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was first queued.
    #[serde(serialize_with = "seconds")]
    pub queued: Time,
    /// When it came to that place.
    #[serde(serialize_with = "seconds")]
    pub since: Time,
    /// The end of its backoff.
    #[serde(serialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub backoff_until: Option<Time>,
    /// Who rejected it.
    pub rejectors: Vec<String>,
    /// The gate that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gated_by: Option<String>,
    /// The node that is kept for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// The profile that it asks for.
    pub scheduler: String,
    /// Why it was last rejected, or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl<V: Observer> Scheduler<V> {
    /// Rows of a listing, as they are now. Pods that are not in the queue any more, or not in the
    /// place that was asked for, have none. The journal knows when pods were first queued, and what
    /// was said of them; `None` if the listing is of another queue.
    #[must_use]
    pub fn queue_rows(
        &self,
        listing: &QueueListing,
        rows: Range<usize>,
        journal: &Journal,
    ) -> Option<Vec<QueueItem>> {
        let queue = self.queue();
        if !listing.is_of(queue.serial()) {
            return None;
        }
        let wanted = listing.query().place;
        let pods =
            listing.names(rows).filter_map(|(key, incarnation)| queue.find(key, incarnation));
        let pods =
            pods.filter(|pod| wanted.is_none_or(|place| PlaceName::of(pod.place()) == place));
        Some(pods.map(|pod| self.queue_item(&pod, journal)).collect())
    }

    fn queue_item(&self, pod: &Waiting<'_, QueuedPod>, journal: &Journal) -> QueueItem {
        let (item, place) = (pod.item(), pod.place());
        let name_of = |plugin| self.queue().plugins().name(plugin).to_owned();
        let rejectors = pod.rejectors();
        let mut names: Vec<String> = Vec::new();
        for plugin in rejectors.unschedulable().iter().chain(rejectors.pending()) {
            let name = name_of(*plugin);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        QueueItem {
            namespace: item.key().namespace.to_string(),
            name: item.key().name.to_string(),
            uid: item.pod().uid.to_string(),
            place: PlaceName::of(place),
            position: self.queue().position(item.key()).filter(|_| place == Place::Active),
            priority: item.priority(),
            attempts: pod.attempts(),
            queued: journal.queued(item).unwrap_or_else(|| pod.queued_at()),
            since: pod.since(),
            backoff_until: until(place),
            rejectors: names,
            gated_by: match place {
                Place::Gated { by } => Some(name_of(by)),
                _ => None,
            },
            nominated_node: self.nominated_node(item.key()).map(|node| node.to_string()),
            scheduler: self.profile_name(item.profile()).to_owned(),
            message: journal.last_word(item),
        }
    }
}

/// The end of a backoff.
pub(super) fn until(place: Place) -> Option<Time> {
    match place {
        Place::Backoff { until } | Place::ErrorBackoff { until } => until,
        _ => None,
    }
}
