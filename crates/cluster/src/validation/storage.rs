//! Volumes, claims and classes.

use std::fmt::Display;

use k8s_openapi::api::core::v1::{
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
};
use k8s_openapi::api::storage::v1::StorageClass;

use super::Findings;

pub(super) fn volume(found: &mut Findings, volume: &PersistentVolume) {
    let Some(spec) = &volume.spec else { return found.required("spec") };
    found.quantities(&"spec.capacity", spec.capacity.as_ref());
    if spec.capacity.as_ref().is_none_or(|capacity| !capacity.contains_key("storage")) {
        found.required("spec.capacity.storage");
    }
    access_modes(found, "spec.accessModes", spec.access_modes.as_deref());
    found.one_of("spec.volumeMode", spec.volume_mode.as_deref(), VOLUME_MODES);
    let policy = spec.persistent_volume_reclaim_policy.as_deref();
    found.one_of("spec.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES);
}

pub(super) fn claim(found: &mut Findings, claim: &PersistentVolumeClaim) {
    claim_spec(found, &"spec", claim.spec.as_ref());
}

pub(super) fn claim_spec(
    found: &mut Findings,
    at: &dyn Display,
    spec: Option<&PersistentVolumeClaimSpec>,
) {
    let Some(spec) = spec else { return found.required(at) };
    access_modes(found, format_args!("{at}.accessModes"), spec.access_modes.as_deref());
    found.one_of(format_args!("{at}.volumeMode"), spec.volume_mode.as_deref(), VOLUME_MODES);
    let requests = spec.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    found.quantities(&format_args!("{at}.resources.requests"), requests);
    if requests.is_none_or(|requests| !requests.contains_key("storage")) {
        found.required(format!("{at}.resources.requests.storage"));
    }
    if let Some(selector) = &spec.selector {
        found.selector(&format_args!("{at}.selector"), selector);
    }
}

pub(super) fn class(found: &mut Findings, class: &StorageClass) {
    if class.provisioner.is_empty() {
        found.required("provisioner");
    }
    let modes = ["Immediate", "WaitForFirstConsumer"];
    found.one_of("volumeBindingMode", class.volume_binding_mode.as_deref(), &modes);
    found.one_of("reclaimPolicy", class.reclaim_policy.as_deref(), &["Delete", "Retain"]);
}

fn access_modes(found: &mut Findings, field: impl Display + Copy, modes: Option<&[String]>) {
    const MODES: &[&str] = &["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    let modes = modes.unwrap_or_default();
    if modes.is_empty() {
        found.required(field);
    }
    for mode in modes {
        found.one_of(field, Some(mode), MODES);
    }
}

const VOLUME_MODES: &[&str] = &["Filesystem", "Block"];
const RECLAIM_POLICIES: &[&str] = &["Delete", "Retain", "Recycle"];
