//! What a path means.

use serde_json::Value;

use super::status::Refusal;
use super::{core_events, discovery, openapi};
use crate::{Key, Kind, Object};

/// What is asked for.
pub(super) enum Route {
    /// An object or some of a kind.
    Objects(Target),
    /// What the server is and has.
    Document(Box<dyn Fn() -> Value>),
    /// What it has, in either form.
    Groups { plain: fn() -> Value, aggregated: fn() -> Value },
    /// What the client may do.
    Review,
    /// The older description of the API, in which there is nothing.
    OldOpenApi,
    /// That it is well.
    Text(&'static str),
}

/// The objects that a request is about.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) kind: Kind,
    /// The API version that the client speaks of them in.
    pub(super) version: &'static str,
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
            ["api"] => Some(Route::Groups {
                plain: discovery::core_versions,
                aggregated: discovery::aggregated_core,
            }),
            ["apis"] => Some(Route::Groups {
                plain: discovery::groups,
                aggregated: discovery::aggregated_groups,
            }),
            ["openapi", "v2"] => Some(Route::OldOpenApi),
            ["openapi", "v3"] => Some(Route::Document(Box::new(openapi::index))),
            ["openapi", "v3", "api", CORE] => {
                Some(Route::Document(Box::new(|| openapi::document(CORE))))
            }
            ["openapi", "v3", "apis", group, version] => {
                let version = known_version(|known| *known == format!("{group}/{version}"))?;
                Some(Route::Document(Box::new(move || openapi::document(version))))
            }
            ["api", CORE] => Some(Route::Document(Box::new(|| discovery::resources(CORE)))),
            ["api", CORE, ref rest @ ..] => Target::of(CORE, rest).map(Route::Objects),
            ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"] => {
                Some(Route::Review)
            }
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
    discovery::grouped_versions().into_iter().find(is)
}

/// Whether objects of a kind can be spoken of in an API version: their own, or for Events the core
/// group's.
pub(super) fn speaks(kind: Kind, version: &str) -> bool {
    kind.api_version() == version || (kind == Kind::Event && version == CORE)
}

impl Target {
    fn of(version: &'static str, path: &[&str]) -> Option<Self> {
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
        if (version, plural, name) == (CORE, "bindings", None) && namespace.is_some() {
            let subresource = Some(Subresource::Binding);
            return Some(Self { kind: Kind::Pod, version, namespace, name: None, subresource });
        }
        let is_kind = |kind: &Kind| kind.plural() == plural && speaks(*kind, version);
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
        fits.then(|| Self { kind, version, namespace, name: name.map(str::to_owned), subresource })
    }

    /// Whether the path says all that a new object's place needs.
    pub(super) fn takes_namespace(&self) -> bool {
        self.namespace.is_some() || !self.kind.is_namespaced()
    }

    /// Whether it is about Events under their older names.
    pub(super) fn is_core_event(&self) -> bool {
        self.kind == Kind::Event && self.version == CORE
    }

    /// An object as the client speaks of it.
    pub(super) fn json_of(&self, object: &Object) -> Result<Value, Refusal> {
        let json = object.to_json().map_err(|error| Refusal::internal(&error.to_string()))?;
        Ok(if self.is_core_event() { core_events::to_core(json) } else { json })
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

/// The version of the core group, which has no name.
pub(super) const CORE: &str = "v1";
