//! Whom a change concerns: which controllers must look, and what kubelets do.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod, Taint};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use super::store::{Change, ChangeKind, is_alive, is_ready};
use super::{Cluster, is_finished, kubelet, node_of};
use crate::object::{controller_of, owner_key};
use crate::selector::selects;
use crate::{Key, Kind, Object, Resource};

impl Cluster {
    pub(super) fn route(&mut self, change: &Change, key: &Key) {
        let owner = |object: &Object| owner_key(controller_of(object.metadata())?, &key.namespace);
        let is = owner(&change.object);
        let was = change.old.as_ref().and_then(owner);
        let is_moved = was != is;
        for owner in is.into_iter().chain(was.filter(|_| is_moved)) {
            if owner.kind == Kind::DaemonSet {
                self.on_daemon(change, &owner);
            } else if is_moved || concerns_owner(change) {
                self.dirty.insert(owner);
            }
        }
        self.on_belonging(change, key);
        match key.kind {
            Kind::Pod => self.route_pod(change, key),
            Kind::Node => self.route_node(change),
            Kind::PersistentVolumeClaim => self.route_claim(change, key),
            Kind::PersistentVolume => self.route_volume(change),
            Kind::StorageClass => self.dirty.extend(self.unbound.iter().cloned()),
            Kind::PriorityClass => self.dirty.extend(self.troubles.keys().cloned()),
            Kind::PodDisruptionBudget => self.route_budget(change, key),
            Kind::Event => self.route_event(change, key),
            Kind::Namespace => {
                self.dirty.insert(key.clone());
            }
            _ if is_news(change) => {
                self.dirty.insert(key.clone());
            }
            _ => {}
        }
        if change.kind == ChangeKind::Deleted {
            self.on_gone(&change.object, key);
        }
    }

    fn on_gone(&mut self, object: &Object, key: &Key) {
        self.garbage.extend(self.store.disown(object.uid()));
        self.troubles.remove(key);
        self.fleets.remove(key);
        self.revisions.remove(object.uid());
        self.dirty.remove(key);
        let namespace = Kind::Namespace.key("", &key.namespace);
        if self.store.get(&namespace).is_some_and(Object::is_being_deleted) {
            self.dirty.insert(namespace);
        }
    }

    fn route_pod(&mut self, change: &Change, key: &Key) {
        let Some(pod) = change.object.as_pod() else { return };
        let old = change.old.as_ref().and_then(Object::as_pod);
        self.count_for_budgets(change, pod, key);
        if change.kind == ChangeKind::Deleted {
            if let Some(place) = self.finished_at.remove(key) {
                self.finished.remove(&place);
            }
            return self.tell_deployment(pod, key);
        }
        let was_assigned = old.is_some_and(|old| node_of(old).is_some());
        if node_of(pod).is_some() && !was_assigned {
            self.on_assigned(pod, key.clone());
        }
        if old.is_none() && has_ephemeral_volume(pod) {
            self.dirty.insert(key.clone());
        }
        if is_finished(pod) && !old.is_some_and(|old| is_finished(old)) {
            self.finished.insert(change.version, key.clone());
            self.finished_at.insert(key.clone(), change.version);
            if self.finished.len() > self.config.finished_pods_kept
                && let Some((_, oldest)) = self.finished.pop_first()
            {
                self.finished_at.remove(&oldest);
                self.expired.insert(oldest);
            }
        }
    }

    /// A deployment that recreates waits for pods that its replica set no longer counts.
    fn tell_deployment(&mut self, pod: &Pod, key: &Key) {
        let set = controller_of(&pod.metadata).and_then(|set| owner_key(set, &key.namespace));
        let Some(set) = set.and_then(|set| self.store.get(&set)) else { return };
        let deployment = controller_of(set.metadata());
        let deployment = deployment.and_then(|owner| owner_key(owner, &key.namespace));
        self.dirty.extend(deployment);
    }

    fn route_node(&mut self, change: &Change) {
        let node = change.object.name().to_owned();
        if change.kind != ChangeKind::Modified {
            let pods: Vec<Key> = self.store.pods_on(&node).cloned().collect();
            for key in pods {
                if let Some(Object::Pod(pod)) = self.store.get(&key).cloned() {
                    self.on_assigned(&pod, key);
                }
            }
        }
        if let Object::Node(new) = &change.object
            && change.kind == ChangeKind::Modified
            && let Some(Object::Node(old)) = &change.old
        {
            if kubelet::is_ready(new) && !kubelet::is_ready(old) {
                self.on_ready_again(&node);
            }
            if taints(new) != taints(old) {
                self.on_tainted(new);
            }
        }
        self.on_node_for_daemons(change);
    }

    fn route_claim(&mut self, change: &Change, key: &Key) {
        let Object::PersistentVolumeClaim(claim) = &change.object else { return };
        let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
        if change.kind == ChangeKind::Deleted {
            self.unbound.remove(key);
            let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref());
            if let Some(volume) = volume {
                self.dirty.insert(Kind::PersistentVolume.key("", volume));
            }
        } else if phase == Some("Bound") {
            self.unbound.remove(key);
        } else {
            self.unbound.insert(key.clone());
            self.dirty.insert(key.clone());
        }
    }

    fn route_volume(&mut self, change: &Change) {
        let Object::PersistentVolume(volume) = &change.object else { return };
        let claim = volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
        match claim {
            Some(claim) => {
                let namespace = claim.namespace.as_deref().unwrap_or_default();
                let name = claim.name.as_deref().unwrap_or_default();
                self.dirty.insert(Kind::PersistentVolumeClaim.key(namespace, name));
            }
            None => self.dirty.extend(self.unbound.iter().cloned()),
        }
    }

    fn route_budget(&mut self, change: &Change, key: &Key) {
        let Object::PodDisruptionBudget(budget) = &change.object else { return };
        if change.kind == ChangeKind::Deleted {
            self.budgets.remove(key);
        } else if is_news(change) {
            let pods = self.list::<Pod>().filter(|pod| covers(budget, pod));
            let members: BTreeSet<Key> = pods.map(|pod| Object::from(pod.clone()).key()).collect();
            self.budgets.insert(key.clone(), members);
            self.dirty.insert(key.clone());
        }
    }

    /// Keeps the members of each budget up to date with a pod that came, changed or went.
    fn count_for_budgets(&mut self, change: &Change, pod: &Pod, key: &Key) {
        let gone = change.kind == ChangeKind::Deleted;
        for (budget_key, members) in &mut self.budgets {
            if budget_key.namespace != key.namespace {
                continue;
            }
            let Some(budget) = self.store.get(budget_key).and_then(PodDisruptionBudget::of) else {
                continue;
            };
            let was = members.contains(key);
            let is = !gone && covers(budget, pod);
            if is {
                members.insert(key.clone());
            } else {
                members.remove(key);
            }
            if was != is || (is && concerns_owner(change)) {
                self.dirty.insert(budget_key.clone());
            }
        }
    }
}

/// Whether a change is one that the object's own controller did not make: not of status alone.
fn is_news(change: &Change) -> bool {
    let old = change.old.as_ref();
    change.kind == ChangeKind::Added
        || old.is_none_or(|old| {
            let (old, new) = (old.metadata(), change.object.metadata());
            old.generation != new.generation || old.deletion_timestamp != new.deletion_timestamp
        })
}

/// Whether the owner counts differently after this change.
fn concerns_owner(change: &Change) -> bool {
    if change.kind != ChangeKind::Modified {
        return true;
    }
    match (&change.old, &change.object) {
        (Some(Object::Pod(old)), Object::Pod(new)) => {
            let state = |pod: &Pod| (is_alive(pod), is_ready(pod), is_finished(pod));
            state(old) != state(new)
        }
        _ => true,
    }
}

fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    budget.metadata.namespace == pod.metadata.namespace
        && selector.is_some_and(|selector| selects(selector, pod.metadata.labels.as_ref()))
}

fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

fn has_ephemeral_volume(pod: &Pod) -> bool {
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    volumes.into_iter().any(|volume| volume.ephemeral.is_some())
}
