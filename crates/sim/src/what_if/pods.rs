//! Pods as the API has them, and what a scheduler's decisions change about them.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use roadstead_queue::Time;
use roadstead_scheduler::Condition;

pub(super) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

pub(super) fn is_leaving(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

pub(super) fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

pub(super) fn is_finished(pod: &Pod) -> bool {
    matches!(phase_of(pod), "Succeeded" | "Failed")
}

pub(super) fn nominated_node_of(pod: &Pod) -> Option<&str> {
    let node = pod.status.as_ref()?.nominated_node_name.as_deref();
    node.filter(|node| !node.is_empty())
}

/// Why a scheduler says that it waits, and in which words.
pub(super) fn condition_of(pod: &Pod) -> Option<(&str, &str)> {
    let condition = condition(pod, "PodScheduled").filter(|it| it.status == "False")?;
    Some((condition.reason.as_deref()?, condition.message.as_deref()?))
}

/// Whether it has the mark of whom a more urgent one needs the room of.
pub(super) fn is_marked(pod: &Pod) -> bool {
    condition(pod, "DisruptionTarget").is_some_and(|it| it.status == "True")
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == kind)
}

/// How long the pod may take to stop.
pub(super) fn grace_of(pod: &Pod) -> Duration {
    let grace = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
    match node_of(pod) {
        Some(_) => Duration::from_secs(grace.and_then(|it| u64::try_from(it).ok()).unwrap_or(30)),
        None => Duration::ZERO,
    }
}

/// The pod after its binding.
pub(super) fn bound(pod: &Arc<Pod>, node: &str, now: Time) -> Arc<Pod> {
    changed(pod, |pod| {
        pod.spec.get_or_insert_default().node_name = Some(node.to_owned());
        pod.status.get_or_insert_default().nominated_node_name = None;
        let condition = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        };
        set_condition(pod, condition, now);
    })
}

/// The pod after the scheduler has written to its status.
pub(super) fn patched(
    pod: &Arc<Pod>,
    condition: Option<&Condition>,
    nominated_node: Option<&str>,
    now: Time,
) -> Arc<Pod> {
    changed(pod, |pod| {
        if let Some(node) = nominated_node {
            let node = Some(node.to_owned()).filter(|node| !node.is_empty());
            pod.status.get_or_insert_default().nominated_node_name = node;
        }
        if let Some(Condition { reason, message, observed_generation }) = condition {
            let condition = PodCondition {
                type_: "PodScheduled".to_owned(),
                status: "False".to_owned(),
                reason: Some((*reason).to_owned()),
                message: Some(message.clone()),
                observed_generation: Some(*observed_generation),
                ..PodCondition::default()
            };
            set_condition(pod, condition, now);
        }
    })
}

/// The pod with the mark of whom a more urgent one needs the room of.
pub(super) fn marked(pod: &Arc<Pod>, now: Time) -> Arc<Pod> {
    changed(pod, |pod| {
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: Some("PreemptionByScheduler".to_owned()),
            ..PodCondition::default()
        };
        set_condition(pod, condition, now);
    })
}

/// The pod after it has finished.
pub(super) fn finished(pod: &Arc<Pod>, phase: &str) -> Arc<Pod> {
    changed(pod, |pod| pod.status.get_or_insert_default().phase = Some(phase.to_owned()))
}

/// The pod on its way out.
pub(super) fn leaving(pod: &Arc<Pod>, now: Time) -> Arc<Pod> {
    let grace = grace_of(pod);
    changed(pod, |pod| {
        pod.metadata.deletion_timestamp.get_or_insert(timestamp(now + grace));
        let seconds = i64::try_from(grace.as_secs()).unwrap_or(i64::MAX);
        pod.metadata.deletion_grace_period_seconds.get_or_insert(seconds);
    })
}

/// What somebody else has changed about a waiting pod, on top of what it is like here: all but its
/// node and its status. Nothing if that is all that is different.
pub(super) fn updated(current: &Arc<Pod>, recorded: &Pod) -> Option<Arc<Pod>> {
    let next = changed(current, |pod| {
        let node = pod.spec.as_mut().and_then(|spec| spec.node_name.take());
        pod.metadata = recorded.metadata.clone();
        pod.spec.clone_from(&recorded.spec);
        pod.spec.get_or_insert_default().node_name = node;
        pod.metadata.resource_version.clone_from(&current.metadata.resource_version);
        pod.metadata.generation.clone_from(&recorded.metadata.generation);
    });
    (next != *current).then_some(next)
}

/// What a pod came to on its node by itself, for one that is on another node since another time.
/// `later` is how much later it came there than it was recorded, `sooner` how much sooner.
pub(super) fn moved(
    current: &Arc<Pod>,
    recorded: &Pod,
    later: Duration,
    sooner: Duration,
) -> Arc<Pod> {
    changed(current, |pod| {
        let deletion = (
            pod.metadata.deletion_timestamp.take(),
            pod.metadata.deletion_grace_period_seconds.take(),
        );
        let node = pod.spec.as_mut().and_then(|spec| spec.node_name.take());
        pod.metadata = recorded.metadata.clone();
        (pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds) = deletion;
        pod.spec.clone_from(&recorded.spec);
        pod.spec.get_or_insert_default().node_name = node;
        pod.status.clone_from(&recorded.status);
        let started = pod.status.as_mut().and_then(|status| status.start_time.as_mut());
        if let Some(ApiTime(started)) = started {
            *started = shifted(*started, later, sooner).unwrap_or(*started);
        }
    })
}

fn changed(pod: &Arc<Pod>, change: impl FnOnce(&mut Pod)) -> Arc<Pod> {
    let mut pod = Pod::clone(pod);
    change(&mut pod);
    Arc::new(pod)
}

fn set_condition(pod: &mut Pod, mut new: PodCondition, now: Time) {
    let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
    let old = conditions.iter_mut().find(|condition| condition.type_ == new.type_);
    let same = old.as_ref().filter(|old| old.status == new.status);
    let since = same.and_then(|old| old.last_transition_time.clone());
    new.last_transition_time = Some(since.unwrap_or_else(|| timestamp(now)));
    match old {
        Some(old) => *old = new,
        None => conditions.push(new),
    }
}

/// A time as objects have it: whole seconds.
fn timestamp(time: Time) -> ApiTime {
    let seconds = i64::try_from(time.as_millis() / 1000).unwrap_or(i64::MAX);
    ApiTime(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
}

fn shifted(time: Timestamp, later: Duration, sooner: Duration) -> Option<Timestamp> {
    let later = SignedDuration::try_from(later).ok()?;
    let sooner = SignedDuration::try_from(sooner).ok()?;
    time.checked_add(later).ok()?.checked_sub(sooner).ok()
}
