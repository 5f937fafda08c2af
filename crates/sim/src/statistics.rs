//! What is taken down during a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use k8s_openapi::api::core::v1 as api;
use roadstead_model::{Pod, Text};
use roadstead_queue::{Cause, Incoming, Item, Observer, Time, Transition};
use roadstead_scheduler::events::Object;
use roadstead_scheduler::{QueuedPod, Record, Scheduler};

use crate::series::{Recording, Totals};

/// What the queue tells: how often each pod was tried, and what came into which place and why.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// By incarnation, which the scheduler counts up from zero.
    pods: Vec<Tried>,
    incoming: Incoming,
}

#[derive(Clone, Debug, Default)]
struct Tried {
    uid: Option<Text>,
    attempts: u32,
}

/// Who hears of what a scheduler does: what an outcome is made of, if there is to be one, and
/// somebody else.
pub type Noted<X> = (Option<Journal>, X);

/// Who hears of what the scheduler of a simulation does: what every run takes down, and the history
/// of each pod where a run is to keep that.
pub type Observers = Noted<Option<roadstead_scheduler::Journal>>;

impl Journal {
    /// How many times items came into each place, by cause.
    #[must_use]
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// How often each pod was tried, by uid.
    pub(crate) fn attempts(&self) -> BTreeMap<&Text, u32> {
        let tried = self.pods.iter().filter_map(|pod| Some((pod.uid.as_ref()?, pod.attempts)));
        tried.collect()
    }
}

impl roadstead_scheduler::Observer for Journal {}

impl Observer<QueuedPod, Object> for Journal {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        Observer::<QueuedPod, Object>::transition(&mut self.incoming, step);
        if !matches!(step.cause, Cause::Popped | Cause::PoppedFromBackoff) {
            return;
        }
        let index = usize::try_from(step.item.incarnation()).unwrap_or(usize::MAX);
        if index >= self.pods.len() {
            self.pods.resize_with(index + 1, Tried::default);
        }
        let tried = &mut self.pods[index];
        tried.uid.get_or_insert_with(|| step.item.pod().uid.clone());
        tried.attempts += 1;
    }
}

/// A pod's story.
#[derive(Clone, Debug)]
pub(crate) struct PodRecord {
    pub(crate) pod: Arc<Pod>,
    /// What the cluster last showed of it, while it is on no node.
    pub(crate) shown: Option<Arc<api::Pod>>,
    /// When the scheduler was first shown it.
    pub(crate) created: Time,
    /// When it was bound, if the scheduler has done it.
    pub(crate) bound: Option<Time>,
    pub(crate) node: Option<Text>,
    /// When it finished or was deleted.
    pub(crate) ended: Option<Time>,
    pub(crate) is_gone: bool,
    /// What the scheduler last said about why it waits.
    pub(crate) reason: Option<String>,
    pub(crate) preempted_by: Option<Text>,
    /// The last Event about it, which a repetition is counted with.
    last_event: Option<usize>,
}

/// An Event, and how often it was recorded in a row.
#[derive(Clone, Debug)]
pub(crate) struct EventRecord {
    pub(crate) pod: usize,
    pub(crate) is_warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) note: String,
    pub(crate) first: Time,
    pub(crate) last: Time,
    pub(crate) count: u32,
}

/// Everything that is taken down, apart from what the queue tells.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    pods: Vec<PodRecord>,
    by_uid: HashMap<Text, usize>,
    events: Vec<EventRecord>,
    events_left_out: usize,
    bound: usize,
    recording: Recording,
}

impl Statistics {
    /// The cluster shows a pod.
    pub(crate) fn pod_shown(&mut self, pod: &Arc<Pod>, shown: &Arc<api::Pod>, now: Time) {
        let index = self.index(pod, now);
        let record = &mut self.pods[index];
        if record.node.is_none() {
            record.node.clone_from(&pod.node_name);
        }
        if pod.phase.is_terminal() {
            record.ended.get_or_insert(now);
        }
        record.pod = Arc::clone(pod);
        record.shown = record.node.is_none().then(|| Arc::clone(shown));
    }

    /// The cluster shows that a pod is gone.
    pub(crate) fn pod_gone(&mut self, pod: &Arc<Pod>, now: Time) {
        let index = self.index(pod, now);
        let record = &mut self.pods[index];
        record.ended.get_or_insert(now);
        record.is_gone = true;
    }

    pub(crate) fn bound(&mut self, pod: &Pod, node: &Text, now: Time) {
        self.bound += 1;
        let Some(&index) = self.by_uid.get(&pod.uid) else { return };
        let record = &mut self.pods[index];
        record.bound = Some(now);
        record.node = Some(node.clone());
        self.recording.count_binding(now, now - record.created);
    }

    /// The scheduler has said why a pod waits.
    pub(crate) fn refused(&mut self, uid: &Text, message: &str) {
        if let Some(&index) = self.by_uid.get(uid) {
            let reason = self.pods[index].reason.get_or_insert_default();
            if reason != message {
                message.clone_into(reason);
            }
        }
    }

    pub(crate) fn evicted(&mut self, victim: &Pod, preemptor: &Pod) {
        if let Some(&index) = self.by_uid.get(&victim.uid) {
            self.pods[index].preempted_by = Some(preemptor.name.clone());
        }
    }

    /// Takes down an Event; one that repeats the last about its pod is counted with that.
    pub(crate) fn record(&mut self, record: Record, now: Time) {
        let index = self.index(&record.regarding, now);
        let last = self.pods[index].last_event;
        if let Some(last) = last.and_then(|last| self.events.get_mut(last))
            && last.reason == record.reason
            && last.note == record.note
        {
            last.count += 1;
            last.last = now;
            return;
        }
        if self.events.len() >= MOST_EVENTS {
            self.events_left_out += 1;
            return;
        }
        self.pods[index].last_event = Some(self.events.len());
        self.events.push(EventRecord {
            pod: index,
            is_warning: record.is_warning,
            reason: record.reason,
            note: record.note,
            first: now,
            last: now,
            count: 1,
        });
    }

    pub(crate) fn count_attempt(&mut self, now: Time) {
        self.recording.count_attempt(now);
    }

    /// Takes down how much waits, in case it is the most for a while.
    pub(crate) fn note_depth<V>(&mut self, scheduler: &Scheduler<V>, now: Time)
    where
        V: roadstead_scheduler::Observer,
    {
        self.recording.note_depth(now, scheduler.queue().counts());
    }

    /// Takes down how full the nodes are. Costs a look at every node.
    pub(crate) fn sample<V>(&mut self, scheduler: &Scheduler<V>, now: Time)
    where
        V: roadstead_scheduler::Observer,
    {
        let nodes = scheduler.cache().nodes_unordered();
        self.recording.note_totals(now, Totals::of(nodes));
    }

    /// Whether `next` is so much later that the state at `now` is to be taken down.
    pub(crate) fn is_in_another_bucket(&self, now: Time, next: Time) -> bool {
        self.recording.is_in_another_bucket(now, next)
    }

    pub(crate) fn pods(&self) -> &[PodRecord] {
        &self.pods
    }

    pub(crate) fn events(&self) -> (&[EventRecord], usize) {
        (&self.events, self.events_left_out)
    }

    pub(crate) fn bound_count(&self) -> usize {
        self.bound
    }

    pub(crate) fn recording(&self) -> &Recording {
        &self.recording
    }

    fn index(&mut self, pod: &Arc<Pod>, now: Time) -> usize {
        if let Some(&index) = self.by_uid.get(&pod.uid) {
            return index;
        }
        let index = self.pods.len();
        self.by_uid.insert(pod.uid.clone(), index);
        self.pods.push(PodRecord {
            pod: Arc::clone(pod),
            shown: None,
            created: now,
            bound: None,
            node: pod.node_name.clone(),
            ended: None,
            is_gone: false,
            reason: None,
            preempted_by: None,
            last_event: None,
        });
        index
    }
}

/// How many Events are kept.
const MOST_EVENTS: usize = 200_000;
