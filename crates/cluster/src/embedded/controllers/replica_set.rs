//! ReplicaSets and ReplicationControllers: as many pods as asked for.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec, ReplicationController};

use super::super::store::{is_alive, is_ready};
use super::super::{Cluster, node_of, phase_of};
use super::{count, wanted};
use crate::{ApiError, Key, Object};

impl Cluster {
    pub(super) fn reconcile_replica_set(
        &mut self,
        key: &Key,
        set: &Arc<ReplicaSet>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &set.spec else { return Ok(()) };
        let owner = Object::from(Arc::clone(set));
        let outcome = self.keep_replicas(&owner, wanted(spec.replicas), spec.template.as_ref());
        self.write_replica_set_status(key);
        outcome
    }

    /// A replica set under its first name.
    pub(super) fn reconcile_replication_controller(
        &mut self,
        key: &Key,
        controller: &Arc<ReplicationController>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &controller.spec else { return Ok(()) };
        let owner = Object::from(Arc::clone(controller));
        let outcome = self.keep_replicas(&owner, wanted(spec.replicas), spec.template.as_ref());
        self.write_replication_controller_status(key);
        outcome
    }

    fn keep_replicas(
        &mut self,
        owner: &Object,
        wanted: usize,
        template: Option<&PodTemplateSpec>,
    ) -> Result<(), ApiError> {
        let alive = self.tally(owner.metadata()).alive;
        if alive > wanted {
            let mut pods = self.managed_pods(owner.metadata());
            pods.retain(|pod| is_alive(pod));
            pods.sort_by_cached_key(|pod| expendability(pod));
            pods.into_iter().take(alive - wanted).for_each(|pod| self.delete_pod(pod));
        }
        let Some(template) = template else { return Ok(()) };
        (alive..wanted).try_for_each(|_| self.make_pod(owner, template, |_| ()))
    }

    fn write_replication_controller_status(&mut self, key: &Key) {
        let Some(Object::ReplicationController(mut it)) = self.store.get(key).cloned() else {
            return;
        };
        let tally = self.tally(&it.metadata);
        let generation = it.metadata.generation;
        let status = Arc::make_mut(&mut it).status.get_or_insert_default();
        status.replicas = count(tally.alive);
        status.fully_labeled_replicas = Some(count(tally.alive));
        status.ready_replicas = Some(count(tally.ready));
        status.available_replicas = Some(count(tally.ready));
        status.observed_generation = generation;
        self.commit(it.into());
    }

    fn write_replica_set_status(&mut self, key: &Key) {
        let Some(Object::ReplicaSet(mut set)) = self.store.get(key).cloned() else { return };
        let tally = self.tally(&set.metadata);
        let generation = set.metadata.generation;
        let status = Arc::make_mut(&mut set).status.get_or_insert_with(ReplicaSetStatus::default);
        status.replicas = count(tally.alive);
        status.fully_labeled_replicas = Some(count(tally.alive));
        status.ready_replicas = Some(count(tally.ready));
        status.available_replicas = Some(count(tally.ready));
        status.observed_generation = generation;
        self.commit(set.into());
    }
}

/// Which pod goes first when there are too many: upstream's order, but for pods that share a node.
fn expendability(pod: &Pod) -> impl Ord + use<> {
    let annotations = pod.metadata.annotations.as_ref();
    let cost = annotations.and_then(|a| a.get("controller.kubernetes.io/pod-deletion-cost"));
    let cost: i32 = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
    let version: u64 =
        pod.metadata.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0);
    let age = pod.metadata.creation_timestamp.clone();
    (
        node_of(pod).is_some(),
        phase_of(pod) == "Running",
        is_ready(pod),
        cost,
        Reverse((age, version)),
    )
}
