//! Everything in the cluster that is neither a node nor a pod, to be looked up by plugins.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Labels, Namespace, PersistentVolume,
    PersistentVolumeClaim, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, Text, VolumeAttachment,
};

/// Objects by name; those of a namespace by namespace and name.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "a list is called after what it holds")]
pub struct Listers {
    pub namespaces: BTreeMap<Text, Arc<Namespace>>,
    pub services: BTreeMap<(Text, Text), Arc<Service>>,
    pub replication_controllers: BTreeMap<(Text, Text), Arc<ReplicationController>>,
    pub replica_sets: BTreeMap<(Text, Text), Arc<ReplicaSet>>,
    pub stateful_sets: BTreeMap<(Text, Text), Arc<StatefulSet>>,
    pub persistent_volumes: BTreeMap<Text, Arc<PersistentVolume>>,
    pub persistent_volume_claims: BTreeMap<(Text, Text), Arc<PersistentVolumeClaim>>,
    pub storage_classes: BTreeMap<Text, Arc<StorageClass>>,
    pub csi_nodes: BTreeMap<Text, Arc<CsiNode>>,
    pub csi_drivers: BTreeMap<Text, Arc<CsiDriver>>,
    pub csi_storage_capacities: BTreeMap<(Text, Text), Arc<CsiStorageCapacity>>,
    pub volume_attachments: BTreeMap<Text, Arc<VolumeAttachment>>,
    pub device_classes: BTreeMap<Text, Arc<DeviceClass>>,
    pub pod_disruption_budgets: BTreeMap<(Text, Text), Arc<PodDisruptionBudget>>,
}

impl Listers {
    /// A namespace's labels; `None` where it is not known.
    #[must_use]
    pub fn namespace_labels(&self, namespace: &Text) -> Option<&Labels> {
        self.namespaces.get(namespace).map(|known| &known.labels)
    }
}
