//! StatefulSets: pods with numbers, each with its claims.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetStatus};
use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Pod, PodTemplateSpec, Volume};

use super::super::names::hash;
use super::super::store::{is_alive, is_ready};
use super::super::{Cluster, is_finished};
use super::{count, label, wanted};
use crate::{ApiError, Key, Kind, Object};

impl Cluster {
    pub(super) fn reconcile_stateful_set(
        &mut self,
        key: &Key,
        set: &Arc<StatefulSet>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &set.spec else { return Ok(()) };
        let revision = self.revision(set, &spec.template);
        let outcome = self.arrange(key, set, spec, &revision);
        self.write_stateful_set_status(key, revision);
        outcome
    }

    fn arrange(
        &mut self,
        key: &Key,
        set: &Arc<StatefulSet>,
        spec: &StatefulSetSpec,
        revision: &str,
    ) -> Result<(), ApiError> {
        let first = spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or(0);
        let first = usize::try_from(first).unwrap_or(0);
        let ordinals = first..first.saturating_add(wanted(spec.replicas));
        let in_order = spec.pod_management_policy.as_deref() != Some("Parallel");

        for ordinal in ordinals.clone() {
            let name = format!("{}-{ordinal}", key.name);
            match self.pod(&key.namespace, &name).cloned() {
                None => self.make_numbered(set, spec, ordinal, revision)?,
                Some(pod) if is_finished(&pod) => self.delete_pod(pod),
                Some(pod) if is_alive(&pod) && is_ready(&pod) => continue,
                Some(_) => {}
            }
            if in_order {
                return Ok(());
            }
        }

        let mut surplus = self.managed_pods(&set.metadata);
        let number = |pod: &Pod| ordinal_of(pod, &key.name);
        surplus.retain(|pod| number(pod).is_some_and(|ordinal| !ordinals.contains(&ordinal)));
        surplus.sort_by_key(|pod| std::cmp::Reverse(number(pod)));
        if in_order {
            // The next one goes when this one is gone.
            surplus.truncate(1);
        }
        let settled = surplus.is_empty();
        for pod in surplus {
            if pod.metadata.deletion_timestamp.is_none() {
                self.delete_pod(pod);
            }
        }
        if settled {
            self.replace_outdated(key, spec, ordinals, revision);
        }
        Ok(())
    }

    /// Deletes the last pod of an old template, one at a time.
    fn replace_outdated(
        &mut self,
        key: &Key,
        spec: &StatefulSetSpec,
        ordinals: std::ops::Range<usize>,
        revision: &str,
    ) {
        let strategy = spec.update_strategy.as_ref();
        if strategy.and_then(|s| s.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let partition = strategy.and_then(|s| s.rolling_update.as_ref()?.partition).unwrap_or(0);
        let partition = usize::try_from(partition).unwrap_or(0);
        for ordinal in ordinals.rev().take_while(|ordinal| *ordinal >= partition) {
            let pod = self.pod(&key.namespace, &format!("{}-{ordinal}", key.name));
            let Some(pod) = pod.cloned().filter(|pod| is_alive(pod) && is_ready(pod)) else {
                return;
            };
            let labels = pod.metadata.labels.as_ref();
            if labels.and_then(|labels| labels.get(REVISION)).is_some_and(|r| r != revision) {
                return self.delete_pod(pod);
            }
        }
    }

    fn make_numbered(
        &mut self,
        set: &Arc<StatefulSet>,
        spec: &StatefulSetSpec,
        ordinal: usize,
        revision: &str,
    ) -> Result<(), ApiError> {
        let owner = Object::from(Arc::clone(set));
        let name = format!("{}-{ordinal}", owner.name());
        let namespace = owner.key().namespace;
        let mut volumes = Vec::new();
        for template in spec.volume_claim_templates.iter().flatten() {
            let volume = template.metadata.name.clone().unwrap_or_default();
            let claim_name = format!("{volume}-{name}");
            if self.store.get(&Kind::PersistentVolumeClaim.key(&namespace, &claim_name)).is_none() {
                let mut claim = template.clone();
                claim.metadata.name = Some(claim_name.clone());
                claim.metadata.namespace = Some(namespace.clone());
                self.admit_new(claim.into())?;
            }
            let source = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
            volumes.push(Volume {
                name: volume,
                persistent_volume_claim: Some(source),
                ..Volume::default()
            });
        }
        self.make_pod(&owner, &spec.template, |pod| {
            label(&mut pod.metadata, "statefulset.kubernetes.io/pod-name", &name);
            label(&mut pod.metadata, "apps.kubernetes.io/pod-index", &ordinal.to_string());
            label(&mut pod.metadata, REVISION, revision);
            pod.metadata.name = Some(name);
            pod.metadata.generate_name = None;
            let pod = pod.spec.get_or_insert_default();
            let own = pod.volumes.get_or_insert_default();
            own.retain(|volume| volumes.iter().all(|claim| claim.name != volume.name));
            own.extend(volumes);
        })
    }

    /// What the set's template is called. A set that another cluster printed keeps its name for
    /// it: otherwise all its pods would count as outdated.
    fn revision(&mut self, set: &StatefulSet, template: &PodTemplateSpec) -> String {
        let uid = set.metadata.uid.clone().unwrap_or_default();
        let hash = hash(&serde_json::to_string(template).unwrap_or_default());
        let told = set.status.as_ref().and_then(|status| status.update_revision.clone());
        match self.revisions.get(&uid) {
            Some((known, revision)) if *known == hash => revision.clone(),
            known => {
                let fresh = format!("{}-{hash}", set.metadata.name.as_deref().unwrap_or_default());
                let revision = told.filter(|_| known.is_none()).unwrap_or(fresh);
                self.revisions.insert(uid, (hash, revision.clone()));
                revision
            }
        }
    }

    fn write_stateful_set_status(&mut self, key: &Key, revision: String) {
        let Some(Object::StatefulSet(mut set)) = self.store.get(key).cloned() else { return };
        let tally = self.tally(&set.metadata);
        let generation = set.metadata.generation;
        let status = Arc::make_mut(&mut set).status.get_or_insert_with(StatefulSetStatus::default);
        status.replicas = count(tally.alive);
        status.current_replicas = Some(count(tally.alive));
        status.ready_replicas = Some(count(tally.ready));
        status.available_replicas = Some(count(tally.ready));
        status.update_revision = Some(revision);
        status.observed_generation = generation;
        self.commit(set.into());
    }
}

fn ordinal_of(pod: &Pod, set: &str) -> Option<usize> {
    pod.metadata.name.as_deref()?.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

const REVISION: &str = "controller-revision-hash";
