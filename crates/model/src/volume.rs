//! The volumes of a pod that a scheduler looks at.

use k8s_openapi::api::core::v1 as api;

use crate::migration::{inline_source, translate_inline};
use crate::{CsiVolume, InTreePlugin, Text, World};

/// A volume of a pod. Those that no plugin looks at (config maps, secrets, empty directories and
/// the like) are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Volume {
    /// A PersistentVolumeClaim by name; the name may be empty.
    Claim(Text),
    /// A claim made for this pod, named `<pod>-<volume>`; see [`Pod::claims`](crate::Pod::claims).
    Ephemeral {
        /// The volume's name in the pod.
        volume: Text,
    },
    /// A source of an in-tree plugin that has moved to CSI.
    InTree(InTreeVolume),
    /// An iSCSI disk.
    Iscsi {
        /// Its qualified name.
        iqn: Text,
        /// Whether the pod only reads.
        read_only: bool,
    },
    /// A Ceph block device.
    Rbd {
        /// The monitors.
        monitors: Box<[Text]>,
        /// Its pool.
        pool: Text,
        /// Its image.
        image: Text,
        /// Whether the pod only reads.
        read_only: bool,
    },
    /// A CSI volume that lives and dies with the pod.
    Csi {
        /// Its driver.
        driver: Text,
    },
}

/// A disk named in a pod, of a plugin that has moved to CSI.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InTreeVolume {
    /// The plugin.
    pub plugin: InTreePlugin,
    /// The disk's name or id there.
    pub id: Text,
    /// Whether the pod only reads.
    pub read_only: bool,
    /// What its CSI driver calls it, or why that cannot be said.
    pub csi: Result<CsiVolume, Box<str>>,
}

impl Volume {
    /// `None` for a volume that no plugin looks at.
    pub(crate) fn from_api(volume: &api::Volume, world: &mut World) -> Option<Self> {
        if let Some(claim) = &volume.persistent_volume_claim {
            return Some(Self::Claim(world.text(&claim.claim_name)));
        }
        if volume.ephemeral.is_some() {
            return Some(Self::Ephemeral { volume: world.text(&volume.name) });
        }
        if let Some((plugin, id, read_only)) = inline_source(volume) {
            let csi = translate_inline(plugin, id, world).map_err(|error| {
                format!("converting volume({}) from inline to csi: {error}", volume.name).into()
            });
            return Some(Self::InTree(InTreeVolume { plugin, id: world.text(id), read_only, csi }));
        }
        if let Some(disk) = &volume.iscsi {
            let read_only = disk.read_only.unwrap_or_default();
            return Some(Self::Iscsi { iqn: world.text(&disk.iqn), read_only });
        }
        if let Some(device) = &volume.rbd {
            return Some(Self::Rbd {
                monitors: world.texts(&device.monitors),
                pool: world.text(device.pool.as_deref().unwrap_or_default()),
                image: world.text(&device.image),
                read_only: device.read_only.unwrap_or_default(),
            });
        }
        volume.csi.as_ref().map(|csi| Self::Csi { driver: world.text(&csi.driver) })
    }

    /// Whether it is one of the disks that VolumeRestrictions keeps from being used twice.
    #[must_use]
    pub fn can_conflict(&self) -> bool {
        match self {
            Self::InTree(disk) => matches!(disk.plugin, InTreePlugin::GcePd | InTreePlugin::AwsEbs),
            Self::Iscsi { .. } | Self::Rbd { .. } => true,
            Self::Claim(_) | Self::Ephemeral { .. } | Self::Csi { .. } => false,
        }
    }

    /// Whether two pods on one node cannot have these two volumes.
    #[must_use]
    pub fn conflicts_with(&self, other: &Volume) -> bool {
        match (self, other) {
            (Self::InTree(own), Self::InTree(other)) => {
                own.plugin == other.plugin
                    && own.id == other.id
                    && match own.plugin {
                        InTreePlugin::GcePd => !(own.read_only && other.read_only),
                        InTreePlugin::AwsEbs => true,
                        _ => false,
                    }
            }
            (
                Self::Iscsi { iqn, read_only },
                Self::Iscsi { iqn: other_iqn, read_only: other_read_only },
            ) => iqn == other_iqn && !(*read_only && *other_read_only),
            (
                Self::Rbd { monitors, pool, image, read_only },
                Self::Rbd {
                    monitors: other_monitors,
                    pool: other_pool,
                    image: other_image,
                    read_only: other_read_only,
                },
            ) => {
                !(*read_only && *other_read_only)
                    && pool == other_pool
                    && image == other_image
                    && monitors.iter().any(|monitor| other_monitors.contains(monitor))
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn volume(world: &mut World, mut api: Value) -> Option<Volume> {
        api["name"] = json!("v");
        Volume::from_api(&serde_json::from_value(api).unwrap(), world)
    }

    #[test]
    fn conflicts() {
        let gce = |name: &str, read_only: bool| json!({"gcePersistentDisk": {"pdName": name, "readOnly": read_only}});
        let ebs = |read_only: bool| json!({"awsElasticBlockStore": {"volumeID": "v", "readOnly": read_only}});
        let iscsi = |target: &str, read_only: bool| json!({"iscsi": {"iqn": "i", "targetPortal": target, "lun": 0, "readOnly": read_only}});
        let rbd = |monitors: &[&str], pool: &str, read_only: bool| json!({"rbd": {"monitors": monitors, "pool": pool, "image": "bar", "readOnly": read_only}});
        let rows = [
            (gce("foo", false), gce("foo", false), true),
            (gce("foo", true), gce("foo", true), false),
            (gce("foo", true), gce("foo", false), true),
            (gce("foo", false), gce("bar", false), false),
            (ebs(true), ebs(true), true),
            (ebs(false), gce("v", false), false),
            (iscsi("a", false), iscsi("b", true), true),
            (iscsi("a", true), iscsi("a", true), false),
            (rbd(&["a", "b"], "p", false), rbd(&["b", "c"], "p", false), true),
            (rbd(&["a", "b"], "p", true), rbd(&["b", "c"], "p", true), false),
            (rbd(&["a"], "p", false), rbd(&["b"], "p", false), false),
            (rbd(&["a"], "p", false), rbd(&["a"], "q", false), false),
            (json!({"cinder": {"volumeID": "v"}}), json!({"cinder": {"volumeID": "v"}}), false),
            (
                json!({"persistentVolumeClaim": {"claimName": "c"}}),
                json!({"persistentVolumeClaim": {"claimName": "c"}}),
                false,
            ),
        ];
        for (one, two, expected) in rows {
            let mut world = World::new();
            let (a, b) = (
                volume(&mut world, one.clone()).unwrap(),
                volume(&mut world, two.clone()).unwrap(),
            );
            assert_eq!(
                (a.conflicts_with(&b), b.conflicts_with(&a)),
                (expected, expected),
                "{one} {two}"
            );
            assert!(!expected || a.can_conflict(), "{one} can conflict");
        }
    }

    #[test]
    fn what_no_plugin_looks_at_is_not_kept() {
        let mut world = World::new();
        for api in [
            json!({"emptyDir": {}}),
            json!({"configMap": {"name": "c"}}),
            json!({"hostPath": {"path": "/"}}),
        ] {
            assert_eq!(volume(&mut world, api), None);
        }
        assert!(
            matches!(volume(&mut world, json!({"ephemeral": {}})), Some(Volume::Ephemeral { volume }) if volume == "v")
        );
        assert!(
            matches!(volume(&mut world, json!({"csi": {"driver": "d"}})), Some(Volume::Csi { driver }) if driver == "d")
        );
    }
}
