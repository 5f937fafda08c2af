//! Fake kubelets: what happens to a pod on a node, and when.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use roadstead_queue::Time;

use super::binding::condition;
use super::deletion::has_finalizers;
use super::{Cluster, containers, is_finished, node_of, phase_of};
use crate::validation::run_seconds;
use crate::{Key, Object};

/// The annotation that says after how many seconds of running a pod succeeds. A pod without it
/// runs until it is deleted.
pub const RUN_SECONDS: &str = "roadstead.dev/run-seconds";

/// The annotation that says with which code a pod ends after its [`RUN_SECONDS`]. With another
/// than 0 it fails, whatever its restart policy: kubelets here do not restart containers.
pub const EXIT_CODE: &str = "roadstead.dev/exit-code";

/// Something that happens at a time: what a kubelet does, or a time that is over.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) key: Key,
    /// Of the pod that is meant: a later one of that name is not concerned.
    pub(super) uid: String,
    pub(super) deed: Deed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Start,
    Finish,
    Stop,
    /// Not a kubelet's, there is none: clears away a pod whose node is not there.
    ClearAway,
    /// Deletes a job that has been over for long enough.
    Expire,
    /// Nor this: drives a pod away from a node that is tainted.
    Evict,
}

impl Cluster {
    /// Plans a task. Those of one time come in the order in which they were planned.
    pub(super) fn plan(&mut self, at: Time, task: Task) {
        self.planned += 1;
        self.tasks.insert((at, self.planned), task);
    }

    pub(super) fn perform(&mut self, task: &Task) {
        let pod = match self.store.get(&task.key) {
            Some(Object::Pod(pod)) => pod,
            Some(Object::Job(job)) if job.metadata.uid.as_deref() == Some(&task.uid) => {
                let job = Arc::clone(job);
                return self.expire_job(&job);
            }
            _ => return,
        };
        if pod.metadata.uid.as_deref() != Some(&task.uid) {
            return;
        }
        let pod = Arc::clone(pod);
        let has_node = self.node_of(&pod).is_some();
        let leaving = pod.metadata.deletion_timestamp.is_some();
        let works = !leaving && self.node_of(&pod).is_some_and(is_ready);
        match task.deed {
            Deed::Start if works && phase_of(&pod) == "Pending" => self.start(pod),
            Deed::Finish if works && phase_of(&pod) == "Running" => self.finish(pod),
            Deed::Evict if !leaving && !is_finished(&pod) => self.evict_tainted(pod),
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
        self.plan_eviction(pod, &key);
        let (deed, delay) = match self.node_of(pod).is_some() {
            false => (Deed::ClearAway, self.config.orphan_delay),
            true if leaving => (Deed::Stop, self.config.stop_delay),
            true if phase_of(pod) == "Running" => match run_time(pod) {
                Some(time) => (Deed::Finish, time),
                None => return,
            },
            true => (Deed::Start, self.config.start_delay),
        };
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        self.plan(self.now + delay, Task { key, uid, deed });
    }

    /// A node that was not ready is again: what it runs starts over.
    pub(super) fn on_ready_again(&mut self, node: &str) {
        let pods: Vec<Key> = self.store.pods_on(node).cloned().collect();
        self.tasks.retain(|_, task| task.deed != Deed::Finish || !pods.contains(&task.key));
        for key in pods {
            if let Some(Object::Pod(pod)) = self.store.get(&key).cloned() {
                self.on_assigned(&pod, key);
            }
        }
    }

    fn start(&mut self, mut pod: Arc<Pod>) {
        let started = self.timestamp();
        let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
        status.phase = Some("Running".to_owned());
        status.start_time.get_or_insert(started);
        for kind in ["Initialized", "Ready", "ContainersReady"] {
            self.set_condition(status, condition(kind, "True"));
        }
        if self.config.reports_containers {
            containers::report_start(Arc::make_mut(&mut pod), &self.timestamp());
        }
        let run_time = run_time(&pod);
        // Given away: what is shared would be copied once more.
        let object = self.commit(pod.into());
        if let Some(time) = run_time {
            let (key, uid) = (object.key(), object.uid().to_owned());
            self.plan(self.now + time, Task { key, uid, deed: Deed::Finish });
        }
    }

    fn finish(&mut self, mut pod: Arc<Pod>) {
        let failed = exit_code(&pod) != 0;
        let (phase, reason) =
            if failed { ("Failed", "PodFailed") } else { ("Succeeded", "PodCompleted") };
        let status = Arc::make_mut(&mut pod).status.get_or_insert_default();
        status.phase = Some(phase.to_owned());
        for kind in ["Ready", "ContainersReady"] {
            let mut done = condition(kind, "False");
            done.reason = Some(reason.to_owned());
            self.set_condition(status, done);
        }
        if self.config.reports_containers {
            let code = exit_code(&pod);
            containers::report_end(Arc::make_mut(&mut pod), &self.timestamp(), code);
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

    fn node_of(&self, pod: &Pod) -> Option<&Node> {
        self.get::<Node>("", node_of(pod)?).map(|node| &**node)
    }
}

/// Whether the kubelet of a node is at work. One that has said nothing of itself is.
pub(super) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|c| c.type_ == "Ready").all(|c| c.status == "True")
}

fn run_time(pod: &Pod) -> Option<std::time::Duration> {
    pod.metadata.annotations.as_ref()?.get(RUN_SECONDS).and_then(|text| run_seconds(text))
}

fn exit_code(pod: &Pod) -> i32 {
    let annotations = pod.metadata.annotations.as_ref();
    annotations.and_then(|a| a.get(EXIT_CODE)?.parse().ok()).unwrap_or(0)
}
