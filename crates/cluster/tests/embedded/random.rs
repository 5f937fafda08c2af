//! Whatever happens, in whatever order: what must hold, holds.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::embedded::{Binding, ChangeKind, Config, Watch};
use roadstead_cluster::{Key, Kind, Object};

use crate::testing::*;

#[test]
fn random_operations_keep_the_invariants_and_counts_converge() {
    for seed in 0..30 {
        let mut run = Run::new(seed);
        for _ in 0..150 {
            run.step();
            run.check();
        }
        run.converge();
    }
}

#[test]
fn a_seed_repeats_a_run() {
    let history = |seed| {
        let mut run = Run::new(seed);
        (0..100).for_each(|_| run.step());
        run.c
            .cluster
            .objects(Kind::Pod)
            .map(|pod| pod.to_json().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(history(7), history(7));
}

/// A run, and what a watcher makes of it.
struct Run {
    c: TestCluster,
    random: u64,
    watch: Watch,
    /// The objects, as far as the watch told.
    mirror: BTreeMap<Key, Object>,
    version: u64,
    /// Where each pod, by uid, was bound to.
    bound: BTreeMap<String, String>,
    replicas: usize,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut c = TestCluster::with(Config { seed, ..Config::default() });
        let run_seconds = "{metadata: {annotations: {roadstead.dev/run-seconds: '3'}, labels";
        c.load(
            &[
                node("n0"),
                node("n1"),
                node("n2"),
                workload("Deployment", "web", ", replicas: 4"),
                workload("StatefulSet", "db", ", replicas: 3"),
                workload("DaemonSet", "log", ""),
                workload("Job", "sum", ", completions: 6, parallelism: 2")
                    .replace("{metadata: {labels", run_seconds),
                "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n\
                 spec: {selector: {matchLabels: {app: web}}, maxUnavailable: 1}\n"
                    .to_owned(),
            ]
            .concat(),
        );
        Self {
            c,
            random: seed,
            watch: Watch::new(Kind::ALL, 0),
            mirror: BTreeMap::new(),
            version: 0,
            bound: BTreeMap::new(),
            replicas: 4,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) as usize) % bound.max(1)
    }

    fn any_pod(&mut self) -> Option<Pod> {
        let pods = self.c.pods();
        (!pods.is_empty()).then(|| (*pods[self.below(pods.len())]).clone())
    }

    fn step(&mut self) {
        match self.below(11) {
            0..=3 => {
                let node = format!("n{}", self.below(4));
                if let Some(pod) = self.any_pod() {
                    let waits =
                        node_of(&pod).is_none() && pod.metadata.deletion_timestamp.is_none();
                    let uid = pod.metadata.uid.clone().unwrap();
                    let binding = Binding::new("default", &name(&pod), &node).only(&uid);
                    let outcome = self.c.cluster.bind(self.c.now, &binding);
                    assert_eq!(outcome.is_ok(), waits, "{outcome:?}");
                }
            }
            4 => {
                if let Some(pod) = self.any_pod() {
                    self.c.delete(Kind::Pod, &name(&pod));
                }
            }
            5 => {
                self.replicas = self.below(7);
                let replicas = self.replicas as i32;
                self.c.update::<Deployment>("web", |web| {
                    web.spec.as_mut().unwrap().replicas = Some(replicas)
                });
            }
            6 => {
                let name = format!("n{}", self.below(3));
                if self.c.has(Kind::Node, &name) {
                    self.c.delete(Kind::Node, &name);
                } else {
                    self.c.load(&node(&name));
                }
            }
            7 => {
                let image = format!("app:{}", self.below(3));
                self.c.update::<Deployment>("web", |web| {
                    let template = &mut web.spec.as_mut().unwrap().template;
                    template.spec.as_mut().unwrap().containers[0].image = Some(image);
                });
            }
            8 => {
                let image = format!("log:{}", self.below(3));
                self.c.update::<DaemonSet>("log", |log| {
                    let template = &mut log.spec.as_mut().unwrap().template;
                    template.spec.as_mut().unwrap().containers[0].image = Some(image);
                });
            }
            _ => {
                let seconds = self.below(4) as u64;
                self.c.after(seconds);
            }
        }
    }

    fn check(&mut self) {
        self.c.settle();
        for change in self.c.cluster.changes(&mut self.watch).expect("the log is long enough") {
            assert!(change.version > self.version, "versions grow");
            self.version = change.version;
            assert_eq!(change.object.version(), change.version);
            let key = change.object.key();
            let before = self.mirror.remove(&key);
            assert_eq!(before.is_none(), change.kind == ChangeKind::Added, "{key}");
            assert_eq!(before, change.old, "{key}");
            if let Some(pod) = change.object.as_pod()
                && let Some(node) = node_of(pod)
            {
                let uid = change.object.uid().to_owned();
                let first = self.bound.entry(uid).or_insert_with(|| node.to_owned());
                assert_eq!(first, node, "{key} was bound twice");
            }
            if change.kind != ChangeKind::Deleted {
                self.mirror.insert(key, change.object);
            }
        }
        let kept = Kind::ALL.iter().flat_map(|kind| self.c.cluster.objects(*kind));
        let kept: BTreeMap<Key, Object> =
            kept.map(|object| (object.key(), object.clone())).collect();
        assert_eq!(self.mirror, kept, "a watcher knows what is there");
        for pod in self.c.pods() {
            assert!(
                pod.metadata.owner_references.is_some(),
                "{} belongs to a workload",
                name(&pod)
            );
        }
    }

    /// When nothing disturbs it any more, everything is as asked for.
    fn converge(&mut self) {
        for node_name in ["n0", "n1", "n2"] {
            if !self.c.has(Kind::Node, node_name) {
                self.c.load(&node(node_name));
            }
        }
        for _ in 0..30 {
            self.c.bind_all("n0");
            self.c.after(5);
            self.check();
        }
        let of = |app: &str| {
            let pods = self.c.pods();
            let running = pods.iter().filter(|pod| phase(pod) == "Running");
            running.filter(|pod| pod.metadata.labels.as_ref().unwrap()["app"] == app).count()
        };
        assert_eq!((of("web"), of("db"), of("log"), of("sum")), (self.replicas, 3, 3, 0));
        let log = self.c.get::<DaemonSet>("log");
        let image =
            log.spec.as_ref().unwrap().template.spec.as_ref().unwrap().containers[0].image.clone();
        for pod in self.c.pods().iter().filter(|pod| name(pod).starts_with("log-")) {
            assert_eq!(pod.spec.as_ref().unwrap().containers[0].image, image, "{}", name(pod));
        }
        let job = self.c.get::<Job>("sum").status.clone().unwrap();
        assert_eq!(job.conditions.expect("it is over")[0].type_, "Complete");
        assert_eq!(self.c.cluster.troubles().count(), 0);
    }
}
