//! What every pod requests, for `/metrics/resources`.

use std::sync::Arc;

use roadstead_model::Pod;

use super::exposition::Exposition;
use crate::observer::Observer;
use crate::scheduler::Scheduler;

/// The requests of every pod that a scheduler knows, in Prometheus' text format: those on nodes,
/// whoever placed them, and those that wait for this scheduler. What has ended is left out.
///
/// Limits are not there: scheduling does not look at them, and they are not kept.
#[must_use]
pub fn expose_pod_requests<V: Observer>(scheduler: &Scheduler<V>) -> String {
    let mut out = Exposition::default();
    out.begin(NAME, HELP, "gauge");
    for node in scheduler.cache().nodes_unordered().iter() {
        for pod in node.pods() {
            put(&mut out, pod, node.name());
        }
    }
    let queue = scheduler.queue();
    for waiting in queue.active().chain(queue.backoff()).chain(queue.pool()) {
        put(&mut out, waiting.item().pod(), "");
    }
    out.into_text()
}

const NAME: &str = "kube_pod_resource_request";
const HELP: &str = "[STABLE] Resources requested by workloads on the cluster, broken down by pod. \
                    This shows the resource usage the scheduler and kubelet expect per pod for \
                    resources along with the unit for the resource if any.";

fn put(out: &mut Exposition, pod: &Arc<Pod>, node: &str) {
    if pod.phase.is_terminal() {
        return;
    }
    let spec = pod.spec();
    let priority = spec.priority.to_string();
    for (resource, milli) in &pod.requests().milli {
        if *milli == 0 {
            continue;
        }
        let labels = [
            ("namespace", &*spec.namespace),
            ("node", node),
            ("pod", &*pod.name),
            ("priority", &*priority),
            ("resource", resource),
            ("scheduler", &*spec.scheduler_name),
            ("unit", unit(resource)),
        ];
        out.sample(NAME, &labels, *milli as f64 / 1000.0);
    }
}

fn unit(resource: &str) -> &'static str {
    match resource {
        "cpu" => "cores",
        "memory" | "storage" | "ephemeral-storage" => "bytes",
        _ if resource.starts_with("hugepages-") => "bytes",
        _ if resource.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}
