//! In-tree volume plugins that have moved to CSI drivers, and what their volumes are called there.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1 as api;

use crate::{Text, World};

/// An in-tree volume plugin that a CSI driver has taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InTreePlugin {
    /// `kubernetes.io/aws-ebs`
    AwsEbs,
    /// `kubernetes.io/gce-pd`
    GcePd,
    /// `kubernetes.io/azure-disk`
    AzureDisk,
    /// `kubernetes.io/azure-file`
    AzureFile,
    /// `kubernetes.io/cinder`
    Cinder,
    /// `kubernetes.io/portworx-volume`
    Portworx,
    /// `kubernetes.io/vsphere-volume`
    Vsphere,
}

impl InTreePlugin {
    /// The plugin of this name, as a StorageClass's provisioner or a CSINode's annotation has it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|plugin| plugin.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AwsEbs => "kubernetes.io/aws-ebs",
            Self::GcePd => "kubernetes.io/gce-pd",
            Self::AzureDisk => "kubernetes.io/azure-disk",
            Self::AzureFile => "kubernetes.io/azure-file",
            Self::Cinder => "kubernetes.io/cinder",
            Self::Portworx => "kubernetes.io/portworx-volume",
            Self::Vsphere => "kubernetes.io/vsphere-volume",
        }
    }

    /// The name of the CSI driver that took it over.
    #[must_use]
    pub fn driver(self) -> &'static str {
        match self {
            Self::AwsEbs => "ebs.csi.aws.com",
            Self::GcePd => "pd.csi.storage.gke.io",
            Self::AzureDisk => "disk.csi.azure.com",
            Self::AzureFile => "file.csi.azure.com",
            Self::Cinder => "cinder.csi.openstack.org",
            Self::Portworx => "pxd.portworx.com",
            Self::Vsphere => "csi.vsphere.vmware.com",
        }
    }

    /// Whether NodeVolumeLimits takes its volumes for migrated, on a node that has a CSINode.
    #[must_use]
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::AzureFile | Self::Vsphere)
    }

    /// The node label that its driver names zones by.
    fn zone_key(self) -> Option<&'static str> {
        match self {
            Self::AwsEbs => Some("topology.ebs.csi.aws.com/zone"),
            Self::GcePd => Some("topology.gke.io/zone"),
            Self::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            Self::AzureDisk | Self::AzureFile | Self::Portworx | Self::Vsphere => None,
        }
    }
}

/// A volume as its CSI driver knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CsiVolume {
    /// The driver's name.
    pub driver: Text,
    /// The volume's name among the driver's.
    pub handle: Text,
}

impl CsiVolume {
    pub(crate) fn new(driver: &str, handle: &str, world: &mut World) -> Self {
        Self { driver: world.text(driver), handle: world.text(handle) }
    }
}

/// A volume's identity in its CSI driver, or why it has none.
pub(crate) type Translated = Result<CsiVolume, Box<str>>;

/// The in-tree source of a pod's volume, as its plugin and its id there.
pub(crate) fn inline_source(volume: &api::Volume) -> Option<(InTreePlugin, &str, bool)> {
    let source = if let Some(disk) = &volume.gce_persistent_disk {
        (InTreePlugin::GcePd, disk.pd_name.as_str(), disk.read_only)
    } else if let Some(disk) = &volume.aws_elastic_block_store {
        (InTreePlugin::AwsEbs, disk.volume_id.as_str(), disk.read_only)
    } else if let Some(disk) = &volume.cinder {
        (InTreePlugin::Cinder, disk.volume_id.as_str(), disk.read_only)
    } else if let Some(disk) = &volume.azure_disk {
        (InTreePlugin::AzureDisk, disk.disk_uri.as_str(), disk.read_only)
    } else if let Some(share) = &volume.azure_file {
        (InTreePlugin::AzureFile, share.share_name.as_str(), share.read_only)
    } else if let Some(disk) = &volume.vsphere_volume {
        (InTreePlugin::Vsphere, disk.volume_path.as_str(), None)
    } else if let Some(disk) = &volume.portworx_volume {
        (InTreePlugin::Portworx, disk.volume_id.as_str(), disk.read_only)
    } else {
        return None;
    };
    Some((source.0, source.1, source.2.unwrap_or_default()))
}

/// The in-tree source of a PersistentVolume.
pub(crate) fn persistent_source(spec: &api::PersistentVolumeSpec) -> Option<(InTreePlugin, &str)> {
    Some(if let Some(disk) = &spec.gce_persistent_disk {
        (InTreePlugin::GcePd, &disk.pd_name)
    } else if let Some(disk) = &spec.aws_elastic_block_store {
        (InTreePlugin::AwsEbs, &disk.volume_id)
    } else if let Some(disk) = &spec.cinder {
        (InTreePlugin::Cinder, &disk.volume_id)
    } else if let Some(disk) = &spec.azure_disk {
        (InTreePlugin::AzureDisk, &disk.disk_uri)
    } else if let Some(share) = &spec.azure_file {
        (InTreePlugin::AzureFile, &share.share_name)
    } else if let Some(disk) = &spec.vsphere_volume {
        (InTreePlugin::Vsphere, &disk.volume_path)
    } else if let Some(disk) = &spec.portworx_volume {
        (InTreePlugin::Portworx, &disk.volume_id)
    } else {
        return None;
    })
}

/// What the CSI driver calls a volume that a pod names directly.
pub(crate) fn translate_inline(plugin: InTreePlugin, id: &str, world: &mut World) -> Translated {
    translate(plugin, id, "", world)
}

/// What the CSI driver calls the volume of a PersistentVolume.
pub(crate) fn translate_persistent(
    plugin: InTreePlugin,
    id: &str,
    volume: &api::PersistentVolume,
    world: &mut World,
) -> Translated {
    let label = |key| volume.metadata.labels.as_ref()?.get(key).filter(|zones| !zones.is_empty());
    let zones = label(BETA_ZONE).or_else(|| label(ZONE));
    translate(plugin, id, zones.map_or("", String::as_str), world)
}

fn translate(plugin: InTreePlugin, id: &str, zones: &str, world: &mut World) -> Translated {
    let handle = match plugin {
        InTreePlugin::AwsEbs => ebs_volume_id(id)?.to_owned(),
        InTreePlugin::GcePd => gce_volume_id(id, zones)?,
        _ => id.to_owned(),
    };
    Ok(CsiVolume::new(plugin.driver(), &handle, world))
}

/// `vol-…`, bare or at the end of `aws://zone/`.
fn ebs_volume_id(id: &str) -> Result<&str, Box<str>> {
    let Some(rest) = id.strip_prefix("aws://") else { return Ok(id) };
    let path = rest.find('/').map_or("", |slash| &rest[slash..]).trim_matches('/');
    if path.starts_with("vol-") && !path.contains('/') {
        return Ok(path);
    }
    let error = "failed to translate Kubernetes ID to EBS Volume ID invalid format for AWS volume";
    Err(format!("{error} ({id})").into())
}

fn gce_volume_id(disk: &str, zones: &str) -> Result<String, Box<str>> {
    let zones: Vec<&str> = zones.split("__").collect();
    if let [zone] = zones.as_slice() {
        let zone = if zone.is_empty() { "UNSPECIFIED" } else { zone };
        return Ok(format!("projects/UNSPECIFIED/zones/{zone}/disks/{disk}"));
    }
    let mut regions = BTreeSet::new();
    for zone in zones {
        let [locale, region, _] = zone.split('-').collect::<Vec<_>>()[..] else {
            let expected = "zone in unexpected format, expected: {locale}-{region}-{zone}";
            return Err(format!("failed to get region from zones: {expected}, got: {zone}").into());
        };
        regions.insert(format!("{locale}-{region}"));
    }
    if regions.len() > 1 {
        return Err(
            "failed to get region from zones: multiple or no regions gotten from zones".into()
        );
    }
    let region = regions.pop_first().unwrap_or_default();
    Ok(format!("projects/UNSPECIFIED/regions/{region}/disks/{disk}"))
}

/// The node affinity of a PersistentVolume after its move to CSI: zones are asked for by the
/// driver's own label. `None` if the move changes nothing.
pub(crate) fn translate_affinity(
    plugin: InTreePlugin,
    volume: &api::PersistentVolume,
) -> Option<api::NodeSelector> {
    let driver_key = plugin.zone_key()?;
    let affinity =
        volume.spec.as_ref().and_then(|spec| spec.node_affinity.as_ref()?.required.as_ref());
    let has_key = |key: &str| affinity.is_some_and(|a| expressions(a).any(|e| e.key == key));
    let label = |key: &str| volume.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let (zone_key, region_key) = if has_key(ZONE) {
        (ZONE, REGION)
    } else if has_key(BETA_ZONE) || (label(ZONE).is_none() && label(BETA_ZONE).is_some()) {
        (BETA_ZONE, BETA_REGION)
    } else {
        (ZONE, REGION)
    };
    let mut moved = affinity.cloned().unwrap_or_default();
    let has_values = |affinity: &api::NodeSelector, key: &str| {
        expressions(affinity)
            .any(|e| e.key == key && e.values.as_ref().is_some_and(|v| !v.is_empty()))
    };
    if has_values(&moved, zone_key) {
        rename(&mut moved, zone_key, driver_key);
    } else if let Some(zones) = label(zone_key) {
        add_zones(&mut moved, driver_key, zones);
    }
    if region_key == BETA_REGION && has_values(&moved, BETA_REGION) {
        rename(&mut moved, BETA_REGION, REGION);
    }
    (affinity != Some(&moved) && !moved.node_selector_terms.is_empty()).then_some(moved)
}

fn expressions(
    selector: &api::NodeSelector,
) -> impl Iterator<Item = &api::NodeSelectorRequirement> {
    selector.node_selector_terms.iter().flat_map(|term| term.match_expressions.iter().flatten())
}

fn rename(selector: &mut api::NodeSelector, from: &str, to: &str) {
    for term in &mut selector.node_selector_terms {
        for expression in term.match_expressions.iter_mut().flatten().filter(|e| e.key == from) {
            to.clone_into(&mut expression.key);
        }
    }
}

fn add_zones(selector: &mut api::NodeSelector, key: &str, zones: &str) {
    let zones: BTreeSet<&str> =
        zones.split("__").map(str::trim).filter(|zone| !zone.is_empty()).collect();
    if zones.is_empty() {
        return;
    }
    if selector.node_selector_terms.is_empty() {
        selector.node_selector_terms.push(api::NodeSelectorTerm::default());
    }
    for term in &mut selector.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(api::NodeSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: Some(zones.iter().map(|zone| (*zone).to_owned()).collect()),
        });
    }
}

const ALL: [InTreePlugin; 7] = [
    InTreePlugin::AwsEbs,
    InTreePlugin::GcePd,
    InTreePlugin::AzureDisk,
    InTreePlugin::AzureFile,
    InTreePlugin::Cinder,
    InTreePlugin::Portworx,
    InTreePlugin::Vsphere,
];

pub(crate) const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
pub(crate) const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const REGION: &str = "topology.kubernetes.io/region";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_plugin_is_found_by_its_name() {
        for plugin in ALL {
            assert_eq!(InTreePlugin::from_name(plugin.name()), Some(plugin));
        }
        assert_eq!(InTreePlugin::from_name("csi.example.com"), None);
    }

    #[test]
    fn ids_become_handles() {
        let rows = [
            (InTreePlugin::AwsEbs, "vol-1", "", Some("vol-1")),
            (InTreePlugin::AwsEbs, "aws://z1/vol-1", "", Some("vol-1")),
            (InTreePlugin::AwsEbs, "aws:///vol-1", "", Some("vol-1")),
            (InTreePlugin::AwsEbs, "aws://z1/not-a-volume", "", None),
            (InTreePlugin::AwsEbs, "aws://vol-1", "", None),
            (InTreePlugin::GcePd, "d", "", Some("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d")),
            (
                InTreePlugin::GcePd,
                "d",
                "us-east1-a",
                Some("projects/UNSPECIFIED/zones/us-east1-a/disks/d"),
            ),
            (
                InTreePlugin::GcePd,
                "d",
                "us-east1-a__us-east1-b",
                Some("projects/UNSPECIFIED/regions/us-east1/disks/d"),
            ),
            (InTreePlugin::GcePd, "d", "us-east1-a__us-west1-b", None),
            (InTreePlugin::GcePd, "d", "a__b", None),
            (InTreePlugin::AzureDisk, "/disks/d", "", Some("/disks/d")),
            (InTreePlugin::Cinder, "d", "", Some("d")),
            (InTreePlugin::Portworx, "d", "", Some("d")),
        ];
        for (plugin, id, zones, expected) in rows {
            let volume = translate(plugin, id, zones, &mut World::new());
            let handle = volume.as_ref().ok().map(|volume| volume.handle.as_str());
            assert_eq!(handle, expected, "{plugin:?} {id} in {zones:?}");
            assert!(volume.is_err() || volume.unwrap().driver == plugin.driver());
        }
    }

    #[test]
    fn affinity_moves_to_the_drivers_zone_label() {
        let zone_in = |key: &str| json!([{"matchExpressions": [{"key": key, "operator": "In", "values": ["z1"]}]}]);
        let ebs = "topology.ebs.csi.aws.com/zone";
        let rows = [
            // labels, terms, moved terms
            (json!({}), zone_in(ZONE), Some(zone_in(ebs))),
            (json!({}), zone_in(BETA_ZONE), Some(zone_in(ebs))),
            (json!({ZONE: "z1"}), json!([]), Some(zone_in(ebs))),
            (json!({BETA_ZONE: "z1"}), json!([]), Some(zone_in(ebs))),
            (json!({ZONE: "z2"}), zone_in(ZONE), Some(zone_in(ebs))),
            (json!({}), zone_in("kubernetes.io/hostname"), None),
            (json!({ZONE: "__"}), json!([]), None),
            (json!({}), json!([]), None),
        ];
        for (labels, terms, expected) in rows {
            let volume = json!({"metadata": {"labels": labels}, "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}});
            let volume = serde_json::from_value(volume).unwrap();
            let moved = translate_affinity(InTreePlugin::AwsEbs, &volume);
            let moved: Option<Value> =
                moved.map(|m| serde_json::to_value(m).unwrap()["nodeSelectorTerms"].take());
            assert_eq!(moved, expected, "{labels} {terms}");
            assert_eq!(translate_affinity(InTreePlugin::AzureDisk, &volume), None);
        }
    }
}
