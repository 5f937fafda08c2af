//! What a path means.

use serde_json::Value;

use super::discovery;
use crate::{Key, Kind};

/// What is asked for.
pub(super) enum Route {
    /// An object or some of a kind.
    Objects(Target),
    /// What the server is and has.
    Document(Box<dyn Fn() -> Value>),
    /// That it is well.
    Text(&'static str),
}

/// The objects that a request is about.
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<Subresource>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresource {
    Status,
    Binding,
    Eviction,
    Scale,
    Resize,
}

impl Route {
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match parts[..] {
            ["livez" | "readyz" | "healthz"] => Some(Route::Text("ok")),
            ["version"] => Some(Route::Document(Box::new(discovery::version))),
            ["api"] => Some(Route::Document(Box::new(discovery::core_versions))),
            ["apis"] => Some(Route::Document(Box::new(discovery::groups))),
            ["api", "v1"] => Some(Route::Document(Box::new(|| discovery::resources("v1")))),
            ["api", "v1", ref rest @ ..] => Target::of("v1", rest).map(Route::Objects),
            ["apis", group] => {
                let version = known_version(|known| known.split('/').next() == Some(group))?;
                Some(Route::Document(Box::new(move || discovery::group(version))))
            }
            ["apis", group, version, ref rest @ ..] => {
                let version = known_version(|known| *known == format!("{group}/{version}"))?;
                if rest.is_empty() {
                    return Some(Route::Document(Box::new(move || discovery::resources(version))));
                }
                Target::of(version, rest).map(Route::Objects)
            }
            _ => None,
        }
    }
}

fn known_version(is: impl Fn(&&'static str) -> bool) -> Option<&'static str> {
    let grouped = Kind::ALL.iter().filter(|kind| !kind.group().is_empty());
    grouped.map(|kind| kind.api_version()).find(is)
}

impl Target {
    fn of(version: &str, path: &[&str]) -> Option<Self> {
        let (namespace, path) = match path {
            // The namespace itself, or a part of it.
            ["namespaces", _, "status" | "finalize"] => (None, path),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, path),
        };
        let (plural, name, part) = match *path {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(name), None),
            [plural, name, part] => (plural, Some(name), Some(part)),
            _ => return None,
        };
        let namespace = namespace.map(str::to_owned);
        if (version, plural, name) == ("v1", "bindings", None) && namespace.is_some() {
            let subresource = Some(Subresource::Binding);
            return Some(Self { kind: Kind::Pod, namespace, name: None, subresource });
        }
        let is_kind = |kind: &Kind| kind.plural() == plural && kind.api_version() == version;
        let kind = Kind::ALL.iter().copied().find(is_kind)?;
        // A name in a namespace needs one, and one that is in none has none.
        let fits = if kind.is_namespaced() {
            name.is_none() || namespace.is_some()
        } else {
            namespace.is_none()
        };
        let subresource = match part {
            Some(part) => Some(Subresource::of(kind, part)?),
            None => None,
        };
        fits.then(|| Self { kind, namespace, name: name.map(str::to_owned), subresource })
    }

    /// Whether the path says all that a new object's place needs.
    pub(super) fn takes_namespace(&self) -> bool {
        self.namespace.is_some() || !self.kind.is_namespaced()
    }

    /// The key of the object. Of a collection, the key before all of its own.
    pub(super) fn key(&self) -> Key {
        let [namespace, name] =
            [&self.namespace, &self.name].map(|part| part.as_deref().unwrap_or_default());
        self.kind.key(namespace, name)
    }
}

impl Subresource {
    /// The subresources that a kind has.
    pub(super) fn all(kind: Kind) -> &'static [(&'static str, Self)] {
        const STATUS: (&str, Subresource) = ("status", Subresource::Status);
        const SCALE: (&str, Subresource) = ("scale", Subresource::Scale);
        match kind {
            Kind::Pod => &[
                ("binding", Self::Binding),
                ("eviction", Self::Eviction),
                ("resize", Self::Resize),
                STATUS,
            ],
            Kind::Deployment
            | Kind::ReplicaSet
            | Kind::ReplicationController
            | Kind::StatefulSet => &[SCALE, STATUS],
            Kind::Node
            | Kind::Namespace
            | Kind::DaemonSet
            | Kind::Job
            | Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::PodDisruptionBudget
            | Kind::Service
            | Kind::VolumeAttachment => &[STATUS],
            _ => &[],
        }
    }

    fn of(kind: Kind, name: &str) -> Option<Self> {
        Self::all(kind).iter().find(|(known, _)| *known == name).map(|(_, part)| *part)
    }
}
