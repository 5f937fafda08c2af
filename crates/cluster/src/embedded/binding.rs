//! What a scheduler writes: bindings and the status of pods.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use roadstead_queue::Time;

use super::{Cluster, node_of};
use crate::{ApiError, Key, Kind};

/// A request to run a pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// The pod's uid, if only that pod is meant.
    pub uid: Option<String>,
    /// The node.
    pub node: String,
}

impl Binding {
    /// Binds whatever pod has this name.
    #[must_use]
    pub fn new(namespace: &str, name: &str, node: &str) -> Self {
        let [namespace, name, node] = [namespace, name, node].map(str::to_owned);
        Self { namespace, name, uid: None, node }
    }

    /// Binds only the pod with this uid.
    #[must_use]
    pub fn only(mut self, uid: &str) -> Self {
        self.uid = Some(uid.to_owned());
        self
    }
}

/// A change of a pod's status, as a scheduler makes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodStatusPatch {
    /// The pod's uid, if only that pod is meant.
    pub uid: Option<String>,
    /// Conditions to set, by type. Without a transition time it is the time of the change of
    /// status, if it changes.
    pub conditions: Vec<PodCondition>,
    /// `Some("")` clears the nomination, `None` leaves it.
    pub nominated_node_name: Option<String>,
}

impl Cluster {
    /// Binds a pod to a node: `pods/binding` of the API.
    ///
    /// Whether the node exists is not asked, as upstream does not: a pod on a node that is not
    /// there waits for it, and goes after a while.
    ///
    /// # Errors
    /// [`ApiError::NotFound`]; [`ApiError::Conflict`] if the pod is another one, being deleted,
    /// bound already, or gated.
    pub fn bind(&mut self, now: Time, binding: &Binding) -> Result<(), ApiError> {
        self.advance(now);
        let key = Kind::Pod.key(&binding.namespace, &binding.name);
        let mut pod = self.pod_for(&key, binding.uid.as_deref())?;
        let name = &binding.name;
        if pod.metadata.deletion_timestamp.is_some() {
            let reason = format!("pod {name} is being deleted, cannot be assigned to a host");
            return Err(ApiError::conflict(&key, reason));
        }
        if let Some(node) = node_of(&pod) {
            let reason = format!("pod {name} is already assigned to node \"{node}\"");
            return Err(ApiError::conflict(&key, reason));
        }
        if pod
            .spec
            .as_ref()
            .is_some_and(|s| s.scheduling_gates.as_ref().is_some_and(|g| !g.is_empty()))
        {
            let reason = format!("pod {name} has non-empty .spec.schedulingGates");
            return Err(ApiError::conflict(&key, reason));
        }
        let changed = Arc::make_mut(&mut pod);
        changed.spec.get_or_insert_default().node_name = Some(binding.node.clone());
        let status = changed.status.get_or_insert_default();
        status.nominated_node_name = None;
        self.set_condition(status, condition("PodScheduled", "True"));
        self.commit(pod.into());
        Ok(())
    }

    /// Changes a pod's conditions and nomination: a patch of `pods/status`.
    ///
    /// # Errors
    /// [`ApiError::NotFound`]; [`ApiError::Conflict`] for another uid.
    pub fn patch_pod_status(
        &mut self,
        now: Time,
        namespace: &str,
        name: &str,
        patch: PodStatusPatch,
    ) -> Result<(), ApiError> {
        self.advance(now);
        let key = Kind::Pod.key(namespace, name);
        let mut pod = self.pod_for(&key, patch.uid.as_deref())?;
        let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
        for condition in patch.conditions {
            self.set_condition(status, condition);
        }
        if let Some(node) = patch.nominated_node_name {
            status.nominated_node_name = Some(node).filter(|node| !node.is_empty());
        }
        self.commit(pod.into());
        Ok(())
    }

    pub(super) fn set_condition(&self, status: &mut PodStatus, mut new: PodCondition) {
        let conditions = status.conditions.get_or_insert_default();
        let old = conditions.iter_mut().find(|condition| condition.type_ == new.type_);
        if new.last_transition_time.is_none() {
            let same = old.as_ref().filter(|old| old.status == new.status);
            let since = same.and_then(|old| old.last_transition_time.clone());
            new.last_transition_time = Some(since.unwrap_or_else(|| self.timestamp()));
        }
        match old {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }

    pub(super) fn pod_for(&self, key: &Key, uid: Option<&str>) -> Result<Arc<Pod>, ApiError> {
        let object = self.store.get(key).ok_or_else(|| ApiError::NotFound(key.clone()))?;
        self.expect(key, object, uid)?;
        object.as_pod().cloned().ok_or_else(|| ApiError::NotFound(key.clone()))
    }
}

pub(super) fn condition(kind: &str, status: &str) -> PodCondition {
    PodCondition { type_: kind.to_owned(), status: status.to_owned(), ..PodCondition::default() }
}
