//! From a pod's claims to their volumes and classes, in upstream's words where the way ends.

use std::fmt;
use std::sync::Arc;

use roadstead_model::{
    BindingMode, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, Text, Volume,
};

use crate::listers::Listers;

/// An object that should be there is not. Its words are put together only where somebody reads
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotFound<'a> {
    Claim(&'a Text),
    Volume(&'a Text),
    Class(&'a Text),
}

impl fmt::Display for NotFound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = match self {
            Self::Claim(name) => ("persistentvolumeclaim", name),
            Self::Volume(name) => ("persistentvolume", name),
            Self::Class(name) => ("storageclass.storage.k8s.io", name),
        };
        write!(f, "{kind} \"{name}\" not found")
    }
}

/// The claim of that name in the pod's namespace.
pub(super) fn find_claim<'a>(
    listers: &'a Listers,
    pod: &Pod,
    name: &'a Text,
) -> Result<&'a Arc<PersistentVolumeClaim>, NotFound<'a>> {
    let key = (pod.namespace().clone(), name.clone());
    listers.persistent_volume_claims.get(&key).ok_or(NotFound::Claim(name))
}

/// The volume of that name.
pub(super) fn find_volume<'a>(
    listers: &'a Listers,
    name: &'a Text,
) -> Result<&'a Arc<PersistentVolume>, NotFound<'a>> {
    listers.persistent_volumes.get(name).ok_or(NotFound::Volume(name))
}

/// The class of that name.
pub(super) fn find_class<'a>(
    listers: &'a Listers,
    name: &'a Text,
) -> Result<&'a Arc<StorageClass>, NotFound<'a>> {
    listers.storage_classes.get(name).ok_or(NotFound::Class(name))
}

/// When the claims of a class are bound; an old class may not say.
pub(super) fn binding_mode(class: &StorageClass) -> Result<BindingMode, String> {
    let unset = || format!("VolumeBindingMode not set for StorageClass \"{}\"", class.name);
    class.binding_mode.ok_or_else(unset)
}

/// An ephemeral claim must have been made for the pod: one that merely has the right name may be
/// anybody's.
pub(super) fn check_owner(pod: &Pod, claim: &PersistentVolumeClaim) -> Result<(), String> {
    if claim.is_controlled_by(pod) {
        return Ok(());
    }
    let (namespace, name) = (&claim.namespace, &claim.name);
    Err(format!(
        "PVC {namespace}/{name} was not created for pod {}/{} (pod is not owner)",
        pod.namespace(),
        pod.name
    ))
}

/// The claims that a pod names itself, in order; those of ephemeral volumes are left out.
pub(super) fn named_claims(pod: &Pod) -> impl Iterator<Item = &Text> {
    pod.spec().volumes.iter().filter_map(|volume| match volume {
        Volume::Claim(name) => Some(name),
        _ => None,
    })
}

/// Whether the pod names the claim itself.
pub(super) fn names(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    *pod.namespace() == claim.namespace && named_claims(pod).any(|name| *name == claim.name)
}

/// Whether the pod uses the claim, by name or for an ephemeral volume.
pub(super) fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    *pod.namespace() == claim.namespace && pod.claims().any(|own| *own.name == claim.name)
}
