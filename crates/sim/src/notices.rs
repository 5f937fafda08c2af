//! Showing the scheduler what the cluster shows.

use std::sync::Arc;

use roadstead_cluster::embedded::{Change, ChangeKind};
use roadstead_cluster::{Kind, Object};
use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, ModelError, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, PodDisruptionBudget, ReplicaSet, Service, StatefulSet,
    StorageClass, VolumeAttachment, World,
};
use roadstead_queue::Time;
use roadstead_scheduler::{Change as Shown, PodKey, Scheduler};

use crate::statistics::{Journal, Statistics};

/// The kinds that a scheduler looks at. Workloads are seen as the pods that they make, and
/// priority classes as the priorities of pods.
pub(crate) const WATCHED: &[Kind] = &[
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
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::Pod,
];

/// Tells the scheduler of a change in the cluster.
///
/// # Errors
/// The object cannot be understood, and the scheduler was not told.
pub(crate) fn show(
    change: &Change,
    scheduler: &mut Scheduler<Journal>,
    world: &mut World,
    statistics: &mut Statistics,
    now: Time,
) -> Result<(), ModelError> {
    let is_there = change.kind != ChangeKind::Deleted;
    let object = match &change.object {
        Object::Pod(pod) => {
            let pod = Arc::new(Pod::from_api(pod, world)?);
            if is_there {
                statistics.pod_shown(&pod, now);
                scheduler.pod_set(pod, now);
            } else {
                statistics.pod_gone(&pod, now);
                scheduler.pod_gone(&PodKey::of(&pod), now);
            }
            return Ok(());
        }
        Object::Node(node) => {
            let node = Node::from_api(node, world)?;
            match is_there {
                true => scheduler.node_set(Arc::new(node), now),
                false => scheduler.node_gone(&node.name, now),
            }
            return Ok(());
        }
        Object::Namespace(it) => Shown::Namespace(Arc::new(Namespace::from_api(it, world)?)),
        Object::Service(it) => Shown::Service(Arc::new(Service::from_api(it, world)?)),
        Object::ReplicaSet(it) => Shown::ReplicaSet(Arc::new(ReplicaSet::from_api(it, world)?)),
        Object::StatefulSet(it) => Shown::StatefulSet(Arc::new(StatefulSet::from_api(it, world)?)),
        Object::PodDisruptionBudget(it) => {
            Shown::PodDisruptionBudget(Arc::new(PodDisruptionBudget::from_api(it, world)?))
        }
        Object::PersistentVolume(it) => {
            Shown::PersistentVolume(Arc::new(PersistentVolume::from_api(it, world)?))
        }
        Object::PersistentVolumeClaim(it) => {
            Shown::PersistentVolumeClaim(Arc::new(PersistentVolumeClaim::from_api(it, world)?))
        }
        Object::StorageClass(it) => {
            Shown::StorageClass(Arc::new(StorageClass::from_api(it, world)?))
        }
        Object::CSINode(it) => Shown::CsiNode(Arc::new(CsiNode::from_api(it, world)?)),
        Object::CSIDriver(it) => Shown::CsiDriver(Arc::new(CsiDriver::from_api(it, world)?)),
        Object::CSIStorageCapacity(it) => {
            Shown::CsiStorageCapacity(Arc::new(CsiStorageCapacity::from_api(it, world)?))
        }
        Object::VolumeAttachment(it) => {
            Shown::VolumeAttachment(Arc::new(VolumeAttachment::from_api(it, world)?))
        }
        _ => return Ok(()),
    };
    match is_there {
        true => scheduler.object_set(object, now),
        false => scheduler.object_gone(object, now),
    }
    Ok(())
}
