//! Pods, nodes and volumes as a scheduler sees them: compact, interned, built from API objects.
//!
//! Everything that a scheduling decision or a queueing hint looks at is parsed, compiled and
//! interned here, once, when an object arrives. Nothing above this crate reads an API type, parses
//! a quantity or compares strings letter by letter.
//!
//! - A [`World`] holds the tables through which objects share what is equal. There is no global
//!   state: the caller owns it and passes it to each `from_api`.
//! - [`Text`] is a string that is compared by address, [`Labels`] a label set of such, [`Selector`]
//!   and [`NodeSelector`] what is asked of one.
//! - [`Quantity`] is exact, [`Resources`] are the whole numbers that the scheduler counts with.
//! - Pods whose scheduling-relevant fields are equal are of one [`Class`]; a [`Pod`] is its class
//!   and what is its own.
//! - [`Node::changes`] and [`Pod::changes`] split an update into the events that it stands for.
//!
//! An object that cannot be understood is a [`ModelError`] that names the field. A selector that
//! does not parse is none: it matches nothing and keeps its error for the plugin that reports it.
//!
//! ```
//! use roadstead_model::{Quantity, World};
//!
//! let mut world = World::new();
//! assert_eq!(world.text("zone"), world.text("zone"));
//! assert_eq!(Quantity::parse("1.5Gi").unwrap().value(), 1_610_612_736);
//! ```

mod error;
mod metadata;
mod pool;
mod text;
mod timestamp;
mod validity;
mod world;

mod labels;
mod node_selector;
mod selector;
mod taint;

mod limits;
mod quantity;
mod requests;
mod resources;

mod affinity;
mod host_port;
mod image;
mod migration;
mod pod;
mod pod_spec;
mod spread;
mod volume;

mod changes;
mod node;

mod access_modes;
mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod persistent_volume;
mod persistent_volume_claim;
mod storage_class;
mod volume_attachment;

mod device_class;
mod namespace;
mod pod_disruption_budget;
mod pod_group;
mod replica_set;
mod replication_controller;
mod service;
mod stateful_set;

#[cfg(test)]
mod testing;

pub use access_modes::{AccessModes, VolumeMode};
pub use affinity::{AffinityTerm, PodAffinity, Terms, WeightedAffinityTerm};
pub use changes::{NodeChange, PodChange};
pub use csi_driver::CsiDriver;
pub use csi_node::CsiNode;
pub use csi_storage_capacity::CsiStorageCapacity;
pub use device_class::DeviceClass;
pub use error::ModelError;
pub use host_port::HostPort;
pub use image::normalized_image;
pub use labels::Labels;
pub use migration::{CsiVolume, InTreePlugin};
pub use namespace::Namespace;
pub use node::{Node, NodeImage};
pub use node_selector::{NodeField, NodeSelector, NodeSelectorTerm, PreferredNodeTerms};
pub use persistent_volume::{
    BoundClaim, InTreeSource, PersistentVolume, VolumePhase, VolumeZone, ZoneKey,
};
pub use persistent_volume_claim::{ClaimPhase, PersistentVolumeClaim};
pub use pod::{ClaimStatus, ExtendedResourceClaim, Pod, PodClaim, PodPhase};
pub use pod_disruption_budget::PodDisruptionBudget;
pub use pod_group::PodGroup;
pub use pod_spec::{
    Class, ClassId, Controller, ControllerKind, PodSpec, PreemptionPolicy, ResourceClaimRef,
    WeakClass,
};
pub use quantity::{Quantity, QuantityError};
pub use replica_set::ReplicaSet;
pub use replication_controller::ReplicationController;
pub use requests::Requests;
pub use resources::{Resources, is_extended_resource, is_scalar_resource};
pub use selector::{Condition, Requirement, Selector};
pub use service::Service;
pub use spread::{NodeInclusion, SpreadConstraint, WhenUnsatisfiable};
pub use stateful_set::StatefulSet;
pub use storage_class::{BindingMode, StorageClass, TopologyTerm};
pub use taint::{Taint, TaintEffect, Toleration, TolerationOperator};
pub use text::Text;
pub use timestamp::Timestamp;
pub use validity::label_key_errors;
pub use volume::{InTreeVolume, Volume};
pub use volume_attachment::VolumeAttachment;
pub use world::{World, WorldSize};
