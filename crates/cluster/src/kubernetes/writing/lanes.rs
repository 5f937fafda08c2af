//! Which write goes next: classes with budgets of their own.
//!
//! A state machine without clock or network. What the scheduler wants comes in as commands and
//! comes out as [`Job`]s, when their class has a free place and the client's rate allows another
//! request. Binds go before evictions before nominations before conditions before Events; one
//! request in ten goes to a lower class that waits, so that none starves.
//!
//! Two writes to one pod are never under way at once: a condition that overtook a binding would
//! say of a pod that runs that it cannot be scheduled. A bind replaces what was still to be said
//! of the pod's status, and a later status an earlier one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use roadstead_model::{Pod, Text};
use roadstead_scheduler::Command;
use roadstead_scheduler::framework::Write;

use super::Limits;
use super::bucket::Bucket;
use super::series::{Draft, EventKey, Series};
use super::starving::Starving;
use super::status::{Conditions, StatusWrite};

/// A kind of write, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Bindings, and what pods need written before they are bound.
    Bind,
    /// Victims' conditions and deletions.
    Evict,
    /// Nominated nodes.
    Nominate,
    /// Conditions.
    Status,
    /// Events.
    Event,
}

impl Class {
    /// All of them, the most urgent first.
    pub const ALL: [Self; 5] = [Self::Bind, Self::Evict, Self::Nominate, Self::Status, Self::Event];
}

/// Something to be written.
#[derive(Clone, Debug)]
pub enum Job {
    /// Bind a pod to a node.
    Bind {
        /// Whom.
        pod: Arc<Pod>,
        /// Where.
        node: Text,
    },
    /// Write a volume or a claim.
    Write {
        /// For whom.
        pod: Arc<Pod>,
        /// What.
        write: Write,
    },
    /// Mark a pod and delete it.
    Evict {
        /// Who must go.
        victim: Arc<Pod>,
        /// For whom.
        preemptor: Arc<Pod>,
    },
    /// Write to a pod's status.
    Status(StatusWrite),
    /// Write an Event.
    Event(EventKey),
}

impl Job {
    /// Which class it is of.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Bind { .. } | Self::Write { .. } => Class::Bind,
            Self::Evict { .. } => Class::Evict,
            Self::Status(write) if write.nominated_node.is_some() => Class::Nominate,
            Self::Status(_) => Class::Status,
            Self::Event(_) => Class::Event,
        }
    }

    /// The uid of the pod that nothing else may be written to meanwhile.
    fn pod(&self) -> Option<&Text> {
        match self {
            Self::Bind { pod, .. } | Self::Evict { victim: pod, .. } => Some(&pod.uid),
            Self::Status(write) => Some(&write.pod.uid),
            Self::Write { .. } | Self::Event(_) => None,
        }
    }
}

/// What became of a command that was pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// It waits for its turn.
    Waits,
    /// It took the place of one that had not been sent, or is counted with one.
    Merged,
    /// It says what is written already.
    Unchanged,
    /// There is no room for it.
    Dropped,
}

/// The writes that wait, and which of them goes next.
#[derive(Debug)]
pub struct Lanes {
    bucket: Bucket,
    starving: Starving,
    /// How long the last write that was taken had waited for the rate.
    waited: Duration,
    lanes: [Lane; 5],
    /// What is to be written to the status of pods, by uid.
    statuses: BTreeMap<Text, (StatusWrite, u64)>,
    /// Pods with a bind that waits.
    to_bind: BTreeSet<Text>,
    /// Pods to which something is being written.
    busy: BTreeSet<Text>,
    /// What waits for such a pod.
    blocked: BTreeMap<Text, Vec<(Class, Entry)>>,
    /// What is to be sent again, and when.
    delayed: BTreeMap<(Instant, u64), (Class, Entry)>,
    series: Series,
    conditions: Conditions,
    most_events: usize,
    /// How often a lower class had to wait since one got its share.
    passed_over: u32,
    /// Whether classes go strictly by their order.
    is_strict: bool,
    number: u64,
}

#[derive(Debug)]
struct Lane {
    waiting: VecDeque<Waiting>,
    running: usize,
    limit: usize,
    served: u64,
}

#[derive(Debug)]
struct Waiting {
    entry: Entry,
    /// How long the rate had held writes back when it came.
    starved: Duration,
}

#[derive(Debug)]
enum Entry {
    Job(Job),
    /// What waits for the pod under this number. Under another it was replaced.
    Status(Text, u64),
}

impl Lanes {
    /// Nothing waits.
    #[must_use]
    pub fn new(limits: &Limits, now: Instant) -> Self {
        let lane = |limit: usize| Lane {
            waiting: VecDeque::new(),
            running: 0,
            limit: limit.max(1),
            served: 0,
        };
        let limit =
            [limits.binds, limits.evictions, limits.nominations, limits.statuses, limits.events];
        Self {
            bucket: Bucket::new(limits.qps, limits.burst, now),
            starving: Starving::new(now),
            waited: Duration::ZERO,
            lanes: limit.map(lane),
            statuses: BTreeMap::new(),
            to_bind: BTreeSet::new(),
            busy: BTreeSet::new(),
            blocked: BTreeMap::new(),
            delayed: BTreeMap::new(),
            series: Series::new(limits.kept_events),
            conditions: Conditions::default(),
            most_events: limits.waiting_events,
            passed_over: 0,
            is_strict: false,
            number: 0,
        }
    }

    /// Takes a command in. `wall` is what an Event says of its time.
    pub fn push(&mut self, now: Instant, wall: Timestamp, command: Command) -> Pushed {
        let job = match command {
            Command::Bind { pod, node } => {
                self.statuses.remove(&pod.uid);
                self.to_bind.insert(pod.uid.clone());
                Job::Bind { pod, node }
            }
            Command::Write { for_pod, write } => Job::Write { pod: for_pod, write },
            Command::Evict { victim, preemptor } => Job::Evict { victim, preemptor },
            Command::PatchStatus { pod, condition, nominated_node } => {
                let write = StatusWrite { pod, condition, nominated_node, tries: 0 };
                return self.push_status(write);
            }
            Command::RecordEvent(record) => {
                if self.lanes[Class::Event as usize].waiting.len() >= self.most_events {
                    return Pushed::Dropped;
                }
                match self.series.note(now, wall, record) {
                    Some(key) => Job::Event(key),
                    None => return Pushed::Merged,
                }
            }
        };
        self.enqueue(job.class(), Entry::Job(job));
        Pushed::Waits
    }

    /// The next write, if one may go now. Its first request is paid for; its place is taken until
    /// [`finish`](Self::finish).
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        self.ripen(now);
        let is_allowed = self.bucket.has_one(now);
        let is_starving = !is_allowed && Class::ALL.into_iter().any(|class| self.is_ready(class));
        self.starving.set(now, is_starving);
        if !is_allowed {
            return None;
        }
        let ready: Vec<Class> =
            Class::ALL.into_iter().filter(|class| self.is_ready(*class)).collect();
        let (&first, lower) = ready.split_first()?;
        let class = match lower.iter().min_by_key(|class| self.lanes[**class as usize].served) {
            None => first,
            Some(&waits_longest) if self.passed_over >= SHARE && !self.is_strict => {
                self.passed_over = 0;
                waits_longest
            }
            Some(_) => {
                self.passed_over += 1;
                first
            }
        };
        self.bucket.take(now);
        self.number += 1;
        let lane = &mut self.lanes[class as usize];
        lane.served = self.number;
        let Waiting { entry, starved } = lane.waiting.pop_front()?;
        self.waited = self.starving.sum().saturating_sub(starved);
        let job = match entry {
            Entry::Job(job) => job,
            Entry::Status(uid, _) => Job::Status(self.statuses.remove(&uid)?.0),
        };
        lane.running += 1;
        if let Job::Bind { pod, .. } = &job {
            self.to_bind.remove(&pod.uid);
        }
        self.busy.extend(job.pod().cloned());
        Some(job)
    }

    /// How long the write that was taken last had waited for nothing but the rate.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// A further request of a write that has its place: when it may be sent. It goes before all
    /// that wait, since what is begun holds a place.
    pub fn reserve(&mut self, now: Instant) -> Instant {
        self.bucket.take(now)
    }

    /// A write is over, well or not.
    pub fn finish(&mut self, class: Class, pod: Option<&Text>) {
        self.lanes[class as usize].running -= 1;
        let Some(pod) = pod else { return };
        self.busy.remove(pod);
        let starved = self.starving.sum();
        for (class, entry) in self.blocked.remove(pod).into_iter().flatten().rev() {
            self.lanes[class as usize].waiting.push_front(Waiting { entry, starved });
        }
    }

    /// A status is to be sent again after a while, unless something newer is to be said.
    pub fn retry_status(&mut self, at: Instant, write: StatusWrite) -> Pushed {
        let uid = write.pod.uid.clone();
        if self.to_bind.contains(&uid) {
            return Pushed::Dropped;
        }
        if let Some((later, _)) = self.statuses.get_mut(&uid) {
            *later = write.then(later.clone());
            return Pushed::Merged;
        }
        self.number += 1;
        let class = Job::Status(write.clone()).class();
        self.statuses.insert(uid.clone(), (write, self.number));
        self.delayed.insert((at, self.number), (class, Entry::Status(uid, self.number)));
        Pushed::Waits
    }

    /// A status was written.
    pub fn status_written(&mut self, write: &StatusWrite) {
        if let Some(condition) = &write.condition {
            self.conditions.note(&write.pod.uid, condition);
        }
    }

    /// Whether the pod has a condition of ours.
    #[must_use]
    pub fn has_condition(&self, pod: &Text) -> bool {
        self.conditions.knows(pod)
    }

    /// The pod is bound or gone.
    pub fn forget(&mut self, pod: &Text) {
        self.conditions.forget(pod);
    }

    /// The Event to send for a key.
    pub fn event(&mut self, key: &EventKey) -> Option<Draft> {
        self.series.draft(key)
    }

    /// An Event was written.
    pub fn event_written(&mut self, now: Instant, key: &EventKey) {
        if self.series.written(now, key) {
            self.enqueue(Class::Event, Entry::Job(Job::Event(key.clone())));
        }
    }

    /// An Event is given up.
    pub fn event_dropped(&mut self, key: &EventKey) {
        self.series.drop_event(key);
    }

    /// An Event could not be sent; it is tried a few times.
    pub fn retry_event(&mut self, at: Instant, key: &EventKey) -> Pushed {
        if self.series.failed(key) >= EVENT_TRIES {
            self.series.drop_event(key);
            return Pushed::Dropped;
        }
        self.number += 1;
        let entry = Entry::Job(Job::Event(key.clone()));
        self.delayed.insert((at, self.number), (Class::Event, entry));
        Pushed::Waits
    }

    /// From now on the classes go strictly by their order.
    pub fn be_strict(&mut self) {
        self.is_strict = true;
    }

    /// When [`take`](Self::take) may have something again, if nothing else happens.
    pub fn next_wakeup(&mut self, now: Instant) -> Option<Instant> {
        let is_any_ready = Class::ALL.into_iter().any(|class| self.is_ready(class));
        let paid = is_any_ready.then(|| self.bucket.ready_at(now));
        let due = self.delayed.keys().next().map(|(at, _)| *at);
        [paid, due, self.series.next_wakeup()].into_iter().flatten().min()
    }

    /// How many writes of a class wait.
    #[must_use]
    pub fn waiting(&self, class: Class) -> usize {
        let is_of = |(of, _): &&(Class, Entry)| *of == class;
        let blocked = self.blocked.values().flatten().filter(is_of).count();
        let delayed = self.delayed.values().filter(is_of).count();
        self.lanes[class as usize].waiting.len() + blocked + delayed
    }

    /// How many writes of a class are under way.
    #[must_use]
    pub fn running(&self, class: Class) -> usize {
        self.lanes[class as usize].running
    }

    /// Whether nothing waits and nothing is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.delayed.is_empty()
            && self.blocked.is_empty()
            && self.lanes.iter().all(|lane| lane.waiting.is_empty() && lane.running == 0)
    }

    fn push_status(&mut self, write: StatusWrite) -> Pushed {
        let uid = write.pod.uid.clone();
        let Some((earlier, number)) = self.statuses.remove(&uid) else {
            let is_known = !self.busy.contains(&uid) && write.nominated_node.is_none();
            if is_known
                && write.condition.as_ref().is_some_and(|it| self.conditions.shows(&uid, it))
            {
                return Pushed::Unchanged;
            }
            self.enqueue_status(uid, write);
            return Pushed::Waits;
        };
        let was = Job::Status(earlier.clone()).class();
        let merged = earlier.then(write);
        if Job::Status(merged.clone()).class() == was {
            self.statuses.insert(uid, (merged, number));
        } else {
            // More urgent than it was: what stands for it further back finds another number.
            self.enqueue_status(uid, merged);
        }
        Pushed::Merged
    }

    fn enqueue_status(&mut self, uid: Text, write: StatusWrite) {
        self.number += 1;
        let class = Job::Status(write.clone()).class();
        self.statuses.insert(uid.clone(), (write, self.number));
        self.enqueue(class, Entry::Status(uid, self.number));
    }

    fn enqueue(&mut self, class: Class, entry: Entry) {
        let starved = self.starving.sum();
        self.lanes[class as usize].waiting.push_back(Waiting { entry, starved });
    }

    /// What was put off until now, and series that are over.
    fn ripen(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry()
            && first.key().0 <= now
        {
            let (class, entry) = first.remove();
            self.enqueue(class, entry);
        }
        for key in self.series.on_time(now) {
            self.enqueue(Class::Event, Entry::Job(Job::Event(key)));
        }
    }

    /// Whether the class has a place and something to send, which is then its first.
    fn is_ready(&mut self, class: Class) -> bool {
        let lane = &mut self.lanes[class as usize];
        if lane.running >= lane.limit {
            return false;
        }
        while let Some(entry) = lane.waiting.front() {
            let pod = match &entry.entry {
                Entry::Status(uid, number) => {
                    if self.statuses.get(uid).is_none_or(|(_, current)| current != number) {
                        lane.waiting.pop_front();
                        continue;
                    }
                    Some(uid)
                }
                Entry::Job(job) => job.pod(),
            };
            let Some(pod) = pod.filter(|pod| self.busy.contains(*pod)).cloned() else {
                return true;
            };
            if let Some(Waiting { entry, .. }) = lane.waiting.pop_front() {
                self.blocked.entry(pod).or_default().push((class, entry));
            }
        }
        false
    }
}

/// One request in so many goes to a lower class, if one waits.
const SHARE: u32 = 9;

/// How often an Event is sent before it is given up.
const EVENT_TRIES: u32 = 4;

/// How long to wait before the next try.
pub(super) fn backoff(tries: u32, longest: Duration) -> Duration {
    (Duration::from_millis(50) * 2_u32.saturating_pow(tries.min(16))).min(longest)
}
