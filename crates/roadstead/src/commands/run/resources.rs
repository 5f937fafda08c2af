//! What every pod requests, in Prometheus' text format.

use std::sync::Arc;

use roadstead_model::Pod;
use roadstead_scheduler::{Exposition, Observer, Scheduler};

/// `kube_pod_resource_request` of all pods that wait or run.
pub(super) fn expose<V: Observer>(scheduler: &Scheduler<V>) -> String {
    let mut out = Exposition::default();
    let help = "[STABLE] Resources requested by workloads on the cluster, broken down by pod. This \
                shows the resource usage the scheduler and kubelet expect per pod for resources \
                along with the unit for the resource if any.";
    out.begin(NAME, help, "gauge");
    let nodes = scheduler.cache().nodes_unordered();
    for pod in nodes.iter().flat_map(|node| node.pods()) {
        expose_pod(pod, &mut out);
    }
    let queue = scheduler.queue();
    for waiting in queue.active().chain(queue.backoff()).chain(queue.pool()) {
        expose_pod(waiting.item().pod(), &mut out);
    }
    out.into_text()
}

fn expose_pod(pod: &Arc<Pod>, out: &mut Exposition) {
    let spec = pod.spec();
    let priority = spec.priority.to_string();
    let node = pod.node_name.as_deref().unwrap_or_default();
    let mut put = |resource: &str, unit: &str, value: f64| {
        let labels = [
            ("namespace", &**pod.namespace()),
            ("node", node),
            ("pod", &*pod.name),
            ("priority", &*priority),
            ("resource", resource),
            ("scheduler", &*spec.scheduler_name),
            ("unit", unit),
        ];
        if value != 0.0 {
            out.sample(NAME, &labels, value);
        }
    };
    let requests = &pod.requests().total;
    put("cpu", "cores", requests.milli_cpu as f64 / 1000.0);
    put("memory", "bytes", requests.memory as f64);
    put("ephemeral-storage", "bytes", requests.ephemeral_storage as f64);
    for (name, value) in requests.scalars() {
        put(name, unit(name), *value as f64);
    }
}

fn unit(resource: &str) -> &'static str {
    match resource {
        "storage" => "bytes",
        _ if resource.starts_with("hugepages-") => "bytes",
        _ if resource.starts_with("attachable-volumes-") => "integer",
        _ => "",
    }
}

const NAME: &str = "kube_pod_resource_request";
