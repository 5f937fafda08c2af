//! What happens to a random cluster: pods and nodes come, change and go.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, NodeSpec, Pod, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use roadstead_cluster::embedded::{Cluster, DeleteOptions};
use roadstead_cluster::{ApiError, Kind, Object, manifests};
use roadstead_queue::Time;
use roadstead_sim::Timeline;

/// Numbers that look random: splitmix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        (!from.is_empty()).then(|| &from[self.below(from.len() as u64) as usize])
    }
}

/// Deeds at random times, until enough are done.
pub(crate) struct Churn {
    random: Random,
    next: Option<Time>,
    left: u64,
    pods: u64,
    nodes: u64,
}

impl Churn {
    /// A cluster to begin with, and what will happen to it.
    pub(crate) fn new(random: &mut Random, cluster: &mut Cluster) -> Self {
        let mut churn = Self {
            random: Random::new(random.below(u64::MAX)),
            next: Some(Time::from_millis(500)),
            left: 20 + random.below(60),
            pods: 0,
            nodes: 0,
        };
        for (name, value, policy) in CLASSES {
            let text = format!(
                "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, \
                 metadata: {{name: {name}}}, value: {value}, preemptionPolicy: {policy}}}"
            );
            create(Time::ZERO, cluster, &text);
        }
        for _ in 0..random.below(7) {
            churn.add_node(Time::ZERO, cluster);
        }
        for _ in 0..random.below(40) {
            churn.add_pod(Time::ZERO, cluster);
        }
        churn
    }

    fn deed(&mut self, now: Time, cluster: &mut Cluster) {
        match self.random.below(20) {
            0..=6 => self.add_pod(now, cluster),
            7..=9 => self.delete_pod(now, cluster),
            10 => self.replace_pod(now, cluster),
            11..=12 => self.open_gate(now, cluster),
            13 => self.relabel_pod(now, cluster),
            14 => self.add_node(now, cluster),
            15 => self.delete_node(now, cluster),
            _ => self.change_node(now, cluster),
        }
    }

    fn add_node(&mut self, now: Time, cluster: &mut Cluster) {
        let (number, random) = (self.nodes, &mut self.random);
        self.nodes += 1;
        let cpu = 500 * (1 + random.below(8));
        let memory = 1 + random.below(8);
        let pods = 2 + random.below(12);
        let zone = random.below(3);
        let disk = if random.one_in(2) { ", disk: ssd" } else { "" };
        let taint = match random.below(6) {
            0 => "taints: [{key: spot, effect: NoSchedule}]",
            1 => "taints: [{key: gpu, value: a, effect: NoSchedule}]",
            2 => "unschedulable: true",
            _ => "",
        };
        let text = format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: n{number}, labels: {{zone: z{zone}{disk}}}}}, \
             spec: {{{taint}}}, \
             status: {{allocatable: {{cpu: {cpu}m, memory: {memory}Gi, pods: {pods}}}}}}}"
        );
        create(now, cluster, &text);
    }

    fn add_pod(&mut self, now: Time, cluster: &mut Cluster) {
        let name = format!("p{}", self.pods);
        self.pods += 1;
        self.create_pod(now, cluster, &name);
    }

    fn create_pod(&mut self, now: Time, cluster: &mut Cluster, name: &str) {
        let random = &mut self.random;
        let app = random.below(4);
        let mut spec = Vec::new();
        let class = ["low", "low", "low", "modest", "high", "urgent"][random.below(6) as usize];
        spec.push(format!("priorityClassName: {class}"));
        if random.one_in(4) {
            spec.push("tolerations: [{key: spot, operator: Exists}]".to_owned());
        }
        if random.one_in(6) {
            spec.push(format!("nodeSelector: {{zone: z{}}}", random.below(4)));
        }
        if random.one_in(6) {
            spec.push("schedulingGates: [{name: wait}]".to_owned());
        }
        if random.one_in(5) {
            spec.push(format!("topologySpreadConstraints: [{{maxSkew: 1, topologyKey: zone, \
                 whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: a{app}}}}}}}]"));
        }
        let term = |to: u64, key: &str| {
            format!(
                "requiredDuringSchedulingIgnoredDuringExecution: \
                 [{{labelSelector: {{matchLabels: {{app: a{to}}}}}, topologyKey: {key}}}]"
            )
        };
        match random.below(8) {
            0 => spec.push(format!(
                "affinity: {{podAntiAffinity: {{{}}}}}",
                term(app, "kubernetes.io/hostname")
            )),
            1 => {
                let to = random.below(4);
                spec.push(format!("affinity: {{podAffinity: {{{}}}}}", term(to, "zone")));
            }
            2 => spec.push(
                "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
                 {nodeSelectorTerms: [{matchExpressions: \
                 [{key: disk, operator: In, values: [ssd]}]}]}}}"
                    .to_owned(),
            ),
            _ => {}
        }
        let port = match random.below(6) {
            0 => format!(", ports: [{{containerPort: 80, hostPort: {}}}]", 80 + random.below(2)),
            _ => String::new(),
        };
        let (cpu, memory) = (100 * random.below(12), 256 * random.below(8));
        let runs = match random.below(3) {
            0 => format!(", annotations: {{roadstead.dev/run-seconds: '{}'}}", random.below(90)),
            _ => String::new(),
        };
        let text = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: a{app}}}{runs}}}, \
             spec: {{{}, containers: [{{name: c, image: i, \
             resources: {{requests: {{cpu: {cpu}m, memory: {memory}Mi}}}}{port}}}]}}}}",
            spec.join(", ")
        );
        create(now, cluster, &text);
    }

    fn delete_pod(&mut self, now: Time, cluster: &mut Cluster) {
        if let Some(pod) = self.any_pod(cluster) {
            delete(now, cluster, pod.into());
        }
    }

    /// Another pod under the same name, before anybody has heard of the end of the first.
    fn replace_pod(&mut self, now: Time, cluster: &mut Cluster) {
        let Some(pod) = self.any_pod(cluster) else { return };
        let name = pod.metadata.name.clone().expect("it has one");
        let options =
            DeleteOptions { grace_period: Some(Duration::ZERO), ..DeleteOptions::default() };
        let key = Kind::Pod.key("default", &name);
        cluster.delete(now, &key, &options).expect("it is there");
        self.create_pod(now, cluster, &name);
    }

    fn open_gate(&mut self, now: Time, cluster: &mut Cluster) {
        let gated = |pod: &&Pod| {
            pod.spec.as_ref().is_some_and(|spec| spec.scheduling_gates.is_some())
                && pod.metadata.deletion_timestamp.is_none()
        };
        let gated: Vec<Pod> =
            cluster.list::<Pod>().map(|pod| &**pod).filter(gated).cloned().collect();
        let Some(mut pod) = self.random.pick(&gated).cloned() else { return };
        pod.spec.get_or_insert_default().scheduling_gates = None;
        cluster.update(now, pod).expect("gates may go");
    }

    fn relabel_pod(&mut self, now: Time, cluster: &mut Cluster) {
        let Some(mut pod) = self.any_pod(cluster) else { return };
        let app = format!("a{}", self.random.below(4));
        pod.metadata.labels.get_or_insert_default().insert("app".to_owned(), app);
        cluster.update(now, pod).expect("labels may change");
    }

    fn delete_node(&mut self, now: Time, cluster: &mut Cluster) {
        if let Some(node) = self.any_node(cluster) {
            delete(now, cluster, node.into());
        }
    }

    /// A change after which what runs on the node still has room there.
    fn change_node(&mut self, now: Time, cluster: &mut Cluster) {
        let Some(mut node) = self.any_node(cluster) else { return };
        let spec: &mut NodeSpec = node.spec.get_or_insert_default();
        match self.random.below(4) {
            0 => spec.unschedulable = Some(spec.unschedulable != Some(true)),
            1 => {
                spec.taints = match spec.taints.take() {
                    Some(_) => None,
                    None => Some(vec![Taint {
                        key: "spot".to_owned(),
                        effect: "NoSchedule".to_owned(),
                        ..Taint::default()
                    }]),
                }
            }
            2 => {
                let labels = node.metadata.labels.get_or_insert_default();
                if labels.remove("disk").is_none() {
                    labels.insert("disk".to_owned(), "ssd".to_owned());
                }
                labels.insert("zone".to_owned(), format!("z{}", self.random.below(3)));
            }
            _ => {
                let status = node.status.get_or_insert_default();
                let allocatable = status.allocatable.get_or_insert_default();
                for (name, amount) in [("cpu", "4"), ("memory", "8Gi"), ("pods", "14")] {
                    allocatable.insert(name.to_owned(), Quantity(amount.to_owned()));
                }
            }
        }
        cluster.update(now, node).expect("a node may change");
    }

    fn any_pod(&mut self, cluster: &Cluster) -> Option<Pod> {
        let pods: Vec<_> = cluster.list::<Pod>().collect();
        self.random.pick(&pods).map(|pod| (***pod).clone())
    }

    fn any_node(&mut self, cluster: &Cluster) -> Option<Node> {
        let nodes: Vec<_> = cluster.list::<Node>().collect();
        self.random.pick(&nodes).map(|node| (***node).clone())
    }
}

impl Timeline for Churn {
    fn next(&self) -> Option<Time> {
        self.next
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        for _ in 0..=self.random.below(3) {
            self.deed(now, cluster);
            self.left = self.left.saturating_sub(1);
        }
        let pause = Duration::from_millis(1 + self.random.below(8000));
        self.next = (self.left > 0).then(|| now + pause);
        Vec::new()
    }
}

fn create(now: Time, cluster: &mut Cluster, text: &str) {
    let found = manifests::parse("random.yaml", text);
    assert!(found.problems.is_empty(), "{:?} in {text}", found.problems);
    for document in found.documents {
        match cluster.create(now, document.object) {
            // A name may still be taken by a pod that is on its way out.
            Ok(_) | Err(ApiError::AlreadyExists(_)) => {}
            Err(error) => panic!("{error} in {text}"),
        }
    }
}

fn delete(now: Time, cluster: &mut Cluster, object: Object) {
    cluster.delete(now, &object.key(), &DeleteOptions::default()).expect("it is there");
}

const CLASSES: [(&str, i32, &str); 4] = [
    ("low", 0, "PreemptLowerPriority"),
    ("modest", 10, "Never"),
    ("high", 100, "PreemptLowerPriority"),
    ("urgent", 1000, "PreemptLowerPriority"),
];
