//! Claims find volumes, or have them made.
//!
//! A claim of a class that waits for its first consumer is bound when a scheduler has written a
//! volume's `claimRef`, or has annotated the claim with the node for which to provision. A
//! provisioned volume has no node affinity: this cluster does not know its drivers' topologies.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    CSIPersistentVolumeSource, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeSpec, PersistentVolumeStatus, Pod,
};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use roadstead_model::Quantity;

use super::super::Cluster;
use super::managed_by;
use crate::selector::selects;
use crate::{ApiError, Key, Kind, Object};

impl Cluster {
    pub(super) fn reconcile_claim(
        &mut self,
        key: &Key,
        claim: &Arc<PersistentVolumeClaim>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &claim.spec else { return Ok(()) };
        let annotated =
            |name: &str| claim.metadata.annotations.as_ref().is_some_and(|a| a.contains_key(name));
        if let Some(name) = spec.volume_name.as_deref().filter(|_| annotated(BIND_COMPLETED)) {
            if self.get::<PersistentVolume>("", name).is_none() {
                self.lose(claim);
            }
            return Ok(());
        }
        if let Some(name) = spec.volume_name.as_deref().filter(|name| !name.is_empty()) {
            let volume = self.get::<PersistentVolume>("", name).cloned();
            if let Some(volume) = volume.filter(|volume| is_free_for(volume, claim)) {
                self.bind_volume(claim, &volume);
            }
            return Ok(());
        }
        let reserved =
            self.list::<PersistentVolume>().find(|volume| is_reserved_for(volume, claim));
        if let Some(volume) = reserved.cloned() {
            self.bind_volume(claim, &volume);
            return Ok(());
        }
        let class = self.get::<StorageClass>("", class_of(&claim.metadata, spec)).cloned();
        let waits = class.as_ref().and_then(|class| class.volume_binding_mode.as_deref())
            == Some("WaitForFirstConsumer");
        if waits && !annotated(SELECTED_NODE) {
            return Ok(());
        }
        if !waits && let Some(volume) = self.best_volume(claim, spec) {
            self.bind_volume(claim, &volume);
            return Ok(());
        }
        match class.filter(|class| class.provisioner != NO_PROVISIONER) {
            Some(class) => self.provision(key, claim, spec, &class),
            None => Ok(()),
        }
    }

    /// A volume whose claim is gone is deleted or kept, as its policy says.
    pub(super) fn reconcile_volume(&mut self, volume: &Arc<PersistentVolume>) {
        let Some(spec) = &volume.spec else { return };
        let Some(reference) = spec.claim_ref.as_ref() else { return };
        let Some(uid) = &reference.uid else { return };
        let claim =
            self.claim_of(reference).filter(|claim| claim.metadata.uid.as_ref() == Some(uid));
        if claim.is_some() {
            return;
        }
        if spec.persistent_volume_reclaim_policy.as_deref() == Some("Delete") {
            return self.remove(Arc::clone(volume).into(), None);
        }
        let mut released = Arc::clone(volume);
        let status = &mut Arc::make_mut(&mut released).status;
        status.get_or_insert_default().phase = Some("Released".to_owned());
        self.commit(released.into());
    }

    /// A claim that was bound to a volume that is gone.
    fn lose(&mut self, claim: &Arc<PersistentVolumeClaim>) {
        let mut lost = Arc::clone(claim);
        let status = Arc::make_mut(&mut lost).status.get_or_insert_default();
        status.phase = Some("Lost".to_owned());
        self.commit(lost.into());
    }

    /// The claims of a pod's ephemeral volumes.
    pub(super) fn make_ephemeral_claims(&mut self, pod: &Arc<Pod>) -> Result<(), ApiError> {
        let owner = Object::from(Arc::clone(pod));
        let key = owner.key();
        for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let template = volume.ephemeral.as_ref().and_then(|e| e.volume_claim_template.as_ref());
            let Some(template) = template else { continue };
            let name = format!("{}-{}", key.name, volume.name);
            if self.store.get(&Kind::PersistentVolumeClaim.key(&key.namespace, &name)).is_some() {
                continue;
            }
            let from = template.metadata.clone().unwrap_or_default();
            let claim = PersistentVolumeClaim {
                metadata: ObjectMeta {
                    name: Some(name),
                    namespace: Some(key.namespace.clone()),
                    labels: from.labels,
                    annotations: from.annotations,
                    owner_references: Some(vec![managed_by(&owner)]),
                    ..ObjectMeta::default()
                },
                spec: Some(template.spec.clone()),
                status: None,
            };
            self.admit_new(claim.into())?;
        }
        Ok(())
    }

    /// The smallest available volume that is enough.
    fn best_volume(
        &self,
        claim: &PersistentVolumeClaim,
        spec: &PersistentVolumeClaimSpec,
    ) -> Option<Arc<PersistentVolume>> {
        let request = storage(spec.resources.as_ref().and_then(|r| r.requests.as_ref()))?;
        let fits = |volume: &&Arc<PersistentVolume>| {
            let Some(own) = &volume.spec else { return false };
            let phase = volume.status.as_ref().and_then(|status| status.phase.as_deref());
            own.claim_ref.is_none()
                && phase == Some("Available")
                && volume.metadata.deletion_timestamp.is_none()
                && own.storage_class_name.as_deref().unwrap_or_default()
                    == class_of(&claim.metadata, spec)
                && mode(own.volume_mode.as_deref()) == mode(spec.volume_mode.as_deref())
                && spec.access_modes.iter().flatten().all(|mode| {
                    own.access_modes.as_ref().is_some_and(|offered| offered.contains(mode))
                })
                && spec
                    .selector
                    .as_ref()
                    .is_none_or(|s| selects(s, volume.metadata.labels.as_ref()))
                && storage(own.capacity.as_ref()).is_some_and(|capacity| capacity >= request)
        };
        let capacity = |volume: &&Arc<PersistentVolume>| {
            storage(volume.spec.as_ref().and_then(|spec| spec.capacity.as_ref()))
        };
        self.list::<PersistentVolume>().filter(fits).min_by_key(capacity).cloned()
    }

    fn provision(
        &mut self,
        key: &Key,
        claim: &Arc<PersistentVolumeClaim>,
        spec: &PersistentVolumeClaimSpec,
        class: &StorageClass,
    ) -> Result<(), ApiError> {
        let name = format!("pvc-{}", claim.metadata.uid.as_deref().unwrap_or_default());
        let volume = PersistentVolume {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                annotations: Some(BTreeMap::from([(
                    "pv.kubernetes.io/provisioned-by".to_owned(),
                    class.provisioner.clone(),
                )])),
                ..ObjectMeta::default()
            },
            spec: Some(PersistentVolumeSpec {
                capacity: spec.resources.as_ref().and_then(|resources| resources.requests.clone()),
                access_modes: spec.access_modes.clone(),
                volume_mode: spec.volume_mode.clone(),
                storage_class_name: class.metadata.name.clone(),
                persistent_volume_reclaim_policy: class.reclaim_policy.clone(),
                claim_ref: Some(reference_to(key, claim)),
                csi: Some(CSIPersistentVolumeSource {
                    driver: class.provisioner.clone(),
                    volume_handle: name,
                    ..CSIPersistentVolumeSource::default()
                }),
                ..PersistentVolumeSpec::default()
            }),
            status: None,
        };
        if let Object::PersistentVolume(volume) = self.admit_new(volume.into())? {
            self.bind_volume(claim, &volume);
        }
        Ok(())
    }

    fn bind_volume(&mut self, claim: &Arc<PersistentVolumeClaim>, volume: &Arc<PersistentVolume>) {
        let key = Object::from(Arc::clone(claim)).key();
        let mut bound = Arc::clone(volume);
        let changed = Arc::make_mut(&mut bound);
        let spec = changed.spec.get_or_insert_default();
        let was_reserved = spec.claim_ref.is_some();
        spec.claim_ref = Some(reference_to(&key, claim));
        if !was_reserved {
            annotate(&mut changed.metadata, BOUND_BY_CONTROLLER);
        }
        let status = changed.status.get_or_insert_with(PersistentVolumeStatus::default);
        status.phase = Some("Bound".to_owned());
        let capacity = spec.capacity.clone();
        let access_modes = spec.access_modes.clone();
        self.commit(bound.into());

        let mut bound = Arc::clone(claim);
        let changed = Arc::make_mut(&mut bound);
        let spec = changed.spec.get_or_insert_default();
        if spec.volume_name.is_none() {
            annotate(&mut changed.metadata, BOUND_BY_CONTROLLER);
        }
        annotate(&mut changed.metadata, BIND_COMPLETED);
        spec.volume_name.clone_from(&volume.metadata.name);
        let status = changed.status.get_or_insert_default();
        status.phase = Some("Bound".to_owned());
        status.capacity = capacity;
        status.access_modes = access_modes;
        self.commit(bound.into());
    }

    fn claim_of(&self, reference: &ObjectReference) -> Option<&Arc<PersistentVolumeClaim>> {
        self.get(reference.namespace.as_deref()?, reference.name.as_deref()?)
    }
}

fn is_free_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.as_ref().is_some_and(|spec| spec.claim_ref.is_none())
        || is_reserved_for(volume, claim)
}

fn is_reserved_for(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    let reference = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    reference.is_some_and(|reference| {
        reference.name == claim.metadata.name
            && reference.namespace == claim.metadata.namespace
            && (reference.uid.is_none() || reference.uid == claim.metadata.uid)
            && volume.metadata.deletion_timestamp.is_none()
    })
}

fn reference_to(key: &Key, claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        api_version: Some(key.kind.api_version().to_owned()),
        kind: Some(key.kind.name().to_owned()),
        namespace: Some(key.namespace.clone()),
        name: Some(key.name.clone()),
        uid: claim.metadata.uid.clone(),
        ..ObjectReference::default()
    }
}

fn class_of<'a>(meta: &'a ObjectMeta, spec: &'a PersistentVolumeClaimSpec) -> &'a str {
    let beta =
        meta.annotations.as_ref().and_then(|a| a.get("volume.beta.kubernetes.io/storage-class"));
    beta.or(spec.storage_class_name.as_ref()).map(String::as_str).unwrap_or_default()
}

fn mode(mode: Option<&str>) -> &str {
    mode.filter(|mode| !mode.is_empty()).unwrap_or("Filesystem")
}

fn storage(
    amounts: Option<&BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>>,
) -> Option<Quantity> {
    Quantity::parse(&amounts?.get("storage")?.0).ok()
}

fn annotate(meta: &mut ObjectMeta, name: &str) {
    meta.annotations.get_or_insert_default().insert(name.to_owned(), "yes".to_owned());
}

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
