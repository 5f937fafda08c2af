//! A cluster with a clock, and short words for what tests do to it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::embedded::{Applied, Binding, Cluster, Config, DeleteOptions};
use roadstead_cluster::manifests::{self, Document, Problem};
use roadstead_cluster::{ApiError, Kind, Object, Resource};
use roadstead_queue::Time;

pub(crate) struct TestCluster {
    pub(crate) cluster: Cluster,
    pub(crate) now: Time,
}

impl TestCluster {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        Self { cluster: Cluster::new(config), now: Time::ZERO }
    }

    /// Loads manifests that have nothing wrong with them, and lets controllers work.
    pub(crate) fn load(&mut self, text: &str) {
        let report = self.cluster.load(self.now, manifests::parse("test.yaml", text));
        let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, Vec::<String>::new());
        self.settle();
    }

    pub(crate) fn apply(
        &mut self,
        text: &str,
        previous: &[Document],
    ) -> Result<Applied, Vec<Problem>> {
        let applied = self.cluster.apply(self.now, manifests::parse("test.yaml", text), previous);
        self.settle();
        applied
    }

    pub(crate) fn settle(&mut self) {
        self.cluster.on_time(self.now);
        self.cluster.check_invariants();
    }

    pub(crate) fn after(&mut self, seconds: u64) {
        self.now = self.now + Duration::from_secs(seconds);
        self.settle();
    }

    pub(crate) fn bind(&mut self, pod: &str, node: &str) -> Result<(), ApiError> {
        self.cluster.bind(self.now, &Binding::new("default", pod, node))
    }

    /// Binds every pod that waits, those of daemon sets to their own nodes, and lets a second pass.
    pub(crate) fn bind_all(&mut self, node: &str) {
        let waiting = self.pods().into_iter().filter(|pod| node_of(pod).is_none());
        for pod in waiting.collect::<Vec<_>>() {
            self.bind(&name(&pod), pinned_to(&pod).unwrap_or(node)).expect("it waits");
        }
        self.after(1);
    }

    pub(crate) fn delete(&mut self, kind: Kind, name: &str) {
        let key = kind.key("default", name);
        self.cluster.delete(self.now, &key, &DeleteOptions::default()).expect("it is there");
        self.settle();
    }

    pub(crate) fn update<T: Resource + 'static>(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut T),
    ) {
        let mut object: T = (**self.get::<T>(name)).clone();
        change(&mut object);
        self.cluster.update(self.now, object).expect("it may change");
        self.settle();
    }

    pub(crate) fn get<T: Resource + 'static>(&self, name: &str) -> &Arc<T> {
        self.cluster.get("default", name).unwrap_or_else(|| panic!("there is no {name}"))
    }

    pub(crate) fn has(&self, kind: Kind, name: &str) -> bool {
        self.cluster.object(&kind.key("default", name)).is_some()
    }

    pub(crate) fn pod(&self, name: &str) -> &Pod {
        self.get::<Pod>(name)
    }

    pub(crate) fn phase(&self, name: &str) -> &str {
        phase(self.pod(name))
    }

    pub(crate) fn pods(&self) -> Vec<Arc<Pod>> {
        self.cluster.list::<Pod>().cloned().collect()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.pods().iter().map(|pod| name(pod)).collect()
    }

    /// Pods that neither have finished nor are on their way out.
    pub(crate) fn alive(&self) -> usize {
        let alive = |pod: &Arc<Pod>| {
            pod.metadata.deletion_timestamp.is_none()
                && !matches!(phase(pod), "Succeeded" | "Failed")
        };
        self.pods().into_iter().filter(alive).count()
    }
}

pub(crate) fn name(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap_or_default()
}

pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// The node that a daemon set made the pod for.
pub(crate) fn pinned_to(pod: &Pod) -> Option<&str> {
    let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
    let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let fields = required.node_selector_terms.first()?.match_fields.as_ref()?;
    fields.first()?.values.as_ref()?.first().map(String::as_str)
}

pub(crate) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("")
}

pub(crate) fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a str> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| c.type_ == kind).map(|c| &*c.status)
}

/// What manifests mean as an object.
pub(crate) fn object(text: &str) -> Object {
    let mut found = manifests::parse("test.yaml", text);
    assert_eq!(found.problems, Vec::new());
    found.documents.remove(0).object
}

pub(crate) fn node(name: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n\
         status: {{allocatable: {{cpu: 8, memory: 16Gi, pods: 110}}}}\n"
    )
}

pub(crate) fn pod(name: &str) -> String {
    pod_with(name, "")
}

/// A pod with more in its spec.
pub(crate) fn pod_with(name: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\n\
         spec: {{containers: [{{name: main, image: app}}]{spec}}}\n"
    )
}

/// A workload whose pods have `app: NAME`.
pub(crate) fn workload(kind: &str, name: &str, spec: &str) -> String {
    let version = if kind == "Job" { "batch/v1" } else { "apps/v1" };
    let selector = if kind == "Job" {
        String::new()
    } else {
        format!("selector: {{matchLabels: {{app: {name}}}}}, ")
    };
    let restart = if kind == "Job" { ", restartPolicy: Never" } else { "" };
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n\
         spec: {{{selector}template: {{metadata: {{labels: {{app: {name}}}}}, \
         spec: {{containers: [{{name: main, image: app}}]{restart}}}}}{spec}}}\n"
    )
}
