//! CSI drivers.

use k8s_openapi::api::storage::v1 as api;

use crate::{ModelError, Text, World, metadata};

/// A CSI driver, for what it asks of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriver {
    /// Its name.
    pub name: Text,
    /// Whether it publishes how much it can store where.
    pub storage_capacity: bool,
    /// Whether pods must stay off nodes without it (gate VolumeLimitScaling).
    pub prevent_pod_scheduling_if_missing: bool,
}

impl CsiDriver {
    /// Compiles an API CSIDriver.
    ///
    /// # Errors
    /// A driver without a name.
    pub fn from_api(driver: &api::CSIDriver, world: &mut World) -> Result<Self, ModelError> {
        Ok(Self {
            name: metadata::name(&driver.metadata, world)?,
            storage_capacity: driver.spec.storage_capacity.unwrap_or_default(),
            prevent_pod_scheduling_if_missing: driver
                .spec
                .prevent_pod_scheduling_if_missing
                .unwrap_or_default(),
        })
    }
}
