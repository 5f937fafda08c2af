//! The kinds that a cluster keeps, and an object of any of them.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::Metadata;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::Value;

macro_rules! kinds {
    ($($kind:ident $scope:ident $plural:literal),* $(,)?) => {
        /// A kind of object. The order is the one in which objects that need each other are made.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("`", stringify!($kind), "`.")] $kind,)*
        }

        impl Kind {
            /// Every kind, in order.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// As `kind:` says it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Kind::$kind => stringify!($kind),)* }
            }

            /// As `apiVersion:` says it.
            #[must_use]
            pub fn api_version(self) -> &'static str {
                match self { $(Kind::$kind => <$kind as k8s_openapi::Resource>::API_VERSION,)* }
            }

            /// As a path of the API says it.
            #[must_use]
            pub fn plural(self) -> &'static str {
                match self { $(Kind::$kind => $plural,)* }
            }

            /// Whether its objects live in namespaces.
            #[must_use]
            pub fn is_namespaced(self) -> bool {
                match self { $(Kind::$kind => stringify!($scope) == "namespaced",)* }
            }
        }

        #[cfg(feature = "kubernetes")]
        impl Kind {
            /// Does something with the API type of this kind.
            pub(crate) fn with_type<D: WithType>(self, act: D) -> D::Output {
                match self { $(Kind::$kind => act.with::<$kind>(),)* }
            }
        }

        /// An object of any kind. Cloning one is cheap.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the variants are the kinds")]
        pub enum Object {
            $($kind(Arc<$kind>),)*
        }

        impl Object {
            /// Its kind.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self { $(Object::$kind(_) => Kind::$kind,)* }
            }

            /// Its metadata.
            #[must_use]
            pub fn metadata(&self) -> &ObjectMeta {
                match self { $(Object::$kind(object) => object.metadata(),)* }
            }

            /// Its metadata, to change. Copies an object that is shared.
            pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
                match self { $(Object::$kind(object) => Arc::make_mut(object).metadata_mut(),)* }
            }

            /// The object as the API prints it.
            ///
            /// # Errors
            /// None that is known: API types can be written as JSON.
            pub fn to_json(&self) -> serde_json::Result<Value> {
                match self { $(Object::$kind(object) => serde_json::to_value(&**object),)* }
            }

            /// Reads an object of a known kind.
            ///
            /// # Errors
            /// The path of the first field that does not read, and why.
            pub fn from_json(
                kind: Kind,
                value: &Value,
            ) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
                match kind {
                    $(Kind::$kind => serde_path_to_error::deserialize(value)
                        .map(|object: $kind| Object::$kind(Arc::new(object))),)*
                }
            }
        }

        $(
            impl Resource for $kind {
                const IN: Kind = Kind::$kind;

                fn of(object: &Object) -> Option<&Arc<Self>> {
                    match object {
                        Object::$kind(object) => Some(object),
                        _ => None,
                    }
                }
            }

            impl From<$kind> for Object {
                fn from(object: $kind) -> Self {
                    Object::$kind(Arc::new(object))
                }
            }

            impl From<Arc<$kind>> for Object {
                fn from(object: Arc<$kind>) -> Self {
                    Object::$kind(object)
                }
            }
        )*
    };
}

kinds! {
    Namespace cluster "namespaces",
    PriorityClass cluster "priorityclasses",
    StorageClass cluster "storageclasses",
    CSIDriver cluster "csidrivers",
    Node cluster "nodes",
    CSINode cluster "csinodes",
    CSIStorageCapacity namespaced "csistoragecapacities",
    PersistentVolume cluster "persistentvolumes",
    PersistentVolumeClaim namespaced "persistentvolumeclaims",
    VolumeAttachment cluster "volumeattachments",
    Service namespaced "services",
    PodDisruptionBudget namespaced "poddisruptionbudgets",
    Deployment namespaced "deployments",
    ReplicaSet namespaced "replicasets",
    ReplicationController namespaced "replicationcontrollers",
    StatefulSet namespaced "statefulsets",
    DaemonSet namespaced "daemonsets",
    Job namespaced "jobs",
    Pod namespaced "pods",
    Lease namespaced "leases",
    Event namespaced "events",
}

/// An API type that a cluster keeps.
pub trait Resource: Metadata<Ty = ObjectMeta> + Clone + Into<Object> {
    /// Its kind.
    const IN: Kind;

    /// The object, if it is of this type.
    fn of(object: &Object) -> Option<&Arc<Self>>;
}

/// What can be done with the API type of any kind.
#[cfg(feature = "kubernetes")]
pub(crate) trait WithType {
    type Output;

    fn with<T: Resource + Default + serde::de::DeserializeOwned>(self) -> Self::Output;
}

impl Kind {
    /// The kind that a manifest's `apiVersion` and `kind` mean, if it is kept here.
    #[must_use]
    pub fn from_type(api_version: &str, kind: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|k| k.name() == kind && k.api_version() == api_version)
    }

    /// The API group; empty for the core one.
    #[must_use]
    pub fn group(self) -> &'static str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// A key of this kind. The namespace counts only where the kind has one.
    #[must_use]
    pub fn key(self, namespace: &str, name: &str) -> Key {
        let namespace = if self.is_namespaced() { namespace } else { "" };
        Key { kind: self, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl Object {
    /// What it is found by. A namespaced object without a namespace is in `default`.
    #[must_use]
    pub fn key(&self) -> Key {
        let meta = self.metadata();
        let namespace = meta.namespace.as_deref().filter(|n| !n.is_empty()).unwrap_or("default");
        self.kind().key(namespace, meta.name.as_deref().unwrap_or_default())
    }

    /// Its name; empty where it has none yet.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata().name.as_deref().unwrap_or_default()
    }

    /// Its uid; empty for one that no cluster has taken yet.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata().uid.as_deref().unwrap_or_default()
    }

    /// Its resource version; 0 for one that no cluster has taken yet.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.metadata().resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0)
    }

    /// Whether its deletion was asked for.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        self.metadata().deletion_timestamp.is_some()
    }

    /// The pod, if it is one.
    #[must_use]
    pub fn as_pod(&self) -> Option<&Arc<Pod>> {
        Pod::of(self)
    }
}

/// What an object is found by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for kinds without.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} \"{}\"", self.kind.plural(), self.name)
        } else {
            write!(f, "{} \"{}/{}\"", self.kind.plural(), self.namespace, self.name)
        }
    }
}

/// The owner that manages an object.
pub(crate) fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Where the owner of an object in `namespace` is, if its kind is kept here.
pub(crate) fn owner_key(owner: &OwnerReference, namespace: &str) -> Option<Key> {
    Kind::from_type(&owner.api_version, &owner.kind).map(|kind| kind.key(namespace, &owner.name))
}
