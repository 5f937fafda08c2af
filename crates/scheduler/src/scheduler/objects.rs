//! What happens to objects that are neither pods nor nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Namespace, PersistentVolume,
    PersistentVolumeClaim, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, VolumeAttachment,
};
use roadstead_queue::{Action, Resource, Time};

use super::Scheduler;
use super::rules::event;
use crate::events::{self, Object};
use crate::listers::Shown;
use crate::observer::Observer;

/// An object that the cluster shows, or that is gone.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "a variant is called after what it holds")]
pub enum Change {
    Namespace(Arc<Namespace>),
    Service(Arc<Service>),
    ReplicationController(Arc<ReplicationController>),
    ReplicaSet(Arc<ReplicaSet>),
    StatefulSet(Arc<StatefulSet>),
    PodDisruptionBudget(Arc<PodDisruptionBudget>),
    PersistentVolume(Arc<PersistentVolume>),
    PersistentVolumeClaim(Arc<PersistentVolumeClaim>),
    StorageClass(Arc<StorageClass>),
    CsiNode(Arc<CsiNode>),
    CsiDriver(Arc<CsiDriver>),
    CsiStorageCapacity(Arc<CsiStorageCapacity>),
    VolumeAttachment(Arc<VolumeAttachment>),
    DeviceClass(Arc<DeviceClass>),
}

impl<V: Observer> Scheduler<V> {
    /// The cluster shows an object, new or changed.
    pub fn object_set(&mut self, object: Change, now: Time) {
        self.object_changed(object, true, now);
    }

    /// The cluster shows that an object is gone; this is the last that it showed of it, or its
    /// name alone.
    pub fn object_gone(&mut self, object: Change, now: Time) {
        self.object_changed(object, false, now);
    }

    fn object_changed(&mut self, object: Change, is_there: bool, now: Time) {
        let listers = &mut self.queue.policy_mut().listers;
        // Who is only looked up by plugins wakes nobody.
        let (resource, old, new) = match object {
            Change::Namespace(o) => {
                return drop(keep(&mut listers.namespaces, o.name.clone(), o, is_there));
            }
            Change::Service(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                return drop(keep(&mut listers.services, key, o, is_there));
            }
            Change::ReplicationController(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                return drop(keep(&mut listers.replication_controllers, key, o, is_there));
            }
            Change::ReplicaSet(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                return drop(keep(&mut listers.replica_sets, key, o, is_there));
            }
            Change::StatefulSet(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                return drop(keep(&mut listers.stateful_sets, key, o, is_there));
            }
            Change::PodDisruptionBudget(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                return drop(keep(&mut listers.pod_disruption_budgets, key, o, is_there));
            }
            Change::PersistentVolume(o) => {
                let (list, shown) =
                    (&mut listers.persistent_volumes, &mut listers.assumptions.volumes);
                let is_same = |known: &PersistentVolume| known.version == o.version;
                let old = keep_assumed(list, shown, o.name.clone(), &o, is_there, is_same);
                let object = Object::PersistentVolume;
                (events::PERSISTENT_VOLUME, old.map(object), object(o))
            }
            Change::PersistentVolumeClaim(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                let (list, shown) =
                    (&mut listers.persistent_volume_claims, &mut listers.assumptions.claims);
                let is_same = |known: &PersistentVolumeClaim| known.version == o.version;
                let old = keep_assumed(list, shown, key, &o, is_there, is_same);
                let object = Object::PersistentVolumeClaim;
                (events::PERSISTENT_VOLUME_CLAIM, old.map(object), object(o))
            }
            Change::StorageClass(o) => {
                let old = keep(&mut listers.storage_classes, o.name.clone(), o.clone(), is_there);
                (events::STORAGE_CLASS, old.map(Object::StorageClass), Object::StorageClass(o))
            }
            Change::CsiNode(o) => {
                let old = keep(&mut listers.csi_nodes, o.name.clone(), o.clone(), is_there);
                (events::CSI_NODE, old.map(Object::CsiNode), Object::CsiNode(o))
            }
            Change::CsiDriver(o) => {
                let old = keep(&mut listers.csi_drivers, o.name.clone(), o.clone(), is_there);
                (events::CSI_DRIVER, old.map(Object::CsiDriver), Object::CsiDriver(o))
            }
            Change::CsiStorageCapacity(o) => {
                let key = (o.namespace.clone(), o.name.clone());
                let old = keep(&mut listers.csi_storage_capacities, key, o.clone(), is_there);
                let object = Object::CsiStorageCapacity;
                (events::CSI_STORAGE_CAPACITY, old.map(object), object(o))
            }
            Change::VolumeAttachment(o) => {
                let old =
                    keep(&mut listers.volume_attachments, o.name.clone(), o.clone(), is_there);
                let object = Object::VolumeAttachment;
                (events::VOLUME_ATTACHMENT, old.map(object), object(o))
            }
            Change::DeviceClass(o) => {
                let old = keep(&mut listers.device_classes, o.name.clone(), o.clone(), is_there);
                (events::DEVICE_CLASS, old.map(Object::DeviceClass), Object::DeviceClass(o))
            }
        };
        self.tell_of_object(resource, old, new, is_there, now);
    }

    fn tell_of_object(
        &mut self,
        resource: Resource,
        old: Option<Object>,
        object: Object,
        is_there: bool,
        now: Time,
    ) {
        let (action, old, new) = match (old, is_there) {
            (None, true) => (Action::ADD, None, Some(object)),
            (Some(old), true) => (Action::UPDATE, Some(old), Some(object)),
            // What was known says more: of an object that went while nobody was looking, only
            // the name may be told.
            (old, false) => (Action::DELETE, old.or(Some(object)), None),
        };
        self.announce(event(resource, action, old, new), now);
    }
}

/// Keeps or drops an object, and returns what was there before.
fn keep<K: Ord, T>(
    list: &mut BTreeMap<K, Arc<T>>,
    key: K,
    object: Arc<T>,
    is_there: bool,
) -> Option<Arc<T>> {
    if is_there { list.insert(key, object) } else { list.remove(&key) }
}

/// The same, where something may be assumed of the object: only the version that it was assumed of
/// leaves that as it is. Returns what the cluster showed before.
fn keep_assumed<K: Ord + Clone, T>(
    list: &mut BTreeMap<K, Arc<T>>,
    shown: &mut Shown<K, T>,
    key: K,
    object: &Arc<T>,
    is_there: bool,
    is_same: impl Fn(&T) -> bool,
) -> Option<Arc<T>> {
    match shown.get(&key) {
        Some(known) if is_there && is_same(known) => Some(known.clone()),
        _ => {
            let known = shown.remove(&key);
            let listed = keep(list, key, object.clone(), is_there);
            known.or(listed)
        }
    }
}
