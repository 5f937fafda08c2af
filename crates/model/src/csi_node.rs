//! CSI drivers on a node.

use k8s_openapi::api::storage::v1 as api;

use crate::{InTreePlugin, ModelError, Text, World, metadata};

/// What a node's CSI drivers can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// The node's name.
    pub name: Text,
    /// The drivers installed there, with how many volumes each can attach, if that is limited.
    pub drivers: Box<[(Text, Option<i32>)]>,
    /// The annotation that lists migrated plugins, "" if absent: hints look at its text.
    pub migrated_annotation: Text,
    migrated: Box<[InTreePlugin]>,
}

impl CsiNode {
    /// Compiles an API CSINode.
    ///
    /// # Errors
    /// A CSINode without a name.
    pub fn from_api(node: &api::CSINode, world: &mut World) -> Result<Self, ModelError> {
        let annotation =
            metadata::annotation(&node.metadata, "storage.alpha.kubernetes.io/migrated-plugins");
        let annotation = annotation.map_or("", String::as_str);
        let limit = |driver: &api::CSINodeDriver| driver.allocatable.as_ref().and_then(|a| a.count);
        Ok(Self {
            name: metadata::name(&node.metadata, world)?,
            drivers: node.spec.drivers.iter().map(|d| (world.text(&d.name), limit(d))).collect(),
            migrated_annotation: world.text(annotation),
            migrated: annotation.split(',').filter_map(InTreePlugin::from_name).collect(),
        })
    }

    /// How many volumes of `driver` can be attached, if that is limited.
    #[must_use]
    pub fn limit(&self, driver: &Text) -> Option<i32> {
        self.drivers.iter().find(|(name, _)| name == driver).and_then(|(_, limit)| *limit)
    }

    /// Whether `driver` is installed.
    #[must_use]
    pub fn has_driver(&self, driver: &Text) -> bool {
        self.drivers.iter().any(|(name, _)| name == driver)
    }

    /// Whether the node has moved this in-tree plugin to CSI.
    #[must_use]
    pub fn is_migrated(&self, plugin: InTreePlugin) -> bool {
        self.migrated.contains(&plugin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn drivers_limits_and_migration() {
        let mut world = World::new();
        let api = json!({"metadata": {"name": "n", "annotations": {
            "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,kubernetes.io/unknown"}},
            "spec": {"drivers": [{"name": "a", "nodeID": "n", "allocatable": {"count": 3}}, {"name": "b", "nodeID": "n"}]}});
        let node = CsiNode::from_api(&serde_json::from_value(api).unwrap(), &mut world).unwrap();
        let (a, b, c) = (world.text("a"), world.text("b"), world.text("c"));
        assert_eq!((node.limit(&a), node.limit(&b), node.limit(&c)), (Some(3), None, None));
        assert!(node.has_driver(&b) && !node.has_driver(&c));
        assert!(node.is_migrated(InTreePlugin::AwsEbs) && !node.is_migrated(InTreePlugin::GcePd));
        assert_eq!(node.migrated_annotation, "kubernetes.io/aws-ebs,kubernetes.io/unknown");
    }
}
