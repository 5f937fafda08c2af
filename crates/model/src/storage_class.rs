//! Storage classes.

use k8s_openapi::api::core::v1::TopologySelectorTerm;
use k8s_openapi::api::storage::v1 as api;

use crate::validity::{label_key_errors, label_value_errors};
use crate::{InTreePlugin, Labels, ModelError, Text, World, metadata};

/// A storage class: how and where volumes are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClass {
    /// Its name.
    pub name: Text,
    /// Who makes volumes; may be empty.
    pub provisioner: Text,
    /// The provisioner, if it is an in-tree plugin that has moved to CSI.
    pub in_tree: Option<InTreePlugin>,
    /// When volumes are bound; the API server fills this in, but old objects may lack it.
    pub binding_mode: Option<BindingMode>,
    /// Where volumes may be made; empty is anywhere.
    pub allowed_topologies: Box<[TopologyTerm]>,
}

/// When claims of a class are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindingMode {
    /// As soon as they appear; also a mode this release does not know.
    Immediate,
    /// When a pod that uses them is scheduled.
    WaitForFirstConsumer,
}

/// Labels of nodes for which volumes can be made: for each key one of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyTerm {
    /// Keys and values, as the class lists them.
    pub labels: Box<[(Text, Box<[Text]>)]>,
    /// Whether it can match at all: it is not empty, and no key or value is impossible.
    can_match: bool,
}

impl StorageClass {
    /// Compiles an API storage class.
    ///
    /// # Errors
    /// A class without a name.
    pub fn from_api(class: &api::StorageClass, world: &mut World) -> Result<Self, ModelError> {
        let topologies = class.allowed_topologies.as_deref().unwrap_or_default();
        Ok(Self {
            name: metadata::name(&class.metadata, world)?,
            provisioner: world.text(&class.provisioner),
            in_tree: InTreePlugin::from_name(&class.provisioner),
            binding_mode: match class.volume_binding_mode.as_deref() {
                None => None,
                Some("WaitForFirstConsumer") => Some(BindingMode::WaitForFirstConsumer),
                Some(_) => Some(BindingMode::Immediate),
            },
            allowed_topologies: topologies
                .iter()
                .map(|term| TopologyTerm::from_api(term, world))
                .collect(),
        })
    }

    /// Whether a provisioner can make volumes for it at all.
    #[must_use]
    pub fn can_provision(&self) -> bool {
        !matches!(self.provisioner.as_str(), "" | "kubernetes.io/no-provisioner")
    }

    /// Whether volumes may be made for nodes with these labels.
    #[must_use]
    pub fn allows(&self, labels: &Labels) -> bool {
        self.allowed_topologies.is_empty()
            || self.allowed_topologies.iter().any(|term| term.matches(labels))
    }
}

impl TopologyTerm {
    fn from_api(term: &TopologySelectorTerm, world: &mut World) -> Self {
        let expressions = term.match_label_expressions.as_deref().unwrap_or_default();
        let can_match = !expressions.is_empty()
            && expressions.iter().all(|e| {
                !e.values.is_empty()
                    && label_key_errors(&e.key).is_empty()
                    && e.values.iter().all(|value| label_value_errors(value).is_empty())
            });
        let labels =
            expressions.iter().map(|e| (world.text(&e.key), world.texts(&e.values))).collect();
        Self { labels, can_match }
    }

    fn matches(&self, labels: &Labels) -> bool {
        self.can_match
            && self
                .labels
                .iter()
                .all(|(key, values)| labels.get(key).is_some_and(|value| values.contains(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn class(world: &mut World, mut api: Value) -> StorageClass {
        api["metadata"] = json!({"name": "c"});
        if api["provisioner"].is_null() {
            api["provisioner"] = json!("csi.example.com");
        }
        StorageClass::from_api(&serde_json::from_value(api).unwrap(), world).unwrap()
    }

    #[test]
    fn where_volumes_may_be_made() {
        let term = |key: &str, values: &[&str]| json!({"matchLabelExpressions": [{"key": key, "values": values}]});
        let rows = [
            // topologies, allows zone=z1
            (json!(null), true),
            (json!([]), true),
            (json!([{}]), false),
            (json!([term("zone", &["z1", "z2"])]), true),
            (json!([term("zone", &["z2"])]), false),
            (json!([term("zone", &["z2"]), term("zone", &["z1"])]), true),
            (json!([term("rack", &["r1"])]), false),
            (json!([term("zone", &["z1", "no label"])]), false),
            (
                json!([{"matchLabelExpressions": [{"key": "zone", "values": ["z1"]}, {"key": "rack", "values": ["r"]}]}]),
                false,
            ),
        ];
        for (topologies, expected) in rows {
            let mut world = World::new();
            let labels = world.labels(&[("zone".to_owned(), "z1".to_owned())].into());
            let class = class(&mut world, json!({"allowedTopologies": topologies}));
            assert_eq!(class.allows(&labels), expected, "{topologies}");
        }
    }

    #[test]
    fn provisioners_and_modes() {
        let mut world = World::new();
        let plain = class(&mut world, json!({}));
        assert_eq!((plain.binding_mode, plain.in_tree, plain.can_provision()), (None, None, true));
        let ebs = class(
            &mut world,
            json!({"provisioner": "kubernetes.io/aws-ebs", "volumeBindingMode": "WaitForFirstConsumer"}),
        );
        assert_eq!(
            (ebs.binding_mode, ebs.in_tree),
            (Some(BindingMode::WaitForFirstConsumer), Some(InTreePlugin::AwsEbs))
        );
        let local = class(
            &mut world,
            json!({"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"}),
        );
        assert_eq!(
            (local.binding_mode, local.can_provision()),
            (Some(BindingMode::Immediate), false)
        );
    }
}
