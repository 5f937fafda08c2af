//! What happens to pods.

use std::sync::Arc;

use roadstead_model::{Pod, PodChange, PodPhase};
use roadstead_queue::{Action, Audience, Item, Name, NodeId, Rejectors, Resource, Time};

use super::rules::event;
use super::{PodKey, QueuedPod, Scheduler};
use crate::events::{self, ClusterEvent, Object};
use crate::observer::Observer;

impl<V: Observer> Scheduler<V> {
    /// The cluster shows a pod, new or changed. One that has come to its end counts as gone.
    pub fn pod_set(&mut self, pod: Arc<Pod>, now: Time) {
        if matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed) {
            return self.pod_gone(&PodKey::of(&pod), now);
        }
        let key = PodKey::of(&pod);
        let known = self.queue.policy().pods.get(&key).map(|known| known.pod.clone());
        if known.as_ref().is_some_and(|old| old.uid != pod.uid) {
            // Its deletion was missed.
            self.pod_gone(&key, now);
        }
        let old = known.filter(|old| old.uid == pod.uid);
        self.queue.policy_mut().know(&pod);
        match old {
            None if pod.node_name.is_some() => self.assigned_pod_added(pod, now),
            None => self.waiting_pod_added(&pod, now),
            Some(old) if old.node_name.is_some() => self.assigned_pod_updated(old, pod, now),
            Some(old) if pod.node_name.is_some() => {
                self.assigned_pod_added(pod, now);
                self.leave_queue(&old, now);
            }
            Some(old) => self.waiting_pod_updated(&old, &pod, now),
        }
    }

    /// The cluster shows that a pod is gone.
    pub fn pod_gone(&mut self, key: &PodKey, now: Time) {
        let Some(known) = self.queue.policy_mut().forget_pod(key) else { return };
        let pod = known.pod;
        self.tell_preemption(|preempting| preempting.on_leaving(&pod.uid));
        if pod.node_name.is_some() {
            self.wakeups.expect_no_more(&pod.uid);
            self.cache.remove_pod(&pod.uid);
            self.tell(events::ASSIGNED_POD, Action::DELETE, Some(pod), None, now);
            return;
        }
        if self.queue.policy().profile_of(&pod).is_none() {
            return;
        }
        let before = self.ticks();
        let kept = self.queue.nomination(key, known.incarnation);
        self.queue.delete(Name::new(key, known.incarnation), now);
        self.handled("UnschedulablePodDelete", before);
        if self.cache.is_assumed(&pod.uid) {
            self.assumed_pod_deleted(&pod, now);
        } else if pod.nominated_node.is_some() {
            self.nomination_ended(&pod, now);
        } else {
            self.tell_if_given_up(&pod, known.incarnation, kept, now);
        }
    }

    /// A decision came to nothing: what it took is free again.
    pub(super) fn forget(&mut self, pod: &Pod, now: Time) {
        self.wakeups.expect_in_vain(&pod.uid);
        if let Some(assumed) = self.cache.forget(&pod.uid) {
            self.tell(events::ASSIGNED_POD, Action::DELETE, Some(assumed), None, now);
        }
    }

    fn waiting_pod_added(&mut self, pod: &Arc<Pod>, now: Time) {
        let before = self.ticks();
        if let Some(queued) = self.queue.policy_mut().queued(pod) {
            self.queue.add(queued, now);
            self.handled("UnschedulablePodAdd", before);
        }
    }

    fn waiting_pod_updated(&mut self, old: &Arc<Pod>, pod: &Arc<Pod>, now: Time) {
        if old == pod || self.queue.policy().profile_of(old).is_none() {
            return;
        }
        if self.cache.is_assumed(&pod.uid) {
            if pod.is_terminating() && !old.is_terminating() {
                self.assumed_pod_deleted(pod, now);
            }
            return;
        }
        let before = self.ticks();
        let changes = changes(events::UNSCHEDULABLE_POD, old, pod);
        let Some(queued) = self.queue.policy_mut().queued(pod) else { return };
        let incarnation = queued.incarnation();
        let kept = self.queue.nomination(&PodKey::of(pod), incarnation);
        self.queue.update(queued, changes, now);
        self.handled("UnschedulablePodUpdate", before);
        if old.nominated_node.is_some() && old.nominated_node != pod.nominated_node {
            self.nomination_ended(old, now);
        } else {
            self.tell_if_given_up(pod, incarnation, kept, now);
        }
    }

    fn assigned_pod_added(&mut self, pod: Arc<Pod>, now: Time) {
        self.wakeups.expect_no_more(&pod.uid);
        if pod.is_terminating() {
            self.wakeups.expect(&pod.uid);
        }
        self.cache.set_pod(pod.clone());
        self.tell(events::ASSIGNED_POD, Action::ADD, None, Some(pod), now);
    }

    fn assigned_pod_updated(&mut self, old: Arc<Pod>, pod: Arc<Pod>, now: Time) {
        if old == pod {
            return;
        }
        if pod.is_terminating() {
            self.wakeups.expect(&pod.uid);
            self.tell_preemption(|preempting| preempting.on_leaving(&pod.uid));
        }
        self.cache.set_pod(pod.clone());
        for event in changes(events::ASSIGNED_POD, &old, &pod) {
            self.announce(event, now);
        }
    }

    /// Somebody has bound the pod: it waits no more.
    fn leave_queue(&mut self, pod: &Arc<Pod>, now: Time) {
        let key = PodKey::of(pod);
        let incarnation = self.queue.policy().pods.get(&key).map(|known| known.incarnation);
        if let Some(incarnation) = incarnation {
            let kept = self.queue.nomination(&key, incarnation);
            self.queue.delete(Name::new(&key, incarnation), now);
            self.tell_if_given_up(pod, incarnation, kept, now);
        }
    }

    /// A node is no longer kept for a pod: others of at most its priority may have it.
    fn nomination_ended(&mut self, pod: &Arc<Pod>, now: Time) {
        let priority = pod.spec().priority;
        let may_profit = |item: &QueuedPod, _: &Rejectors| item.pod.spec().priority <= priority;
        let old = Some(Object::Pod(pod.clone()));
        let event = event(events::ASSIGNED_POD, Action::DELETE, old, None);
        self.queue.on_event_for(event, &Audience::Classes(&may_profit), now);
    }

    /// If the node that was kept for the pod is no longer, the others hear of it at once.
    // S6: upstream tells them when the pod's status shows it, and not at all if the pod has got
    // another node meanwhile.
    pub(super) fn tell_if_given_up(
        &mut self,
        pod: &Arc<Pod>,
        incarnation: u64,
        kept: Option<NodeId>,
        now: Time,
    ) {
        let Some(kept) = kept else { return };
        if self.queue.nomination(&PodKey::of(pod), incarnation) == Some(kept) {
            return;
        }
        let mut before = (**pod).clone();
        before.nominated_node = self.queue.policy().node_name(kept).cloned();
        let priority = pod.spec().priority;
        let may_profit = |item: &QueuedPod, _: &Rejectors| {
            item.pod.spec().priority <= priority && item.pod.uid != pod.uid
        };
        let old = Some(Object::Pod(Arc::new(before)));
        let event = event(events::ASSIGNED_POD, Action::DELETE, old, None);
        self.queue.on_event_for(event, &Audience::Items(&may_profit), now);
    }

    fn tell(
        &mut self,
        resource: Resource,
        action: Action,
        old: Option<Arc<Pod>>,
        new: Option<Arc<Pod>>,
        now: Time,
    ) {
        let event = event(resource, action, old.map(Object::Pod), new.map(Object::Pod));
        self.announce(event, now);
    }
}

/// What changed between two versions of a pod, one event each.
fn changes(resource: Resource, old: &Arc<Pod>, new: &Arc<Pod>) -> Vec<ClusterEvent> {
    Pod::changes(old, new)
        .into_iter()
        .map(|change| {
            let action = match change {
                PodChange::Labels => events::UPDATE_POD_LABEL,
                PodChange::ScaleDown => events::UPDATE_POD_SCALE_DOWN,
                PodChange::GatesEliminated => events::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                PodChange::Tolerations => events::UPDATE_POD_TOLERATION,
                PodChange::GeneratedClaims => events::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
                PodChange::Other => Action::UPDATE,
            };
            let [old, new] = [old, new].map(|pod| Some(Object::Pod(pod.clone())));
            event(resource.clone(), action, old, new)
        })
        .collect()
}
