//! Pods.

use k8s_openapi::api::core::v1 as api;

use crate::requests::RequestReader;
use crate::{Class, ModelError, PodSpec, Requests, Text, Timestamp, Volume, World, metadata};

/// A pod: who it is, what it wants (its [`Class`]), and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name within its namespace.
    pub name: Text,
    /// Its uid; may be empty, which only the cache minds.
    pub uid: Text,
    /// What it wants, shared with all pods that want the same.
    pub class: Class,
    /// The node it is assigned to.
    pub node_name: Option<Text>,
    /// The node it waits for.
    pub nominated_node: Option<Text>,
    /// Where it is in its life.
    pub phase: PodPhase,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// When its kubelet acknowledged it.
    pub started: Option<Timestamp>,
    /// When it is to be gone: it is terminating.
    pub deleted: Option<Timestamp>,
    /// Which version of the spec this is.
    pub generation: i64,
    /// Whether its first `DisruptionTarget` condition says that the scheduler evicts it.
    pub is_preempted: bool,
    /// Its requests, where its status makes them other than its spec's.
    resized: Option<Box<Requests>>,
    /// Names of the claims made for its ephemeral volumes, in order.
    ephemeral_claims: Box<[Text]>,
    /// Resource claims made for it.
    claim_status: Option<Box<ClaimStatus>>,
}

impl Pod {
    /// Compiles an API pod.
    ///
    /// # Errors
    /// A pod without a name, or a quantity that cannot be read. Selectors that do not parse are no
    /// error here: what they do to the pod is for the plugins to say.
    pub fn from_api(pod: &api::Pod, world: &mut World) -> Result<Self, ModelError> {
        let meta = &pod.metadata;
        let (absent_spec, absent_status) = (api::PodSpec::default(), api::PodStatus::default());
        let spec = pod.spec.as_ref().unwrap_or(&absent_spec);
        let status = pod.status.as_ref().unwrap_or(&absent_status);
        let name = metadata::name_str(meta)?;
        let requests = RequestReader::read(pod, world)?;
        let class = PodSpec::from_api(pod, &requests, world);
        let class = world.class(class);
        let resized = requests.with_status().filter(|resized| *resized != class.requests);
        let claim = |volume: &Volume| match volume {
            Volume::Ephemeral { volume } => Some(world.text(&format!("{name}-{volume}"))),
            _ => None,
        };
        let ephemeral_claims = class.volumes.iter().filter_map(claim).collect();
        Ok(Self {
            name: Text::unshared(name),
            uid: Text::unshared(meta.uid.as_deref().unwrap_or_default()),
            node_name: world.optional_text(spec.node_name.as_ref()),
            nominated_node: world.optional_text(status.nominated_node_name.as_ref()),
            phase: PodPhase::from_api(status.phase.as_deref()),
            created: meta.creation_timestamp.as_ref().map(Timestamp::from_api),
            started: status.start_time.as_ref().map(Timestamp::from_api),
            deleted: meta.deletion_timestamp.as_ref().map(Timestamp::from_api),
            generation: meta.generation.unwrap_or_default(),
            is_preempted: is_preempted(status),
            resized: resized.map(Box::new),
            ephemeral_claims,
            claim_status: ClaimStatus::from_api(status, world),
            class,
        })
    }

    /// The same pod, if this were its spec: for what-ifs.
    #[must_use]
    pub fn with_spec(&self, spec: PodSpec) -> Self {
        let claim = |volume: &Volume| match volume {
            Volume::Ephemeral { volume } => {
                Some(Text::unshared(&format!("{}-{volume}", self.name)))
            }
            _ => None,
        };
        let ephemeral_claims = spec.volumes.iter().filter_map(claim).collect();
        Self { class: Class::unshared(spec), ephemeral_claims, resized: None, ..self.clone() }
    }

    /// What the pod's class has in common.
    #[must_use]
    pub fn spec(&self) -> &PodSpec {
        self.class.spec()
    }

    /// Its namespace.
    #[must_use]
    pub fn namespace(&self) -> &Text {
        &self.class.namespace
    }

    /// What it takes or would take of a node, resizing in place included.
    #[must_use]
    pub fn requests(&self) -> &Requests {
        self.resized.as_deref().unwrap_or(&self.class.requests)
    }

    /// Whether it is on its way out.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.deleted.is_some()
    }

    /// Whether it is on its way out to make room for another pod.
    #[must_use]
    pub fn is_terminating_by_preemption(&self) -> bool {
        self.is_terminating() && self.is_preempted
    }

    /// The PersistentVolumeClaims of its volumes, in their order.
    pub fn claims(&self) -> impl Iterator<Item = PodClaim<'_>> {
        let mut ephemeral = self.ephemeral_claims.iter();
        self.class.volumes.iter().filter_map(move |volume| match volume {
            Volume::Claim(name) => Some(PodClaim { name, is_ephemeral: false }),
            Volume::Ephemeral { .. } => {
                ephemeral.next().map(|name| PodClaim { name, is_ephemeral: true })
            }
            _ => None,
        })
    }

    /// What became of its resource claims.
    #[must_use]
    pub fn claim_status(&self) -> Option<&ClaimStatus> {
        self.claim_status.as_deref()
    }
}

/// A PersistentVolumeClaim that a pod uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodClaim<'a> {
    /// Its name in the pod's namespace; empty if the pod names none.
    pub name: &'a Text,
    /// Whether it is made for this pod alone, which must then control it.
    pub is_ephemeral: bool,
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Not started yet; also if the pod says nothing.
    Pending,
    /// Started.
    Running,
    /// Finished well.
    Succeeded,
    /// Finished badly.
    Failed,
    /// Lost sight of, or a phase this release does not know.
    Unknown,
}

impl PodPhase {
    /// Whether the pod has finished.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }

    fn from_api(phase: Option<&str>) -> Self {
        match phase {
            None | Some("" | "Pending") => Self::Pending,
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            Some(_) => Self::Unknown,
        }
    }
}

/// The ResourceClaims that were made for a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClaimStatus {
    /// From templates: the claim's name within the pod, and the ResourceClaim, if one was needed.
    pub generated: Box<[(Text, Option<Text>)]>,
    /// For extended resources that devices stand behind.
    pub extended: Option<ExtendedResourceClaim>,
}

/// The ResourceClaim that stands for a pod's extended resources.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExtendedResourceClaim {
    /// Its name.
    pub claim: Text,
    /// For each request: container, resource, and the request's name in the claim.
    pub requests: Box<[(Text, Text, Text)]>,
}

impl ClaimStatus {
    fn from_api(status: &api::PodStatus, world: &mut World) -> Option<Box<Self>> {
        let generated: Box<[_]> = status
            .resource_claim_statuses
            .iter()
            .flatten()
            .map(|claim| {
                (
                    world.text(&claim.name),
                    claim.resource_claim_name.as_ref().map(|name| world.text(name)),
                )
            })
            .collect();
        let extended =
            status.extended_resource_claim_status.as_ref().map(|extended| ExtendedResourceClaim {
                claim: world.text(&extended.resource_claim_name),
                requests: extended
                    .request_mappings
                    .iter()
                    .map(|m| {
                        (
                            world.text(&m.container_name),
                            world.text(&m.resource_name),
                            world.text(&m.request_name),
                        )
                    })
                    .collect(),
            });
        (!generated.is_empty() || extended.is_some())
            .then(|| Box::new(Self { generated, extended }))
    }
}

fn is_preempted(status: &api::PodStatus) -> bool {
    let target =
        status.conditions.iter().flatten().find(|condition| condition.type_ == "DisruptionTarget");
    target
        .is_some_and(|c| c.status == "True" && c.reason.as_deref() == Some("PreemptionByScheduler"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn a_pod_that_is_resized_keeps_its_class() {
        let mut world = World::new();
        let spec =
            json!({"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]});
        let status = |cpu: &str| {
            json!({"containerStatuses": [{"name": "main", "image": "", "imageID": "", "ready": true,
            "restartCount": 0, "resources": {"requests": {"cpu": cpu}}}]})
        };
        let plain = testing::pod(&mut world, json!({"spec": spec}));
        let same = testing::pod(&mut world, json!({"spec": spec, "status": status("1")}));
        let more = testing::pod(&mut world, json!({"spec": spec, "status": status("3")}));
        assert_eq!((&plain.class, &plain.class), (&same.class, &more.class));
        assert_eq!(same.resized, None);
        assert_eq!(
            (plain.requests().total.milli_cpu, more.requests().total.milli_cpu),
            (1000, 3000)
        );
    }

    #[test]
    fn a_pod_with_another_spec_is_of_a_class_of_its_own() {
        let mut world = World::new();
        let volumes =
            json!([{"name": "scratch", "ephemeral": {}}, {"name": "tmp", "ephemeral": {}}]);
        let api =
            json!({"metadata": {"name": "web"}, "spec": {"containers": [], "volumes": volumes}});
        let pod = testing::pod(&mut world, api);
        let mut spec = pod.spec().clone();
        spec.volumes = spec.volumes.iter().skip(1).cloned().collect();
        let changed = pod.with_spec(spec);
        assert_ne!((&changed.class, changed.class.id()), (&pod.class, pod.class.id()));
        let claims: Vec<_> = changed.claims().map(|claim| claim.name.as_str()).collect();
        assert_eq!((claims, &changed.name), (vec!["web-tmp"], &pod.name));
    }

    #[test]
    fn claims_come_in_the_order_of_volumes() {
        let pod = testing::pod(
            &mut World::new(),
            json!({"metadata": {"name": "web-0"}, "spec": {"containers": [], "volumes": [
                {"name": "scratch", "ephemeral": {}},
                {"name": "tmp", "emptyDir": {}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}},
                {"name": "cache", "ephemeral": {}}]}}),
        );
        let claims: Vec<_> =
            pod.claims().map(|claim| (claim.name.as_str(), claim.is_ephemeral)).collect();
        assert_eq!(claims, [("web-0-scratch", true), ("data-web-0", false), ("web-0-cache", true)]);
    }

    #[test]
    fn only_the_schedulers_own_eviction_is_preemption() {
        let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason});
        let good = condition("DisruptionTarget", "True", "PreemptionByScheduler");
        let rows = [
            (json!([good]), true),
            (json!([condition("DisruptionTarget", "False", "PreemptionByScheduler")]), false),
            (json!([condition("DisruptionTarget", "True", "EvictionByEvictionAPI")]), false),
            (json!([condition("DisruptionTarget", "True", "EvictionByEvictionAPI"), good]), false),
            (json!([condition("Ready", "True", "PreemptionByScheduler")]), false),
            (json!([]), false),
        ];
        for (conditions, expected) in rows {
            let api = json!({"metadata": {"deletionTimestamp": "2024-01-11T21:20:00Z"}, "status": {"conditions": conditions}});
            let pod = testing::pod(&mut World::new(), api);
            assert_eq!(pod.is_terminating_by_preemption(), expected, "{conditions}");
        }
        let living = testing::pod(&mut World::new(), json!({"status": {"conditions": [good]}}));
        assert!(!living.is_terminating_by_preemption());
    }

    #[test]
    fn a_pod_is_small() {
        assert!(size_of::<Pod>() <= 168, "{}", size_of::<Pod>());
        assert!(size_of::<PodSpec>() <= 496, "{}", size_of::<PodSpec>());
    }

    #[test]
    fn a_pod_without_a_name_is_refused() {
        let error = Pod::from_api(&api::Pod::default(), &mut World::new()).unwrap_err();
        assert_eq!(error.to_string(), "metadata.name: missing");
    }
}
