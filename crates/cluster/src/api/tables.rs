//! Tables: what `kubectl get` prints, made by the server as an API server makes it.
//!
//! Columns and cells are those of Kubernetes' own printers (`pkg/printers/internalversion`).

mod cells;
mod events;
mod pods;
mod services;
mod storage;
mod workloads;

use k8s_openapi::api::core::v1::Node;
use roadstead_queue::Time;
use serde_json::{Value, json};

use self::cells::{Clock, none_if_empty};
use super::query::Included;
use super::routing::Target;
use super::status::Refusal;
use crate::{Kind, Object};

/// A column of a table.
struct Column {
    name: &'static str,
    kind: &'static str,
    /// What the values are, where the kind does not say it.
    format: &'static str,
    /// Above 0 for a column that only a wide table shows.
    priority: u8,
}

const fn text(name: &'static str) -> Column {
    Column { name, kind: "string", format: "", priority: 0 }
}

const fn number(name: &'static str) -> Column {
    Column { name, kind: "integer", format: "", priority: 0 }
}

const fn flag(name: &'static str) -> Column {
    Column { name, kind: "boolean", format: "", priority: 0 }
}

const fn wide(name: &'static str) -> Column {
    Column { name, kind: "string", format: "", priority: 1 }
}

const NAME: Column = Column { name: "Name", kind: "string", format: "name", priority: 0 };
const AGE: Column = text("Age");

/// Objects as a table: all of its rows, or one for each event of a watch.
pub(super) fn table(
    target: &Target,
    objects: &[Object],
    included: Included,
    now: Time,
    metadata: &Value,
) -> Result<Value, Refusal> {
    let clock = Clock::at(now);
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = json!({ "cells": cells(object, clock) });
            match included {
                Included::Nothing => row["object"] = Value::Null,
                Included::Metadata => row["object"] = metadata_of(object)?,
                Included::Object => row["object"] = target.json_of(object)?,
            }
            Ok(row)
        })
        .collect::<Result<_, Refusal>>()?;
    let columns: Vec<Value> = columns(target.kind)
        .iter()
        .map(|column| {
            json!({
                "name": column.name, "type": column.kind, "format": column.format,
                "description": "", "priority": column.priority,
            })
        })
        .collect();
    Ok(json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns, "rows": rows,
    }))
}

/// The object without what makes it one of its kind.
fn metadata_of(object: &Object) -> Result<Value, Refusal> {
    let metadata = serde_json::to_value(object.metadata())
        .map_err(|error| Refusal::internal(&error.to_string()))?;
    Ok(json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
    }))
}

fn columns(kind: Kind) -> &'static [Column] {
    match kind {
        Kind::Pod => pods::COLUMNS,
        Kind::Event => events::COLUMNS,
        Kind::Service => services::SERVICE,
        Kind::Deployment => workloads::DEPLOYMENT,
        Kind::ReplicaSet | Kind::ReplicationController => workloads::REPLICA_SET,
        Kind::StatefulSet => workloads::STATEFUL_SET,
        Kind::DaemonSet => workloads::DAEMON_SET,
        Kind::Job => workloads::JOB,
        Kind::PodDisruptionBudget => workloads::BUDGET,
        Kind::PersistentVolume => storage::VOLUME,
        Kind::PersistentVolumeClaim => storage::CLAIM,
        Kind::StorageClass => storage::CLASS,
        Kind::CSIDriver => storage::DRIVER,
        Kind::CSINode => storage::CSI_NODE,
        Kind::CSIStorageCapacity => storage::CAPACITY,
        Kind::VolumeAttachment => storage::ATTACHMENT,
        Kind::Namespace => const { &[NAME, text("Status"), AGE] },
        Kind::PriorityClass => {
            const { &[NAME, number("Value"), flag("Global-Default"), AGE, text("PreemptionPolicy")] }
        }
        Kind::Lease => const { &[NAME, text("Holder"), AGE] },
        Kind::Node => {
            const {
                &[
                    NAME,
                    text("Status"),
                    text("Roles"),
                    AGE,
                    text("Version"),
                    wide("Internal-IP"),
                    wide("External-IP"),
                    wide("OS-Image"),
                    wide("Kernel-Version"),
                    wide("Container-Runtime"),
                ]
            }
        }
    }
}

fn cells(object: &Object, clock: Clock) -> Vec<Value> {
    let name = object.name();
    let age = clock.age(object.metadata());
    match object {
        Object::Pod(pod) => pods::cells(pod, clock),
        Object::Event(event) => events::cells(event, clock),
        Object::Service(service) => services::cells(service, &age),
        Object::Deployment(it) => workloads::deployment(it, &age),
        Object::ReplicaSet(it) => workloads::replica_set(it, &age),
        Object::ReplicationController(it) => workloads::replication_controller(it, &age),
        Object::StatefulSet(it) => workloads::stateful_set(it, &age),
        Object::DaemonSet(it) => workloads::daemon_set(it, &age),
        Object::Job(it) => workloads::job(it, clock),
        Object::PodDisruptionBudget(it) => workloads::budget(it, &age),
        Object::PersistentVolume(it) => storage::volume(it, &age),
        Object::PersistentVolumeClaim(it) => storage::claim(it, &age),
        Object::StorageClass(it) => storage::class(it, &age),
        Object::CSIDriver(it) => storage::driver(it, &age),
        Object::CSINode(it) => vec![name.into(), it.spec.drivers.len().into(), age.into()],
        Object::CSIStorageCapacity(it) => {
            let capacity = it.capacity.as_ref().map_or("<unset>", |capacity| &capacity.0);
            vec![name.into(), it.storage_class_name.as_str().into(), capacity.into()]
        }
        Object::VolumeAttachment(it) => storage::attachment(it, &age),
        Object::Namespace(it) => {
            let phase = it.status.as_ref().and_then(|status| status.phase.as_deref());
            vec![name.into(), phase.unwrap_or_default().into(), age.into()]
        }
        Object::PriorityClass(it) => vec![
            name.into(),
            it.value.unwrap_or(0).into(),
            it.global_default.unwrap_or(false).into(),
            age.into(),
            it.preemption_policy.as_deref().unwrap_or_default().into(),
        ],
        Object::Lease(it) => {
            let holder = it.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
            vec![name.into(), holder.unwrap_or_default().into(), age.into()]
        }
        Object::Node(node) => node_cells(node, &age),
    }
}

fn node_cells(node: &Node, age: &str) -> Vec<Value> {
    let status = node.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().flatten().find(|c| c.type_ == "Ready");
    let mut state = match ready.map(|ready| &*ready.status) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true)) {
        state.push_str(",SchedulingDisabled");
    }
    let labels = node.metadata.labels.iter().flatten();
    let mut roles: Vec<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then_some(&**value),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort_unstable();
    roles.dedup();
    let address = |kind: &str| {
        let all = status.addresses.iter().flatten();
        let found = all.into_iter().find(|address| address.type_ == kind);
        found.map_or_else(|| "<none>".to_owned(), |address| address.address.clone())
    };
    let info = status.node_info.clone().unwrap_or_default();
    let known = |text: &str| if text.is_empty() { "<unknown>" } else { text }.to_owned();
    let mut kernel = known(&info.kernel_version);
    if !info.architecture.is_empty() {
        kernel = format!("{kernel} ({})", info.architecture);
    }
    [
        node.metadata.name.clone().unwrap_or_default(),
        state,
        none_if_empty(&roles.join(",")),
        age.to_owned(),
        info.kubelet_version.clone(),
        address("InternalIP"),
        address("ExternalIP"),
        known(&info.os_image),
        kernel,
        known(&info.container_runtime_version),
    ]
    .map(Value::from)
    .into()
}
