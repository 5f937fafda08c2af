//! What the server says of itself: its version, groups and resources.

use serde_json::{Value, json};

use super::routing::{CORE, Subresource, speaks};
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
        "versions": [CORE],
        "serverAddressByClientCIDRs": [],
    })
}

/// Every API version outside the core group, each once.
pub(super) fn grouped_versions() -> Vec<&'static str> {
    let mut versions: Vec<&str> = Vec::new();
    for kind in Kind::ALL.iter().filter(|kind| !kind.group().is_empty()) {
        if !versions.contains(&kind.api_version()) {
            versions.push(kind.api_version());
        }
    }
    versions.push(AUTHORIZATION);
    versions
}

pub(super) fn groups() -> Value {
    let groups: Vec<Value> = grouped_versions().into_iter().map(describe_group).collect();
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
    let (name, version) = split(api_version);
    let version = json!({ "groupVersion": api_version, "version": version });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

pub(super) fn resources(api_version: &str) -> Value {
    let all = resources_of(api_version);
    let resources: Vec<Value> = all.iter().flat_map(|resource| resource.listed()).collect();
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version,
        "resources": resources,
    })
}

/// The core group with all that is in it.
pub(super) fn aggregated_core() -> Value {
    aggregate(&[CORE])
}

/// All other groups with all that is in them.
pub(super) fn aggregated_groups() -> Value {
    aggregate(&grouped_versions())
}

fn aggregate(api_versions: &[&str]) -> Value {
    let groups = api_versions.iter().map(|api_version| {
        let (name, version) = split(api_version);
        let all = resources_of(api_version);
        let resources: Vec<Value> = all.iter().map(Resource::aggregated).collect();
        let metadata = if name.is_empty() { json!({}) } else { json!({ "name": name }) };
        let version = json!({ "version": version, "freshness": "Current", "resources": resources });
        json!({ "metadata": metadata, "versions": [version] })
    });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": groups.collect::<Vec<_>>(),
    })
}

/// What stands in a path after its version.
struct Resource {
    plural: &'static str,
    /// What it is made of: group, version and kind.
    of: [&'static str; 3],
    is_namespaced: bool,
    verbs: &'static [&'static str],
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    parts: Vec<Part>,
}

struct Part {
    name: &'static str,
    of: [&'static str; 3],
    verbs: &'static [&'static str],
}

fn resources_of(api_version: &str) -> Vec<Resource> {
    let kinds = Kind::ALL.iter().copied().filter(|kind| speaks(*kind, api_version));
    let mut resources: Vec<Resource> = kinds
        .map(|kind| {
            // An Event is in two groups.
            let (group, version) =
                if api_version == CORE { ("", CORE) } else { split(kind.api_version()) };
            let of = [group, version, kind.name()];
            let parts = Subresource::all(kind);
            Resource {
                plural: kind.plural(),
                of,
                is_namespaced: kind.is_namespaced(),
                verbs: VERBS,
                short_names: short_names(kind),
                categories: if is_in_all(kind) { &["all"] } else { &[] },
                parts: parts.iter().map(|(name, part)| Part::of(name, *part, of)).collect(),
            }
        })
        .collect();
    let reviewed = match api_version {
        CORE => Some(("bindings", ["", CORE, "Binding"], true)),
        AUTHORIZATION => Some((
            "selfsubjectaccessreviews",
            ["authorization.k8s.io", "v1", "SelfSubjectAccessReview"],
            false,
        )),
        _ => None,
    };
    resources.extend(reviewed.map(|(plural, of, is_namespaced)| Resource {
        plural,
        of,
        is_namespaced,
        verbs: &["create"],
        short_names: &[],
        categories: &[],
        parts: Vec::new(),
    }));
    resources
}

impl Resource {
    fn singular(&self) -> String {
        self.of[2].to_lowercase()
    }

    /// It and its parts, as the older form of discovery has them: side by side.
    fn listed(&self) -> Vec<Value> {
        let mut whole = json!({
            "name": self.plural,
            "singularName": self.singular(),
            "namespaced": self.is_namespaced,
            "kind": self.of[2],
            "verbs": self.verbs,
        });
        if !self.short_names.is_empty() {
            whole["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            whole["categories"] = json!(self.categories);
        }
        let parts = self.parts.iter().map(|part| {
            let mut listed = json!({
                "name": format!("{}/{}", self.plural, part.name),
                "singularName": "",
                "namespaced": self.is_namespaced,
                "kind": part.of[2],
                "verbs": part.verbs,
            });
            if part.of[..2] != self.of[..2] {
                listed["group"] = part.of[0].into();
                listed["version"] = part.of[1].into();
            }
            listed
        });
        std::iter::once(whole).chain(parts).collect()
    }

    fn aggregated(&self) -> Value {
        let kind = |of: [&str; 3]| json!({ "group": of[0], "version": of[1], "kind": of[2] });
        let parts = self.parts.iter().map(|part| {
            json!({
                "subresource": part.name, "responseKind": kind(part.of), "verbs": part.verbs,
            })
        });
        json!({
            "resource": self.plural,
            "responseKind": kind(self.of),
            "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular(),
            "verbs": self.verbs,
            "shortNames": self.short_names,
            "categories": self.categories,
            "subresources": parts.collect::<Vec<_>>(),
        })
    }
}

impl Part {
    fn of(name: &'static str, part: Subresource, whole: [&'static str; 3]) -> Self {
        let (of, verbs): (_, &'static [&'static str]) = match part {
            Subresource::Binding => (["", CORE, "Binding"], &["create"]),
            Subresource::Eviction => (["policy", "v1", "Eviction"], &["create"]),
            Subresource::Scale => (["autoscaling", "v1", "Scale"], CHANGES),
            Subresource::Status | Subresource::Resize => (whole, CHANGES),
        };
        Self { name, of, verbs }
    }
}

/// The group and the version.
pub(super) fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
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

/// Whether `kubectl get all` shows it.
fn is_in_all(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod
            | Kind::ReplicationController
            | Kind::Service
            | Kind::DaemonSet
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::Job
    )
}

/// Where clients ask what they may do.
pub(super) const AUTHORIZATION: &str = "authorization.k8s.io/v1";

const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const CHANGES: &[&str] = &["get", "patch", "update"];
