//! Clusters, pods and events for tests, from the parts that a test is about.
//!
//! Everything is API JSON, as in the decision cases; what a test leaves out is filled in. Answers
//! are texts, so that a table can hold them.

use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, ModelError, Namespace, Node,
    PersistentVolume, PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet,
    ReplicationController, Service, StatefulSet, StorageClass, Text, VolumeAttachment, World,
};
use roadstead_queue::{Action, Ask, Hint, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::events::{self, ClusterEvent, Object};
use crate::framework::{Context, CycleState, Extensions, Framework, Nominations, Status};
use crate::listers::{Assumptions, Listers};
use crate::nodes::{NodeInfo, Nodes};
use crate::plugins::Make;

/// What a node or a gate says to a pod that it takes.
pub(crate) const FITS: &str = "fits";

/// A pod in `world`; name, namespace and uid are filled in where the test does not care.
pub(crate) fn pod(world: &mut World, api: Value) -> Arc<Pod> {
    read(world, &named(api, "test"), Pod::from_api)
}

/// A node likewise.
pub(crate) fn node(world: &mut World, api: Value) -> Arc<Node> {
    read(world, &named(api, "test"), Node::from_api)
}

/// The object of an event on `resource`, likewise.
pub(crate) fn object(world: &mut World, resource: &Resource, api: Value) -> Object {
    let api = &named(api, "test");
    match resource.name() {
        "Pod" | "AssignedPod" | "UnschedulablePod" => Object::Pod(pod(world, api.clone())),
        "Node" => Object::Node(node(world, api.clone())),
        "PersistentVolume" => {
            Object::PersistentVolume(read(world, api, PersistentVolume::from_api))
        }
        "PersistentVolumeClaim" => {
            Object::PersistentVolumeClaim(read(world, api, PersistentVolumeClaim::from_api))
        }
        "storage.k8s.io/StorageClass" => {
            Object::StorageClass(read(world, api, StorageClass::from_api))
        }
        "storage.k8s.io/CSINode" => Object::CsiNode(read(world, api, CsiNode::from_api)),
        "storage.k8s.io/CSIDriver" => Object::CsiDriver(read(world, api, CsiDriver::from_api)),
        "storage.k8s.io/CSIStorageCapacity" => {
            Object::CsiStorageCapacity(read(world, api, CsiStorageCapacity::from_api))
        }
        "storage.k8s.io/VolumeAttachment" => {
            Object::VolumeAttachment(read(world, api, VolumeAttachment::from_api))
        }
        "resource.k8s.io/DeviceClass" => {
            Object::DeviceClass(read(world, api, DeviceClass::from_api))
        }
        other => panic!("no object of {other}"),
    }
}

/// A container that asks for amounts such as `cpu=500m memory=1Gi`; `gpu` is short for an extended
/// resource.
pub(crate) fn container(asks: &str) -> Value {
    json!({"name": "main", "resources": {"requests": amounts(asks)}})
}

/// Amounts of resources, written likewise.
pub(crate) fn amounts(list: &str) -> Value {
    let amount = |part: &str| {
        let (name, amount) = part.split_once('=').expect("name=amount");
        (if name == "gpu" { GPU } else { name }.to_owned(), json!(amount))
    };
    Value::Object(list.split_whitespace().map(amount).collect())
}

/// What [`amounts`] calls `gpu`.
pub(crate) const GPU: &str = "example.com/gpu";

/// A cluster from lists as the decision cases have them, each of which may be absent. Nodes and
/// pods that a test does not name are `node-1`, `node-2`, …, `pod-1`, `pod-2`, ….
pub(crate) fn cluster(lists: Value) -> Cluster {
    Cluster::new(&lists)
}

/// A cluster whose nodes are these.
pub(crate) fn nodes(list: Value) -> Cluster {
    cluster(json!({ "nodes": list }))
}

/// Nodes with what runs on them, everything else, and the world that they live in.
pub(crate) struct Cluster {
    pub(crate) world: World,
    pub(crate) nodes: Nodes,
    pub(crate) listers: Listers,
    nominated: Vec<Arc<Pod>>,
}

impl Cluster {
    fn new(lists: &Value) -> Self {
        let world = &mut World::new();
        let nodes = items(lists, "nodes", "node", world, Node::from_api);
        let mut nodes = Nodes::new(nodes.into_iter().map(NodeInfo::new));
        let mut nominated = Vec::new();
        for pod in items(lists, "pods", "pod", world, Pod::from_api) {
            match &pod.node_name {
                Some(name) => assert!(nodes.add_pod(name, &pod), "the pod's node"),
                None => nominated.push(pod),
            }
        }
        let listers = listers(lists, world);
        Self { world: std::mem::take(world), nodes, listers, nominated }
    }

    /// A pod of this cluster's world.
    pub(crate) fn pod(&mut self, api: Value) -> Arc<Pod> {
        pod(&mut self.world, api)
    }

    /// An event; `old` and `new` are null where there is none.
    pub(crate) fn event(
        &mut self,
        resource: Resource,
        action: Action,
        old: Value,
        new: Value,
    ) -> ClusterEvent {
        let mut version =
            |api: Value| (!api.is_null()).then(|| object(&mut self.world, &resource, api));
        let (old, new) = (version(old), version(new));
        ClusterEvent { old, new, ..ClusterEvent::new(resource, action) }
    }

    /// A plugin of this cluster's world.
    pub(crate) fn plugin(&mut self, make: Make, arguments: Value) -> Extensions {
        make(&arguments, &mut self.world).expect("good arguments")
    }

    /// What plugins may look at.
    pub(crate) fn context(&self) -> Context<'_> {
        Context { nodes: &self.nodes, listers: &self.listers, nominations: self, now: NOW }
    }

    /// What PreFilter and Filter say of each node, in order: [`FITS`], or code and reasons.
    pub(crate) fn filter(&self, plugin: &Extensions, pod: &Arc<Pod>) -> Vec<String> {
        let framework = Framework::new([(plugin.clone(), 1)]);
        let context = self.context();
        let found = match framework.candidates(&context, &mut CycleState::new(), pod) {
            Ok(found) => found,
            Err(status) => return vec![words(&status); self.nodes.len()],
        };
        let fits = |node: &NodeInfo| found.feasible.iter().any(|f| f.name() == node.name());
        let say = |node| {
            if fits(node) { FITS.to_owned() } else { words(found.diagnosis.status(node)) }
        };
        self.nodes.iter().map(say).collect()
    }

    /// The plugin's normalised scores of all nodes, in order; `None` if it sits out.
    pub(crate) fn scores(
        &self,
        plugin: &Extensions,
        pod: &Pod,
    ) -> Result<Option<Vec<i64>>, String> {
        let framework = Framework::new([(plugin.clone(), 1)]);
        let nodes: Vec<&NodeInfo> = self.nodes.iter().collect();
        let scores = framework.score(&self.context(), &mut CycleState::new(), pod, &nodes);
        let scores = scores.map_err(|status| words(&status))?;
        Ok(scores.iter().map(|node| node.plugins.first().map(|(_, score)| *score)).collect())
    }

    /// What the queue gets when it asks whether an event may help a pod that the plugin
    /// rejected: `Queue`, `Skip`, or `Error`, which counts as `Queue`. `deaf` if the plugin does
    /// not even hear of it.
    pub(crate) fn hint(
        &self,
        plugin: &Extensions,
        pod: &Pod,
        event: &ClusterEvent,
    ) -> &'static str {
        let plugin = &*plugin.plugin;
        let registrations = Framework::registrations(plugin);
        let mut heard =
            registrations.iter().filter(|r| event.is_heard_by(&r.resource, r.action)).peekable();
        if heard.peek().is_none() {
            return "deaf";
        }
        if heard.any(|registration| registration.ask == Ask::Nobody) {
            return "Queue";
        }
        match plugin.hint(&self.listers, pod, event) {
            Ok(Hint::Queue) => "Queue",
            Ok(Hint::Skip) => "Skip",
            Err(_) => "Error",
        }
    }
}

impl Nominations for Cluster {
    fn to(&self, node: &Text) -> Vec<Arc<Pod>> {
        let waits = |pod: &&Arc<Pod>| pod.nominated_node.as_ref() == Some(node);
        self.nominated.iter().filter(waits).cloned().collect()
    }

    fn nodes(&self) -> Vec<Text> {
        self.nominated.iter().filter_map(|pod| pod.nominated_node.clone()).collect()
    }
}

/// A status as tables write it: its code, and its reasons.
pub(crate) fn words(status: &Status) -> String {
    format!("{}: {status}", status.code().name())
}

/// An event's object that is not of the kind that a plugin asked for.
pub(crate) fn stranger(world: &mut World, resource: Resource, action: Action) -> ClusterEvent {
    let foreign = if resource == events::NODE { events::POD } else { events::NODE };
    let foreign = object(world, &foreign, json!({}));
    let (old, new) = (Some(foreign.clone()), Some(foreign));
    ClusterEvent { old, new, ..ClusterEvent::new(resource, action) }
}

fn listers(lists: &Value, w: &mut World) -> Listers {
    macro_rules! named {
        ($list:literal, $kind:ident) => {
            items(lists, $list, $list, w, $kind::from_api)
                .into_iter()
                .map(|object| (object.name.clone(), object))
                .collect()
        };
    }
    macro_rules! in_namespaces {
        ($list:literal, $kind:ident) => {
            items(lists, $list, $list, w, $kind::from_api)
                .into_iter()
                .map(|object| ((object.namespace.clone(), object.name.clone()), object))
                .collect()
        };
    }
    Listers {
        namespaces: named!("namespaces", Namespace),
        services: in_namespaces!("services", Service),
        replication_controllers: in_namespaces!("replicationControllers", ReplicationController),
        replica_sets: in_namespaces!("replicaSets", ReplicaSet),
        stateful_sets: in_namespaces!("statefulSets", StatefulSet),
        persistent_volumes: named!("persistentVolumes", PersistentVolume),
        persistent_volume_claims: in_namespaces!("persistentVolumeClaims", PersistentVolumeClaim),
        storage_classes: named!("storageClasses", StorageClass),
        csi_nodes: named!("csiNodes", CsiNode),
        csi_drivers: named!("csiDrivers", CsiDriver),
        csi_storage_capacities: in_namespaces!("csiStorageCapacities", CsiStorageCapacity),
        volume_attachments: named!("volumeAttachments", VolumeAttachment),
        device_classes: named!("deviceClasses", DeviceClass),
        pod_disruption_budgets: in_namespaces!("podDisruptionBudgets", PodDisruptionBudget),
        assumptions: Assumptions::default(),
    }
}

fn items<A: DeserializeOwned, M>(
    lists: &Value,
    list: &str,
    name: &str,
    world: &mut World,
    from_api: fn(&A, &mut World) -> Result<M, ModelError>,
) -> Vec<Arc<M>> {
    let items = lists[list].as_array().into_iter().flatten();
    let numbered = items.zip(1..).map(|(api, n)| named(api.clone(), &format!("{name}-{n}")));
    numbered.map(|api| read(world, &api, from_api)).collect()
}

fn read<A: DeserializeOwned, M>(
    world: &mut World,
    api: &Value,
    from_api: fn(&A, &mut World) -> Result<M, ModelError>,
) -> Arc<M> {
    let object = A::deserialize(api).unwrap_or_else(|e| panic!("{e}: {api}"));
    Arc::new(from_api(&object, world).unwrap_or_else(|e| panic!("{e}: {api}")))
}

/// The uid is that of the name: who is called otherwise is somebody else.
fn named(mut api: Value, default: &str) -> Value {
    let metadata = &mut api["metadata"];
    let name = metadata["name"].as_str().unwrap_or(default).to_owned();
    for (field, value) in [("name", &*name), ("namespace", "default"), ("uid", &*name)] {
        if metadata[field].is_null() {
            metadata[field] = json!(value);
        }
    }
    api
}

/// Some time in 2026.
const NOW: i128 = 1_780_000_000_000_000_000;

/// Numbers that look random and are the same in every run: splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to `bound` - 1.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}
