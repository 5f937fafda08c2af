//! Device classes.

use k8s_openapi::api::resource::v1 as api;

use crate::{ModelError, Text, World, metadata};

/// A class of devices, for the extended resources that it stands behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    /// Its name.
    pub name: Text,
    /// The extended resource that pods may ask for instead of a claim.
    pub extended_resource: Option<Text>,
    /// The resource by which every class can be asked for.
    pub implicit_resource: Text,
}

impl DeviceClass {
    /// Compiles an API device class.
    ///
    /// # Errors
    /// A class without a name.
    pub fn from_api(class: &api::DeviceClass, world: &mut World) -> Result<Self, ModelError> {
        let name = metadata::name(&class.metadata, world)?;
        Ok(Self {
            extended_resource: world.optional_text(class.spec.extended_resource_name.as_ref()),
            implicit_resource: world.text(&format!("deviceclass.resource.kubernetes.io/{name}")),
            name,
        })
    }
}
