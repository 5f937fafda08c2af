//! Volumes attached to nodes.

use k8s_openapi::api::storage::v1 as api;

use crate::{ModelError, Text, World, metadata};

/// A volume that is attached to a node, or to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// Its name.
    pub name: Text,
    /// The CSI driver that attaches; may be empty.
    pub attacher: Text,
    /// The node.
    pub node_name: Text,
    /// The PersistentVolume, unless the volume was named by a pod.
    pub volume_name: Option<Text>,
}

impl VolumeAttachment {
    /// Compiles an API volume attachment.
    ///
    /// # Errors
    /// An attachment without a name.
    pub fn from_api(
        attachment: &api::VolumeAttachment,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            name: metadata::name(&attachment.metadata, world)?,
            attacher: world.text(&attachment.spec.attacher),
            node_name: world.text(&attachment.spec.node_name),
            volume_name: world
                .optional_text(attachment.spec.source.persistent_volume_name.as_ref()),
        })
    }
}
