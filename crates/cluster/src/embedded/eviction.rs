//! Evictions: those that somebody asks for, as `kubectl drain` does, and those of tainted nodes.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use roadstead_queue::Time;

use super::controllers::tolerates;
use super::kubelet::{Deed, Task};
use super::store::is_ready;
use super::{Cluster, is_finished, node_of, phase_of};
use crate::{ApiError, Key, Kind, Object, Resource};

impl Cluster {
    /// Evicts a pod: `pods/eviction` of the API. It is deleted with its own grace period, unless a
    /// PodDisruptionBudget stands against that.
    ///
    /// # Errors
    /// [`ApiError::NotFound`]; [`ApiError::TooManyRequests`] if a budget allows no disruption now:
    /// try again later.
    pub fn evict(&mut self, now: Time, namespace: &str, name: &str) -> Result<(), ApiError> {
        self.advance(now);
        // Budgets must know of the eviction before this one.
        self.settle();
        let key = Kind::Pod.key(namespace, name);
        let object = self.store.get(&key).ok_or_else(|| ApiError::NotFound(key.clone()))?.clone();
        let is_counted = |pod: &Arc<Pod>| {
            !is_finished(pod)
                && phase_of(pod) != "Pending"
                && pod.metadata.deletion_timestamp.is_none()
        };
        if let Some(pod) = object.as_pod().filter(|pod| is_counted(pod))
            && let Some(budget) = self.budget_against(&key, pod)
        {
            let reason = format!(
                "cannot evict pod as it would violate the pod's disruption budget {budget}"
            );
            return Err(ApiError::TooManyRequests { key, reason });
        }
        self.remove(object, None);
        Ok(())
    }

    /// The name of a budget that cannot spare the pod. One that is not ready is no loss while
    /// enough others are.
    fn budget_against(&self, key: &Key, pod: &Pod) -> Option<&str> {
        let covering = self.budgets.iter().filter(|(_, members)| members.contains(key));
        let budgets = covering.filter_map(|(key, _)| PodDisruptionBudget::of(self.store.get(key)?));
        let mut against = budgets.filter(|budget| {
            let status = budget.status.as_ref();
            let allowed = status.and_then(|s| s.disruptions_allowed).unwrap_or(0);
            let healthy = status.and_then(|s| s.current_healthy).unwrap_or(0);
            let desired = status.and_then(|s| s.desired_healthy).unwrap_or(0);
            let is_no_loss = !is_ready(pod) && desired > 0 && healthy >= desired;
            allowed < 1 && !is_no_loss
        });
        against.next().and_then(|budget| budget.metadata.name.as_deref())
    }

    /// Plans the evictions from a node whose taints have changed.
    pub(super) fn on_tainted(&mut self, node: &Node) {
        if no_execute_taints(node).next().is_none() {
            return;
        }
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let pods: Vec<Key> = self.store.pods_on(name).cloned().collect();
        for key in pods {
            if let Some(Object::Pod(pod)) = self.store.get(&key) {
                let pod = Arc::clone(pod);
                self.plan_eviction(&pod, &key);
            }
        }
    }

    /// Plans the eviction of a pod from a node with a taint that it does not tolerate for ever.
    pub(super) fn plan_eviction(&mut self, pod: &Pod, key: &Key) {
        if let Some(at) = self.eviction_time(pod) {
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            self.tasks.insert(Task { at, key: key.clone(), uid, deed: Deed::Evict });
        }
    }

    /// Evicts the pod if it is still time for it: the taint may be gone, or be a newer one.
    pub(super) fn evict_tainted(&mut self, pod: Arc<Pod>) {
        if self.eviction_time(&pod).is_some_and(|at| at <= self.now) {
            self.remove(pod.into(), None);
        }
    }

    /// When the taints of its node drive a pod away.
    fn eviction_time(&self, pod: &Pod) -> Option<Time> {
        let node = self.get::<Node>("", node_of(pod)?)?;
        no_execute_taints(node).filter_map(|taint| self.driven_away_by(taint, pod)).min()
    }

    fn driven_away_by(&self, taint: &Taint, pod: &Pod) -> Option<Time> {
        let tolerations = pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref());
        let tolerating = tolerations.unwrap_or_default().iter().filter(|t| tolerates(t, taint));
        let stay = match tolerating.map(stay_of).reduce(|a, b| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }) {
            Some(stay) => stay?,
            // The toleration that the DefaultTolerationSeconds admission plugin adds to every pod.
            None if LIFECYCLE.contains(&taint.key.as_str()) => self.config.default_toleration,
            None => Duration::ZERO,
        };
        let added = taint.time_added.as_ref().and_then(|t| u64::try_from(t.0.as_second()).ok());
        Some(added.map_or(self.now, Time::from_secs) + stay)
    }
}

/// How long a toleration lets a pod stay; `None` is for ever.
fn stay_of(toleration: &Toleration) -> Option<Duration> {
    let seconds = toleration.toleration_seconds?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn no_execute_taints(node: &Node) -> impl Iterator<Item = &Taint> {
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    taints.filter(|taint| taint.effect == "NoExecute")
}

const LIFECYCLE: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
