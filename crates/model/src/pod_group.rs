//! Pod groups (alpha: gate GenericWorkload).

use k8s_openapi::api::scheduling::v1alpha2 as api;

use crate::{ModelError, Text, World, metadata};

/// Pods that are scheduled together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroup {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// 0 if it has none.
    pub priority: i32,
    /// How many pods must find a place at once; `None` without a gang policy.
    pub min_count: Option<i32>,
    /// The node label whose value all its pods must share, if it asks for one.
    pub topology_key: Option<Text>,
    /// Whether it can only be evicted as a whole.
    pub is_disrupted_whole: bool,
}

impl PodGroup {
    /// Compiles an API pod group.
    ///
    /// # Errors
    /// A group without a name.
    pub fn from_api(group: &api::PodGroup, world: &mut World) -> Result<Self, ModelError> {
        let spec = &group.spec;
        let topologies = spec.scheduling_constraints.as_ref().and_then(|c| c.topology.as_deref());
        Ok(Self {
            namespace: metadata::namespace(&group.metadata, world),
            name: metadata::name(&group.metadata, world)?,
            priority: spec.priority.unwrap_or_default(),
            min_count: spec.scheduling_policy.gang.as_ref().map(|gang| gang.min_count),
            topology_key: topologies
                .and_then(<[_]>::first)
                .map(|topology| world.text(&topology.key)),
            is_disrupted_whole: spec.disruption_mode.as_deref() == Some("PodGroup"),
        })
    }
}
