//! What decides where a pod goes, compiled and shared by all pods alike.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, Weak};

use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::requests::RequestReader;
use crate::{
    HostPort, Labels, NodeSelector, PodAffinity, PreferredNodeTerms, Requests, Resources,
    SpreadConstraint, Text, Toleration, Volume, World, metadata, normalized_image,
};

/// Everything about a pod that a scheduling decision looks at and that its status does not change.
///
/// Pods with equal specs are of one [`Class`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodSpec {
    /// The pod's namespace.
    pub namespace: Text,
    /// The pod's labels.
    pub labels: Labels,
    /// The controller whose selector spreads the pod by default.
    pub controller: Option<Controller>,
    /// 0 if the pod has none.
    pub priority: i32,
    /// Whether it may make room for itself.
    pub preemption_policy: PreemptionPolicy,
    /// The profile that schedules it; `default-scheduler` if the pod does not say.
    pub scheduler_name: Text,
    /// Labels that a node must have.
    pub node_selector: Labels,
    /// What a node must be.
    pub required_node_affinity: Option<NodeSelector>,
    /// What a node should be; `None` if the pod lists nothing.
    pub preferred_node_affinity: Option<PreferredNodeTerms>,
    /// What must or should be near; `None` if the pod has neither section.
    pub pod_affinity: Option<Box<PodAffinity>>,
    /// The taints it puts up with.
    pub tolerations: Box<[Toleration]>,
    /// How it spreads.
    pub spread_constraints: Box<[SpreadConstraint]>,
    /// Ports it takes from the node: those of sidecars, then those of containers.
    pub host_ports: Box<[HostPort]>,
    /// What it asks for, by its spec alone; [`Pod::requests`](crate::Pod::requests) also looks at
    /// its status.
    pub requests: Requests,
    /// What it counts when nodes are scored for it.
    pub score_requests: Resources,
    /// What it may use at most, in thousandths by resource name, sorted. No decision looks at it,
    /// but here pods share it.
    pub limits: Box<[(Text, i64)]>,
    /// Names of resources in any container's requests or limits, sorted: whether an extender that
    /// manages some is interested.
    pub container_resources: Box<[Text]>,
    /// Volumes that plugins look at, in the pod's order.
    pub volumes: Box<[Volume]>,
    /// Normalised images of init containers and containers, one each, in this order.
    pub container_images: Box<[Text]>,
    /// Normalised images of image volumes.
    pub volume_images: Box<[Text]>,
    /// Gates that keep it from being scheduled.
    pub scheduling_gates: Box<[Text]>,
    /// The resource claims it uses.
    pub resource_claims: Box<[ResourceClaimRef]>,
    /// Features its node must declare, sorted.
    pub required_features: Box<[Text]>,
    /// The pod group it belongs to.
    pub scheduling_group: Option<Text>,
}

impl PodSpec {
    pub(crate) fn from_api(pod: &api::Pod, requests: &RequestReader, world: &mut World) -> Self {
        let absent = api::PodSpec::default();
        let (meta, spec) = (&pod.metadata, pod.spec.as_ref().unwrap_or(&absent));
        let namespace = metadata::namespace(meta, world);
        let labels = world.optional_labels(meta.labels.as_ref());
        let node_affinity =
            spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
        let required = node_affinity
            .and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        let preferred = node_affinity
            .and_then(|a| a.preferred_during_scheduling_ignored_during_execution.as_deref());
        let scheduler = spec.scheduler_name.as_deref().filter(|name| !name.is_empty());
        Self {
            controller: Controller::from_api(meta, world),
            priority: spec.priority.unwrap_or_default(),
            preemption_policy: match spec.preemption_policy.as_deref() {
                Some("Never") => PreemptionPolicy::Never,
                _ => PreemptionPolicy::PreemptLowerPriority,
            },
            scheduler_name: world.text(scheduler.unwrap_or("default-scheduler")),
            node_selector: world.optional_labels(spec.node_selector.as_ref()),
            required_node_affinity: required
                .map(|selector| NodeSelector::from_api(selector, world)),
            preferred_node_affinity: preferred
                .filter(|terms| !terms.is_empty())
                .map(|terms| PreferredNodeTerms::from_api(terms, world)),
            pod_affinity: PodAffinity::from_api(spec.affinity.as_ref(), &namespace, world),
            tolerations: list(&spec.tolerations, |toleration| {
                Toleration::from_api(toleration, world)
            }),
            spread_constraints: list(&spec.topology_spread_constraints, |constraint| {
                SpreadConstraint::from_api(constraint, &labels, world)
            }),
            host_ports: host_ports(spec, world),
            requests: requests.of_spec(),
            score_requests: requests.for_scoring(),
            limits: requests.limits(),
            container_resources: container_resources(spec, world),
            volumes: spec
                .volumes
                .iter()
                .flatten()
                .filter_map(|v| Volume::from_api(v, world))
                .collect(),
            container_images: containers(spec)
                .map(|c| world.text(&normalized_image(c.image.as_deref().unwrap_or_default())))
                .collect(),
            volume_images: spec
                .volumes
                .iter()
                .flatten()
                .filter_map(|volume| volume.image.as_ref()?.reference.as_deref())
                .map(|reference| world.text(&normalized_image(reference)))
                .collect(),
            scheduling_gates: list(&spec.scheduling_gates, |gate| world.text(&gate.name)),
            resource_claims: list(&spec.resource_claims, |claim| {
                ResourceClaimRef::from_api(claim, world)
            }),
            required_features: required_features(spec, world),
            scheduling_group: spec
                .scheduling_group
                .as_ref()
                .and_then(|group| world.optional_text(group.pod_group_name.as_ref())),
            namespace,
            labels,
        }
    }

    /// Whether a node satisfies the pod's node selector and required node affinity.
    ///
    /// # Errors
    /// Why the affinity does not parse, if nothing else in it matched. For filtering that is no
    /// match; a queueing hint reports it.
    pub fn matches_node(&self, labels: &Labels, name: &Text) -> Result<bool, &str> {
        if !self.node_selector.is_subset_of(labels) {
            return Ok(false);
        }
        let Some(affinity) = &self.required_node_affinity else { return Ok(true) };
        match affinity.error() {
            _ if affinity.matches(labels, Some(name)) => Ok(true),
            None => Ok(false),
            Some(error) => Err(error),
        }
    }
}

/// Whether a pod may have others evicted to make room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreemptionPolicy {
    /// It may, if they have lower priority.
    PreemptLowerPriority,
    /// It may not.
    Never,
}

/// The controller of a pod, of a kind whose selector PodTopologySpread looks up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Controller {
    /// Its kind.
    pub kind: ControllerKind,
    /// Its name, in the pod's namespace.
    pub name: Text,
}

/// Kinds of controllers that have a selector to spread by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControllerKind {
    /// `v1` ReplicationController.
    ReplicationController,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

impl Controller {
    fn from_api(meta: &ObjectMeta, world: &mut World) -> Option<Self> {
        let owner =
            meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))?;
        let kind = match (owner.api_version.as_str(), owner.kind.as_str()) {
            ("v1", "ReplicationController") => ControllerKind::ReplicationController,
            ("apps/v1", "ReplicaSet") => ControllerKind::ReplicaSet,
            ("apps/v1", "StatefulSet") => ControllerKind::StatefulSet,
            _ => return None,
        };
        Some(Self { kind, name: world.text(&owner.name) })
    }
}

/// A resource claim that a pod uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceClaimRef {
    /// The claim's name within the pod.
    pub name: Text,
    /// The ResourceClaim, where the pod names it.
    pub claim: Option<Text>,
    /// The template from which one is made; its name is then in the pod's status.
    pub template: Option<Text>,
}

impl ResourceClaimRef {
    fn from_api(claim: &api::PodResourceClaim, world: &mut World) -> Self {
        Self {
            name: world.text(&claim.name),
            claim: world.optional_text(claim.resource_claim_name.as_ref()),
            template: world.optional_text(claim.resource_claim_template_name.as_ref()),
        }
    }
}

/// All pods that look the same to a scheduler.
///
/// A handle on their common [`PodSpec`], to which it dereferences. Handles are equal if and only if
/// they are of one class.
#[derive(Clone)]
pub struct Class(Arc<Classed>);

/// The number of a [`Class`]. No number is ever given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassId(pub(crate) u64);

impl ClassId {
    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Class {
    pub(crate) fn new(class: Arc<Classed>) -> Self {
        Self(class)
    }

    /// A class of its own, for a pod that is only thought of. Its number is that of no other
    /// class, but for others like it.
    #[must_use]
    pub fn unshared(spec: PodSpec) -> Self {
        Self(Arc::new(Classed { id: ClassId(u64::MAX), spec }))
    }

    /// The class's number.
    #[must_use]
    pub fn id(&self) -> ClassId {
        self.0.id
    }

    /// What the pods of the class have in common.
    #[must_use]
    pub fn spec(&self) -> &PodSpec {
        &self.0.spec
    }

    /// A handle that does not keep the class: for what is remembered about it.
    #[must_use]
    pub fn downgrade(&self) -> WeakClass {
        WeakClass(Arc::downgrade(&self.0))
    }
}

/// A handle that does not keep its class.
#[derive(Clone, Debug)]
pub struct WeakClass(Weak<Classed>);

impl WeakClass {
    /// Whether somebody still holds the class. If not, its number will not come again.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// The class, if somebody still holds it.
    #[must_use]
    pub fn upgrade(&self) -> Option<Class> {
        self.0.upgrade().map(Class)
    }
}

#[derive(Debug)]
pub(crate) struct Classed {
    pub(crate) id: ClassId,
    pub(crate) spec: PodSpec,
}

impl Deref for Class {
    type Target = PodSpec;

    fn deref(&self) -> &PodSpec {
        self.spec()
    }
}

impl PartialEq for Class {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Class {}

impl Hash for Class {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Class({})", self.id().get())
    }
}

fn list<A, T>(list: &Option<Vec<A>>, convert: impl FnMut(&A) -> T) -> Box<[T]> {
    list.iter().flatten().map(convert).collect()
}

/// Init containers, then containers.
fn containers(spec: &api::PodSpec) -> impl Iterator<Item = &api::Container> {
    spec.init_containers.iter().flatten().chain(&spec.containers)
}

/// Ordinary init containers are gone before their ports could matter.
fn host_ports(spec: &api::PodSpec, world: &mut World) -> Box<[HostPort]> {
    let sidecars = spec
        .init_containers
        .iter()
        .flatten()
        .filter(|c| c.restart_policy.as_deref() == Some("Always"));
    let ports =
        sidecars.chain(&spec.containers).flat_map(|container| container.ports.iter().flatten());
    ports.filter_map(|port| HostPort::from_api(port, world)).collect()
}

fn container_resources(spec: &api::PodSpec, world: &mut World) -> Box<[Text]> {
    let resources = containers(spec).filter_map(|container| container.resources.as_ref());
    let names =
        resources.flat_map(|r| [&r.requests, &r.limits]).flatten().flat_map(|list| list.keys());
    let mut names: Vec<Text> = names.map(|name| world.text(name)).collect();
    names.sort();
    names.dedup();
    names.into()
}

/// The inference of v1.36; no other feature of it is ever required of a node.
fn required_features(spec: &api::PodSpec, world: &mut World) -> Box<[Text]> {
    let restarts_all = containers(spec)
        .flat_map(|container| container.restart_policy_rules.iter().flatten())
        .any(|rule| rule.action == "RestartAllContainers");
    let host_network_in_user_namespace =
        spec.host_network == Some(true) && spec.host_users == Some(false);
    let features = [
        ("RestartAllContainersOnContainerExits", restarts_all),
        ("UserNamespacesHostNetworkSupport", host_network_in_user_namespace),
    ];
    features.iter().filter(|(_, is_needed)| *is_needed).map(|(name, _)| world.text(name)).collect()
}
