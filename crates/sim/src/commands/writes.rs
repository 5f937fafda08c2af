//! What a pod needs written before it is bound: who gets a volume, and where one is made.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use roadstead_cluster::{ApiError, Kind, Resource};
use roadstead_scheduler::framework::Write;

use crate::simulation::Simulation;

impl Simulation {
    /// Writes a volume or a claim. Only the version that the scheduler has seen is replaced.
    pub(super) fn write(&mut self, write: &Write) -> Result<(), ApiError> {
        match write {
            Write::BindVolume(wanted) => {
                let mut volume: PersistentVolume = self.to_change("", &wanted.name)?;
                volume.metadata.resource_version = Some(wanted.version.to_string());
                if let Some(claim) = &wanted.claim {
                    let reference = ObjectReference {
                        api_version: Some("v1".to_owned()),
                        kind: Some(Kind::PersistentVolumeClaim.name().to_owned()),
                        namespace: Some(claim.namespace.to_string()),
                        name: Some(claim.name.to_string()),
                        uid: claim.uid.as_ref().map(ToString::to_string),
                        ..ObjectReference::default()
                    };
                    volume.spec.get_or_insert_default().claim_ref = Some(reference);
                }
                if wanted.is_bound_by_controller {
                    annotate(&mut volume.metadata.annotations, BOUND_BY_CONTROLLER, "yes");
                }
                self.cluster.update(self.now, volume).map(drop)
            }
            Write::SelectNode(wanted) => {
                let mut claim: PersistentVolumeClaim =
                    self.to_change(&wanted.namespace, &wanted.name)?;
                claim.metadata.resource_version = Some(wanted.version.to_string());
                if let Some(node) = &wanted.selected_node {
                    annotate(&mut claim.metadata.annotations, SELECTED_NODE, node);
                }
                self.cluster.update(self.now, claim).map(drop)
            }
        }
    }

    /// An object as it is, to be changed.
    fn to_change<T: Resource>(&self, namespace: &str, name: &str) -> Result<T, ApiError> {
        let found = self.cluster.get::<T>(namespace, name);
        let missing = || ApiError::NotFound(T::IN.key(namespace, name));
        found.map(|object| (**object).clone()).ok_or_else(missing)
    }
}

fn annotate(annotations: &mut Option<BTreeMap<String, String>>, key: &str, value: &str) {
    annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
}

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
