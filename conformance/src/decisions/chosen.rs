//! Differences on purpose: hints that say `Queue` where upstream's lose a wake-up.

use roadstead_model::{Pod, Volume};
use roadstead_scheduler::events::{ClusterEvent, Object};

/// A question to a plugin's hint.
pub(super) struct Asked<'a> {
    pub(super) plugin: &'a str,
    pub(super) pod: &'a Pod,
    pub(super) event: &'a ClusterEvent,
}

/// The id, as in `docs/differences.md`, of the rule by which the answer may be `Queue` instead
/// of `Skip`.
pub(super) fn rule(asked: &Asked<'_>) -> Option<&'static str> {
    let applies =
        |rule: &&Rule| rule.plugin == asked.plugin && (rule.applies)(asked.pod, asked.event);
    RULES.iter().find(applies).map(|rule| rule.id)
}

struct Rule {
    id: &'static str,
    plugin: &'static str,
    applies: fn(&Pod, &ClusterEvent) -> bool,
}

/// A rule looks at the question only, never at a case's name: whatever is asked elsewhere in the
/// same way gets the same answer.
const RULES: &[Rule] = &[
    Rule { id: "D4", plugin: "InterPodAffinity", applies: has_several_anti_affinity_terms },
    Rule { id: "D3", plugin: "InterPodAffinity", applies: selects_namespaces },
    Rule { id: "D5", plugin: "InterPodAffinity", applies: may_become_the_first },
    Rule { id: "D7", plugin: "InterPodAffinity", applies: others_may_be_out_of_the_way },
    Rule { id: "D6", plugin: "NodeAffinity", applies: fits_but_for_the_added_affinity },
    Rule { id: "D8", plugin: "VolumeRestrictions", applies: pod_of_another_namespace_goes },
    Rule { id: "D9", plugin: "NodeVolumeLimits", applies: loses_a_limit },
    Rule { id: "D10", plugin: "NodeVolumeLimits", applies: has_ephemeral_volumes },
    Rule { id: "D11", plugin: "VolumeBinding", applies: driver_no_longer_counts },
    Rule { id: "D12", plugin: "NodeResourcesFit", applies: node_lacks_a_resource },
];

/// Upstream wants all terms to speak of the other pod, where one keeps the two apart.
fn has_several_anti_affinity_terms(pod: &Pod, event: &ClusterEvent) -> bool {
    let several = |pod: &Pod| {
        let affinity = pod.spec().pod_affinity.as_ref();
        affinity.is_some_and(|affinity| affinity.required_anti.terms.len() > 1)
    };
    let other = |object: &Option<Object>| matches!(object, Some(Object::Pod(pod)) if several(pod));
    is_about_a_pod(event) && (several(pod) || other(&event.old))
}

/// Upstream does not look at the labels of namespaces in hints.
fn selects_namespaces(pod: &Pod, event: &ClusterEvent) -> bool {
    let by_labels = |pod: &Pod| {
        pod.spec().pod_affinity.iter().any(|affinity| {
            let terms = affinity.required.terms.iter().chain(&affinity.required_anti.terms);
            terms.map(|term| &term.namespace_selector).any(|it| !it.is_nothing() && !it.is_empty())
        })
    };
    let other =
        |object: &Option<Object>| matches!(object, Some(Object::Pod(pod)) if by_labels(pod));
    is_about_a_pod(event) && (by_labels(pod) || other(&event.old))
}

/// Upstream does not think of the first pod of a group when the last of the others goes.
fn may_become_the_first(pod: &Pod, event: &ClusterEvent) -> bool {
    let affinity = pod.spec().pod_affinity.as_ref();
    event.old.is_some() && affinity.is_some_and(|affinity| !affinity.required.terms.is_empty())
}

/// Upstream asks of the node before only whether it fitted the pod's own affinity.
fn fits_but_for_the_added_affinity(pod: &Pod, event: &ClusterEvent) -> bool {
    let fitted = |object: &Option<Object>| match object {
        Some(Object::Node(node)) => pod.spec().matches_node(&node.labels, &node.name) == Ok(true),
        _ => false,
    };
    fitted(&event.old) && fitted(&event.new)
}

/// Upstream does not think of others whose terms keep the pod away when nodes come or change.
fn others_may_be_out_of_the_way(pod: &Pod, event: &ClusterEvent) -> bool {
    match (&event.old, &event.new) {
        (None, Some(Object::Node(_))) => {
            pod.spec().pod_affinity.as_ref().is_none_or(|own| own.required.terms.is_empty())
        }
        (Some(Object::Node(old)), Some(Object::Node(new))) => {
            old.labels.iter().any(|(key, value)| new.labels.get(key) != Some(value))
        }
        _ => false,
    }
}

/// Upstream looks at no pod of another namespace, though disks know none.
fn pod_of_another_namespace_goes(pod: &Pod, event: &ClusterEvent) -> bool {
    matches!(&event.old, Some(Object::Pod(gone)) if gone.namespace() != pod.namespace())
}

/// Upstream takes a limit that is gone for nothing.
fn loses_a_limit(_: &Pod, event: &ClusterEvent) -> bool {
    let (Some(Object::CsiNode(old)), Some(Object::CsiNode(new))) = (&event.old, &event.new) else {
        return false;
    };
    let mut limited = old.drivers.iter().filter(|(_, limit)| limit.is_some());
    limited.any(|(driver, _)| new.limit(driver).is_none())
}

/// Upstream does not look at ephemeral volumes when an attachment goes.
fn has_ephemeral_volumes(pod: &Pod, event: &ClusterEvent) -> bool {
    let is_ephemeral = |volume: &Volume| matches!(volume, Volume::Ephemeral { .. });
    matches!(event.old, Some(Object::VolumeAttachment(_)))
        && pod.spec().volumes.iter().any(is_ephemeral)
}

/// Upstream looks for the driver in inline volumes only.
fn driver_no_longer_counts(pod: &Pod, event: &ClusterEvent) -> bool {
    let is_claim = |volume: &Volume| matches!(volume, Volume::Claim(_) | Volume::Ephemeral { .. });
    matches!((&event.old, &event.new), (Some(Object::CsiDriver(old)), Some(Object::CsiDriver(new)))
        if old.storage_capacity && !new.storage_capacity)
        && pod.spec().volumes.iter().any(is_claim)
}

/// Upstream does not know in hints which resources the profile ignores.
fn node_lacks_a_resource(pod: &Pod, event: &ClusterEvent) -> bool {
    let Some(Object::Node(node)) = &event.new else { return false };
    let mut asked = pod.spec().requests.total.scalars().iter();
    asked.any(|(name, amount)| node.allocatable.scalar(name) < *amount)
}

fn is_about_a_pod(event: &ClusterEvent) -> bool {
    let is_pod = |object: &Option<Object>| matches!(object, Some(Object::Pod(_)));
    is_pod(&event.old) || is_pod(&event.new)
}
