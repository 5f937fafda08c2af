//! Replica sets.

use k8s_openapi::api::apps::v1 as api;

use crate::{ModelError, Selector, Text, World, metadata};

/// A replica set, for its selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaSet {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Which pods are its own.
    pub selector: Selector,
}

impl ReplicaSet {
    /// Compiles an API replica set.
    ///
    /// # Errors
    /// A replica set without a name.
    pub fn from_api(set: &api::ReplicaSet, world: &mut World) -> Result<Self, ModelError> {
        Ok(Self {
            namespace: metadata::namespace(&set.metadata, world),
            name: metadata::name(&set.metadata, world)?,
            selector: Selector::from_api(set.spec.as_ref().map(|spec| &spec.selector), world),
        })
    }
}
