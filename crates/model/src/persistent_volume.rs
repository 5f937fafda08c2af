//! Persistent volumes.

use k8s_openapi::api::core::v1 as api;

use crate::migration::{
    BETA_REGION, BETA_ZONE, REGION, ZONE, persistent_source, translate_affinity,
    translate_persistent,
};
use crate::resources::parse;
use crate::{
    AccessModes, CsiVolume, InTreePlugin, Labels, ModelError, NodeSelector, PersistentVolumeClaim,
    Quantity, Text, VolumeMode, World, metadata,
};

/// A persistent volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentVolume {
    /// Its name.
    pub name: Text,
    /// Which version of the object this is: assumed versions hold only while it stays.
    pub version: Text,
    /// Its labels.
    pub labels: Labels,
    /// Its storage class, "" if it has none.
    pub class: Text,
    /// How much it stores.
    pub capacity: Quantity,
    /// How it may be used.
    pub access_modes: AccessModes,
    /// What it looks like.
    pub volume_mode: VolumeMode,
    /// Its VolumeAttributesClass, "" if it has none.
    pub attributes_class: Text,
    /// Where it is in its life.
    pub phase: VolumePhase,
    /// The claim it is bound to or kept for.
    pub claim: Option<BoundClaim>,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether its binding to a claim was the controller's or scheduler's own choice.
    pub is_bound_by_controller: bool,
    /// The zones that its labels say it is in, for VolumeZone.
    pub zones: Box<[VolumeZone]>,
    /// The volume as its CSI driver knows it, for a CSI volume.
    pub csi: Option<CsiVolume>,
    /// What it is in-tree, for a volume whose plugin has moved to CSI.
    pub in_tree: Option<InTreeSource>,
    node_affinity: Option<NodeSelector>,
}

/// The in-tree source of a persistent volume whose plugin has moved to CSI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTreeSource {
    /// The plugin.
    pub plugin: InTreePlugin,
    /// What its CSI driver calls it, or why that cannot be said.
    pub csi: Result<CsiVolume, Box<str>>,
    moved_affinity: Option<NodeSelector>,
}

/// The claim that a volume is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundClaim {
    /// The claim's namespace.
    pub namespace: Text,
    /// The claim's name.
    pub name: Text,
    /// The claim's uid, once it is known.
    pub uid: Option<Text>,
}

/// Zones or regions that a volume is in, by one of its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeZone {
    /// The label.
    pub key: ZoneKey,
    /// Its values, sorted.
    pub values: Box<[Text]>,
}

/// The labels that say where a volume is, in the order in which they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ZoneKey {
    /// `failure-domain.beta.kubernetes.io/zone`
    BetaZone,
    /// `failure-domain.beta.kubernetes.io/region`
    BetaRegion,
    /// `topology.kubernetes.io/zone`
    Zone,
    /// `topology.kubernetes.io/region`
    Region,
}

impl ZoneKey {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::BetaZone, Self::BetaRegion, Self::Zone, Self::Region];

    /// The label's key.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BetaZone => BETA_ZONE,
            Self::BetaRegion => BETA_REGION,
            Self::Zone => ZONE,
            Self::Region => REGION,
        }
    }

    /// The label that may stand in for it on nodes that lack it.
    #[must_use]
    pub fn successor(self) -> Option<Self> {
        match self {
            Self::BetaZone => Some(Self::Zone),
            Self::BetaRegion => Some(Self::Region),
            Self::Zone | Self::Region => None,
        }
    }
}

/// Where a volume is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumePhase {
    /// Not ready yet; also if nothing is said.
    Pending,
    /// Free to be bound.
    Available,
    /// Bound to a claim.
    Bound,
    /// Its claim is gone.
    Released,
    /// Could not be cleaned up, or a phase this release does not know.
    Failed,
}

impl PersistentVolume {
    /// Compiles an API volume.
    ///
    /// # Errors
    /// A volume without a name, or a capacity that cannot be read.
    pub fn from_api(volume: &api::PersistentVolume, world: &mut World) -> Result<Self, ModelError> {
        let absent = api::PersistentVolumeSpec::default();
        let (meta, spec) = (&volume.metadata, volume.spec.as_ref().unwrap_or(&absent));
        let capacity = spec.capacity.as_ref().and_then(|capacity| capacity.get("storage"));
        let capacity =
            capacity.map(parse).transpose().map_err(|e| e.at("spec.capacity[storage]"))?;
        let affinity = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let labels = world.optional_labels(meta.labels.as_ref());
        Ok(Self {
            name: metadata::name(meta, world)?,
            version: Text::unshared(meta.resource_version.as_deref().unwrap_or_default()),
            class: metadata::storage_class(meta, spec.storage_class_name.as_ref(), world),
            capacity: capacity.unwrap_or(Quantity::ZERO),
            access_modes: AccessModes::from_api(spec.access_modes.as_ref()),
            volume_mode: VolumeMode::from_api(spec.volume_mode.as_deref()),
            attributes_class: world
                .text(spec.volume_attributes_class_name.as_deref().unwrap_or_default()),
            phase: VolumePhase::from_api(
                volume.status.as_ref().and_then(|status| status.phase.as_deref()),
            ),
            claim: spec.claim_ref.as_ref().map(|claim| BoundClaim::from_api(claim, world)),
            is_deleting: meta.deletion_timestamp.is_some(),
            is_bound_by_controller: metadata::annotation(
                meta,
                "pv.kubernetes.io/bound-by-controller",
            )
            .is_some(),
            zones: zones(&labels, world),
            csi: spec
                .csi
                .as_ref()
                .map(|csi| CsiVolume::new(&csi.driver, &csi.volume_handle, world)),
            in_tree: InTreeSource::from_api(volume, spec, world),
            node_affinity: affinity.map(|selector| NodeSelector::from_api(selector, world)),
            labels,
        })
    }

    /// Whether nodes with these labels can reach the volume. `is_migrated` says whether the node's
    /// CSINode lists the volume's in-tree plugin as moved to CSI: zones are then asked for by the
    /// driver's own label.
    ///
    /// # Errors
    /// Why a migrated volume cannot be told to its driver.
    pub fn is_reachable(&self, labels: &Labels, is_migrated: bool) -> Result<bool, &str> {
        let mut affinity = self.node_affinity.as_ref();
        if let Some(source) = self.in_tree.as_ref().filter(|_| is_migrated) {
            source.csi.as_ref().map_err(|error| &**error)?;
            affinity = source.moved_affinity.as_ref().or(affinity);
        }
        Ok(affinity.is_none_or(|affinity| affinity.matches(labels, None)))
    }

    /// The nodes that it can be reached from; `None` is all of them.
    #[must_use]
    pub fn node_affinity(&self) -> Option<&NodeSelector> {
        self.node_affinity.as_ref()
    }

    /// Whether it is bound to, or kept for, this very claim.
    #[must_use]
    pub fn is_kept_for(&self, claim: &PersistentVolumeClaim) -> bool {
        self.claim.as_ref().is_some_and(|own| {
            own.name == claim.name
                && own.namespace == claim.namespace
                && own.uid.as_ref().is_none_or(|uid| *uid == claim.uid)
        })
    }
}

impl InTreeSource {
    fn from_api(
        volume: &api::PersistentVolume,
        spec: &api::PersistentVolumeSpec,
        world: &mut World,
    ) -> Option<Self> {
        let (plugin, id) = persistent_source(spec)?;
        Some(Self {
            plugin,
            csi: translate_persistent(plugin, id, volume, world),
            moved_affinity: translate_affinity(plugin, volume)
                .map(|moved| NodeSelector::from_api(&moved, world)),
        })
    }
}

impl BoundClaim {
    fn from_api(claim: &api::ObjectReference, world: &mut World) -> Self {
        Self {
            namespace: world.text(claim.namespace.as_deref().unwrap_or_default()),
            name: world.text(claim.name.as_deref().unwrap_or_default()),
            uid: claim.uid.as_deref().filter(|uid| !uid.is_empty()).map(Text::unshared),
        }
    }
}

impl VolumePhase {
    fn from_api(phase: Option<&str>) -> Self {
        match phase {
            None | Some("" | "Pending") => Self::Pending,
            Some("Available") => Self::Available,
            Some("Bound") => Self::Bound,
            Some("Released") => Self::Released,
            Some(_) => Self::Failed,
        }
    }
}

/// A label with an empty part says nothing.
fn zones(labels: &Labels, world: &mut World) -> Box<[VolumeZone]> {
    let mut zones = Vec::new();
    for key in ZoneKey::ALL {
        let Some(value) = labels.get_str(key.as_str()) else { continue };
        let mut values: Vec<Text> = value.split("__").map(|part| world.text(part.trim())).collect();
        if values.iter().any(|value| value.is_empty()) {
            continue;
        }
        values.sort();
        values.dedup();
        zones.push(VolumeZone { key, values: values.into() });
    }
    zones.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn volume(world: &mut World, mut api: Value) -> PersistentVolume {
        api["metadata"]["name"] = json!("pv");
        PersistentVolume::from_api(&serde_json::from_value(api).unwrap(), world).unwrap()
    }

    #[test]
    fn zones_are_read_off_labels() {
        type Zones<'a> = &'a [(ZoneKey, &'a [&'a str])];
        let rows: [(Value, Zones<'_>); 5] = [
            (json!({}), &[]),
            (json!({ZONE: "z1"}), &[(ZoneKey::Zone, &["z1"])]),
            (json!({BETA_ZONE: "z2__ z1"}), &[(ZoneKey::BetaZone, &["z1", "z2"])]),
            (json!({ZONE: "z1__", REGION: "r1"}), &[(ZoneKey::Region, &["r1"])]),
            (
                json!({REGION: "r", ZONE: "z", BETA_REGION: "br"}),
                &[
                    (ZoneKey::BetaRegion, &["br"]),
                    (ZoneKey::Zone, &["z"]),
                    (ZoneKey::Region, &["r"]),
                ],
            ),
        ];
        for (labels, expected) in rows {
            let volume = volume(&mut World::new(), json!({"metadata": {"labels": labels}}));
            let zones: Vec<(ZoneKey, Vec<&str>)> = volume
                .zones
                .iter()
                .map(|z| (z.key, z.values.iter().map(Text::as_str).collect()))
                .collect();
            let expected: Vec<(ZoneKey, Vec<&str>)> =
                expected.iter().map(|(k, v)| (*k, v.to_vec())).collect();
            assert_eq!(zones, expected, "{labels}");
        }
    }

    #[test]
    fn a_migrated_volume_is_reached_by_the_drivers_label() {
        let mut world = World::new();
        let terms =
            json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}]);
        let volume = volume(
            &mut world,
            json!({"spec": {"awsElasticBlockStore": {"volumeID": "vol-1"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}),
        );
        let mut labels = |key: &str| world.labels(&[(key.to_owned(), "z1".to_owned())].into());
        let (plain, driver) = (labels(ZONE), labels("topology.ebs.csi.aws.com/zone"));
        assert_eq!(volume.is_reachable(&plain, false), Ok(true));
        assert_eq!(volume.is_reachable(&driver, false), Ok(false));
        assert_eq!(volume.is_reachable(&plain, true), Ok(false));
        assert_eq!(volume.is_reachable(&driver, true), Ok(true));
    }

    #[test]
    fn a_volume_that_cannot_be_told_to_its_driver_is_an_error_only_there() {
        let mut world = World::new();
        let volume = volume(
            &mut world,
            json!({"spec": {"awsElasticBlockStore": {"volumeID": "aws://z/x"}}}),
        );
        let none = world.optional_labels(None);
        assert_eq!(volume.is_reachable(&none, false), Ok(true));
        assert!(volume.is_reachable(&none, true).is_err());
    }

    #[test]
    fn a_volume_is_kept_for_one_claim() {
        let mut world = World::new();
        let claim = json!({"metadata": {"name": "c", "namespace": "ns", "uid": "u"}});
        let claim =
            PersistentVolumeClaim::from_api(&serde_json::from_value(claim).unwrap(), &mut world)
                .unwrap();
        let rows = [
            (json!({"name": "c", "namespace": "ns", "uid": "u"}), true),
            (json!({"name": "c", "namespace": "ns"}), true),
            (json!({"name": "c", "namespace": "ns", "uid": "v"}), false),
            (json!({"name": "c", "namespace": "other", "uid": "u"}), false),
            (json!({"name": "d", "namespace": "ns", "uid": "u"}), false),
            (json!(null), false),
        ];
        for (reference, expected) in rows {
            let volume = volume(&mut world, json!({"spec": {"claimRef": reference}}));
            assert_eq!(volume.is_kept_for(&claim), expected, "{reference}");
        }
    }
}
