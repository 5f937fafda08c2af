//! Rows of volumes, claims, and what provides them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::{CSIDriver, StorageClass, VolumeAttachment};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::cells::none_if_empty;
use super::{AGE, Column, NAME, flag, number, text, wide};

pub(super) const VOLUME: &[Column] = &[
    NAME,
    text("Capacity"),
    text("Access Modes"),
    text("Reclaim Policy"),
    text("Status"),
    text("Claim"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    text("Reason"),
    AGE,
    wide("VolumeMode"),
];

pub(super) const CLAIM: &[Column] = &[
    NAME,
    text("Status"),
    text("Volume"),
    text("Capacity"),
    text("Access Modes"),
    text("StorageClass"),
    text("VolumeAttributesClass"),
    AGE,
    wide("VolumeMode"),
];

pub(super) const CLASS: &[Column] = &[
    NAME,
    text("Provisioner"),
    text("ReclaimPolicy"),
    text("VolumeBindingMode"),
    text("AllowVolumeExpansion"),
    AGE,
];

pub(super) const DRIVER: &[Column] = &[
    NAME,
    flag("AttachRequired"),
    flag("PodInfoOnMount"),
    flag("StorageCapacity"),
    text("TokenRequests"),
    flag("RequiresRepublish"),
    text("Modes"),
    AGE,
];

pub(super) const CSI_NODE: &[Column] = &[NAME, number("Drivers"), AGE];
pub(super) const CAPACITY: &[Column] = &[NAME, text("StorageClassName"), text("Capacity")];
pub(super) const ATTACHMENT: &[Column] =
    &[NAME, text("Attacher"), text("PV"), text("Node"), flag("Attached"), AGE];

pub(super) fn volume(volume: &PersistentVolume, age: &str) -> Vec<Value> {
    let spec = volume.spec.clone().unwrap_or_default();
    let status = volume.status.clone().unwrap_or_default();
    let claim = spec.claim_ref.as_ref().map(|claim| {
        let [namespace, name] =
            [&claim.namespace, &claim.name].map(|part| part.as_deref().unwrap_or_default());
        format!("{namespace}/{name}")
    });
    [
        name(&volume.metadata),
        storage(spec.capacity.as_ref()),
        modes(spec.access_modes.as_deref()),
        spec.persistent_volume_reclaim_policy.unwrap_or_default(),
        phase(&volume.metadata, status.phase),
        claim.unwrap_or_default(),
        class_name(&volume.metadata, spec.storage_class_name),
        spec.volume_attributes_class_name.unwrap_or_else(unset),
        status.reason.unwrap_or_default(),
        age.to_owned(),
        spec.volume_mode.unwrap_or_else(unset),
    ]
    .map(Value::from)
    .into()
}

pub(super) fn claim(claim: &PersistentVolumeClaim, age: &str) -> Vec<Value> {
    let spec = claim.spec.clone().unwrap_or_default();
    let status = claim.status.clone().unwrap_or_default();
    let volume = spec.volume_name.unwrap_or_default();
    let [capacity, modes] = if volume.is_empty() {
        [String::new(), String::new()]
    } else {
        [storage(status.capacity.as_ref()), modes(status.access_modes.as_deref())]
    };
    [
        name(&claim.metadata),
        phase(&claim.metadata, status.phase),
        volume,
        capacity,
        modes,
        class_name(&claim.metadata, spec.storage_class_name),
        spec.volume_attributes_class_name.unwrap_or_else(unset),
        age.to_owned(),
        spec.volume_mode.unwrap_or_else(unset),
    ]
    .map(Value::from)
    .into()
}

pub(super) fn class(class: &StorageClass, age: &str) -> Vec<Value> {
    let annotations = class.metadata.annotations.as_ref();
    let is_default = ["storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"]
        .map(|group| format!("{group}/is-default-class"))
        .iter()
        .any(|key| annotations.and_then(|all| all.get(key)).is_some_and(|value| value == "true"));
    let mark = if is_default { " (default)" } else { "" };
    vec![
        format!("{}{mark}", name(&class.metadata)).into(),
        class.provisioner.as_str().into(),
        class.reclaim_policy.as_deref().unwrap_or("Delete").into(),
        class.volume_binding_mode.as_deref().unwrap_or("Immediate").into(),
        class.allow_volume_expansion.unwrap_or(false).into(),
        age.into(),
    ]
}

pub(super) fn driver(driver: &CSIDriver, age: &str) -> Vec<Value> {
    let spec = &driver.spec;
    let tokens = spec.token_requests.as_ref().map(|requests| {
        let audiences: Vec<&str> = requests.iter().map(|request| &*request.audience).collect();
        audiences.join(",")
    });
    vec![
        name(&driver.metadata).into(),
        spec.attach_required.unwrap_or(true).into(),
        spec.pod_info_on_mount.unwrap_or(false).into(),
        spec.storage_capacity.unwrap_or(false).into(),
        tokens.unwrap_or_else(unset).into(),
        spec.requires_republish.unwrap_or(false).into(),
        none_if_empty(&spec.volume_lifecycle_modes.clone().unwrap_or_default().join(",")).into(),
        age.into(),
    ]
}

pub(super) fn attachment(attachment: &VolumeAttachment, age: &str) -> Vec<Value> {
    let spec = &attachment.spec;
    vec![
        name(&attachment.metadata).into(),
        spec.attacher.as_str().into(),
        spec.source.persistent_volume_name.as_deref().unwrap_or_default().into(),
        spec.node_name.as_str().into(),
        attachment.status.as_ref().is_some_and(|status| status.attached).into(),
        age.into(),
    ]
}

fn name(meta: &ObjectMeta) -> String {
    meta.name.clone().unwrap_or_default()
}

fn unset() -> String {
    "<unset>".to_owned()
}

fn phase(meta: &ObjectMeta, phase: Option<String>) -> String {
    match meta.deletion_timestamp {
        Some(_) => "Terminating".to_owned(),
        None => phase.unwrap_or_default(),
    }
}

/// An old annotation says it, too, and first.
fn class_name(meta: &ObjectMeta, class: Option<String>) -> String {
    let annotated = meta
        .annotations
        .as_ref()
        .and_then(|all| all.get("volume.beta.kubernetes.io/storage-class"));
    annotated.cloned().or(class).unwrap_or_default()
}

fn storage(amounts: Option<&BTreeMap<String, Quantity>>) -> String {
    let amount = amounts.and_then(|amounts| amounts.get("storage"));
    amount.map_or_else(|| "0".to_owned(), |amount| amount.0.clone())
}

fn modes(modes: Option<&[String]>) -> String {
    let has = |mode: &str| modes.is_some_and(|modes| modes.iter().any(|given| given == mode));
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let named: Vec<&str> =
        short.iter().filter(|(mode, _)| has(mode)).map(|(_, short)| *short).collect();
    named.join(",")
}
