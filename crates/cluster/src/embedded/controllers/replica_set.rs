//! ReplicaSets: as many pods as asked for.

use std::cmp::Reverse;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::Pod;

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
        let wanted = wanted(spec.replicas);
        let tally = self.tally(&set.metadata);
        let mut outcome = Ok(());
        if tally.alive < wanted {
            let owner = Object::from(Arc::clone(set));
            let template = spec.template.clone().unwrap_or_default();
            outcome =
                (tally.alive..wanted).try_for_each(|_| self.make_pod(&owner, &template, |_| ()));
        } else if tally.alive > wanted {
            let mut pods = self.managed_pods(&set.metadata);
            pods.retain(|pod| is_alive(pod));
            pods.sort_by_cached_key(|pod| expendability(pod));
            for pod in pods.into_iter().take(tally.alive - wanted) {
                self.delete_pod(pod);
            }
        }
        self.write_replica_set_status(key);
        outcome
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
