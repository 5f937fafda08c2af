//! How long the plugins that count over the whole cluster take for one pod: alone, over all nodes,
//! with each pod placed before the next comes.
//!
//! `cargo bench -p roadstead-scheduler --bench counts`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use roadstead_model::{Node, Pod, Service, Text, World};
use roadstead_scheduler::framework::{Context, CycleState, Framework, NoNominations};
use roadstead_scheduler::plugins::{InterPodAffinity, PodTopologySpread};
use roadstead_scheduler::{Cache, Listers, NodeInfo};
use serde_json::{Value, json};

fn main() {
    for nodes in [1_000, 5_000] {
        for (name, spec) in cases() {
            Bench::new(nodes, spec).run(name);
        }
    }
}

/// What the pods of each case ask for.
fn cases() -> [(&'static str, Value); 5] {
    let all = json!({"matchLabels": {"app": "web"}});
    let required = |key: &str| {
        let term = json!({"topologyKey": key, "labelSelector": all});
        json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]})
    };
    let spread = json!([{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule",
                         "labelSelector": all}]);
    [
        ("plain", json!({})),
        ("anti-affinity by host", json!({"affinity": {"podAntiAffinity": required(HOSTNAME)}})),
        ("affinity by zone", json!({"affinity": {"podAffinity": required(ZONE)}})),
        ("hard spread over zones", json!({"topologySpreadConstraints": spread})),
        ("default spread", json!({"service": true})),
    ]
}

struct Bench {
    world: World,
    framework: Framework,
    cache: Cache,
    listers: Listers,
    spec: Value,
    nodes: usize,
    placed: usize,
}

/// How long each part took.
#[derive(Default)]
struct Took {
    pre_filter: Duration,
    filter: Duration,
    score: Duration,
    place: Duration,
}

impl Bench {
    /// Nodes in three zones, each with four pods of a hundred other kinds.
    fn new(nodes: usize, mut spec: Value) -> Self {
        let mut world = World::new();
        let mut cache = Cache::new();
        for i in 0..nodes {
            cache.set_node(Arc::new(node(i, &mut world)));
            for j in 0..4 {
                let app = format!("other-{}", (i * 4 + j) % 100);
                let name = format!("other-{i}-{j}");
                let pod = Arc::new(pod(&name, &app, &json!({}), &mut world));
                cache.assume(pod, world.text(&format!("node-{i}"))).expect("a new pod");
            }
        }
        let mut listers = Listers::default();
        if spec.as_object_mut().is_some_and(|spec| spec.remove("service").is_some()) {
            let service = json!({"metadata": {"name": "web", "namespace": "default"},
                                 "spec": {"selector": {"app": "web"}}});
            let service = serde_json::from_value(service).expect("an API service");
            let service = Service::from_api(&service, &mut world).expect("a service");
            let key = (service.namespace.clone(), service.name.clone());
            listers.services.insert(key, Arc::new(service));
        }
        let spread = PodTopologySpread::extensions(&Value::Null, &mut world);
        let affinity = InterPodAffinity::extensions(&Value::Null, &mut world);
        let plugins = [spread, affinity].map(|made| (made.expect("default arguments"), 2));
        let framework = Framework::new(plugins);
        Self { world, framework, cache, listers, spec, nodes, placed: 0 }
    }

    fn run(mut self, name: &str) {
        for _ in 0..WARM_UP {
            self.round();
        }
        let mut sum = Took::default();
        for _ in 0..ROUNDS {
            let took = self.round();
            sum.pre_filter += took.pre_filter;
            sum.filter += took.filter;
            sum.score += took.score;
            sum.place += took.place;
        }
        let mean = |sum: Duration| sum.as_nanos() as f64 / 1e3 / ROUNDS as f64;
        let [pre_filter, filter, score, place] =
            [sum.pre_filter, sum.filter, sum.score, sum.place].map(mean);
        println!(
            "{:>5} nodes  {name:<24} PreFilter {pre_filter:>6.1}  Filter {filter:>6.1}  \
             PreScore and Score {score:>6.1}  placing {place:>5.1} µs a pod",
            self.nodes
        );
    }

    fn round(&mut self) -> Took {
        let name = format!("web-{}", self.placed);
        let pod = Arc::new(pod(&name, "web", &self.spec, &mut self.world));
        let nodes = self.cache.nodes();
        let context =
            Context { nodes, listers: &self.listers, nominations: &NoNominations, now: 0 };
        let mut state = CycleState::new();

        let start = Instant::now();
        let filtered = self.framework.pre_filter(&context, &mut state, black_box(&pod));
        let pre_filter = start.elapsed();
        filtered.map_err(|failure| failure.status).expect("the pod fits somewhere");

        let start = Instant::now();
        let fits = |node: &&NodeInfo| self.framework.filter(&context, &state, &pod, node).is_ok();
        let feasible: Vec<&NodeInfo> = nodes.iter().filter(fits).collect();
        let filter = start.elapsed();

        let start = Instant::now();
        let scores = self.framework.score(&context, &mut state, &pod, &feasible).expect("scores");
        let score = start.elapsed();

        let best = scores.iter().map(|score| score.total).max();
        let at = scores.iter().position(|score| Some(score.total) == best).expect("a node");
        let chosen: Text = feasible[at].name().clone();
        drop(state);
        let start = Instant::now();
        self.cache.assume(pod, chosen).expect("a new pod");
        self.placed += 1;
        Took { pre_filter, filter, score, place: start.elapsed() }
    }
}

fn node(i: usize, world: &mut World) -> Node {
    let (name, zone) = (format!("node-{i}"), format!("zone-{}", i % 3));
    let labels = json!({HOSTNAME: name, ZONE: zone});
    let api = json!({"metadata": {"name": name, "labels": labels}});
    Node::from_api(&serde_json::from_value(api).expect("an API node"), world).expect("a node")
}

fn pod(name: &str, app: &str, spec: &Value, world: &mut World) -> Pod {
    let metadata =
        json!({"name": name, "namespace": "default", "uid": name, "labels": {"app": app}});
    let api = json!({"metadata": metadata, "spec": spec});
    Pod::from_api(&serde_json::from_value(api).expect("an API pod"), world).expect("a pod")
}

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
const WARM_UP: usize = 100;
const ROUNDS: usize = 500;
