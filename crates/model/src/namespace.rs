//! Namespaces.

use k8s_openapi::api::core::v1 as api;

use crate::{Labels, ModelError, Text, World, metadata};

/// A namespace, for its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: Text,
    /// Its labels.
    pub labels: Labels,
}

impl Namespace {
    /// Compiles an API namespace.
    ///
    /// # Errors
    /// A namespace without a name.
    pub fn from_api(namespace: &api::Namespace, world: &mut World) -> Result<Self, ModelError> {
        Ok(Self {
            name: metadata::name(&namespace.metadata, world)?,
            labels: world.optional_labels(namespace.metadata.labels.as_ref()),
        })
    }
}
