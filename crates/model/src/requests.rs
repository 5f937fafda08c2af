//! What a pod asks for: containers, sidecars, pod-level resources, overhead and resizing.

use k8s_openapi::api::core::v1 as api;

use crate::resources::ResourceList;
use crate::{ModelError, Quantity, Resources, Text, World, limits};

/// A pod's requests, summed up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requests {
    /// The sum that must fit a node.
    pub total: Resources,
    /// CPU as spreading load counts it: containers that ask for none count 100 m.
    pub non_zero_milli_cpu: i64,
    /// Memory as spreading load counts it: containers that ask for none count 200 MiB.
    pub non_zero_memory: i64,
    /// The same sum in thousandths by resource name, sorted, also of resources that no plugin
    /// counts: what scaling down is detected by.
    pub milli: Box<[(Text, i64)]>,
}

impl Requests {
    /// Whether some resource here is absent or smaller in `new`.
    #[must_use]
    pub fn shrink_to(&self, new: &Requests) -> bool {
        let find = |name| new.milli.iter().find(|(other, _)| other == name);
        self.milli.iter().any(|(name, old)| find(name).is_none_or(|(_, amount)| amount < old))
    }
}

/// Reads a pod's resources once and sums them up in each of the ways that plugins need.
pub(crate) struct RequestReader {
    containers: Vec<ContainerRequests>,
    init_containers: Vec<ContainerRequests>,
    pod_level: Option<PodLevel>,
    overhead: ResourceList,
    limits: Box<[(Text, i64)]>,
    is_resize_infeasible: bool,
    cpu: Text,
    memory: Text,
}

impl RequestReader {
    pub(crate) fn read(pod: &api::Pod, world: &mut World) -> Result<Self, ModelError> {
        let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
        let init_containers =
            spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
        let containers = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
        let overhead = spec.and_then(|spec| spec.overhead.as_ref());
        let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
        let pending = conditions.iter().find(|condition| condition.type_ == "PodResizePending");
        let overhead =
            ResourceList::from_api(overhead, world).map_err(|e| e.at("overhead").at("spec"))?;
        Ok(Self {
            limits: limits::read(pod, &overhead, world)?,
            containers: read_containers("containers", containers, status, world)?,
            init_containers: read_containers("initContainers", init_containers, status, world)?,
            pod_level: PodLevel::read(spec, status, world)?,
            overhead,
            is_resize_infeasible: pending
                .is_some_and(|c| c.reason.as_deref() == Some("Infeasible")),
            cpu: world.text("cpu"),
            memory: world.text("memory"),
        })
    }

    /// The limits as the pod's spec says them.
    pub(crate) fn limits(&self) -> Box<[(Text, i64)]> {
        self.limits.clone()
    }

    /// The requests as the pod's spec says them.
    pub(crate) fn of_spec(&self) -> Requests {
        self.requests(Source::Spec)
    }

    /// The requests with what the pod's status says of them; `None` if it says nothing, as for
    /// every pod that is not resized in place.
    pub(crate) fn with_status(&self) -> Option<Requests> {
        let mut containers = self.containers.iter().chain(&self.init_containers);
        let has_status = containers.any(|container| container.status.is_some())
            || self.pod_level.as_ref().is_some_and(|pod_level| pod_level.status.is_some());
        has_status.then(|| self.requests(Source::Status))
    }

    /// What an incoming pod counts when nodes are scored. Upstream leaves pod-level resources out
    /// here, and always fills in defaults.
    pub(crate) fn for_scoring(&self) -> Resources {
        let mut sum = self.containers_sum(Source::Spec, &self.defaults());
        sum.add(&self.overhead);
        Resources::from_list(&sum)
    }

    fn requests(&self, source: Source) -> Requests {
        let exact = self.sum(source, &ResourceList::default());
        // With pod-level requests a default is due only for what nobody has said anything about.
        let mut defaults = self.defaults();
        if self.pod_level.is_some() {
            let mut missing = ResourceList::default();
            for (name, quantity) in defaults.iter().filter(|(name, _)| exact.get(name).is_none()) {
                missing.set(name, *quantity);
            }
            defaults = missing;
        }
        let non_zero = self.sum(source, &defaults);
        Requests {
            total: Resources::from_list(&exact),
            non_zero_milli_cpu: non_zero.get(&self.cpu).unwrap_or(Quantity::ZERO).milli_value(),
            non_zero_memory: non_zero.get(&self.memory).unwrap_or(Quantity::ZERO).value(),
            milli: exact
                .iter()
                .map(|(name, quantity)| (name.clone(), quantity.milli_value()))
                .collect(),
        }
    }

    fn sum(&self, source: Source, defaults: &ResourceList) -> ResourceList {
        let mut sum = self.containers_sum(source, defaults);
        if let Some(pod_level) = &self.pod_level {
            for (name, quantity) in pod_level.effective(source, self.is_resize_infeasible).iter() {
                sum.set(name, *quantity);
            }
        }
        sum.add(&self.overhead);
        sum
    }

    fn containers_sum(&self, source: Source, defaults: &ResourceList) -> ResourceList {
        let effective = |container: &ContainerRequests| {
            let mut requests = container.effective(source, self.is_resize_infeasible);
            for (name, quantity) in defaults.iter() {
                if requests.get(name).is_none() {
                    requests.set(name, *quantity);
                }
            }
            requests
        };
        let init = self.init_containers.iter().map(|own| (own.is_sidecar, effective(own)));
        at_once(self.containers.iter().map(effective), init)
    }

    fn defaults(&self) -> ResourceList {
        let mut defaults = ResourceList::default();
        defaults.set(&self.cpu, Quantity::millis(DEFAULT_MILLI_CPU));
        defaults.set(&self.memory, Quantity::units(DEFAULT_MEMORY));
        defaults
    }
}

/// All containers at once, or the most that starting up needs, whichever is more. Init containers
/// come with whether they are sidecars.
pub(crate) fn at_once(
    containers: impl IntoIterator<Item = ResourceList>,
    init_containers: impl IntoIterator<Item = (bool, ResourceList)>,
) -> ResourceList {
    let mut sum = ResourceList::default();
    for amounts in containers {
        sum.add(&amounts);
    }
    let (mut peak, mut sidecars) = (ResourceList::default(), ResourceList::default());
    for (is_sidecar, mut amounts) in init_containers {
        if is_sidecar {
            sum.add(&amounts);
            sidecars.add(&amounts);
            peak.raise(&sidecars);
        } else {
            amounts.add(&sidecars);
            peak.raise(&amounts);
        }
    }
    sum.raise(&peak);
    sum
}

/// Whether a resource can be asked for or limited for a pod as a whole.
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

/// Where requests are taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Spec,
    Status,
}

struct ContainerRequests {
    is_sidecar: bool,
    spec: ResourceList,
    /// What the kubelet has admitted and what runs, for a container that can be resized.
    status: Option<Box<[ResourceList; 2]>>,
}

impl ContainerRequests {
    fn effective(&self, source: Source, is_resize_infeasible: bool) -> ResourceList {
        match &self.status {
            Some(status) if source == Source::Status => {
                let mut requests =
                    if is_resize_infeasible { ResourceList::default() } else { self.spec.clone() };
                status.iter().for_each(|list| requests.raise(list));
                requests
            }
            _ => self.spec.clone(),
        }
    }
}

fn read_containers(
    field: &str,
    containers: &[api::Container],
    status: Option<&api::PodStatus>,
    world: &mut World,
) -> Result<Vec<ContainerRequests>, ModelError> {
    let is_init = field == "initContainers";
    let mut read = Vec::with_capacity(containers.len());
    for (i, container) in containers.iter().enumerate() {
        let requests =
            container.resources.as_ref().and_then(|resources| resources.requests.as_ref());
        let spec = ResourceList::from_api(requests, world)
            .map_err(|e| e.at("resources.requests").at(format_args!("{field}[{i}]")).at("spec"))?;
        let is_sidecar = is_init && container.restart_policy.as_deref() == Some("Always");
        let status = match status {
            Some(status) if is_sidecar || !is_init => read_status(&container.name, status, world)?,
            _ => None,
        };
        read.push(ContainerRequests { is_sidecar, spec, status });
    }
    Ok(read)
}

/// What runs and what is allocated, where the status has `resources` for the container.
fn read_status(
    name: &str,
    status: &api::PodStatus,
    world: &mut World,
) -> Result<Option<Box<[ResourceList; 2]>>, ModelError> {
    let lists = [
        ("containerStatuses", status.container_statuses.as_deref()),
        ("initContainerStatuses", status.init_container_statuses.as_deref()),
    ];
    // A name in both lists is the init container's, as in upstream's map of statuses.
    for (field, statuses) in lists.into_iter().rev() {
        let found =
            statuses.unwrap_or_default().iter().enumerate().rev().find(|(_, s)| s.name == name);
        let Some((i, found)) = found else { continue };
        let Some(resources) = &found.resources else { return Ok(None) };
        let at =
            |e: ModelError, inner: &str| e.at(inner).at(format_args!("{field}[{i}]")).at("status");
        let running = ResourceList::from_api(resources.requests.as_ref(), world)
            .map_err(|e| at(e, "resources.requests"))?;
        let allocated = ResourceList::from_api(found.allocated_resources.as_ref(), world)
            .map_err(|e| at(e, "allocatedResources"))?;
        return Ok(Some(Box::new([running, allocated])));
    }
    Ok(None)
}

/// Requests of the pod as a whole, which take the place of what its containers sum up to.
struct PodLevel {
    spec: ResourceList,
    status: Option<[ResourceList; 2]>,
}

impl PodLevel {
    /// `None` if the pod names no resource that can be asked for at this level.
    fn read(
        spec: Option<&api::PodSpec>,
        status: Option<&api::PodStatus>,
        world: &mut World,
    ) -> Result<Option<Self>, ModelError> {
        let requests = spec.and_then(|spec| spec.resources.as_ref()?.requests.as_ref());
        let requests =
            ResourceList::from_api(requests, world).map_err(|e| e.at("spec.resources.requests"))?;
        let mut supported = ResourceList::default();
        for (name, quantity) in requests.iter() {
            if is_pod_level(name) {
                supported.set(name, *quantity);
            }
        }
        if supported.iter().next().is_none() {
            return Ok(None);
        }
        let mut lists = None;
        if let Some(status) = status
            && let Some(resources) = &status.resources
        {
            lists = Some([
                ResourceList::from_api(resources.requests.as_ref(), world)
                    .map_err(|e| e.at("status.resources.requests"))?,
                ResourceList::from_api(status.allocated_resources.as_ref(), world)
                    .map_err(|e| e.at("status.allocatedResources"))?,
            ]);
        }
        Ok(Some(Self { spec: supported, status: lists }))
    }

    fn effective(&self, source: Source, is_resize_infeasible: bool) -> ResourceList {
        let Some(status) = self.status.as_ref().filter(|_| source == Source::Status) else {
            return self.spec.clone();
        };
        let mut effective = ResourceList::default();
        for (name, quantity) in self.spec.iter() {
            let asked = if is_resize_infeasible { Quantity::ZERO } else { *quantity };
            let most = status.iter().filter_map(|list| list.get(name)).fold(asked, Quantity::max);
            effective.set(name, most);
        }
        effective
    }
}

const DEFAULT_MILLI_CPU: i64 = 100;
const DEFAULT_MEMORY: i64 = 200 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn reader(pod: Value) -> RequestReader {
        RequestReader::read(&serde_json::from_value(pod).unwrap(), &mut World::new()).unwrap()
    }

    fn container(requests: Value) -> Value {
        json!({"name": "c", "resources": {"requests": requests}})
    }

    fn sidecar(requests: Value) -> Value {
        json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": requests}})
    }

    #[test]
    fn requests_of_a_spec() {
        let cpu = |cpu: &str| json!({"cpu": cpu});
        let rows = [
            // what, spec, milli cpu, memory
            (
                "the largest init container or the sum, resource by resource",
                json!({"initContainers": [container(json!({"cpu": "2", "memory": "1G"})), container(json!({"cpu": "2", "memory": "3G"}))],
                       "containers": [container(json!({"cpu": "2", "memory": "1G"})), container(json!({"cpu": "1", "memory": "1G"}))]}),
                3000,
                3_000_000_000,
            ),
            (
                "a sidecar runs beside later init containers",
                json!({"initContainers": [sidecar(cpu("1")), container(cpu("3"))], "containers": [container(cpu("2"))]}),
                4000,
                0,
            ),
            (
                "a sidecar does not run beside earlier init containers",
                json!({"initContainers": [container(cpu("3")), sidecar(cpu("1"))], "containers": [container(cpu("2"))]}),
                3000,
                0,
            ),
            (
                "sidecars add up",
                json!({"initContainers": [sidecar(cpu("1")), sidecar(cpu("1"))], "containers": [container(cpu("1"))]}),
                3000,
                0,
            ),
            (
                "overhead is added",
                json!({"containers": [container(cpu("1"))], "overhead": {"cpu": "500m"}}),
                1500,
                0,
            ),
            (
                "a pod-level request replaces the sum, smaller or not",
                json!({"containers": [container(json!({"cpu": "3", "memory": "7"}))], "resources": {"requests": {"cpu": "2"}}}),
                2000,
                7,
            ),
            (
                "pod-level limits alone change nothing",
                json!({"containers": [container(cpu("3"))], "resources": {"limits": {"cpu": "2"}}}),
                3000,
                0,
            ),
            (
                "overhead comes on top of pod-level requests",
                json!({"containers": [], "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "1"}}),
                3000,
                0,
            ),
            (
                "amounts are rounded once",
                json!({"containers": [container(cpu("0.5m")), container(cpu("0.5m"))]}),
                1,
                0,
            ),
        ];
        for (what, spec, milli_cpu, memory) in rows {
            let total = reader(json!({"spec": spec})).of_spec().total;
            assert_eq!((total.milli_cpu, total.memory), (milli_cpu, memory), "{what}");
        }
    }

    #[test]
    fn an_unsupported_pod_level_resource_is_not_taken() {
        let requests = reader(json!({"spec": {
            "containers": [container(json!({"example.com/gpu": "1"}))],
            "resources": {"requests": {"example.com/gpu": "5", "hugepages-2Mi": "2Mi"}}}}))
        .of_spec();
        let scalars: Vec<_> =
            requests.total.scalars().iter().map(|(n, a)| (n.as_str(), *a)).collect();
        assert_eq!(scalars, [("example.com/gpu", 1), ("hugepages-2Mi", 2 << 20)]);
    }

    #[test]
    fn defaults_of_containers_that_ask_for_nothing() {
        let mib200 = 200 << 20;
        let rows = [
            ("one empty container", json!({"containers": [container(json!({}))]}), 100, mib200),
            (
                "two empty containers",
                json!({"containers": [container(json!({})), container(json!({}))]}),
                200,
                2 * mib200,
            ),
            (
                "an explicit zero stays",
                json!({"containers": [container(json!({"cpu": "0"}))]}),
                0,
                mib200,
            ),
            (
                "an empty init container",
                json!({"initContainers": [container(json!({})), container(json!({"cpu": "1m", "memory": "1"}))],
                       "containers": [container(json!({"cpu": "3m", "memory": "3"}))]}),
                100,
                mib200,
            ),
            (
                "pod-level cpu leaves only memory to guess",
                json!({"containers": [container(json!({}))], "resources": {"requests": {"cpu": "2"}}}),
                2000,
                mib200,
            ),
            (
                "pod-level cpu, and one of two containers says its memory: nothing is missing",
                json!({"containers": [container(json!({"memory": "5"})), container(json!({}))], "resources": {"requests": {"cpu": "2"}}}),
                2000,
                5,
            ),
        ];
        for (what, spec, milli_cpu, memory) in rows {
            let requests = reader(json!({"spec": spec})).of_spec();
            assert_eq!(
                (requests.non_zero_milli_cpu, requests.non_zero_memory),
                (milli_cpu, memory),
                "{what}"
            );
        }
    }

    #[test]
    fn scoring_leaves_pod_level_requests_out() {
        let scored = reader(json!({"spec": {
            "containers": [container(json!({"cpu": "1"}))],
            "resources": {"requests": {"cpu": "8", "memory": "1Gi"}},
            "overhead": {"cpu": "10m"}}}))
        .for_scoring();
        assert_eq!((scored.milli_cpu, scored.memory), (1010, 200 << 20));
    }

    #[test]
    fn requests_of_a_pod_that_is_resized_in_place() {
        let status = |resources: Value| {
            json!({"name": "c", "image": "", "imageID": "", "ready": true, "restartCount": 0,
            "resources": resources, "allocatedResources": {"cpu": "3"}})
        };
        let with = |spec_cpu: &str, status: Value| json!({"spec": {"containers": [container(json!({"cpu": spec_cpu}))]}, "status": status});
        let infeasible =
            json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        let deferred = json!([{"type": "PodResizePending", "status": "True", "reason": "Deferred"},
                              {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        let running = status(json!({"requests": {"cpu": "1"}}));
        let rows = [
            (
                "the most of what is asked, runs and is allocated",
                with("2", json!({"containerStatuses": [running]})),
                3000,
            ),
            (
                "what is asked, if it is the most",
                with("5", json!({"containerStatuses": [running]})),
                5000,
            ),
            (
                "not what is asked, if it cannot be",
                with("5", json!({"containerStatuses": [running], "conditions": infeasible})),
                3000,
            ),
            (
                "only the first condition counts",
                with("5", json!({"containerStatuses": [running], "conditions": deferred})),
                5000,
            ),
            (
                "a status without resources does not count",
                with("1", json!({"containerStatuses": [status(json!(null))]})),
                1000,
            ),
        ];
        for (what, pod, milli_cpu) in rows {
            let reader = reader(pod);
            let requests = reader.with_status().unwrap_or(reader.of_spec());
            assert_eq!(requests.total.milli_cpu, milli_cpu, "{what}");
            assert_ne!(reader.of_spec().total.milli_cpu, 3000, "{what}: the spec alone");
        }
    }

    #[test]
    fn a_pod_level_resize_counts_the_resources_of_the_spec() {
        let pod = |conditions: Value| {
            json!({
            "spec": {"containers": [container(json!({"cpu": "1"}))], "resources": {"requests": {"cpu": "4", "memory": "10"}}},
            "status": {"resources": {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi"}}, "allocatedResources": {"cpu": "3"}, "conditions": conditions}})
        };
        let resized = reader(pod(json!([]))).with_status().unwrap().total;
        assert_eq!((resized.milli_cpu, resized.memory, resized.scalars().len()), (4000, 10, 0));
        let infeasible =
            json!([{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]);
        let refused = reader(pod(infeasible)).with_status().unwrap().total;
        assert_eq!((refused.milli_cpu, refused.memory), (3000, 0));
    }

    #[test]
    fn shrinking_looks_at_every_resource_in_thousandths() {
        let requests = |requests: Value| {
            reader(json!({"spec": {"containers": [container(requests)]}})).of_spec()
        };
        let rows = [
            (json!({"cpu": "1"}), json!({"cpu": "1"}), false),
            (json!({"cpu": "1"}), json!({"cpu": "2"}), false),
            (json!({"cpu": "1"}), json!({"cpu": "999m"}), true),
            (json!({"cpu": "1", "memory": "1"}), json!({"cpu": "2"}), true),
            (json!({"memory": "1.5"}), json!({"memory": "1.4"}), true),
            (json!({"memory": "1.5001"}), json!({"memory": "1.5"}), true),
            (json!({"memory": "1.50001"}), json!({"memory": "1.500001"}), false),
            (json!({"unknown": "2"}), json!({"unknown": "1"}), true),
            (json!({}), json!({"cpu": "1"}), false),
        ];
        for (old, new, expected) in rows {
            assert_eq!(
                requests(old.clone()).shrink_to(&requests(new.clone())),
                expected,
                "{old} to {new}"
            );
        }
    }

    #[test]
    fn a_bad_quantity_is_named_by_its_path() {
        let rows = [
            (
                json!({"spec": {"containers": [container(json!({"cpu": "x"}))]}}),
                "spec.containers[0].resources.requests[cpu]",
            ),
            (
                json!({"spec": {"containers": [], "initContainers": [container(json!({})), container(json!({"cpu": "x"}))]}}),
                "spec.initContainers[1].resources.requests[cpu]",
            ),
            (json!({"spec": {"containers": [], "overhead": {"cpu": "x"}}}), "spec.overhead[cpu]"),
            (
                json!({"spec": {"containers": [], "resources": {"requests": {"cpu": "x"}}}}),
                "spec.resources.requests[cpu]",
            ),
        ];
        for (pod, path) in rows {
            let error =
                RequestReader::read(&serde_json::from_value(pod).unwrap(), &mut World::new()).err();
            assert_eq!(error.expect("an error").path(), path);
        }
    }
}
