//! Stateful sets.

use k8s_openapi::api::apps::v1 as api;

use crate::{ModelError, Selector, Text, World, metadata};

/// A stateful set, for its selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatefulSet {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Which pods are its own.
    pub selector: Selector,
}

impl StatefulSet {
    /// Compiles an API stateful set.
    ///
    /// # Errors
    /// A stateful set without a name.
    pub fn from_api(set: &api::StatefulSet, world: &mut World) -> Result<Self, ModelError> {
        Ok(Self {
            namespace: metadata::namespace(&set.metadata, world),
            name: metadata::name(&set.metadata, world)?,
            selector: Selector::from_api(set.spec.as_ref().map(|spec| &spec.selector), world),
        })
    }
}
