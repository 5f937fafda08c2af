//! What an update may not change, and what it need not say.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::{FieldError, Object};

/// What a new object has no say in.
pub(super) fn forget_history(object: &mut Object) {
    let meta = object.metadata_mut();
    meta.uid = None;
    meta.resource_version = None;
    meta.creation_timestamp = None;
    meta.deletion_timestamp = None;
    meta.deletion_grace_period_seconds = None;
    meta.generation = None;
    match object {
        Object::Pod(pod) => Arc::make_mut(pod).status = None,
        Object::Deployment(it) => Arc::make_mut(it).status = None,
        Object::ReplicaSet(it) => Arc::make_mut(it).status = None,
        Object::ReplicationController(it) => Arc::make_mut(it).status = None,
        Object::StatefulSet(it) => Arc::make_mut(it).status = None,
        Object::DaemonSet(it) => Arc::make_mut(it).status = None,
        Object::Job(it) => Arc::make_mut(it).status = None,
        Object::PersistentVolumeClaim(it) => Arc::make_mut(it).status = None,
        Object::PodDisruptionBudget(it) => Arc::make_mut(it).status = None,
        _ => {}
    }
}

/// What stays as it is when an update does not say otherwise, and what it cannot say.
pub(super) fn carry_over(object: &mut Object, old: &Object) {
    let before = old.metadata();
    let meta = object.metadata_mut();
    meta.uid.clone_from(&before.uid);
    meta.namespace.clone_from(&before.namespace);
    meta.creation_timestamp.clone_from(&before.creation_timestamp);
    meta.deletion_timestamp.clone_from(&before.deletion_timestamp);
    meta.deletion_grace_period_seconds = before.deletion_grace_period_seconds;
    meta.generation = before.generation;
    if let (Object::Pod(new), Object::Pod(old)) = (&mut *object, old)
        && let (Some(new), Some(old)) = (&mut Arc::make_mut(new).spec, &old.spec)
    {
        keep_decisions(new, old);
    }
    macro_rules! keep_status {
        ($($kind:ident),*) => {
            match (object, old) {
                $((Object::$kind(new), Object::$kind(old)) if new.status.is_none() => {
                    Arc::make_mut(new).status.clone_from(&old.status);
                })*
                _ => {}
            }
        };
    }
    keep_status!(
        Pod,
        Node,
        Namespace,
        Deployment,
        ReplicaSet,
        ReplicationController,
        StatefulSet,
        DaemonSet,
        Job,
        PersistentVolume,
        PersistentVolumeClaim,
        PodDisruptionBudget,
        Service
    );
}

/// What was decided about a pod after it was written down.
fn keep_decisions(new: &mut PodSpec, old: &PodSpec) {
    new.priority = new.priority.or(old.priority);
    for (new, old) in [
        (&mut new.priority_class_name, &old.priority_class_name),
        (&mut new.preemption_policy, &old.preemption_policy),
        (&mut new.node_name, &old.node_name),
    ] {
        if new.is_none() {
            new.clone_from(old);
        }
    }
}

/// Whether an update counts as a new generation.
pub(super) fn is_spec_changed(old: &Object, new: &Object) -> bool {
    macro_rules! differs {
        ($($kind:ident),*) => {
            match (old, new) {
                $((Object::$kind(old), Object::$kind(new)) => old.spec != new.spec,)*
                _ => false,
            }
        };
    }
    differs!(
        Pod,
        Deployment,
        ReplicaSet,
        ReplicationController,
        StatefulSet,
        DaemonSet,
        Job,
        PodDisruptionBudget
    )
}

/// The changes that Kubernetes does not allow.
pub(super) fn forbidden_changes(old: &Object, new: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut immutable = |changed: bool, field: &str| {
        if changed {
            errors.push(FieldError::new(field, "field is immutable"));
        }
    };
    match (old, new) {
        (Object::Pod(old), Object::Pod(new)) => {
            if let (Some(old), Some(new)) = (&old.spec, &new.spec) {
                return pod_changes(old, new);
            }
        }
        (Object::Deployment(old), Object::Deployment(new)) => immutable(
            old.spec.as_ref().map(|s| &s.selector) != new.spec.as_ref().map(|s| &s.selector),
            "spec.selector",
        ),
        (Object::ReplicaSet(old), Object::ReplicaSet(new)) => immutable(
            old.spec.as_ref().map(|s| &s.selector) != new.spec.as_ref().map(|s| &s.selector),
            "spec.selector",
        ),
        (Object::DaemonSet(old), Object::DaemonSet(new)) => immutable(
            old.spec.as_ref().map(|s| &s.selector) != new.spec.as_ref().map(|s| &s.selector),
            "spec.selector",
        ),
        (Object::StatefulSet(old), Object::StatefulSet(new)) => {
            if let (Some(old), Some(new)) = (&old.spec, &new.spec) {
                immutable(old.selector != new.selector, "spec.selector");
                immutable(
                    old.pod_management_policy != new.pod_management_policy,
                    "spec.podManagementPolicy",
                );
                immutable(
                    old.volume_claim_templates != new.volume_claim_templates,
                    "spec.volumeClaimTemplates",
                );
            }
        }
        (Object::Job(old), Object::Job(new)) => {
            if let (Some(old), Some(new)) = (&old.spec, &new.spec) {
                immutable(old.template != new.template, "spec.template");
                immutable(old.completion_mode != new.completion_mode, "spec.completionMode");
                immutable(old.completions != new.completions, "spec.completions");
            }
        }
        (Object::PriorityClass(old), Object::PriorityClass(new)) => {
            immutable(old.value != new.value, "value");
            immutable(old.preemption_policy != new.preemption_policy, "preemptionPolicy");
        }
        (Object::StorageClass(old), Object::StorageClass(new)) => {
            immutable(old.provisioner != new.provisioner, "provisioner");
            immutable(old.volume_binding_mode != new.volume_binding_mode, "volumeBindingMode");
        }
        _ => {}
    }
    errors
}

/// What a resize may not change: all but how much of the processor and of memory containers have.
pub(super) fn forbidden_resizes(old: &Object, new: &Object) -> Vec<FieldError> {
    let (Object::Pod(old), Object::Pod(new)) = (old, new) else { return Vec::new() };
    let (Some(old), Some(new)) = (&old.spec, &new.spec) else { return Vec::new() };
    let mut rest = new.clone();
    keep_sizes(&mut rest.containers, &old.containers);
    if let (Some(rest), Some(old)) = (&mut rest.init_containers, &old.init_containers) {
        keep_sizes(rest, old);
    }
    if rest == *old {
        return Vec::new();
    }
    let why = "only cpu and memory of containers' resources, and resizePolicy, may change";
    vec![FieldError::new("spec", why)]
}

fn keep_sizes(new: &mut [Container], old: &[Container]) {
    for (new, old) in new.iter_mut().zip(old) {
        new.resize_policy.clone_from(&old.resize_policy);
        let (Some(new), Some(old)) = (&mut new.resources, &old.resources) else { continue };
        for (new, old) in [(&mut new.requests, &old.requests), (&mut new.limits, &old.limits)] {
            let (Some(new), Some(old)) = (new, old) else { continue };
            for name in ["cpu", "memory"] {
                // One that had none cannot get one: the pod would be of another quality of service.
                if let (Some(size), Some(before)) = (new.get_mut(name), old.get(name)) {
                    size.clone_from(before);
                }
            }
        }
    }
}

fn pod_changes(old: &PodSpec, new: &PodSpec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let was = old.tolerations.as_deref().unwrap_or_default();
    let is = new.tolerations.as_deref().unwrap_or_default();
    if !was.iter().all(|toleration| is.contains(toleration)) {
        errors.push(FieldError::new("spec.tolerations", "existing ones cannot be taken away"));
    }
    let was = old.scheduling_gates.as_deref().unwrap_or_default();
    let is = new.scheduling_gates.as_deref().unwrap_or_default();
    if !is.iter().all(|gate| was.contains(gate)) {
        errors.push(FieldError::new("spec.schedulingGates", "only deletion is allowed"));
    }
    let mut rest = new.clone();
    rest.tolerations.clone_from(&old.tolerations);
    rest.scheduling_gates.clone_from(&old.scheduling_gates);
    rest.active_deadline_seconds = old.active_deadline_seconds;
    keep_images(&mut rest.containers, &old.containers);
    if let (Some(rest), Some(old)) = (&mut rest.init_containers, &old.init_containers) {
        keep_images(rest, old);
    }
    // A gated pod has not been looked at, so where it may go can still be narrowed. Whether a
    // change narrows is not checked here.
    if !was.is_empty() {
        rest.node_selector.clone_from(&old.node_selector);
        rest.affinity.clone_from(&old.affinity);
    }
    if rest != *old {
        errors.push(FieldError::new(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`, \
             `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` \
             (only additions), `spec.schedulingGates` (only deletions)",
        ));
    }
    errors
}

fn keep_images(new: &mut [Container], old: &[Container]) {
    for (new, old) in new.iter_mut().zip(old) {
        new.image.clone_from(&old.image);
    }
}
