//! What a scheduler is told of an object.

use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, ModelError, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, VolumeAttachment, World,
};
use roadstead_queue::Time;
use roadstead_scheduler::{Change, Observer, PodKey, Scheduler};

use crate::{Kind, Object};

/// An object as a scheduler sees it: the API's object is not needed any more.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a variant is called after what it holds")]
pub enum Notice {
    Pod(Arc<Pod>),
    Node(Arc<Node>),
    Other(Change),
}

impl Notice {
    /// The kinds that a scheduler looks at. Workloads are seen as the pods that they make, and
    /// priority classes as the priorities of pods.
    pub const KINDS: &'static [Kind] = &[
        Kind::Namespace,
        Kind::StorageClass,
        Kind::CSIDriver,
        Kind::Node,
        Kind::CSINode,
        Kind::CSIStorageCapacity,
        Kind::PersistentVolume,
        Kind::PersistentVolumeClaim,
        Kind::VolumeAttachment,
        Kind::Service,
        Kind::PodDisruptionBudget,
        Kind::ReplicationController,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::Pod,
    ];

    /// Reads an object; `None` if a scheduler does not look at its kind.
    ///
    /// # Errors
    /// The object cannot be understood.
    pub fn of(object: &Object, world: &mut World) -> Result<Option<Self>, ModelError> {
        let change = match object {
            Object::Pod(pod) => {
                return Ok(Some(Self::Pod(Arc::new(Pod::from_api(pod, world)?))));
            }
            Object::Node(node) => {
                return Ok(Some(Self::Node(Arc::new(Node::from_api(node, world)?))));
            }
            Object::Namespace(it) => Change::Namespace(Arc::new(Namespace::from_api(it, world)?)),
            Object::Service(it) => Change::Service(Arc::new(Service::from_api(it, world)?)),
            Object::ReplicationController(it) => {
                Change::ReplicationController(Arc::new(ReplicationController::from_api(it, world)?))
            }
            Object::ReplicaSet(it) => {
                Change::ReplicaSet(Arc::new(ReplicaSet::from_api(it, world)?))
            }
            Object::StatefulSet(it) => {
                Change::StatefulSet(Arc::new(StatefulSet::from_api(it, world)?))
            }
            Object::PodDisruptionBudget(it) => {
                Change::PodDisruptionBudget(Arc::new(PodDisruptionBudget::from_api(it, world)?))
            }
            Object::PersistentVolume(it) => {
                Change::PersistentVolume(Arc::new(PersistentVolume::from_api(it, world)?))
            }
            Object::PersistentVolumeClaim(it) => {
                Change::PersistentVolumeClaim(Arc::new(PersistentVolumeClaim::from_api(it, world)?))
            }
            Object::StorageClass(it) => {
                Change::StorageClass(Arc::new(StorageClass::from_api(it, world)?))
            }
            Object::CSINode(it) => Change::CsiNode(Arc::new(CsiNode::from_api(it, world)?)),
            Object::CSIDriver(it) => Change::CsiDriver(Arc::new(CsiDriver::from_api(it, world)?)),
            Object::CSIStorageCapacity(it) => {
                Change::CsiStorageCapacity(Arc::new(CsiStorageCapacity::from_api(it, world)?))
            }
            Object::VolumeAttachment(it) => {
                Change::VolumeAttachment(Arc::new(VolumeAttachment::from_api(it, world)?))
            }
            _ => return Ok(None),
        };
        Ok(Some(Self::Other(change)))
    }

    /// Tells a scheduler that the object is there, new or changed.
    pub fn tell<V: Observer>(self, scheduler: &mut Scheduler<V>, now: Time) {
        match self {
            Self::Pod(pod) => scheduler.pod_set(pod, now),
            Self::Node(node) => scheduler.node_set(node, now),
            Self::Other(change) => scheduler.object_set(change, now),
        }
    }

    /// Tells a scheduler that the object is gone.
    pub fn tell_gone<V: Observer>(self, scheduler: &mut Scheduler<V>, now: Time) {
        match self {
            Self::Pod(pod) => scheduler.pod_gone(&PodKey::of(&pod), now),
            Self::Node(node) => scheduler.node_gone(&node.name, now),
            Self::Other(change) => scheduler.object_gone(change, now),
        }
    }
}
