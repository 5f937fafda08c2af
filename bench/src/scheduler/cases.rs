//! The cases, named after upstream's scheduler_perf and as near to them as they can be.

use std::sync::Arc;

use roadstead_model::{Pod, Service};
use roadstead_scheduler::Change;
use serde_json::{Value, json};

use crate::anchors::{self, Throughput, Work};
use crate::cluster::Cluster;
use crate::observed::Observed;
use crate::report::Row;

/// A cluster, and pods that are measured in it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    go_throughput: Throughput,
    go_work: Work,
    /// Makes the cluster and returns the pods to be measured.
    prepare: fn(&mut Cluster, usize) -> Vec<Arc<Pod>>,
    drive: fn(&mut Cluster, &[Arc<Pod>]),
}

impl Case {
    pub(crate) fn run(&self, nodes: usize, seed: u64, observed: Observed) -> Row {
        let mut cluster = Cluster::new(seed, observed);
        let pods = (self.prepare)(&mut cluster, nodes);
        let pod_bytes = pods.iter().map(|pod| size_of_val(&**pod)).sum::<usize>();
        let prepared = crate::allocated();
        cluster.start();
        (self.drive)(&mut cluster, &pods);
        let spent = cluster.spent();
        // Less than nothing where more pods went than came.
        let kept = crate::allocated() as f64 - prepared as f64 + pod_bytes as f64;
        Row {
            case: self.name,
            nodes,
            pods: pods.len(),
            pods_per_second: pods.len() as f64 / spent.scheduler.as_secs_f64(),
            cycle_us: spent.cycles.as_secs_f64() * 1e6 / spent.cycle_count as f64,
            bytes_per_pod: kept / pods.len() as f64,
            go_throughput: self.go_throughput,
            go_work: self.go_work,
        }
    }
}

/// All of them.
pub(crate) static CASES: [Case; 9] = [
    Case {
        name: "SchedulingBasic",
        go_throughput: anchors::BASIC,
        go_work: Work::Plain,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            settle(cluster, 1_000, plain(), json!({}));
            cluster.pods("measured", 10_000, plain(), json!({}))
        },
        drive: all_are_bound,
    },
    Case {
        name: "SchedulingPodAntiAffinity",
        go_throughput: anchors::ANTI_AFFINITY,
        go_work: Work::AntiAffinity,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            settle(cluster, 200, plain(), apart());
            cluster.pods("measured", 800, plain(), apart())
        },
        drive: all_are_bound,
    },
    Case {
        name: "SchedulingPodAffinity",
        go_throughput: anchors::ANTI_AFFINITY,
        go_work: Work::AntiAffinity,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            let near = json!({
                "metadata": {"labels": {"color": "blue"}},
                "spec": {"affinity": {"podAffinity": required("blue", ZONE)}},
            });
            settle(cluster, 1_000, plain(), near.clone());
            cluster.pods("measured", 2_000, plain(), near)
        },
        drive: all_are_bound,
    },
    Case {
        name: "TopologySpreading",
        go_throughput: anchors::SPREADING,
        go_work: Work::Spread,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            settle(cluster, 1_000, plain(), json!({}));
            let constraint = json!({"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"color": "blue"}}});
            cluster.pods("measured", 2_000, plain(), spread("blue", constraint))
        },
        drive: all_are_bound,
    },
    Case {
        name: "PreemptionBasic",
        go_throughput: anchors::PREEMPTION,
        go_work: Work::FitsNowhere,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            let asks = json!({"cpu": "900m", "memory": "500Mi"});
            let low = cluster.pods("low", nodes * 4, asks, json!({}));
            cluster.add_bound(&low, nodes);
            let asks = json!({"cpu": "3", "memory": "500Mi"});
            cluster.pods("measured", 1_000.min(nodes), asks, json!({"spec": {"priority": 10}}))
        },
        drive: all_are_bound,
    },
    Case {
        name: "Unschedulable",
        go_throughput: anchors::UNSCHEDULABLE,
        go_work: Work::FitsNowhere,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            let large = cluster.pods("large", nodes, json!({"cpu": "3500m"}), json!({}));
            cluster.add_bound(&large, nodes);
            // Half of them would fit if others went, half never would.
            let mut pods = cluster.pods("now", 5_000, json!({"cpu": "1"}), json!({}));
            pods.extend(cluster.pods("never", 5_000, json!({"cpu": "9"}), json!({})));
            pods
        },
        drive: all_are_tried,
    },
    Case {
        name: "MixedChurn",
        go_throughput: anchors::CHURN,
        go_work: Work::Plain,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            settle(cluster, 1_000, plain(), json!({}));
            cluster.pods("measured", 10_000, plain(), json!({}))
        },
        drive: churn,
    },
    Case {
        name: "SchedulingWithNodeInclusionPolicy",
        go_throughput: anchors::SPREADING,
        go_work: Work::Spread,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, |number| match number % 5 {
                0 => json!({"spec": {"taints": [{"key": "foo", "effect": "NoSchedule"}]}}),
                _ => zone(number),
            });
            let constraint = json!({"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule",
                "nodeTaintsPolicy": "Honor", "labelSelector": {"matchLabels": {"color": "blue"}}});
            settle(cluster, 100, plain(), spread("blue", constraint.clone()));
            cluster.pods("measured", 700, plain(), spread("blue", constraint))
        },
        drive: all_are_bound,
    },
    Case {
        name: "Starvation",
        go_throughput: anchors::UNSCHEDULABLE,
        go_work: Work::FitsNowhere,
        prepare: |cluster, nodes| {
            cluster.nodes(nodes, zone);
            settle(cluster, 1_000, plain(), json!({}));
            let urgent = json!({"spec": {"priority": 1_000}});
            let mut pods = cluster.pods("huge", 10_000, json!({"cpu": "9"}), urgent);
            pods.extend(cluster.pods("measured", 1_000, plain(), json!({})));
            pods
        },
        drive: |cluster, pods| {
            all_are_tried(cluster, pods);
            assert_eq!(cluster.spent().bound, 1_000, "those that fit are not starved");
        },
    },
];

fn all_are_bound(cluster: &mut Cluster, pods: &[Arc<Pod>]) {
    cluster.add(pods);
    // A preemptor is tried twice, and then waits for a second.
    for _ in 0..10 {
        cluster.run(usize::MAX);
        if cluster.spent().bound == pods.len() {
            return;
        }
        cluster.wait();
    }
    panic!("{} of {} pods were bound", cluster.spent().bound, pods.len());
}

fn all_are_tried(cluster: &mut Cluster, pods: &[Arc<Pod>]) {
    cluster.add(pods);
    let tried = cluster.run(pods.len());
    assert_eq!(tried, pods.len(), "each is tried once");
}

/// Every hundred pods a node comes and another goes, and so do a service and a pod that fits
/// nowhere.
fn churn(cluster: &mut Cluster, pods: &[Arc<Pod>]) {
    let service = json!({"metadata": {"name": "churn", "namespace": "default"},
        "spec": {"selector": {"app": "churn"}}});
    let service = serde_json::from_value(service).expect("a service");
    let service = Service::from_api(&service, &mut cluster.world).expect("a service");
    let service = Arc::new(service);
    let huge = cluster.pods("huge", pods.len() / 100, json!({"cpu": "9"}), json!({}));
    for (number, (pods, huge)) in pods.chunks(100).zip(&huge).enumerate() {
        let node = cluster.make_node(&format!("churn-{number}"), zone(number));
        cluster.set_node(node.clone());
        cluster.object(Change::Service(service.clone()), true);
        cluster.add(std::slice::from_ref(huge));
        cluster.add(pods);
        cluster.run(usize::MAX);
        cluster.remove(huge);
        cluster.object(Change::Service(service.clone()), false);
        cluster.node_gone(&node.name);
    }
    assert_eq!(cluster.spent().bound, pods.len());
}

/// Places pods that are not measured.
fn settle(cluster: &mut Cluster, count: usize, asks: Value, more: Value) {
    let pods = cluster.pods("before", count, asks, more);
    cluster.add(&pods);
    cluster.run(usize::MAX);
}

fn plain() -> Value {
    json!({"cpu": "100m", "memory": "500Mi"})
}

fn zone(number: usize) -> Value {
    json!({"metadata": {"labels": {ZONE: format!("zone-{}", number % 3)}}})
}

fn apart() -> Value {
    json!({
        "metadata": {"labels": {"color": "green"}},
        "spec": {"affinity": {"podAntiAffinity": required("green", HOSTNAME)}},
    })
}

fn required(color: &str, topology: &str) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": topology, "labelSelector": {"matchLabels": {"color": color}}}]})
}

fn spread(color: &str, constraint: Value) -> Value {
    json!({
        "metadata": {"labels": {"color": color}},
        "spec": {"topologySpreadConstraints": [constraint]},
    })
}

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";
