//! The cluster's events: resources, actions, and the objects that they are about.

use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, StorageClass, VolumeAttachment,
};
use roadstead_queue::{Action, Ask, Event, Resource};

use crate::framework::Registration;

/// Something that happened in the cluster.
pub type ClusterEvent = Event<Object>;

/// What happened to: an object of any kind that the scheduler watches.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant is called after what it holds")]
pub enum Object {
    Pod(Arc<Pod>),
    Node(Arc<Node>),
    PersistentVolume(Arc<PersistentVolume>),
    PersistentVolumeClaim(Arc<PersistentVolumeClaim>),
    StorageClass(Arc<StorageClass>),
    CsiNode(Arc<CsiNode>),
    CsiDriver(Arc<CsiDriver>),
    CsiStorageCapacity(Arc<CsiStorageCapacity>),
    VolumeAttachment(Arc<VolumeAttachment>),
    DeviceClass(Arc<DeviceClass>),
}

impl Object {
    /// The kind's name in messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Pod(_) => "Pod",
            Self::Node(_) => "Node",
            Self::PersistentVolume(_) => "PersistentVolume",
            Self::PersistentVolumeClaim(_) => "PersistentVolumeClaim",
            Self::StorageClass(_) => "StorageClass",
            Self::CsiNode(_) => "CSINode",
            Self::CsiDriver(_) => "CSIDriver",
            Self::CsiStorageCapacity(_) => "CSIStorageCapacity",
            Self::VolumeAttachment(_) => "VolumeAttachment",
            Self::DeviceClass(_) => "DeviceClass",
        }
    }
}

/// Takes an event's old and new object as being of one kind; an object of another kind is an
/// error, an absent one is none.
macro_rules! objects_of {
    ($name:ident, $kind:ident, $what:literal) => {
        /// The event's old and new object, which must be of this kind.
        ///
        /// # Errors
        ///
        /// One of them is of another kind.
        pub fn $name(
            event: &ClusterEvent,
        ) -> Result<(Option<&Arc<$kind>>, Option<&Arc<$kind>>), roadstead_queue::HintError> {
            let get = |object: &'_ Option<Object>| match object {
                None => Ok(()),
                Some(Object::$kind(_)) => Ok(()),
                Some(other) => {
                    Err(format!(concat!("expected ", $what, ", but got {}"), other.kind()))
                }
            };
            get(&event.old)?;
            get(&event.new)?;
            fn inner(object: &Option<Object>) -> Option<&Arc<$kind>> {
                match object {
                    Some(Object::$kind(inner)) => Some(inner),
                    _ => None,
                }
            }
            Ok((inner(&event.old), inner(&event.new)))
        }
    };
}

objects_of!(pods, Pod, "Pod");
objects_of!(nodes, Node, "Node");
objects_of!(persistent_volumes, PersistentVolume, "PersistentVolume");
objects_of!(persistent_volume_claims, PersistentVolumeClaim, "PersistentVolumeClaim");
objects_of!(storage_classes, StorageClass, "StorageClass");
objects_of!(csi_nodes, CsiNode, "CSINode");
objects_of!(csi_drivers, CsiDriver, "CSIDriver");
objects_of!(csi_storage_capacities, CsiStorageCapacity, "CSIStorageCapacity");
objects_of!(volume_attachments, VolumeAttachment, "VolumeAttachment");
objects_of!(device_classes, DeviceClass, "DeviceClass");

/// Pods, wherever they are: for registrations.
pub const POD: Resource = Resource::new("Pod");
/// Pods that run on a node.
pub const ASSIGNED_POD: Resource = Resource::part("AssignedPod", "Pod");
/// Pods that wait to be scheduled.
pub const UNSCHEDULABLE_POD: Resource = Resource::part("UnschedulablePod", "Pod");
/// Nodes.
pub const NODE: Resource = Resource::new("Node");
/// Volumes.
pub const PERSISTENT_VOLUME: Resource = Resource::new("PersistentVolume");
/// Claims to volumes.
pub const PERSISTENT_VOLUME_CLAIM: Resource = Resource::new("PersistentVolumeClaim");
/// What a node's storage drivers can do.
pub const CSI_NODE: Resource = Resource::new("storage.k8s.io/CSINode");
/// Storage drivers.
pub const CSI_DRIVER: Resource = Resource::new("storage.k8s.io/CSIDriver");
/// How much storage is left.
pub const CSI_STORAGE_CAPACITY: Resource = Resource::new("storage.k8s.io/CSIStorageCapacity");
/// Classes of storage.
pub const STORAGE_CLASS: Resource = Resource::new("storage.k8s.io/StorageClass");
/// Volumes attached to nodes.
pub const VOLUME_ATTACHMENT: Resource = Resource::new("storage.k8s.io/VolumeAttachment");
/// Claims to devices.
pub const RESOURCE_CLAIM: Resource = Resource::new("resource.k8s.io/ResourceClaim");
/// Devices of a node.
pub const RESOURCE_SLICE: Resource = Resource::new("resource.k8s.io/ResourceSlice");
/// Classes of devices.
pub const DEVICE_CLASS: Resource = Resource::new("resource.k8s.io/DeviceClass");

/// What a node can be asked for.
pub const UPDATE_NODE_ALLOCATABLE: Action = Action::update(0, "UpdateNodeAllocatable");
/// A node's labels.
pub const UPDATE_NODE_LABEL: Action = Action::update(1, "UpdateNodeLabel");
/// A node's taints, or that it is no longer cordoned off.
pub const UPDATE_NODE_TAINT: Action = Action::update(2, "UpdateNodeTaint");
/// A node's conditions.
pub const UPDATE_NODE_CONDITION: Action = Action::update(3, "UpdateNodeCondition");
/// A node's annotations.
pub const UPDATE_NODE_ANNOTATION: Action = Action::update(4, "UpdateNodeAnnotation");
/// Features that a node declares.
pub const UPDATE_NODE_DECLARED_FEATURE: Action = Action::update(5, "UpdateNodeDeclaredFeature");
/// A pod's labels.
pub const UPDATE_POD_LABEL: Action = Action::update(6, "UpdatePodLabel");
/// A pod asks for less.
pub const UPDATE_POD_SCALE_DOWN: Action = Action::update(7, "UpdatePodScaleDown");
/// A pod's tolerations.
pub const UPDATE_POD_TOLERATION: Action = Action::update(8, "UpdatePodToleration");
/// A pod's last scheduling gate is gone.
pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Action =
    Action::update(9, "UpdatePodSchedulingGatesEliminated");
/// A resource claim was made for a pod.
pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Action =
    Action::update(10, "UpdatePodGeneratedResourceClaim");

/// What a plugin hears of that registers for nothing in particular.
pub(crate) fn everything() -> Vec<Registration> {
    let resources = [
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
    ];
    resources.map(|resource| Registration::new(resource, Action::ALL, Ask::Nobody)).to_vec()
}
