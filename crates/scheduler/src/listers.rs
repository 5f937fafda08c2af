//! Everything in the cluster that is neither a node nor a pod, to be looked up by plugins.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, Labels, Namespace, PersistentVolume,
    PersistentVolumeClaim, PodDisruptionBudget, ReplicaSet, ReplicationController, Service,
    StatefulSet, StorageClass, Text, VolumeAttachment,
};

/// Objects by name; those of a namespace by namespace and name.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs, reason = "a list is called after what it holds")]
pub struct Listers {
    pub namespaces: BTreeMap<Text, Arc<Namespace>>,
    pub services: BTreeMap<(Text, Text), Arc<Service>>,
    pub replication_controllers: BTreeMap<(Text, Text), Arc<ReplicationController>>,
    pub replica_sets: BTreeMap<(Text, Text), Arc<ReplicaSet>>,
    pub stateful_sets: BTreeMap<(Text, Text), Arc<StatefulSet>>,
    pub persistent_volumes: BTreeMap<Text, Arc<PersistentVolume>>,
    pub persistent_volume_claims: BTreeMap<(Text, Text), Arc<PersistentVolumeClaim>>,
    pub storage_classes: BTreeMap<Text, Arc<StorageClass>>,
    pub csi_nodes: BTreeMap<Text, Arc<CsiNode>>,
    pub csi_drivers: BTreeMap<Text, Arc<CsiDriver>>,
    pub csi_storage_capacities: BTreeMap<(Text, Text), Arc<CsiStorageCapacity>>,
    pub volume_attachments: BTreeMap<Text, Arc<VolumeAttachment>>,
    pub device_classes: BTreeMap<Text, Arc<DeviceClass>>,
    pub pod_disruption_budgets: BTreeMap<(Text, Text), Arc<PodDisruptionBudget>>,
    pub assumptions: Assumptions,
}

/// Of which volumes and claims the lists hold what the scheduler is about to make of them, and
/// what the cluster shows of these.
#[derive(Clone, Debug, Default)]
pub struct Assumptions {
    pub(crate) volumes: Shown<Text, PersistentVolume>,
    pub(crate) claims: Shown<(Text, Text), PersistentVolumeClaim>,
}

/// Objects as the cluster shows them, where something else is assumed of them.
pub(crate) type Shown<K, T> = BTreeMap<K, Arc<T>>;

impl Listers {
    /// A namespace's labels; `None` where it is not known.
    #[must_use]
    pub fn namespace_labels(&self, namespace: &Text) -> Option<&Labels> {
        self.namespaces.get(namespace).map(|known| &known.labels)
    }

    /// The volume is taken to be as in this version, until the cluster shows another one than it
    /// does now or the assumption is [dropped](Self::drop_assumed_volume).
    ///
    /// # Errors
    ///
    /// This is made of another version than the cluster shows.
    pub(crate) fn assume_volume(&mut self, volume: Arc<PersistentVolume>) -> Result<(), String> {
        let key = volume.name.clone();
        let version = |volume: &PersistentVolume| volume.version.clone();
        assume(&mut self.persistent_volumes, &mut self.assumptions.volumes, key, volume, version)
            .map_err(|(name, stored, given)| out_of_sync(&name, &stored, &given))
    }

    /// The same of a claim.
    ///
    /// # Errors
    ///
    /// As for a volume.
    pub(crate) fn assume_claim(&mut self, claim: Arc<PersistentVolumeClaim>) -> Result<(), String> {
        let key = (claim.namespace.clone(), claim.name.clone());
        let version = |claim: &PersistentVolumeClaim| claim.version.clone();
        assume(
            &mut self.persistent_volume_claims,
            &mut self.assumptions.claims,
            key,
            claim,
            version,
        )
        .map_err(|((namespace, name), stored, given)| {
            out_of_sync(&format!("{namespace}/{name}"), &stored, &given)
        })
    }

    /// The volume is again as the cluster shows it.
    pub(crate) fn drop_assumed_volume(&mut self, name: &Text) {
        if let Some(shown) = self.assumptions.volumes.remove(name) {
            self.persistent_volumes.insert(name.clone(), shown);
        }
    }

    /// The claim is again as the cluster shows it.
    pub(crate) fn drop_assumed_claim(&mut self, key: &(Text, Text)) {
        if let Some(shown) = self.assumptions.claims.remove(key) {
            self.persistent_volume_claims.insert(key.clone(), shown);
        }
    }
}

/// Puts an assumed version in the place of what is shown. `Err` has the key, the version that is
/// there and the one that was given.
fn assume<K: Ord + Clone, T>(
    list: &mut BTreeMap<K, Arc<T>>,
    shown: &mut Shown<K, T>,
    key: K,
    assumed: Arc<T>,
    version: impl Fn(&T) -> Text,
) -> Result<(), (K, Text, Text)> {
    let known = shown.get(&key).or_else(|| list.get(&key));
    let stored = known.map_or_else(|| Text::unshared(""), |known| version(known));
    if stored != version(&assumed) || known.is_none() {
        return Err((key, stored, version(&assumed)));
    }
    let Some(before) = list.insert(key.clone(), assumed) else { return Ok(()) };
    shown.entry(key).or_insert(before);
    Ok(())
}

fn out_of_sync(key: &str, stored: &str, given: &str) -> String {
    format!("\"{key}\" is out of sync (stored: {stored}, assume: {given})")
}
