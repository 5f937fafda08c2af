//! What every pod requests and may use at most, for `/metrics/resources`.

use roadstead_model::{Pod, Text};

use super::exposition::Exposition;
use crate::observer::Observer;
use crate::scheduler::Scheduler;

/// The limits and requests of every pod that the cluster shows, whoever schedules it, in Prometheus'
/// text format. What has ended is left out.
///
/// As in kube-scheduler they are what the pods' specs say, and a pod has its node once the cluster
/// shows it there.
#[must_use]
pub fn expose_pod_resources<V: Observer>(scheduler: &Scheduler<V>) -> String {
    let mut pods: Vec<&Pod> = scheduler.shown_pods().collect();
    pods.retain(|pod| !pod.phase.is_terminal());
    pods.sort_unstable_by_key(|pod| (pod.namespace(), &pod.name));
    let mut out = Exposition::default();
    let families: [(&str, &str, fn(&Pod) -> &[(Text, i64)]); 2] = [
        ("kube_pod_resource_limit", LIMIT_HELP, |pod| &pod.spec().limits),
        ("kube_pod_resource_request", REQUEST_HELP, |pod| &pod.spec().requests.milli),
    ];
    for (name, help, amounts) in families {
        // As with Go's clients, a metric without series is not there at all.
        if pods.iter().any(|pod| amounts(pod).iter().any(|(_, milli)| *milli != 0)) {
            out.begin(name, help, "gauge");
        }
        for pod in &pods {
            put(&mut out, name, pod, amounts(pod));
        }
    }
    out.into_text()
}

const LIMIT_HELP: &str = "[STABLE] Resources limit for workloads on the cluster, broken down by pod. \
                          This shows the resource usage the scheduler and kubelet expect per pod for \
                          resources along with the unit for the resource if any.";
const REQUEST_HELP: &str = "[STABLE] Resources requested by workloads on the cluster, broken down by \
                            pod. This shows the resource usage the scheduler and kubelet expect per \
                            pod for resources along with the unit for the resource if any.";

fn put(out: &mut Exposition, name: &str, pod: &Pod, amounts: &[(Text, i64)]) {
    let spec = pod.spec();
    let priority = spec.priority.to_string();
    for (resource, milli) in amounts.iter().filter(|(_, milli)| *milli != 0) {
        let labels = [
            ("namespace", &*spec.namespace),
            ("node", pod.node_name.as_deref().unwrap_or_default()),
            ("pod", &*pod.name),
            ("priority", &*priority),
            ("resource", resource),
            ("scheduler", &*spec.scheduler_name),
            ("unit", unit(resource)),
        ];
        out.sample(name, &labels, *milli as f64 / 1000.0);
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
