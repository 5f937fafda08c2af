//! What the server says of itself: its version, groups and resources.

use serde_json::{Value, json};

use super::routing::Subresource;
use crate::Kind;

pub(super) fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "gitVersion": "v1.36.4+roadstead",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": "embedded",
    })
}

pub(super) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

pub(super) fn groups() -> Value {
    let mut versions: Vec<&str> = Vec::new();
    for kind in Kind::ALL.iter().filter(|kind| !kind.group().is_empty()) {
        if !versions.contains(&kind.api_version()) {
            versions.push(kind.api_version());
        }
    }
    let groups: Vec<Value> = versions.into_iter().map(describe_group).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// One group, by its one version.
pub(super) fn group(api_version: &str) -> Value {
    let mut group = describe_group(api_version);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    group
}

fn describe_group(api_version: &str) -> Value {
    let (name, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let version = json!({ "groupVersion": api_version, "version": version });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

pub(super) fn resources(api_version: &str) -> Value {
    let mut resources = Vec::new();
    for kind in Kind::ALL.iter().filter(|kind| kind.api_version() == api_version) {
        resources.push(json!({
            "name": kind.plural(),
            "singularName": kind.name().to_lowercase(),
            "namespaced": kind.is_namespaced(),
            "kind": kind.name(),
            "verbs": VERBS,
            "shortNames": short_names(*kind),
        }));
        for (name, part) in Subresource::all(*kind) {
            resources.push(describe_part(*kind, name, *part));
        }
    }
    if api_version == "v1" {
        resources.push(json!({
            "name": "bindings",
            "singularName": "binding",
            "namespaced": true,
            "kind": "Binding",
            "verbs": ["create"],
        }));
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": resources,
    })
}

fn describe_part(kind: Kind, name: &str, part: Subresource) -> Value {
    let name = format!("{}/{name}", kind.plural());
    let mut description = json!({
        "name": name, "singularName": "", "namespaced": kind.is_namespaced(),
        "kind": kind.name(), "verbs": ["get", "patch", "update"],
    });
    let other = match part {
        Subresource::Binding => Some(("Binding", "", "v1", true)),
        Subresource::Eviction => Some(("Eviction", "policy", "v1", true)),
        Subresource::Scale => Some(("Scale", "autoscaling", "v1", false)),
        Subresource::Status | Subresource::Resize => None,
    };
    if let Some((kind, group, version, is_made)) = other {
        description["kind"] = kind.into();
        description["group"] = group.into();
        description["version"] = version.into();
        if is_made {
            description["verbs"] = json!(["create"]);
        }
    }
    description
}

fn short_names(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Namespace => &["ns"],
        Kind::PriorityClass => &["pc"],
        Kind::StorageClass => &["sc"],
        Kind::Node => &["no"],
        Kind::PersistentVolume => &["pv"],
        Kind::PersistentVolumeClaim => &["pvc"],
        Kind::Service => &["svc"],
        Kind::PodDisruptionBudget => &["pdb"],
        Kind::Deployment => &["deploy"],
        Kind::ReplicaSet => &["rs"],
        Kind::ReplicationController => &["rc"],
        Kind::StatefulSet => &["sts"],
        Kind::DaemonSet => &["ds"],
        Kind::Pod => &["po"],
        Kind::Event => &["ev"],
        _ => &[],
    }
}

const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
