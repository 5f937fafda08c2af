//! Everything that waits, looked at in steps and put in order elsewhere.
//!
//! A list in any order needs a look at all of the queue, which takes the scheduler's thread tens of
//! milliseconds when very many pods wait. So it looks at some of them at a time and schedules in
//! between; what it saw is put in order by whoever asked. The pages of one listing are cut from
//! what was seen once, and the thread is asked for their rows alone.

use std::ops::Range;

use roadstead_queue::{Item, Waiting};

use super::order::{Key, Mark, Sorted, Value};
use super::queue::until;
use super::{PlaceName, QueueQuery, QueueSortBy};
use crate::observer::Observer;
use crate::scheduler::{PodKey, QueuedPod, Scheduler};

/// A look at the queue that is under way.
#[derive(Debug)]
pub struct QueueSurvey {
    query: QueueQuery,
    /// The serial number of the queue that is looked at.
    queue: Option<u32>,
    /// Those that are still to be looked at. What comes later may be left out.
    slots: Range<usize>,
    /// By slot, the number of a pod in the order in which pods are tried; if that is wanted.
    order: Vec<u32>,
    seen: Vec<Seen>,
}

/// A pod that was seen.
#[derive(Debug)]
struct Seen {
    /// What it is sorted by, unless by its name.
    number: i64,
    key: PodKey,
    incarnation: u64,
}

/// What was seen of the queue, in order.
#[derive(Debug)]
pub struct QueueListing {
    query: QueueQuery,
    queue: Option<u32>,
    sorted: Vec<Seen>,
}

impl QueueSurvey {
    /// A survey that has seen nothing yet.
    #[must_use]
    pub fn new(query: QueueQuery) -> Self {
        Self { query, queue: None, slots: 0..0, order: Vec::new(), seen: Vec::new() }
    }

    /// Puts in order what was seen. That takes its time when it is much: it is not for the
    /// scheduler's thread.
    #[must_use]
    pub fn finish(self) -> QueueListing {
        let Self { query, queue, seen: mut sorted, .. } = self;
        sorted.sort_unstable_by(|a, b| a.key(query.sorted).cmp(&b.key(query.sorted)));
        QueueListing { query, queue, sorted }
    }

    fn take(&mut self, slot: usize, pod: &Waiting<'_, QueuedPod>) {
        let QueueQuery { namespace, place: wanted, search, sorted } = &self.query;
        let (item, place) = (pod.item(), PlaceName::of(pod.place()));
        let key = item.key();
        if wanted.is_some_and(|wanted| wanted != place)
            || namespace.as_ref().is_some_and(|namespace| *namespace != *key.namespace)
            || search.as_ref().is_some_and(|text| !super::contains(&key.namespace, &key.name, text))
        {
            return;
        }
        let number = match sorted.by {
            QueueSortBy::Namespace | QueueSortBy::Name => 0,
            QueueSortBy::Place => ((place as i64) << 32) + self.rank(slot, place),
            QueueSortBy::Priority => item.priority().into(),
            QueueSortBy::Attempts => pod.attempts().into(),
            // They are numbered as they come, and the numbers are nearer than the times.
            QueueSortBy::Queued => item.incarnation() as i64,
            QueueSortBy::Since => pod.since().as_nanos() as i64,
            // Those that do not back off come last.
            QueueSortBy::Backoff => until(pod.place()).map_or(i64::MAX, |at| at.as_nanos() as i64),
        };
        self.seen.push(Seen { number, key: key.clone(), incarnation: item.incarnation() });
    }

    /// Where a pod is in its place; who came there since the survey began comes last.
    fn rank(&self, slot: usize, place: PlaceName) -> i64 {
        match place {
            PlaceName::Active | PlaceName::Backoff => {
                self.order.get(slot).copied().unwrap_or(u32::MAX).into()
            }
            PlaceName::Unschedulable | PlaceName::Gated | PlaceName::InFlight => 0,
        }
    }
}

impl<V: Observer> Scheduler<V> {
    /// Looks at so many slots of the queue. Whether those were the last.
    ///
    /// A pod that is in the queue from the first call to the last is seen exactly once, wherever it
    /// moves in between.
    pub fn survey_queue(&self, survey: &mut QueueSurvey, slots: usize) -> bool {
        let queue = self.queue();
        if survey.queue != Some(queue.serial()) {
            let query = survey.query.clone();
            *survey = QueueSurvey { queue: Some(queue.serial()), ..QueueSurvey::new(query) };
            survey.slots = 0..queue.slots();
            if survey.query.sorted.by == QueueSortBy::Place {
                survey.order = vec![u32::MAX; queue.slots()];
                for (number, slot) in (0..).zip(queue.slots_in_order()) {
                    survey.order[slot] = number;
                }
            }
        }
        let end = survey.slots.end.min(survey.slots.start.saturating_add(slots));
        for (slot, pod) in queue.in_slots(survey.slots.start..end) {
            survey.take(slot, &pod);
        }
        survey.slots.start = end;
        survey.slots.is_empty()
    }
}

impl QueueListing {
    /// What was asked for.
    #[must_use]
    pub fn query(&self) -> &QueueQuery {
        &self.query
    }

    /// How many pods there are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// What tells a later listing of the same query where its first pods up to this number ended.
    /// There must be some.
    #[must_use]
    pub fn mark(&self, end: usize) -> Option<Mark> {
        let last = self.sorted.get(end.checked_sub(1)?)?;
        Some(Mark::of(&last.key(self.query.sorted)))
    }

    /// How many pods are before the mark or at it; `None` if it is one of another order.
    #[must_use]
    pub fn up_to(&self, mark: &Mark) -> Option<usize> {
        let Sorted { by, reversed } = self.query.sorted;
        let mark = mark.key(reversed, |namespace, name| match by {
            QueueSortBy::Namespace => Some(namespace),
            QueueSortBy::Name => Some(name),
            _ => None,
        })?;
        Some(self.sorted.partition_point(|seen| seen.key(self.query.sorted) <= mark))
    }

    pub(super) fn is_of(&self, queue: u32) -> bool {
        self.queue == Some(queue)
    }

    /// The names of these pods, and which pods of those names are meant.
    pub(super) fn names(&self, pods: Range<usize>) -> impl Iterator<Item = (&PodKey, u64)> {
        let end = pods.end.min(self.sorted.len());
        let pods = self.sorted.get(pods.start..end).unwrap_or_default();
        pods.iter().map(|seen| (&seen.key, seen.incarnation))
    }
}

impl Seen {
    fn key(&self, Sorted { by, reversed }: Sorted<QueueSortBy>) -> Key<'_> {
        let (namespace, name) = (self.key.namespace.as_str(), self.key.name.as_str());
        let value = match by {
            QueueSortBy::Namespace => Value::Text(namespace),
            QueueSortBy::Name => Value::Text(name),
            _ => Value::Number(self.number.into()),
        };
        Key { value, reversed, namespace, name }
    }
}
