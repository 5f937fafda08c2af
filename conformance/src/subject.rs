//! What a queue must offer to be compared with the real one.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::trace::{AlreadyQueued, Event, Header, Labels, Pending, Pod, PodName, State, Uid};

/// A queue under test.
///
/// The operations are those of kube-scheduler's own queue, with the time as an argument; it never
/// goes back. [`Caller`](crate::Caller) drives a subject and does what happens around a queue, so
/// that a subject need not: it hands over the newest versions, says what changed between two of
/// them, and passes each attempt back at most once.
///
/// **Pods are handed over as a queue sees them.** The real queue parses a pod's affinity term
/// when it makes a record and when the pod fails, but not when a pod of the same uid changes. The
/// caller follows that: `affinity` of a pod handed over is the term as parsed, so a subject just
/// uses the pod that it was given last.
pub trait Subject: Sized {
    /// What an attempt is, from [`pop`](Self::pop) until it is rejected or discarded.
    type Attempt;

    /// What to call it in reports.
    const NAME: &'static str;

    /// An empty queue.
    fn open(header: &Header) -> Self;

    /// The pod lister now has this version of a pod. Told before the operation that brings it.
    ///
    /// The lister matters to nominations alone: a pod that it does not have, or has on a node,
    /// is not nominated.
    fn lister_has(&mut self, pod: &Arc<Pod>);

    /// The pod lister no longer has a pod of this name. Told before [`delete`](Self::delete).
    fn lister_lost(&mut self, name: &PodName);

    /// A new unscheduled pod arrives.
    fn add(&mut self, now_ms: u64, pod: &Arc<Pod>);

    /// Takes the next pod without waiting.
    fn pop(&mut self, now_ms: u64) -> Option<Popped<Self::Attempt>>;

    /// An attempt failed, done before or not: the pod goes back, unless one of its name is there.
    fn reject(
        &mut self,
        now_ms: u64,
        attempt: Self::Attempt,
        failure: &Failure<'_>,
    ) -> Result<(), AlreadyQueued>;

    /// The attempt needs no more events. It may still be rejected, and be told so again.
    fn done(&mut self, now_ms: u64, attempt: &mut Self::Attempt);

    /// Nobody will speak of this attempt again: it was done, or the run is over.
    fn discard(&mut self, attempt: Self::Attempt);

    /// An unscheduled pod changed.
    fn update(&mut self, now_ms: u64, update: &PodUpdate);

    /// An unscheduled pod is gone.
    fn delete(&mut self, now_ms: u64, pod: &Arc<Pod>);

    /// Something happened in the cluster: moves whom it may help, among those in reach.
    ///
    /// Attempts under way and the move cycle are none of `reach`'s business.
    fn happened(&mut self, now_ms: u64, change: &Change, reach: Reach<'_>);

    /// Forces pods active. Of a pod never seen nothing but the name is known.
    fn activate(&mut self, now_ms: u64, pods: &[Arc<Pod>]);

    /// Nominates a pod to a node, which may be `""`; without one, to the node its status names.
    fn nominate(&mut self, pod: &Arc<Pod>, node: Option<&str>);

    /// Ends a pod's nomination.
    fn unnominate(&mut self, pod: &Arc<Pod>);

    /// What the one-second timer does.
    fn flush_backoff(&mut self, now_ms: u64);

    /// What the thirty-second timer does.
    fn flush_unschedulable(&mut self, now_ms: u64);

    /// Who is nominated to a node, sorted by name.
    fn nominated(&self, node: &str) -> Vec<PodName>;

    /// The uid of the pod that waits under this name in active, backoff or the pool.
    fn waiting(&self, name: &PodName) -> Option<Uid>;

    /// Everything that it holds.
    fn state(&self) -> State;

    /// `scheduler_queue_incoming_pods_total` by `queue/event`, without those that are 0.
    fn incoming(&self) -> BTreeMap<String, u64>;

    /// `scheduler_pending_pods`.
    fn pending(&self) -> Pending;
}

/// A pod that was popped, and the attempt that this began.
#[derive(Debug)]
pub struct Popped<A> {
    /// The pod's name.
    pub name: PodName,
    /// The pod's uid.
    pub uid: Uid,
    /// What to hand back.
    pub attempt: A,
}

/// How an attempt failed. Without any plugin it was an error, not a rejection.
#[derive(Debug)]
pub struct Failure<'a> {
    /// The newest version of the attempt's own pod.
    pub pod: &'a Arc<Pod>,
    /// The plugins that rejected it, in place of those from before.
    pub unschedulable: &'a [String],
    /// The plugins that it waits for, in place of those from before.
    pub pending: &'a [String],
    /// The cycle that the caller reports, the queue's current one if absent; only the older way
    /// looks at it.
    pub cycle: Option<i64>,
}

/// Two versions of an unscheduled pod, and what lies between them.
#[derive(Debug)]
pub struct PodUpdate {
    /// The version before; the new one for a name never seen.
    pub old: Arc<Pod>,
    /// The version now.
    pub new: Arc<Pod>,
    /// With hints: what changed, one event for each kind, in order; never empty.
    pub kinds: Vec<Event>,
    /// The older way: whether anything but the status changed.
    pub is_more_than_status: bool,
}

impl PodUpdate {
    /// The changes as they are kept for attempts under way and shown to hints.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        self.kinds.iter().map(|event| Change {
            event: event.clone(),
            old: Some(Object::from_pod(&self.old)),
            new: Some(Object::from_pod(&self.new)),
        })
    }
}

/// A cluster event and the objects that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub event: Event,
    /// The object before.
    pub old: Option<Object>,
    /// The object now.
    pub new: Option<Object>,
}

/// What hints can see of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its labels.
    pub labels: Labels,
    /// Its uid, if it is a pod.
    pub uid: Option<Uid>,
}

impl Object {
    /// A pod as an object.
    pub fn from_pod(pod: &Pod) -> Self {
        Self { labels: pod.labels.clone(), uid: Some(pod.uid.clone()) }
    }
}

/// Which pods of the pool an event is tried on.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// All.
    Everyone,
    /// Those of at most this priority.
    UpToPriority(i32),
    /// Those that a pod on a node concerns: their affinity selects it, or
    /// `PodTopologySpread` rejected them in its namespace.
    RelatedTo(&'a Pod),
}

impl Reach<'_> {
    /// Whether `waiting` is in reach, given which plugins made it unschedulable (the pending
    /// ones are not asked for).
    pub fn includes(&self, waiting: &Pod, is_unschedulable_by: impl FnOnce(&str) -> bool) -> bool {
        match self {
            Self::Everyone => true,
            Self::UpToPriority(max) => waiting.priority <= *max,
            Self::RelatedTo(assigned) => {
                waiting.has_affinity_to(assigned)
                    || waiting.namespace == assigned.namespace
                        && is_unschedulable_by("PodTopologySpread")
            }
        }
    }
}
