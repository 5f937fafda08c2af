//! PodDisruptionBudgets: how many pods may be taken away now. Preemption asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};

use super::super::Cluster;
use super::super::store::{is_alive, is_ready};
use super::{count, share, wanted};
use crate::object::{controller_of, owner_key};
use crate::{Key, Object};

impl Cluster {
    pub(super) fn reconcile_budget(&mut self, key: &Key, budget: &Arc<PodDisruptionBudget>) {
        let Some(spec) = &budget.spec else { return };
        let members = self.budgets.get(key).cloned().unwrap_or_default();
        let pods = members.iter().filter_map(|key| self.store.get(key)?.as_pod());
        let pods: Vec<_> = pods.filter(|pod| is_alive(pod)).collect();
        let healthy = pods.iter().filter(|pod| is_ready(pod)).count();
        let scaled: BTreeSet<Key> = pods
            .iter()
            .filter_map(|pod| owner_key(controller_of(&pod.metadata)?, &key.namespace))
            .collect();
        let total: usize = scaled.iter().map(|owner| self.scale_of(owner)).sum();
        let unmanaged = pods.iter().filter(|pod| controller_of(&pod.metadata).is_none()).count();
        let expected = (total + unmanaged).max(pods.len());
        let desired = match (&spec.min_available, &spec.max_unavailable) {
            (_, Some(most)) => expected.saturating_sub(share(Some(most), "0", expected, true)),
            (least, None) => share(Some(least.as_ref().unwrap_or(&ONE)), "0", expected, true),
        };
        let status = PodDisruptionBudgetStatus {
            current_healthy: Some(count(healthy)),
            desired_healthy: Some(count(desired)),
            disruptions_allowed: Some(count(healthy.saturating_sub(desired))),
            expected_pods: Some(count(expected)),
            observed_generation: budget.metadata.generation,
            ..budget.status.clone().unwrap_or_default()
        };
        let mut budget = Arc::clone(budget);
        Arc::make_mut(&mut budget).status = Some(status);
        self.commit(budget.into());
    }

    /// How many pods a controller is to have.
    fn scale_of(&self, owner: &Key) -> usize {
        match self.store.get(owner) {
            Some(Object::ReplicaSet(set)) => wanted(set.spec.as_ref().and_then(|s| s.replicas)),
            Some(Object::ReplicationController(it)) => {
                wanted(it.spec.as_ref().and_then(|s| s.replicas))
            }
            Some(Object::StatefulSet(set)) => wanted(set.spec.as_ref().and_then(|s| s.replicas)),
            _ => 0,
        }
    }
}

const ONE: k8s_openapi::apimachinery::pkg::util::intstr::IntOrString =
    k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int(1);
