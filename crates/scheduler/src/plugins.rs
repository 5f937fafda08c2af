//! The plugins of the default profile, one file each.

mod default_binder;
mod default_preemption;
mod dynamic_resources;
mod image_locality;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources_balanced_allocation;
mod node_resources_fit;
mod node_unschedulable;
mod node_volume_limits;
mod pod_claims;
mod pod_topology_spread;
mod priority_sort;
mod resource_allocation;
mod scheduling_gates;
mod taint_toleration;
mod volume_binding;
mod volume_remedies;
mod volume_restrictions;
mod volume_zone;

use roadstead_model::World;
use serde_json::Value;

use crate::framework::{Extensions, Framework};

pub use default_binder::DefaultBinder;
pub use default_preemption::{DefaultPreemption, Preempting, PreemptionCandidate};
pub use dynamic_resources::DynamicResources;
pub use image_locality::ImageLocality;
pub use inter_pod_affinity::InterPodAffinity;
pub use node_affinity::NodeAffinity;
pub use node_declared_features::NodeDeclaredFeatures;
pub use node_name::NodeName;
pub use node_ports::NodePorts;
pub use node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
pub use node_resources_fit::NodeResourcesFit;
pub use node_unschedulable::NodeUnschedulable;
pub use node_volume_limits::NodeVolumeLimits;
pub use pod_topology_spread::PodTopologySpread;
pub use priority_sort::PrioritySort;
pub use scheduling_gates::SchedulingGates;
pub use taint_toleration::TaintToleration;
pub use volume_binding::{PodVolumes, VolumeBinding};
pub use volume_restrictions::VolumeRestrictions;
pub use volume_zone::VolumeZone;

/// Makes a plugin from its arguments, as they stand in a profile's `pluginConfig`; null where
/// the profile says nothing.
pub type Make = fn(&Value, &mut World) -> Result<Extensions, ArgumentError>;

/// Arguments that a plugin cannot work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// Where in the arguments, as a path; empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// Every plugin of the default profile in its order, with its weight in scoring.
pub const DEFAULT: &[(&str, Make, i64)] = &[
    ("SchedulingGates", |_, _| Ok(SchedulingGates::extensions()), 0),
    ("PrioritySort", |_, _| Ok(PrioritySort::extensions()), 0),
    ("NodeUnschedulable", NodeUnschedulable::extensions, 0),
    ("NodeName", |_, _| Ok(NodeName::extensions()), 0),
    ("TaintToleration", |_, _| Ok(TaintToleration::extensions()), 3),
    ("NodeAffinity", NodeAffinity::extensions, 2),
    ("NodePorts", |_, _| Ok(NodePorts::extensions()), 0),
    ("NodeResourcesFit", NodeResourcesFit::extensions, 1),
    ("VolumeRestrictions", |_, _| Ok(VolumeRestrictions::extensions()), 0),
    ("NodeVolumeLimits", |_, _| Ok(NodeVolumeLimits::extensions()), 0),
    ("VolumeBinding", |arguments, _| VolumeBinding::extensions(arguments), 1),
    ("VolumeZone", |_, world| Ok(VolumeZone::extensions(world)), 0),
    ("PodTopologySpread", PodTopologySpread::extensions, 2),
    ("InterPodAffinity", InterPodAffinity::extensions, 2),
    ("DynamicResources", DynamicResources::extensions, 2),
    ("DefaultPreemption", DefaultPreemption::extensions, 0),
    ("NodeResourcesBalancedAllocation", NodeResourcesBalancedAllocation::extensions, 1),
    ("ImageLocality", |_, _| Ok(ImageLocality::extensions()), 1),
    ("DefaultBinder", |_, _| Ok(DefaultBinder::extensions()), 0),
    ("NodeDeclaredFeatures", |_, _| Ok(NodeDeclaredFeatures::extensions()), 0),
];

/// The default profile, with the arguments of some plugins changed.
///
/// # Errors
///
/// Arguments that a plugin cannot work with, and the plugin.
pub fn default_framework(
    arguments: impl Fn(&str) -> Option<Value>,
    world: &mut World,
) -> Result<Framework, (&'static str, ArgumentError)> {
    let mut plugins = Vec::new();
    for &(name, make, weight) in DEFAULT {
        let arguments = arguments(name).unwrap_or(Value::Null);
        let extensions = make(&arguments, world).map_err(|error| (name, error))?;
        plugins.push((extensions, weight));
    }
    Ok(Framework::new(plugins))
}
