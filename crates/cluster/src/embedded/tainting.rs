//! Pods that the taints of their node drive away.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use roadstead_queue::Time;

use super::controllers::tolerates;
use super::kubelet::{Deed, Task};
use super::{Cluster, node_of};
use crate::{Key, Object};

impl Cluster {
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
            self.plan(at, Task { key: key.clone(), uid, deed: Deed::Evict });
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
