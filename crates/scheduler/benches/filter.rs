//! How long one plain pod takes over a cluster: PreFilter and Filter, then PreScore and Score,
//! with the plugins that every pod passes through.
//!
//! `cargo bench -p roadstead-scheduler --bench filter`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roadstead_model::{Node, Pod, World};
use roadstead_scheduler::framework::{Context, CycleState, Extensions, Framework, NoNominations};
use roadstead_scheduler::plugins::{NodeName, NodeResourcesBalancedAllocation, NodeResourcesFit};
use roadstead_scheduler::{Listers, NodeInfo, Nodes};
use serde_json::{Value, json};

fn main() {
    for nodes in [1_000, 5_000] {
        let mut bench = Bench::new(nodes);
        for _ in 0..WARM_UP {
            bench.round();
        }
        let (mut filter, mut score): (Vec<_>, Vec<_>) = (0..ROUNDS).map(|_| bench.round()).unzip();
        let (filter, score) = (median(&mut filter), median(&mut score));
        report(nodes, "candidates", filter);
        report(nodes, "score", score);
        report(nodes, "both", filter + score);
    }
}

fn report(nodes: usize, what: &str, took: Duration) {
    let micros = took.as_nanos() as f64 / 1e3;
    let per_node = took.as_nanos() as f64 / nodes as f64;
    println!("{nodes:>5} nodes  {what:<10}  {micros:>8.1} µs a pod  {per_node:>6.1} ns a node");
}

struct Bench {
    framework: Framework,
    nodes: Nodes,
    listers: Listers,
    pod: Arc<Pod>,
}

impl Bench {
    /// Nodes of three sizes with four to thirteen pods each, all with room for one more.
    fn new(nodes: usize) -> Self {
        let world = &mut World::new();
        let mut infos = Vec::with_capacity(nodes);
        for i in 0..nodes {
            let mut info = NodeInfo::new(Arc::new(node(i, world)));
            for j in 0..4 + i % 10 {
                info.add_pod(&Arc::new(pod(&format!("pod-{i}-{j}"), 100 + 50 * (j % 4), world)));
            }
            infos.push(info);
        }
        let make = |made: Result<Extensions, _>| made.expect("default arguments");
        let fit = make(NodeResourcesFit::extensions(&Value::Null, world));
        let balance = make(NodeResourcesBalancedAllocation::extensions(&Value::Null, world));
        let plugins = [(NodeName::extensions(), 0), (fit, 1), (balance, 1)];
        Self {
            framework: Framework::new(plugins),
            nodes: Nodes::new(infos),
            listers: Listers::default(),
            pod: Arc::new(pod("pending", 500, world)),
        }
    }

    /// One scheduling cycle: the time for filtering, and that for scoring.
    fn round(&mut self) -> (Duration, Duration) {
        let context = Context {
            nodes: &self.nodes,
            listers: &self.listers,
            nominations: &NoNominations,
            now: 0,
        };
        let mut state = CycleState::new();
        let start = Instant::now();
        let candidates = self.framework.candidates(&context, &mut state, black_box(&self.pod));
        let filtered = start.elapsed();
        let feasible = candidates.expect("no error").feasible;
        assert_eq!(feasible.len(), self.nodes.len(), "the pod fits everywhere");

        let start = Instant::now();
        let scores = self.framework.score(&context, &mut state, &self.pod, &feasible);
        let scored = start.elapsed();
        black_box(scores.expect("no error"));
        (filtered, scored)
    }
}

fn node(i: usize, world: &mut World) -> Node {
    let cores = [8, 16, 32][i % 3];
    let has = json!({"cpu": cores.to_string(), "memory": format!("{}Gi", cores * 4),
                     "ephemeral-storage": "100Gi", "pods": "110"});
    let api = json!({"metadata": {"name": format!("node-{i}")}, "status": {"allocatable": has}});
    Node::from_api(&serde_json::from_value(api).expect("an API node"), world).expect("a node")
}

fn pod(name: &str, milli_cpu: usize, world: &mut World) -> Pod {
    let asks = json!({"cpu": format!("{milli_cpu}m"), "memory": format!("{milli_cpu}Mi")});
    let container = json!({"name": "main", "resources": {"requests": asks}});
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    let api = json!({"metadata": metadata, "spec": {"containers": [container]}});
    Pod::from_api(&serde_json::from_value(api).expect("an API pod"), world).expect("a pod")
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

const WARM_UP: usize = 50;
const ROUNDS: usize = 501;
