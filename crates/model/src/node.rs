//! Nodes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as api;

use crate::migration::{BETA_REGION, BETA_ZONE, REGION, ZONE};
use crate::pool::hash_of;
use crate::resources::ResourceList;
use crate::{Labels, ModelError, Resources, Taint, Text, World, metadata};

/// A node as its object describes it. What runs there is for the cache to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: Text,
    /// Its labels.
    pub labels: Labels,
    /// Its taints, in their order.
    pub taints: Box<[Taint]>,
    /// Whether it is cordoned off.
    pub unschedulable: bool,
    /// What pods can have of it.
    pub allocatable: Resources,
    /// The images it holds.
    pub images: Box<[NodeImage]>,
    /// The status of each condition by type, sorted.
    pub conditions: Box<[(Text, Text)]>,
    /// Features its kubelet declares, as listed.
    pub declared_features: Box<[Text]>,
    /// Region and zone in one; nodes that say neither share the empty zone.
    pub zone: Text,
    exact_allocatable: ResourceList,
    annotations_hash: u64,
}

/// An image that a node holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeImage {
    /// All its names, as the node lists them.
    pub names: Box<[Text]>,
    /// Its size in bytes.
    pub size_bytes: i64,
}

impl Node {
    /// Compiles an API node.
    ///
    /// # Errors
    /// A node without a name, or an allocatable quantity that cannot be read.
    pub fn from_api(node: &api::Node, world: &mut World) -> Result<Self, ModelError> {
        let (spec, status) = (node.spec.as_ref(), node.status.as_ref());
        let allocatable =
            ResourceList::from_api(status.and_then(|s| s.allocatable.as_ref()), world)
                .map_err(|e| e.at("status.allocatable"))?;
        let labels = world.optional_labels(node.metadata.labels.as_ref());
        let annotations =
            node.metadata.annotations.as_ref().filter(|annotations| !annotations.is_empty());
        let taints = spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
        let images = status.and_then(|status| status.images.as_deref()).unwrap_or_default();
        Ok(Self {
            name: metadata::name(&node.metadata, world)?,
            zone: zone(&labels, world),
            labels,
            taints: taints.iter().map(|taint| Taint::from_api(taint, world)).collect(),
            unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or_default(),
            allocatable: Resources::from_list(&allocatable),
            images: images.iter().map(|image| NodeImage::from_api(image, world)).collect(),
            conditions: conditions(status, world),
            declared_features: world.texts(
                status.and_then(|status| status.declared_features.as_deref()).unwrap_or_default(),
            ),
            exact_allocatable: allocatable,
            annotations_hash: annotations.map_or(0, hash_of),
        })
    }

    /// Whether the allocatable amounts of both are the same, to the last digit and in all
    /// resources, also those that no plugin counts.
    #[must_use]
    pub fn has_same_allocatable(&self, other: &Node) -> bool {
        self.exact_allocatable == other.exact_allocatable
    }

    /// Whether the annotations of both are the same. Only a hash of them is kept.
    #[must_use]
    pub fn has_same_annotations(&self, other: &Node) -> bool {
        self.annotations_hash == other.annotations_hash
    }
}

impl NodeImage {
    fn from_api(image: &api::ContainerImage, world: &mut World) -> Self {
        Self {
            names: world.texts(image.names.as_deref().unwrap_or_default()),
            size_bytes: image.size_bytes.unwrap_or_default(),
        }
    }
}

/// Of two conditions of one type the later counts.
fn conditions(status: Option<&api::NodeStatus>, world: &mut World) -> Box<[(Text, Text)]> {
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let by_type: BTreeMap<&str, &str> = conditions
        .iter()
        .map(|condition| (condition.type_.as_str(), condition.status.as_str()))
        .collect();
    by_type.into_iter().map(|(type_, status)| (world.text(type_), world.text(status))).collect()
}

/// The old labels win over the new ones.
fn zone(labels: &Labels, world: &mut World) -> Text {
    let first =
        |old, new| labels.get_str(old).or_else(|| labels.get_str(new)).map_or("", Text::as_str);
    let (region, zone) = (first(BETA_REGION, REGION), first(BETA_ZONE, ZONE));
    if region.is_empty() && zone.is_empty() {
        return world.text("");
    }
    // A zero byte keeps a colon in a name from making two zones one.
    world.text(&format!("{region}:\0:{zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn zones() {
        let rows = [
            (json!({}), ""),
            (json!({ZONE: "z1"}), ":\0:z1"),
            (json!({REGION: "r1"}), "r1:\0:"),
            (json!({REGION: "r1", ZONE: "z1"}), "r1:\0:z1"),
            (json!({BETA_ZONE: "old", ZONE: "new", BETA_REGION: "r0", REGION: "r1"}), "r0:\0:old"),
            (json!({BETA_ZONE: "", ZONE: "new"}), ""),
        ];
        for (labels, expected) in rows {
            let node = testing::node(&mut World::new(), json!({"metadata": {"labels": labels}}));
            assert_eq!(node.zone, expected, "{labels}");
        }
    }

    #[test]
    fn a_bad_allocatable_is_named() {
        let api = json!({"metadata": {"name": "n"}, "status": {"allocatable": {"memory": "8GB"}}});
        let error =
            Node::from_api(&serde_json::from_value(api).unwrap(), &mut World::new()).unwrap_err();
        assert_eq!(error.path(), "status.allocatable[memory]");
    }

    #[test]
    fn images_keep_the_names_the_node_gives() {
        let node = testing::node(
            &mut World::new(),
            json!({"status": {"images": [{"names": ["a", "a:1"], "sizeBytes": 7}, {"names": []}]}}),
        );
        let images: Vec<_> = node.images.iter().map(|i| (i.names.len(), i.size_bytes)).collect();
        assert_eq!(images, [(2, 7), (0, 0)]);
        assert_eq!(node.images[0].names[0], "a");
    }
}
