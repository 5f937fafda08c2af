//! What waits, and where.

use roadstead_queue::{Item, Place, Time, Waiting};
use serde::Serialize;

use super::order::{First, Key, Mark, Sorted, Value};
use crate::journal::{Journal, optional_seconds, seconds};
use crate::observer::Observer;
use crate::scheduler::{QueuedPod, Scheduler};

/// Which pods of the queue to list.
#[derive(Clone, Debug)]
pub struct QueueQuery {
    /// Those of this namespace.
    pub namespace: Option<String>,
    /// Those in this place.
    pub place: Option<PlaceName>,
    /// Those in whose namespace and name this occurs.
    pub search: Option<String>,
    /// In this order.
    pub sorted: Sorted<QueueSortBy>,
    /// So many at most.
    pub limit: usize,
    /// From here on.
    pub after: Option<Mark>,
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

/// Some of the pods in the queue.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePage {
    /// When this was true.
    #[serde(serialize_with = "seconds")]
    pub now: Time,
    /// How many there are that were asked for, on all pages.
    pub total: usize,
    /// Those of this page.
    pub items: Vec<QueueItem>,
    /// Where the next page begins, if there is one.
    #[serde(skip)]
    pub next: Option<Mark>,
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
    /// When it was queued or last came back from an attempt.
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

/// A pod that may come on the page, and its number in its place.
type Found<'a> = (Waiting<'a, QueuedPod>, usize);

impl<V: Observer> Scheduler<V> {
    /// A page of the queue. The journal knows when pods were first queued, and what was said of
    /// them; `None` if the query goes on from a mark of another order.
    #[must_use]
    pub fn queue_page(
        &self,
        query: &QueueQuery,
        journal: &Journal,
        now: Time,
    ) -> Option<QueuePage> {
        let Sorted { by, reversed } = query.sorted;
        let after = match &query.after {
            Some(mark) => Some(mark.key(reversed, |namespace, name| match by {
                QueueSortBy::Namespace => Some(namespace),
                QueueSortBy::Name => Some(name),
                _ => None,
            })?),
            None => None,
        };
        let mut page = Page { query, journal, first: First::new(query.limit, after), total: 0 };
        let (queue, counts) = (self.queue(), self.queue().counts());
        let wants = |place| query.place.is_none_or(|wanted| wanted == place);
        if wants(PlaceName::Active) {
            page.take(PlaceName::Active, counts.active, queue.active());
        }
        if wants(PlaceName::Backoff) {
            page.take(PlaceName::Backoff, counts.backoff + counts.error_backoff, queue.backoff());
        }
        if wants(PlaceName::Unschedulable) && counts.unschedulable > 0 {
            let pods = queue.pool().filter(|pod| pod.place() == Place::Unschedulable);
            page.take(PlaceName::Unschedulable, counts.unschedulable, pods);
        }
        if wants(PlaceName::Gated) && counts.gated > 0 {
            let pods = queue.pool().filter(|pod| matches!(pod.place(), Place::Gated { .. }));
            page.take(PlaceName::Gated, counts.gated, pods);
        }
        if wants(PlaceName::InFlight) && counts.in_flight > 0 {
            page.take(PlaceName::InFlight, counts.in_flight, queue.under_way());
        }
        let (total, (found, next)) = (page.total, page.first.finish());
        let items = found.into_iter().map(|found| self.queue_item(&found, journal)).collect();
        Some(QueuePage { now, total, items, next })
    }

    fn queue_item(&self, (pod, index): &Found<'_>, journal: &Journal) -> QueueItem {
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
            position: (place == Place::Active).then_some(*index),
            priority: item.priority(),
            attempts: pod.attempts(),
            queued: queued(pod, journal),
            since: pod.queued_at(),
            backoff_until: until(place),
            rejectors: names,
            gated_by: match place {
                Place::Gated { by } => Some(name_of(by)),
                _ => None,
            },
            nominated_node: self.nominated_node(item.key()).map(|node| node.to_string()),
            scheduler: self.profile_name(item.profile()).to_owned(),
            message: journal.last_word(item.key()),
        }
    }
}

struct Page<'a> {
    query: &'a QueueQuery,
    journal: &'a Journal,
    first: First<'a, Found<'a>>,
    total: usize,
}

impl<'a> Page<'a> {
    /// Takes from the pods of a place, of which there are so many, what belongs on the page.
    fn take(
        &mut self,
        place: PlaceName,
        count: usize,
        pods: impl Iterator<Item = Waiting<'a, QueuedPod>>,
    ) {
        let QueueQuery { namespace, search, sorted, .. } = self.query;
        let takes_all = namespace.is_none() && search.is_none();
        // Places come in their order; a page that is full needs to see no more of them.
        let may_stop = takes_all && *sorted == FORWARD;
        let is_in_order = matches!(place, PlaceName::Active | PlaceName::Backoff);
        if takes_all {
            self.total += count;
        }
        let least = Value::Number(rank(place, 0));
        let least = Key { value: least, reversed: false, namespace: "", name: "" };
        if may_stop && count > 0 && self.first.is_past(&least) {
            return self.first.note_more();
        }
        for (index, pod) in pods.enumerate() {
            let key = pod.item().key();
            let is_in = namespace.as_ref().is_none_or(|wanted| *wanted == *key.namespace);
            let matches = |text: &String| super::contains(&key.namespace, &key.name, text);
            if !is_in || !search.as_ref().is_none_or(matches) {
                continue;
            }
            self.total += usize::from(!takes_all);
            let key = self.key(&pod, if is_in_order { index } else { 0 });
            if may_stop && is_in_order && self.first.is_past(&key) {
                return self.first.note_more();
            }
            self.first.offer(key, (pod, index));
        }
    }

    fn key(&self, pod: &Waiting<'a, QueuedPod>, index: usize) -> Key<'a> {
        let item = pod.item();
        let (namespace, name) = (item.key().namespace.as_str(), item.key().name.as_str());
        let time = |time: Time| i128::from(time.as_nanos());
        let Sorted { by, reversed } = self.query.sorted;
        let value = match by {
            QueueSortBy::Place => Value::Number(rank(PlaceName::of(pod.place()), index)),
            QueueSortBy::Namespace => Value::Text(namespace),
            QueueSortBy::Name => Value::Text(name),
            QueueSortBy::Priority => Value::Number(item.priority().into()),
            QueueSortBy::Attempts => Value::Number(pod.attempts().into()),
            QueueSortBy::Queued => Value::Number(time(queued(pod, self.journal))),
            QueueSortBy::Since => Value::Number(time(pod.queued_at())),
            // Those that do not back off come last.
            QueueSortBy::Backoff => Value::Number(until(pod.place()).map_or(i128::MAX, time)),
        };
        Key { value, reversed, namespace, name }
    }
}

const FORWARD: Sorted<QueueSortBy> = Sorted { by: QueueSortBy::Place, reversed: false };

/// Where a pod is among all, place by place.
fn rank(place: PlaceName, index: usize) -> i128 {
    ((place as i128) << 64) + index as i128
}

fn queued(pod: &Waiting<'_, QueuedPod>, journal: &Journal) -> Time {
    journal.queued(pod.item().key()).unwrap_or_else(|| pod.queued_at())
}

fn until(place: Place) -> Option<Time> {
    match place {
        Place::Backoff { until } | Place::ErrorBackoff { until } => until,
        _ => None,
    }
}
