//! Persistent volume claims.

use k8s_openapi::api::core::v1 as api;

use crate::resources::parse;
use crate::{AccessModes, ModelError, Pod, Quantity, Selector, Text, VolumeMode, World, metadata};

/// A claim to a persistent volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersistentVolumeClaim {
    /// Its namespace.
    pub namespace: Text,
    /// Its name.
    pub name: Text,
    /// Its uid.
    pub uid: Text,
    /// Which version of the object this is: assumed versions hold only while it stays.
    pub version: Text,
    /// The uid of what controls it: the pod, for one made for an ephemeral volume.
    pub controller_uid: Option<Text>,
    /// Its storage class, "" if it has none.
    pub class: Text,
    /// The volume it names.
    pub volume_name: Option<Text>,
    /// Whether its binding to that volume is complete.
    pub is_bind_completed: bool,
    /// The node on which a volume is to be provisioned for it.
    pub selected_node: Option<Text>,
    /// Where it is in its life.
    pub phase: ClaimPhase,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// How it wants to use the volume.
    pub access_modes: AccessModes,
    /// What the volume must look like.
    pub volume_mode: VolumeMode,
    /// Its VolumeAttributesClass, "" if it has none.
    pub attributes_class: Text,
    /// How much it wants, if it says.
    pub request: Option<Quantity>,
    /// Which labels the volume must have; `None` asks for nothing.
    pub selector: Option<Selector>,
}

/// Where a claim is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimPhase {
    /// Not bound yet; also if nothing is said.
    Pending,
    /// Bound.
    Bound,
    /// Its volume is gone.
    Lost,
}

impl PersistentVolumeClaim {
    /// Compiles an API claim.
    ///
    /// # Errors
    /// A claim without a name, or a request that cannot be read.
    pub fn from_api(
        claim: &api::PersistentVolumeClaim,
        world: &mut World,
    ) -> Result<Self, ModelError> {
        let absent = api::PersistentVolumeClaimSpec::default();
        let (meta, spec) = (&claim.metadata, claim.spec.as_ref().unwrap_or(&absent));
        let request = spec
            .resources
            .as_ref()
            .and_then(|resources| resources.requests.as_ref()?.get("storage"));
        let request =
            request.map(parse).transpose().map_err(|e| e.at("spec.resources.requests[storage]"))?;
        Ok(Self {
            namespace: metadata::namespace(meta, world),
            name: metadata::name(meta, world)?,
            uid: Text::unshared(meta.uid.as_deref().unwrap_or_default()),
            version: Text::unshared(meta.resource_version.as_deref().unwrap_or_default()),
            controller_uid: metadata::controller_uid(meta),
            class: metadata::storage_class(meta, spec.storage_class_name.as_ref(), world),
            volume_name: world.optional_text(spec.volume_name.as_ref()),
            is_bind_completed: metadata::annotation(meta, "pv.kubernetes.io/bind-completed")
                .is_some(),
            // An empty one names a node too: none that there is.
            selected_node: metadata::annotation(meta, "volume.kubernetes.io/selected-node")
                .map(|node| world.text(node)),
            phase: match claim.status.as_ref().and_then(|status| status.phase.as_deref()) {
                Some("Bound") => ClaimPhase::Bound,
                Some("Lost") => ClaimPhase::Lost,
                _ => ClaimPhase::Pending,
            },
            is_deleting: meta.deletion_timestamp.is_some(),
            access_modes: AccessModes::from_api(spec.access_modes.as_ref()),
            volume_mode: VolumeMode::from_api(spec.volume_mode.as_deref()),
            attributes_class: world
                .text(spec.volume_attributes_class_name.as_deref().unwrap_or_default()),
            request,
            selector: spec
                .selector
                .as_ref()
                .map(|selector| Selector::from_api(Some(selector), world)),
        })
    }

    /// Whether it names its volume and its binding is complete.
    #[must_use]
    pub fn is_fully_bound(&self) -> bool {
        self.volume_name.is_some() && self.is_bind_completed
    }

    /// Whether it was made for this pod.
    #[must_use]
    pub fn is_controlled_by(&self, pod: &Pod) -> bool {
        self.controller_uid.as_ref() == Some(&pod.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::{Value, json};

    fn claim(mut api: Value) -> PersistentVolumeClaim {
        api["metadata"]["name"] = json!("c");
        PersistentVolumeClaim::from_api(&serde_json::from_value(api).unwrap(), &mut World::new())
            .unwrap()
    }

    #[test]
    fn the_old_annotation_wins_over_the_field() {
        let beta = "volume.beta.kubernetes.io/storage-class";
        assert_eq!(claim(json!({})).class, "");
        assert_eq!(claim(json!({"spec": {"storageClassName": "new"}})).class, "new");
        let both = json!({"metadata": {"annotations": {beta: "old"}}, "spec": {"storageClassName": "new"}});
        assert_eq!(claim(both).class, "old");
        let empty =
            json!({"metadata": {"annotations": {beta: ""}}, "spec": {"storageClassName": "new"}});
        assert_eq!(claim(empty).class, "");
    }

    #[test]
    fn fully_bound_needs_name_and_annotation() {
        let done = json!({"annotations": {"pv.kubernetes.io/bind-completed": "yes"}});
        assert!(claim(json!({"metadata": done, "spec": {"volumeName": "pv"}})).is_fully_bound());
        assert!(!claim(json!({"metadata": done, "spec": {}})).is_fully_bound());
        assert!(!claim(json!({"spec": {"volumeName": "pv"}})).is_fully_bound());
    }

    #[test]
    fn an_ephemeral_claim_belongs_to_its_pod() {
        let owner = |uid: &str, controller: bool| {
            claim(
                json!({"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": controller}]}}),
            )
        };
        let pod = testing::pod(&mut World::new(), json!({"metadata": {"uid": "u1"}}));
        assert!(owner("u1", true).is_controlled_by(&pod));
        assert!(!owner("u2", true).is_controlled_by(&pod));
        assert!(!owner("u1", false).is_controlled_by(&pod));
    }

    #[test]
    fn a_bad_request_is_named() {
        let api = json!({"metadata": {"name": "c"}, "spec": {"resources": {"requests": {"storage": "big"}}}});
        let error = PersistentVolumeClaim::from_api(
            &serde_json::from_value(api).unwrap(),
            &mut World::new(),
        );
        assert_eq!(error.unwrap_err().path(), "spec.resources.requests[storage]");
    }
}
