//! What the API server fills in, and whom it does not let in.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    Container, Namespace, NamespaceStatus, Node, NodeCondition, NodeStatus,
    PersistentVolumeClaimStatus, PersistentVolumeStatus, Pod, PodAffinityTerm, PodCondition,
    PodSpec, PodStatus,
};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta,
};

use super::Cluster;
use super::binding::condition;
use crate::validation::{SYSTEM_CLASSES, validate};
use crate::{ApiError, Key, Kind, Object};

/// Where an object comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Someone wants it made.
    Request,
    /// A cluster printed it: what was decided about it there holds.
    Printed,
}

/// What every cluster has.
pub(super) fn built_in() -> Vec<Object> {
    let meta = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespaces = ["default", "kube-node-lease", "kube-public", "kube-system"];
    let namespaces =
        namespaces.map(|name| Namespace { metadata: meta(name), ..Namespace::default() });
    let classes = SYSTEM_CLASSES.iter().map(|(name, value)| PriorityClass {
        metadata: meta(name),
        value: Some(*value),
        ..PriorityClass::default()
    });
    namespaces.map(Object::from).into_iter().chain(classes.map(Object::from)).collect()
}

impl Cluster {
    /// Fills in the defaults of a new object and says whether it may come in.
    pub(super) fn admit(&self, object: &mut Object, origin: Origin) -> Result<(), ApiError> {
        let key = object.key();
        self.set_defaults(object);
        match object {
            Object::Pod(pod) => self.admit_pod(&key, Arc::make_mut(pod), origin)?,
            Object::PersistentVolumeClaim(claim) => {
                let claim = Arc::make_mut(claim);
                let spec = claim.spec.get_or_insert_default();
                if spec.storage_class_name.is_none() && spec.volume_name.is_none() {
                    spec.storage_class_name = self.default_storage_class();
                }
                claim.status.get_or_insert_with(|| PersistentVolumeClaimStatus {
                    phase: Some("Pending".to_owned()),
                    ..PersistentVolumeClaimStatus::default()
                });
            }
            Object::PriorityClass(class) if class.global_default == Some(true) => {
                if let Some(other) = self.default_priority_class() {
                    let other = other.metadata.name.as_deref().unwrap_or_default();
                    let reason = format!("PriorityClass {other} is already marked as default");
                    return Err(ApiError::forbidden(&key, reason));
                }
            }
            _ => {}
        }
        let errors = validate(object);
        if !errors.is_empty() {
            return Err(ApiError::Invalid { key, errors });
        }
        self.check_namespace(&key)?;
        if self.store.get(&key).is_some() {
            return Err(ApiError::AlreadyExists(key));
        }
        Ok(())
    }

    /// The defaults that do not depend on whether the object is new.
    pub(super) fn set_defaults(&self, object: &mut Object) {
        match object {
            Object::Namespace(namespace) => {
                let status =
                    Arc::make_mut(namespace).status.get_or_insert_with(NamespaceStatus::default);
                status.phase.get_or_insert_with(|| "Active".to_owned());
            }
            Object::Node(node) => self.default_node(Arc::make_mut(node)),
            Object::Pod(pod) => {
                if let Some(spec) = &mut Arc::make_mut(pod).spec {
                    default_pod_spec(spec);
                }
            }
            Object::ReplicationController(it) => {
                if let Some(spec) = &mut Arc::make_mut(it).spec
                    && spec.selector.as_ref().is_none_or(|selector| selector.is_empty())
                {
                    let meta = spec.template.as_ref().and_then(|t| t.metadata.as_ref());
                    spec.selector = meta.and_then(|meta| meta.labels.clone());
                }
            }
            Object::Service(service) => {
                let spec = Arc::make_mut(service).spec.get_or_insert_default();
                spec.type_.get_or_insert_with(|| "ClusterIP".to_owned());
                for port in spec.ports.iter_mut().flatten() {
                    port.protocol.get_or_insert_with(|| "TCP".to_owned());
                }
            }
            Object::PriorityClass(class) => {
                let policy = &mut Arc::make_mut(class).preemption_policy;
                policy.get_or_insert_with(|| "PreemptLowerPriority".to_owned());
            }
            Object::StorageClass(class) => {
                let class = Arc::make_mut(class);
                class.volume_binding_mode.get_or_insert_with(|| "Immediate".to_owned());
                class.reclaim_policy.get_or_insert_with(|| "Delete".to_owned());
            }
            Object::PersistentVolume(volume) => {
                let status = Arc::make_mut(volume)
                    .status
                    .get_or_insert_with(PersistentVolumeStatus::default);
                status.phase.get_or_insert_with(|| "Available".to_owned());
            }
            _ => {}
        }
    }

    /// What a kubelet would say of its node when it registers it.
    fn default_node(&self, node: &mut Node) {
        let name = node.metadata.name.clone().unwrap_or_default();
        let labels = node.metadata.labels.get_or_insert_default();
        labels.entry("kubernetes.io/hostname".to_owned()).or_insert(name);
        let status = node.status.get_or_insert_with(NodeStatus::default);
        match (&status.capacity, &status.allocatable) {
            (None, Some(_)) => status.capacity.clone_from(&status.allocatable),
            (Some(_), None) => status.allocatable.clone_from(&status.capacity),
            _ => {}
        }
        let conditions = status.conditions.get_or_insert_default();
        if !conditions.iter().any(|condition| condition.type_ == "Ready") {
            conditions.push(NodeCondition {
                type_: "Ready".to_owned(),
                status: "True".to_owned(),
                reason: Some("KubeletReady".to_owned()),
                last_transition_time: Some(self.timestamp()),
                ..NodeCondition::default()
            });
        }
    }

    fn admit_pod(&self, key: &Key, pod: &mut Pod, origin: Origin) -> Result<(), ApiError> {
        let labels = pod.metadata.labels.as_ref();
        let status = pod.status.get_or_insert_with(PodStatus::default);
        status.phase.get_or_insert_with(|| "Pending".to_owned());
        let Some(spec) = &mut pod.spec else { return Ok(()) };
        if origin == Origin::Request {
            if spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
                let conditions = status.conditions.get_or_insert_default();
                conditions.push(PodCondition {
                    reason: Some("SchedulingGated".to_owned()),
                    message: Some(GATED.to_owned()),
                    ..condition("PodScheduled", "False")
                });
            }
            // A printed pod has the keys merged already; twice would be wrong after a relabelling.
            if let Some(labels) = labels {
                merge_label_keys(spec, labels);
            }
        }
        self.resolve_priority(key, spec, origin)
    }

    /// The Priority admission plugin.
    fn resolve_priority(
        &self,
        key: &Key,
        spec: &mut PodSpec,
        origin: Origin,
    ) -> Result<(), ApiError> {
        let named = spec.priority_class_name.as_deref().filter(|name| !name.is_empty());
        let class = match named {
            Some(name) => self.get::<PriorityClass>("", name),
            None => self.default_priority_class(),
        };
        if origin == Origin::Printed && spec.priority.is_some() {
            return Ok(());
        }
        if let (Some(name), None) = (named, class) {
            let reason = format!("no PriorityClass with name {name} was found");
            return Err(ApiError::forbidden(key, reason));
        }
        let value = class.and_then(|class| class.value).unwrap_or(0);
        if let Some(given) = spec.priority
            && given != value
        {
            let reason = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; \
                 priority admission controller computed {value} from the given PriorityClass name"
            );
            return Err(ApiError::forbidden(key, reason));
        }
        let policy = class
            .and_then(|class| class.preemption_policy.clone())
            .unwrap_or_else(|| "PreemptLowerPriority".to_owned());
        if let Some(given) = &spec.preemption_policy
            && *given != policy
        {
            let reason = format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
                 priority admission controller computed {policy} from the given PriorityClass name"
            );
            return Err(ApiError::forbidden(key, reason));
        }
        if named.is_none() {
            spec.priority_class_name = class.and_then(|class| class.metadata.name.clone());
        }
        spec.priority = Some(value);
        spec.preemption_policy = Some(policy);
        Ok(())
    }

    fn default_priority_class(&self) -> Option<&Arc<PriorityClass>> {
        self.list::<PriorityClass>().find(|class| class.global_default == Some(true))
    }

    /// The newest class that is marked as default.
    fn default_storage_class(&self) -> Option<String> {
        let marked = self.objects(Kind::StorageClass).filter(|class| {
            let annotations = class.metadata().annotations.as_ref();
            annotations.and_then(|a| a.get(DEFAULT_CLASS)).is_some_and(|value| value == "true")
        });
        marked
            .max_by_key(|class| class.metadata().creation_timestamp.clone())
            .map(|class| class.name().to_owned())
    }
}

fn default_pod_spec(spec: &mut PodSpec) {
    spec.scheduler_name.get_or_insert_with(|| "default-scheduler".to_owned());
    spec.restart_policy.get_or_insert_with(|| "Always".to_owned());
    spec.termination_grace_period_seconds.get_or_insert(30);
    let host_network = spec.host_network == Some(true);
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        default_container(container, host_network);
    }
}

fn default_container(container: &mut Container, host_network: bool) {
    if let Some(resources) = &mut container.resources
        && let Some(limits) = &resources.limits
    {
        let requests = resources.requests.get_or_insert_default();
        for (name, amount) in limits {
            requests.entry(name.clone()).or_insert_with(|| amount.clone());
        }
    }
    for port in container.ports.iter_mut().flatten() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
        if host_network {
            port.host_port.get_or_insert(port.container_port);
        }
    }
}

/// Appends what `matchLabelKeys` and `mismatchLabelKeys` mean for this pod to the selectors of its
/// affinity terms. Those of spread constraints are left to the scheduler, which reads the keys.
fn merge_label_keys(spec: &mut PodSpec, labels: &BTreeMap<String, String>) {
    if let Some(affinity) = &mut spec.affinity {
        let pods = affinity.pod_affinity.iter_mut().flat_map(|a| {
            let required =
                a.required_during_scheduling_ignored_during_execution.iter_mut().flatten();
            let preferred =
                a.preferred_during_scheduling_ignored_during_execution.iter_mut().flatten();
            required.chain(preferred.map(|term| &mut term.pod_affinity_term))
        });
        let anti = affinity.pod_anti_affinity.iter_mut().flat_map(|a| {
            let required =
                a.required_during_scheduling_ignored_during_execution.iter_mut().flatten();
            let preferred =
                a.preferred_during_scheduling_ignored_during_execution.iter_mut().flatten();
            required.chain(preferred.map(|term| &mut term.pod_affinity_term))
        });
        for term in pods.chain(anti) {
            merge_into_term(term, labels);
        }
    }
}

fn merge_into_term(term: &mut PodAffinityTerm, labels: &BTreeMap<String, String>) {
    let PodAffinityTerm { label_selector, match_label_keys, mismatch_label_keys, .. } = term;
    let Some(selector) = label_selector else { return };
    append(selector, "In", match_label_keys.iter().flatten(), labels);
    append(selector, "NotIn", mismatch_label_keys.iter().flatten(), labels);
}

fn append<'a>(
    selector: &mut LabelSelector,
    operator: &str,
    keys: impl Iterator<Item = &'a String>,
    labels: &BTreeMap<String, String>,
) {
    for (key, value) in keys.filter_map(|key| labels.get_key_value(key)) {
        selector.match_expressions.get_or_insert_default().push(LabelSelectorRequirement {
            key: key.clone(),
            operator: operator.to_owned(),
            values: Some(vec![value.clone()]),
        });
    }
}

const GATED: &str = "Scheduling is blocked due to non-empty scheduling gates";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
