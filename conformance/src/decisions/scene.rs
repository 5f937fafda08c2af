//! A case's cluster, as the scheduler holds it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use roadstead_model::{self as model, ModelError, Text, World};
use roadstead_scheduler::framework::{Context, Framework, Nominations};
use roadstead_scheduler::plugins::{self, ArgumentError};
use roadstead_scheduler::{Listers, NodeInfo, Nodes};
use serde::Deserialize;

use super::case::Arguments;

/// The objects of a cluster.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Cluster {
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    namespaces: Vec<Namespace>,
    services: Vec<Service>,
    replication_controllers: Vec<ReplicationController>,
    replica_sets: Vec<ReplicaSet>,
    stateful_sets: Vec<StatefulSet>,
    persistent_volumes: Vec<PersistentVolume>,
    persistent_volume_claims: Vec<PersistentVolumeClaim>,
    storage_classes: Vec<StorageClass>,
    csi_nodes: Vec<CSINode>,
    csi_drivers: Vec<CSIDriver>,
    csi_storage_capacities: Vec<CSIStorageCapacity>,
    volume_attachments: Vec<VolumeAttachment>,
    pod_disruption_budgets: Vec<PodDisruptionBudget>,
}

/// A cluster with a pod that wants to be placed in it.
pub(super) struct Scene {
    pub(super) world: World,
    pub(super) nodes: Nodes,
    pub(super) listers: Listers,
    pub(super) pod: Arc<model::Pod>,
    waiting: Waiting,
}

impl Scene {
    pub(super) fn new(cluster: &Cluster, pod: &Pod) -> Result<Self, ModelError> {
        let mut world = World::new();
        let listers = listers(cluster, &mut world)?;
        let mut nodes = Vec::with_capacity(cluster.nodes.len());
        for node in &cluster.nodes {
            nodes.push(NodeInfo::new(Arc::new(model::Node::from_api(node, &mut world)?)));
        }
        let mut nodes = Nodes::new(nodes);
        let mut waiting = Waiting::default();
        for pod in &cluster.pods {
            let pod = Arc::new(model::Pod::from_api(pod, &mut world)?);
            match (&pod.node_name, &pod.nominated_node) {
                (Some(node), _) => {
                    nodes.add_pod(node, &pod);
                }
                (None, Some(node)) => {
                    waiting.0.entry(node.clone()).or_default().push(Arc::clone(&pod));
                }
                (None, None) => {}
            }
        }
        let pod = Arc::new(model::Pod::from_api(pod, &mut world)?);
        Ok(Self { world, nodes, listers, pod, waiting })
    }

    pub(super) fn context(&self) -> Context<'_> {
        let Self { nodes, listers, waiting, .. } = self;
        Context { nodes, listers, nominations: waiting, now: NOW }
    }

    /// The default profile with the case's arguments.
    pub(super) fn framework(&mut self, arguments: &Arguments) -> Result<Framework, String> {
        plugins::default_framework(|name| arguments.get(name).cloned(), &mut self.world)
            .map_err(|(plugin, error)| refused(plugin, &error))
    }

    /// A profile of this one plugin with the case's arguments; empty if there is no such plugin.
    pub(super) fn framework_of(
        &mut self,
        plugin: &str,
        arguments: &Arguments,
    ) -> Result<Framework, String> {
        let mut enabled = Vec::new();
        for (name, make, weight) in plugins::DEFAULT.iter().filter(|(name, ..)| *name == plugin) {
            let arguments = arguments.get(plugin).cloned().unwrap_or_default();
            let made = make(&arguments, &mut self.world).map_err(|error| refused(name, &error))?;
            enabled.push((made, *weight));
        }
        Ok(Framework::new(enabled))
    }
}

fn refused(plugin: &str, error: &ArgumentError) -> String {
    format!("arguments of {plugin}: {}: {}", error.path, error.message)
}

/// Pods that wait for a node, in the cluster's order.
#[derive(Default)]
struct Waiting(HashMap<Text, Vec<Arc<model::Pod>>>);

impl Nominations for Waiting {
    fn to(&self, node: &Text) -> Vec<Arc<model::Pod>> {
        self.0.get(node).cloned().unwrap_or_default()
    }

    fn nodes(&self) -> Vec<Text> {
        self.0.keys().cloned().collect()
    }
}

/// Later than every time in a case: the start of 2100.
const NOW: i128 = 4_102_444_800_000_000_000;

fn listers(cluster: &Cluster, world: &mut World) -> Result<Listers, ModelError> {
    macro_rules! by_name {
        ($kind:ident, $list:ident) => {{
            let mut all = BTreeMap::new();
            for object in &cluster.$list {
                let object = model::$kind::from_api(object, world)?;
                all.insert(object.name.clone(), Arc::new(object));
            }
            all
        }};
    }
    macro_rules! by_namespace_and_name {
        ($kind:ident, $list:ident) => {{
            let mut all = BTreeMap::new();
            for object in &cluster.$list {
                let object = model::$kind::from_api(object, world)?;
                all.insert((object.namespace.clone(), object.name.clone()), Arc::new(object));
            }
            all
        }};
    }
    Ok(Listers {
        namespaces: by_name!(Namespace, namespaces),
        services: by_namespace_and_name!(Service, services),
        replication_controllers: by_namespace_and_name!(
            ReplicationController,
            replication_controllers
        ),
        replica_sets: by_namespace_and_name!(ReplicaSet, replica_sets),
        stateful_sets: by_namespace_and_name!(StatefulSet, stateful_sets),
        persistent_volumes: by_name!(PersistentVolume, persistent_volumes),
        persistent_volume_claims: by_namespace_and_name!(
            PersistentVolumeClaim,
            persistent_volume_claims
        ),
        storage_classes: by_name!(StorageClass, storage_classes),
        csi_nodes: by_name!(CsiNode, csi_nodes),
        csi_drivers: by_name!(CsiDriver, csi_drivers),
        csi_storage_capacities: by_namespace_and_name!(CsiStorageCapacity, csi_storage_capacities),
        volume_attachments: by_name!(VolumeAttachment, volume_attachments),
        pod_disruption_budgets: by_namespace_and_name!(PodDisruptionBudget, pod_disruption_budgets),
        ..Listers::default()
    })
}
