//! How much a CSI driver can store where.

use k8s_openapi::api::storage::v1 as api;

use crate::resources::parse;
use crate::{Labels, ModelError, Selector, Text, World, metadata};

/// What is left of a storage class for some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiStorageCapacity {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// The storage class.
    pub class: Text,
    /// How much is left, in bytes.
    pub capacity_bytes: Option<i64>,
    /// The largest volume that can be made, in bytes: what the driver says, else what is left.
    pub limit_bytes: Option<i64>,
    node_topology: Selector,
}

impl CsiStorageCapacity {
    /// Compiles an API CSIStorageCapacity.
    ///
    /// # Errors
    /// An object without a name, or a quantity that cannot be read.
    pub fn from_api(
        capacity: &api::CSIStorageCapacity,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        let left =
            capacity.capacity.as_ref().map(parse).transpose().map_err(|e| e.at("capacity"))?;
        let largest = capacity.maximum_volume_size.as_ref().map(parse).transpose();
        let largest = largest.map_err(|e| e.at("maximumVolumeSize"))?;
        Ok(Self {
            namespace: metadata::namespace(&capacity.metadata, world),
            name: metadata::name(&capacity.metadata, world)?,
            class: world.text(&capacity.storage_class_name),
            capacity_bytes: left.map(|quantity| quantity.value()),
            limit_bytes: largest.or(left).map(|quantity| quantity.value()),
            node_topology: Selector::from_api(capacity.node_topology.as_ref(), world),
        })
    }

    /// Whether nodes with these labels have access. Without a valid topology none has.
    #[must_use]
    pub fn is_accessible(&self, labels: &Labels) -> bool {
        self.node_topology.matches(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn limits_and_access() {
        let rows = [
            // object, capacity, limit, accessible from zone=z1
            (json!({}), None, None, false),
            (json!({"capacity": "1Ki"}), Some(1024), Some(1024), false),
            (json!({"capacity": "1Ki", "maximumVolumeSize": "5"}), Some(1024), Some(5), false),
            (json!({"maximumVolumeSize": "5", "nodeTopology": {}}), None, Some(5), true),
            (json!({"nodeTopology": {"matchLabels": {"zone": "z1"}}}), None, None, true),
            (json!({"nodeTopology": {"matchLabels": {"zone": "z2"}}}), None, None, false),
            (
                json!({"nodeTopology": {"matchExpressions": [{"key": "zone", "operator": "In"}]}}),
                None,
                None,
                false,
            ),
        ];
        for (mut api, left, limit, accessible) in rows {
            let mut world = World::new();
            api["metadata"] = json!({"name": "c"});
            api["storageClassName"] = json!("s");
            let capacity = CsiStorageCapacity::from_api(
                &serde_json::from_value(api.clone()).unwrap(),
                &mut world,
            );
            let capacity = capacity.unwrap();
            let labels = world.labels(&[("zone".to_owned(), "z1".to_owned())].into());
            assert_eq!((capacity.capacity_bytes, capacity.limit_bytes), (left, limit), "{api}");
            assert_eq!(capacity.is_accessible(&labels), accessible, "{api}");
        }
    }
}
