//! Replication controllers.

use k8s_openapi::api::core::v1 as api;

use crate::{Labels, ModelError, Text, World, metadata};

/// A replication controller, for its selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationController {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Labels that its pods have.
    pub selector: Labels,
}

impl ReplicationController {
    /// Compiles an API replication controller.
    ///
    /// # Errors
    /// A controller without a name.
    pub fn from_api(
        controller: &api::ReplicationController,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            namespace: metadata::namespace(&controller.metadata, world),
            name: metadata::name(&controller.metadata, world)?,
            selector: world
                .optional_labels(controller.spec.as_ref().and_then(|spec| spec.selector.as_ref())),
        })
    }
}
