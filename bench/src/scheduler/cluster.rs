//! A cluster that does at once as the scheduler says.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod as ApiPod;
use roadstead_model::{Node, Pod, Text, World};
use roadstead_queue::{Config, Time};
use roadstead_recording::Step;
use roadstead_scheduler::{Change, Command, PodKey, Scheduler, plugins};
use serde_json::{Value, json};

use crate::observed::{Dashboard, Observed, Observers, Tape};

/// The scheduler with its default profile, and the objects that it is told of.
pub(crate) struct Cluster {
    pub(crate) world: World,
    scheduler: Scheduler<Observers>,
    now: Time,
    spent: Spent,
    dashboard: Option<Dashboard>,
    tape: Option<Tape>,
    /// By uid, where there is a recording: it is of API objects.
    api_pods: HashMap<Text, Arc<ApiPod>>,
}

/// What was spent since the measurement started.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spent {
    /// In the scheduler, all in.
    pub(crate) scheduler: Duration,
    /// In scheduling cycles.
    pub(crate) cycles: Duration,
    pub(crate) cycle_count: usize,
    pub(crate) bound: usize,
}

impl Cluster {
    pub(crate) fn new(seed: u64, observed: Observed) -> Self {
        let mut world = World::new();
        let framework = plugins::default_framework(|_| None, &mut world)
            .unwrap_or_else(|(plugin, error)| panic!("{plugin}: {error:?}"));
        let profiles = vec![(world.text("default-scheduler"), framework)];
        let scheduler = Scheduler::new(Config::default(), profiles, observed.observers(), seed);
        Self {
            world,
            scheduler,
            now: Time::from_secs(1_000),
            spent: Spent::default(),
            dashboard: observed.dashboard(),
            tape: observed.tape(),
            api_pods: HashMap::new(),
        }
    }

    /// Nodes as scheduler_perf has them: 4 CPUs, 32 GiB, 110 pods. `more` is laid over each.
    pub(crate) fn nodes(&mut self, count: usize, more: impl Fn(usize) -> Value) {
        for number in 0..count {
            let node = self.make_node(&format!("node-{number}"), more(number));
            self.set_node(node);
        }
    }

    pub(crate) fn make_node(&mut self, name: &str, more: Value) -> Arc<Node> {
        let mut api = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
        });
        merge(&mut api, more);
        let api = serde_json::from_value(api).expect("a node");
        Arc::new(Node::from_api(&api, &mut self.world).expect("a node"))
    }

    /// Pods that ask for so much; `more` is laid over each.
    pub(crate) fn pods(
        &mut self,
        name: &str,
        count: usize,
        asks: Value,
        more: Value,
    ) -> Vec<Arc<Pod>> {
        let mut api = json!({
            "metadata": {"namespace": "default"},
            "spec": {"containers": [{"name": "pause", "image": "pause", "resources": {"requests": asks}}]},
        });
        merge(&mut api, more);
        let mut api: ApiPod = serde_json::from_value(api).expect("a pod");
        let mut pod = |number| {
            api.metadata.name = Some(format!("{name}-{number}"));
            api.metadata.uid = Some(format!("uid-{name}-{number}"));
            let pod = Arc::new(Pod::from_api(&api, &mut self.world).expect("a pod"));
            if self.tape.is_some() {
                self.api_pods.insert(pod.uid.clone(), Arc::new(api.clone()));
            }
            pod
        };
        (0..count).map(&mut pod).collect()
    }

    pub(crate) fn set_node(&mut self, node: Arc<Node>) {
        self.timed(|cluster| cluster.scheduler.node_set(node, cluster.now));
    }

    pub(crate) fn node_gone(&mut self, name: &Text) {
        self.timed(|cluster| cluster.scheduler.node_gone(name, cluster.now));
    }

    pub(crate) fn object(&mut self, object: Change, is_there: bool) {
        self.timed(|cluster| match is_there {
            true => cluster.scheduler.object_set(object, cluster.now),
            false => cluster.scheduler.object_gone(object, cluster.now),
        });
    }

    pub(crate) fn add(&mut self, pods: &[Arc<Pod>]) {
        for pod in pods {
            self.timed(|cluster| {
                if let (Some(tape), Some(api)) = (&mut cluster.tape, cluster.api_pods.get(&pod.uid))
                {
                    tape.pod(api, cluster.now);
                }
                cluster.scheduler.pod_set(pod.clone(), cluster.now);
            });
        }
    }

    pub(crate) fn remove(&mut self, pod: &Pod) {
        self.timed(|cluster| cluster.scheduler.pod_gone(&PodKey::of(pod), cluster.now));
    }

    /// Tells of pods that are bound already, one a node in turn.
    pub(crate) fn add_bound(&mut self, pods: &[Arc<Pod>], nodes: usize) {
        for (number, pod) in pods.iter().enumerate() {
            let node = self.world.text(&format!("node-{}", number % nodes));
            self.scheduler.pod_set(Arc::new(on_node(pod, node)), self.now);
        }
    }

    /// Runs cycles until nothing is left to be tried now, or so many were run.
    pub(crate) fn run(&mut self, most: usize) -> usize {
        for cycle in 0..most {
            let started = Instant::now();
            let has_run = self.scheduler.schedule_one(self.now);
            if let Some(tape) = &mut self.tape {
                tape.step(Step::Cycle, self.now);
            }
            if let Some(dashboard) = &mut self.dashboard {
                dashboard.look(&mut self.scheduler, self.now);
            }
            let took = started.elapsed();
            if !has_run {
                return cycle;
            }
            self.spent.cycles += took;
            self.spent.scheduler += took;
            self.spent.cycle_count += 1;
            self.obey();
        }
        most
    }

    /// Goes on to when something is due.
    pub(crate) fn wait(&mut self) {
        if let Some(due) = self.scheduler.next_wakeup() {
            self.now = self.now.max(due);
            self.timed(|cluster| cluster.scheduler.on_time(cluster.now));
        }
    }

    /// Starts to measure.
    pub(crate) fn start(&mut self) {
        self.spent = Spent::default();
    }

    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    fn obey(&mut self) {
        let commands = self.timed(|cluster| {
            let commands: Vec<Command> = cluster.scheduler.commands().collect();
            if let Some(tape) = &mut cluster.tape {
                tape.decided(&commands, cluster.now);
            }
            commands
        });
        for command in commands {
            match command {
                Command::Bind { pod, node } => {
                    self.spent.bound += 1;
                    let shown = self.api_pods.get(&pod.uid).map(|api| {
                        let mut api = ApiPod::clone(api);
                        api.spec.get_or_insert_default().node_name = Some(node.to_string());
                        Arc::new(api)
                    });
                    let bound = Arc::new(on_node(&pod, node));
                    self.timed(|cluster| {
                        if let (Some(tape), Some(shown)) = (&mut cluster.tape, &shown) {
                            let uid = pod.uid.clone();
                            tape.step(Step::Bound { uid, result: Ok(()) }, cluster.now);
                            tape.pod(shown, cluster.now);
                        }
                        cluster.scheduler.bound(&pod.uid, Ok(()), cluster.now);
                        cluster.scheduler.pod_set(bound, cluster.now);
                    });
                }
                Command::Evict { victim, preemptor } => self.timed(|cluster| {
                    cluster.scheduler.pod_gone(&PodKey::of(&victim), cluster.now);
                    cluster.scheduler.evicted(&preemptor.uid, &Ok(()), cluster.now);
                }),
                Command::PatchStatus { pod, nominated_node: Some(node), .. } => {
                    let mut patched = Pod::clone(&pod);
                    patched.nominated_node = Some(node).filter(|node| !node.is_empty());
                    self.timed(|cluster| {
                        cluster.scheduler.pod_set(Arc::new(patched), cluster.now);
                    });
                }
                _ => {}
            }
        }
    }

    fn timed<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        let started = Instant::now();
        let result = step(self);
        self.spent.scheduler += started.elapsed();
        result
    }
}

fn on_node(pod: &Pod, node: Text) -> Pod {
    let mut bound = pod.clone();
    bound.node_name = Some(node);
    bound.nominated_node = None;
    bound
}

/// Lays `more` over `base`, as a merge patch.
fn merge(base: &mut Value, more: Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (key, value) in more {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, more) => *base = more,
    }
}
