//! What a run came to, for people and programs.

use std::collections::BTreeMap;
use std::time::Duration;

use roadstead_queue::{Place as QueuePlace, Time};
use roadstead_scheduler::{Observer, PodKey, Scheduler};
use serde::Serialize;

use crate::series::Totals;
use crate::statistics::{Journal, Noted, PodRecord, Statistics};
use crate::wakers::Wakers;

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// How long it was, in virtual time.
    pub duration: Seconds,
    /// How many scheduling cycles there were.
    pub cycles: u64,
    /// Pods, counted.
    pub counts: PodCounts,
    /// Why pods wait, and how many for each reason; the most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// Every pod that there was, by namespace and name.
    pub pods: Vec<PodOutcome>,
    /// What all nodes together have, and what is asked of it.
    pub resources: Vec<Amount>,
    /// Every node at the end, by name.
    pub nodes: Vec<NodeOutcome>,
    /// How often pods came into each place of the queue, by cause.
    pub moves: Vec<Move>,
    /// What happened when.
    pub series: Series,
    /// The Events that were recorded, by the time of the first of equal ones.
    pub events: Vec<EventOutcome>,
    /// How many Events were too many to be kept.
    pub events_left_out: usize,
    /// What went wrong without ending the run.
    pub troubles: Vec<String>,
}

/// Pods, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodCounts {
    /// All that there ever were.
    pub total: usize,
    /// Those on a node, finished ones included.
    pub placed: usize,
    /// Of these, those that have finished.
    pub finished: usize,
    /// Those that are no more, on a node or not.
    pub deleted: usize,
    /// Of these, those that had to make room for a more urgent pod.
    pub preempted: usize,
    /// Those that wait.
    pub waiting: WaitingCounts,
}

/// Pods that wait, by place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingCounts {
    /// Ready to be tried.
    pub active: usize,
    /// Backing off.
    pub backoff: usize,
    /// Rejected, and waiting for something to happen.
    pub unschedulable: usize,
    /// Held by a gate.
    pub gated: usize,
    /// Decided for, while the cluster has not answered yet.
    pub binding: usize,
    /// Meant for a scheduler that is not there.
    pub unclaimed: usize,
}

impl WaitingCounts {
    /// How many wait in all.
    #[must_use]
    pub fn total(&self) -> usize {
        self.active + self.backoff + self.unschedulable + self.gated + self.binding + self.unclaimed
    }

    fn of(&mut self, place: WaitingPlace) -> &mut usize {
        match place {
            WaitingPlace::Active => &mut self.active,
            WaitingPlace::Backoff => &mut self.backoff,
            WaitingPlace::Unschedulable => &mut self.unschedulable,
            WaitingPlace::Gated => &mut self.gated,
            WaitingPlace::Binding => &mut self.binding,
            WaitingPlace::Unclaimed => &mut self.unclaimed,
        }
    }
}

/// Where a pod that waits is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "as in WaitingCounts")]
pub enum WaitingPlace {
    Active,
    Backoff,
    Unschedulable,
    Gated,
    Binding,
    Unclaimed,
}

impl WaitingPlace {
    /// As people read it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Backoff => "backoff",
            Self::Unschedulable => "unschedulable",
            Self::Gated => "gated",
            Self::Binding => "binding",
            Self::Unclaimed => "unclaimed",
        }
    }
}

/// What became of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// It is on a node.
    Placed,
    /// It was on a node and has finished.
    Finished,
    /// It is no more.
    Deleted,
    /// It waits.
    Waiting(WaitingPlace),
}

/// A reason to wait, and how many pods have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonCount {
    /// Where they wait.
    pub place: WaitingPlace,
    /// In words.
    pub reason: String,
    /// How many.
    pub pods: usize,
}

/// A pod's story.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodOutcome {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub state: PodState,
    /// Its priority.
    pub priority: i32,
    /// The node that it is or was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The node that is kept for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// How often it was tried.
    pub attempts: u32,
    /// When the scheduler first saw it.
    pub created: Seconds,
    /// When the scheduler bound it; nothing for one that came bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Seconds>,
    /// When it finished or was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Seconds>,
    /// From its creation until it was bound or deleted, or until the end.
    pub waited: Seconds,
    /// The last reason for which it was not placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who rejected it the last time, or holds it, and what would make them think again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rejectors: Vec<Rejector>,
    /// The pod for which it had to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted_by: Option<String>,
    /// Its conditions at the end, while it is there and waits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionOutcome>,
}

/// A plugin that rejected a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejector {
    /// The plugin.
    pub plugin: String,
    /// What would make it think again, in words.
    pub wakes_when: Vec<String>,
}

/// A condition of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "as in the API")]
pub struct ConditionOutcome {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How much of a resource there is, and how much of it is asked for. CPU is in cores, everything
/// else in its own unit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// Its name.
    pub resource: String,
    /// What pods on nodes ask for.
    pub requested: f64,
    /// What nodes have.
    pub allocatable: f64,
}

impl Amount {
    /// Which part of it is asked for: from 0 to 1, and 0 where there is none.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.allocatable > 0.0 { self.requested / self.allocatable } else { 0.0 }
    }
}

/// A node at the end.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// What it has, and what is asked of it.
    pub resources: Vec<Amount>,
}

/// How often pods came into a place, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The place, as kube-scheduler's metrics call it.
    pub queue: &'static str,
    /// The cause, as kube-scheduler's metrics call it.
    pub event: String,
    /// How often.
    pub count: u64,
}

/// What happened when, in points of equal distance.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Series {
    /// How long a point stands for.
    pub width: Seconds,
    /// The points, one after the other from the start.
    pub points: Vec<Point>,
}

/// What happened in a stretch of time.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Point {
    /// Its start.
    pub at: Seconds,
    /// The most pods that were active at one time.
    pub active: usize,
    /// The most that backed off.
    pub backoff: usize,
    /// The most that were unschedulable.
    pub unschedulable: usize,
    /// The most that were gated.
    pub gated: usize,
    /// How many scheduling cycles there were.
    pub attempts: u64,
    /// How many pods were bound.
    pub bindings: usize,
    /// How long these had waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<Quantiles>,
    /// What nodes had and what was asked of it, at the end of it.
    pub nodes: Vec<Amount>,
}

/// How long pods waited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "quantiles are called after what they are")]
pub struct Quantiles {
    pub p50: Seconds,
    pub p90: Seconds,
    pub p99: Seconds,
    pub max: Seconds,
}

impl Quantiles {
    /// Of these times in milliseconds; nothing of none.
    pub(crate) fn of(waits: &[u64]) -> Option<Self> {
        let mut sorted = waits.to_vec();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        // The smallest that at least so many percent do not exceed.
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            Seconds::from_millis(sorted[rank.min(last)])
        };
        Some(Self { p50: at(50), p90: at(90), p99: at(99), max: at(100) })
    }

    /// Of the times that pods waited until they were bound.
    #[must_use]
    pub fn of_bound<'a>(pods: impl IntoIterator<Item = &'a PodOutcome>) -> Option<Self> {
        let bound = pods.into_iter().filter(|pod| pod.bound.is_some());
        let waits: Vec<u64> = bound.map(|pod| pod.waited.as_millis()).collect();
        Self::of(&waits)
    }
}

/// An Event, and how often it was recorded in a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventOutcome {
    /// When it was first recorded.
    pub first: Seconds,
    /// When it was last recorded.
    pub last: Seconds,
    /// How often.
    pub count: u32,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// In a word.
    pub reason: &'static str,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// In full.
    pub note: String,
}

/// A time or a duration in seconds, to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Seconds(f64);

impl Seconds {
    /// A duration.
    #[must_use]
    pub fn of(duration: Duration) -> Self {
        Self::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    /// Since the start of the run.
    #[must_use]
    pub fn since_start(time: Time) -> Self {
        Self::of(time - Time::ZERO)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    fn from_millis(millis: u64) -> Self {
        Self(millis as f64 / 1000.0)
    }

    fn as_millis(self) -> u64 {
        (self.0 * 1000.0).round() as u64
    }
}

/// A run at some moment of it, and all that was taken down. Times are since its start.
pub(crate) struct Moment<'a, X> {
    pub(crate) now: Time,
    pub(crate) cycles: u64,
    pub(crate) scheduler: &'a Scheduler<Noted<X>>,
    pub(crate) statistics: &'a Statistics,
    pub(crate) wakers: &'a Wakers,
    pub(crate) troubles: Vec<String>,
}

impl<X: Observer> Moment<'_, X> {
    fn journal(&self) -> Option<&Journal> {
        self.scheduler.queue().observer().0.as_ref()
    }
}

impl Outcome {
    pub(crate) fn of<X: Observer>(run: Moment<'_, X>) -> Self {
        let pods = pods(&run);
        let (events, events_left_out) = run.statistics.events();
        let records = run.statistics.pods();
        let events = events.iter().map(|event| {
            let pod = &records[event.pod].pod;
            EventOutcome {
                first: Seconds::since_start(event.first),
                last: Seconds::since_start(event.last),
                count: event.count,
                kind: if event.is_warning { "Warning" } else { "Normal" },
                reason: event.reason,
                namespace: pod.namespace().to_string(),
                pod: pod.name.to_string(),
                note: event.note.clone(),
            }
        });
        let moves = run.journal().into_iter().flat_map(|journal| journal.incoming().iter());
        let moves = moves.map(|(queue, event, count)| Move {
            queue: queue.name(),
            event: event.to_owned(),
            count,
        });
        let nodes = run.scheduler.cache().nodes_unordered();
        Self {
            duration: Seconds::since_start(run.now),
            cycles: run.cycles,
            counts: counts(&pods),
            reasons: reasons(&pods),
            resources: Totals::of(nodes).amounts(),
            nodes: node_outcomes(run.scheduler),
            moves: moves.collect(),
            series: run.statistics.recording().series(),
            events: events.collect(),
            events_left_out,
            troubles: run.troubles,
            pods,
        }
    }

    /// Whether no pod waits.
    #[must_use]
    pub fn is_all_placed(&self) -> bool {
        self.counts.waiting.total() == 0
    }

    /// The pods that wait, by namespace and name.
    pub fn waiting(&self) -> impl Iterator<Item = (&PodOutcome, WaitingPlace)> {
        self.pods.iter().filter_map(|pod| match pod.state {
            PodState::Waiting(place) => Some((pod, place)),
            _ => None,
        })
    }
}

fn node_outcomes<V: Observer>(scheduler: &Scheduler<V>) -> Vec<NodeOutcome> {
    let nodes = scheduler.cache().nodes_unordered().iter();
    let mut nodes: Vec<_> = nodes
        .map(|node| {
            let mut requested = node.requested().clone();
            requested.pods = i64::try_from(node.pods().len()).unwrap_or(0);
            let allocatable = node.node().allocatable.clone();
            let resources = Totals { requested, allocatable }.amounts();
            NodeOutcome { name: node.name().to_string(), resources }
        })
        .collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes
}

fn pods<X: Observer>(run: &Moment<'_, X>) -> Vec<PodOutcome> {
    let attempts = run.journal().map(Journal::attempts).unwrap_or_default();
    let mut records: Vec<&PodRecord> = run.statistics.pods().iter().collect();
    // Stable: of pods that had one name after the other, the earlier comes first.
    records.sort_by_key(|record| (record.pod.namespace(), &record.pod.name));
    let outcome = |record: &PodRecord| {
        let attempts = attempts.get(&record.pod.uid).copied().unwrap_or(0);
        pod(run, record, attempts)
    };
    records.into_iter().map(outcome).collect()
}

fn pod<X: Observer>(run: &Moment<'_, X>, record: &PodRecord, attempts: u32) -> PodOutcome {
    let pod = &record.pod;
    let state = state(run, record);
    let end = record.bound.or(record.ended).unwrap_or(run.now);
    let is_waiting = matches!(state, PodState::Waiting(_));
    let came_bound = record.bound.is_none() && record.node.is_some();
    let (reason, rejectors) = match state {
        PodState::Waiting(place) => why(run, record, place),
        _ => (record.reason.clone(), Vec::new()),
    };
    PodOutcome {
        namespace: pod.namespace().to_string(),
        name: pod.name.to_string(),
        state,
        priority: pod.spec().priority,
        node: record.node.as_ref().map(ToString::to_string),
        nominated_node: pod.nominated_node.as_ref().filter(|_| is_waiting).map(ToString::to_string),
        attempts,
        created: Seconds::since_start(record.created),
        bound: record.bound.map(Seconds::since_start),
        ended: record.ended.map(Seconds::since_start),
        waited: Seconds::of(if came_bound { Duration::ZERO } else { end - record.created }),
        reason,
        rejectors,
        preempted_by: record.preempted_by.as_ref().map(ToString::to_string),
        conditions: if is_waiting { conditions(record) } else { Vec::new() },
    }
}

fn state<X: Observer>(run: &Moment<'_, X>, record: &PodRecord) -> PodState {
    if record.is_gone {
        return PodState::Deleted;
    }
    if record.ended.is_some() {
        return PodState::Finished;
    }
    if record.node.is_some() {
        return PodState::Placed;
    }
    let place = match run.scheduler.queue().place(&PodKey::of(&record.pod)) {
        Some(QueuePlace::Active) => WaitingPlace::Active,
        Some(QueuePlace::Backoff { .. } | QueuePlace::ErrorBackoff { .. }) => WaitingPlace::Backoff,
        Some(QueuePlace::Unschedulable) => WaitingPlace::Unschedulable,
        Some(QueuePlace::Gated { .. }) => WaitingPlace::Gated,
        Some(QueuePlace::InFlight) => WaitingPlace::Binding,
        None if run.scheduler.cache().is_assumed(&record.pod.uid) => WaitingPlace::Binding,
        None => WaitingPlace::Unclaimed,
    };
    PodState::Waiting(place)
}

/// Why a pod waits, and what would wake it.
fn why<X: Observer>(
    run: &Moment<'_, X>,
    record: &PodRecord,
    place: WaitingPlace,
) -> (Option<String>, Vec<Rejector>) {
    let queue = run.scheduler.queue();
    let profile = &record.pod.spec().scheduler_name;
    if place == WaitingPlace::Unclaimed {
        return (Some(format!("no scheduler is called `{profile}`")), Vec::new());
    }
    let Some(waiting) = queue.get(&PodKey::of(&record.pod)) else {
        return (record.reason.clone(), Vec::new());
    };
    let gate = waiting.gated_by().filter(|_| place == WaitingPlace::Gated);
    let rejectors = waiting.rejectors();
    let mut ids = match gate {
        Some(gate) => vec![gate],
        None => [rejectors.unschedulable(), rejectors.pending()].concat(),
    };
    ids.sort_unstable();
    ids.dedup();
    let rejector = |plugin: &str| Rejector {
        plugin: plugin.to_owned(),
        wakes_when: run.wakers.of(profile, plugin).to_vec(),
    };
    let names = ids.iter().map(|id| queue.plugins().name(*id));
    let reason = match gate.map(|gate| queue.plugins().name(gate)) {
        Some("SchedulingGates") => Some(GATED.to_owned()),
        Some(gate) => Some(format!("held by {gate}")),
        None => record.reason.clone(),
    };
    (reason, names.map(rejector).collect())
}

fn conditions(record: &PodRecord) -> Vec<ConditionOutcome> {
    let status = record.shown.as_ref().and_then(|pod| pod.status.as_ref());
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let condition = |condition: &k8s_openapi::api::core::v1::PodCondition| ConditionOutcome {
        kind: condition.type_.clone(),
        status: condition.status.clone(),
        reason: condition.reason.clone().unwrap_or_default(),
        message: condition.message.clone().unwrap_or_default(),
    };
    conditions.iter().map(condition).collect()
}

fn counts(pods: &[PodOutcome]) -> PodCounts {
    let mut counts = PodCounts { total: pods.len(), ..PodCounts::default() };
    for pod in pods {
        match pod.state {
            PodState::Placed => counts.placed += 1,
            PodState::Finished => {
                counts.placed += 1;
                counts.finished += 1;
            }
            PodState::Deleted => {
                counts.deleted += 1;
                counts.preempted += usize::from(pod.preempted_by.is_some());
            }
            PodState::Waiting(place) => *counts.waiting.of(place) += 1,
        }
    }
    counts
}

fn reasons(pods: &[PodOutcome]) -> Vec<ReasonCount> {
    let mut counted: BTreeMap<(WaitingPlace, &str), usize> = BTreeMap::new();
    for pod in pods {
        if let PodState::Waiting(place) = pod.state {
            let reason = pod.reason.as_deref().unwrap_or(UNTRIED);
            *counted.entry((place, reason)).or_default() += 1;
        }
    }
    let mut reasons: Vec<_> = counted
        .into_iter()
        .map(|((place, reason), pods)| ReasonCount { place, reason: reason.to_owned(), pods })
        .collect();
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.pods));
    reasons
}

/// As the API server puts it.
const GATED: &str = "Scheduling is blocked due to non-empty scheduling gates";
const UNTRIED: &str = "not tried yet";
