//! Fake kubelets: what happens to a pod on a node, and when.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use roadstead_queue::Time;

use super::binding::condition;
use super::deletion::has_finalizers;
use super::{Cluster, is_finished, node_of, phase_of};
use crate::validation::run_seconds;
use crate::{Key, Kind, Object};

/// The annotation that says after how many seconds of running a pod succeeds. A pod without it
/// runs until it is deleted.
pub const RUN_SECONDS: &str = "roadstead.dev/run-seconds";

/// Something that a kubelet does at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Task {
    pub(super) at: Time,
    pub(super) key: Key,
    /// Of the pod that is meant: a later one of that name is not concerned.
    pub(super) uid: String,
    pub(super) deed: Deed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deed {
    Start,
    Finish,
    Stop,
    /// Not a kubelet's, there is none: clears away a pod whose node is not there.
    ClearAway,
}

impl Cluster {
    pub(super) fn perform(&mut self, task: &Task) {
        let Some(Object::Pod(pod)) = self.store.get(&task.key) else { return };
        if pod.metadata.uid.as_deref() != Some(&task.uid) {
            return;
        }
        let pod = Arc::clone(pod);
        let has_node = self.node_exists(&pod);
        let leaving = pod.metadata.deletion_timestamp.is_some();
        match task.deed {
            Deed::Start if has_node && !leaving && phase_of(&pod) == "Pending" => self.start(pod),
            Deed::Finish if has_node && !leaving && phase_of(&pod) == "Running" => self.finish(pod),
            Deed::Stop if has_node && leaving => self.stop(&pod.into()),
            Deed::ClearAway if !has_node => self.stop(&pod.into()),
            _ => {}
        }
    }

    /// Plans what a kubelet does with a pod that has come to a node, or whose node has come.
    pub(super) fn on_assigned(&mut self, pod: &Pod, key: Key) {
        if is_finished(pod) {
            return;
        }
        let leaving = pod.metadata.deletion_timestamp.is_some();
        let (deed, delay) = match self.node_exists(pod) {
            false => (Deed::ClearAway, self.config.orphan_delay),
            true if leaving => (Deed::Stop, self.config.stop_delay),
            true if phase_of(pod) == "Running" => match run_time(pod) {
                Some(time) => (Deed::Finish, time),
                None => return,
            },
            true => (Deed::Start, self.config.start_delay),
        };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.tasks.insert(Task { at: self.now + delay, key, uid, deed });
    }

    fn start(&mut self, mut pod: Arc<Pod>) {
        let started = self.timestamp();
        let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
        status.phase = Some("Running".to_owned());
        status.start_time.get_or_insert(started);
        for kind in ["Initialized", "Ready", "ContainersReady"] {
            self.set_condition(status, condition(kind, "True"));
        }
        let run_time = run_time(&pod);
        // Given away: what is shared would be copied once more.
        let object = self.commit(pod.into());
        if let Some(time) = run_time {
            let (key, uid) = (object.key(), object.uid().to_owned());
            self.tasks.insert(Task { at: self.now + time, key, uid, deed: Deed::Finish });
        }
    }

    fn finish(&mut self, mut pod: Arc<Pod>) {
        let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
        status.phase = Some("Succeeded".to_owned());
        for kind in ["Ready", "ContainersReady"] {
            let mut done = condition(kind, "False");
            done.reason = Some("PodCompleted".to_owned());
            self.set_condition(status, done);
        }
        self.commit(pod.into());
    }

    /// A pod that its kubelet has stopped is gone, unless somebody holds it.
    fn stop(&mut self, object: &Object) {
        if !has_finalizers(object) {
            return self.erase(&object.key());
        }
        let mut object = object.clone();
        let now = self.timestamp();
        let meta = object.metadata_mut();
        meta.deletion_timestamp.get_or_insert(now);
        meta.deletion_grace_period_seconds = Some(0);
        self.commit(object);
    }

    fn node_exists(&self, pod: &Pod) -> bool {
        node_of(pod).is_some_and(|node| self.store.get(&Kind::Node.key("", node)).is_some())
    }
}

fn run_time(pod: &Pod) -> Option<std::time::Duration> {
    pod.metadata.annotations.as_ref()?.get(RUN_SECONDS).and_then(|text| run_seconds(text))
}
