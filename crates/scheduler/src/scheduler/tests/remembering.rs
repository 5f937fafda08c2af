//! Remembering what plugins said changes nothing but the time it takes, and measuring it changes
//! nothing at all: two schedulers, of which one remembers and one is measured, live through the same
//! random histories and must say the same at every step.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::framework::{
    Context, CycleState, Filter, Joining, Plugin, Reach, Scaling, Score, Status,
};
use crate::nodes::NodeInfo;
use crate::scheduler::Change;
use roadstead_model::{DeviceClass, PodDisruptionBudget, Service};

#[test]
fn remembering_changes_no_decision() {
    for seed in 0..200 {
        History::new(seed, 4).run(300);
    }
    for seed in 0..40 {
        History::new(seed, 30).run(200);
    }
}

#[test]
fn remembering_changes_no_decision_where_only_some_nodes_are_looked_at() {
    for seed in 0..4 {
        History::new(seed, 150).run(150);
    }
}

/// What a soft taint costs depends on the most that any node has which fits.
#[test]
fn scores_are_scaled_by_the_nodes_that_fit() {
    for remembers in [true, false] {
        let mut c = TestCluster::new();
        c.scheduler.remember(remembers);
        for (name, zone, taints) in
            [("other", "full", 10), ("empty", "free", 2), ("used", "free", 1)]
        {
            let taint = |n: i32| json!({"key": format!("t{n}"), "effect": "PreferNoSchedule"});
            c.node_json(json!({
                "metadata": {"name": name, "labels": {"zone": zone}},
                "spec": {"taints": (0..taints).map(taint).collect::<Vec<_>>()},
                "status": {"allocatable": {"cpu": "10", "memory": "10Gi", "pods": "9"}},
            }));
        }
        let web = json!({"labels": {"app": "web"}});
        c.pod("first", "", json!({"metadata": web, "spec": {"nodeName": "other"}}));
        c.pod("load", "cpu=6 memory=6Gi", json!({"spec": {"nodeName": "used"}}));
        c.news();
        let spread = json!([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}}}]);
        c.pod("web", "", json!({"metadata": web, "spec": {"topologySpreadConstraints": spread}}));
        assert_eq!(c.news(), ["web on used"], "remembers: {remembers}");
    }
}

/// The cluster need not show a nomination for it to count, and for the pod itself it does not.
#[test]
fn a_nomination_keeps_others_of_the_class_away_but_not_the_pod_itself() {
    for remembers in [true, false] {
        let mut c = TestCluster::new();
        c.scheduler.remember(remembers);
        c.node("only", "cpu=4 memory=8Gi");
        c.pod("low", "cpu=4", json!({"spec": {"nodeName": "only"}}));
        let high = |name: &str| {
            json!({"metadata": {"name": name, "namespace": "default", "uid": name},
                "spec": {"priority": 10, "containers": [testing::container("cpu=4")]}})
        };
        let mut bound = Vec::new();
        let mut run = |c: &mut TestCluster| {
            while c.scheduler.schedule_one(c.now) {
                for command in c.scheduler.commands().collect::<Vec<_>>() {
                    match command {
                        Command::Bind { pod, .. } => bound.push(pod.name.to_string()),
                        Command::Evict { victim, preemptor } => {
                            c.scheduler.pod_gone(&PodKey::of(&victim), c.now);
                            c.scheduler.evicted(&preemptor.uid, &Ok(()), c.now);
                        }
                        _ => {}
                    }
                }
            }
        };
        for name in ["first", "second"] {
            let pod = testing::pod(&mut c.world, high(name));
            c.scheduler.pod_set(pod, c.now);
            run(&mut c);
        }
        c.now = c.now + Duration::from_secs(2);
        c.scheduler.on_time(c.now);
        run(&mut c);
        assert_eq!(bound, ["first"], "remembers: {remembers}");
    }
}

/// Two schedulers in one cluster.
struct History {
    world: World,
    /// The first remembers. Either has an observer that measures, as the seed says.
    pair: [Scheduler<Option<Metrics>>; 2],
    random: Random,
    seed: u64,
    step: usize,
    now: Time,
    nodes: BTreeMap<String, Value>,
    pods: BTreeMap<String, Value>,
    /// What pods are made of, so that some have a class in common.
    templates: Vec<Value>,
    made: usize,
    /// Commands that are not answered yet.
    open: Vec<Command>,
}

impl History {
    fn new(seed: u64, nodes: usize) -> Self {
        let mut world = World::new();
        let pair = [true, false].map(|remembers| {
            let is_measured = remembers == seed.is_multiple_of(2);
            let metrics = is_measured.then(|| Metrics::new(Some(ticks)));
            let mut scheduler =
                Scheduler::new(Config::default(), profiles(&mut world), metrics, seed);
            scheduler.remember(remembers);
            scheduler
        });
        let mut history = Self {
            world,
            pair,
            random: Random(seed),
            seed,
            step: 0,
            now: Time::from_secs(1_000),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            templates: Vec::new(),
            made: 0,
            open: Vec::new(),
        };
        for _ in 0..6 {
            let template = history.template();
            history.templates.push(template);
        }
        for _ in 0..nodes {
            history.set_node();
        }
        history
    }

    fn run(mut self, steps: usize) {
        for step in 0..steps {
            self.step = step;
            match self.random.below(20) {
                0 => self.set_node(),
                1 => self.change_node(),
                2 => self.remove_node(),
                3 => self.remove_pod(),
                4 => self.change_pod(),
                5 => self.set_object(),
                6 => {
                    self.now = self.now + Duration::from_secs(self.random.below(20) as u64);
                    let now = self.now;
                    self.both(|scheduler| scheduler.on_time(now));
                }
                7 => self.answer_open(),
                8..=13 => self.add_pod(),
                _ => {
                    for _ in 0..self.random.below(4) {
                        self.cycle();
                    }
                }
            }
            self.obey();
        }
        let remembered = self.pair[0].cache().pod_count();
        assert!(remembered > 0, "seed {}: something was placed", self.seed);
        let measured = &self.pair[usize::from(!self.seed.is_multiple_of(2))];
        let metrics = measured.queue().observer().as_ref().expect("it has an observer");
        let told = metrics.expose(measured);
        assert!(told.contains("\nscheduler_plugin_execution_duration_seconds_count{"), "{told}");
    }

    fn cycle(&mut self) {
        let now = self.now;
        let ran = self.both(|scheduler| scheduler.schedule_one(now));
        assert_eq!(ran[0], ran[1]);
        self.obey();
    }

    /// Compares what both want done, and does some of it.
    fn obey(&mut self) {
        loop {
            let [mine, twins]: [Vec<Command>; 2] =
                self.both(|scheduler| scheduler.commands().collect());
            for (mine, twins) in mine.iter().zip(&twins) {
                let [mine, twins] = [mine, twins].map(|command| format!("{command:?}"));
                assert_eq!(mine, twins, "seed {} step {}", self.seed, self.step);
            }
            assert_eq!(mine.len(), twins.len(), "seed {} step {}", self.seed, self.step);
            if mine.is_empty() {
                return;
            }
            for command in mine {
                match self.random.below(3) {
                    0 => self.open.push(command),
                    _ => self.answer(command),
                }
            }
        }
    }

    fn answer_open(&mut self) {
        for command in std::mem::take(&mut self.open) {
            self.answer(command);
        }
    }

    fn answer(&mut self, command: Command) {
        let now = self.now;
        match command {
            Command::Bind { pod, node } => {
                let fails = self.random.below(8) == 0;
                let result = if fails { Err("refused".to_owned()) } else { Ok(()) };
                if result.is_ok() {
                    self.merge_pod(&pod.name, json!({"spec": {"nodeName": node.as_str()}}));
                }
                self.both(|scheduler| scheduler.bound(&pod.uid, result.clone(), now));
            }
            Command::Evict { victim, preemptor } => {
                self.delete_pod(&victim.name);
                self.both(|scheduler| scheduler.evicted(&preemptor.uid, &Ok(()), now));
            }
            Command::PatchStatus { pod, nominated_node: Some(node), .. } => {
                let status = json!({"status": {"nominatedNodeName": node.as_str()}});
                self.merge_pod(&pod.name, status);
            }
            _ => {}
        }
    }

    fn set_node(&mut self) {
        self.made += 1;
        let name = format!("node-{}", self.random.below(12.max(self.nodes.len() * 2)));
        let api = json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "8"}},
        });
        self.show_node(&name, api);
        self.change(&name);
    }

    fn change_node(&mut self) {
        if let Some(name) = self.random.of(self.nodes.keys()) {
            self.change(&name);
        }
    }

    fn change(&mut self, name: &str) {
        let mut api = self.nodes[name].clone();
        let zone = format!("zone-{}", self.random.below(3));
        let image = json!([{"names": ["web:latest"], "sizeBytes": 4_000_i64 << 20}]);
        let taint = |effect: &str| json!([{"key": "team", "value": "a", "effect": effect}]);
        let change = match self.random.below(11) {
            0 => json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}}),
            1 => json!({"metadata": {"labels": {"disk": "ssd"}}}),
            2 => json!({"spec": {"taints": taint("NoSchedule")}}),
            3 => json!({"spec": {"taints": taint("PreferNoSchedule")}}),
            4 => json!({"spec": {"taints": null}}),
            5 => json!({"spec": {"unschedulable": self.random.below(2) == 0}}),
            6 => json!({"status": {"images": image}}),
            7 => json!({"status": {"images": null}}),
            8 => {
                json!({"status": {"allocatable": {"cpu": format!("{}", 1 + self.random.below(6)), testing::GPU: "2"}}})
            }
            9 => {
                json!({"metadata": {"labels": {"moody": self.random.either("filter", "score")}}})
            }
            _ => {
                json!({"metadata": {"labels": {"moody": null, "disk": null}}, "status": {"declaredFeatures": ["RestartAllContainersOnContainerExits"]}})
            }
        };
        merge(&mut api, change);
        self.show_node(name, api);
    }

    fn show_node(&mut self, name: &str, api: Value) {
        let node = testing::node(&mut self.world, without_nulls(api.clone()));
        self.nodes.insert(name.to_owned(), api);
        let now = self.now;
        self.both(|scheduler| scheduler.node_set(node.clone(), now));
    }

    fn remove_node(&mut self) {
        let Some(name) = self.random.of(self.nodes.keys()) else { return };
        self.nodes.remove(&name);
        let (name, now) = (self.world.text(&name), self.now);
        self.both(|scheduler| scheduler.node_gone(&name, now));
    }

    fn template(&mut self) -> Value {
        let asks = ["", "cpu=1", "cpu=2 memory=1Gi", "cpu=300m"][self.random.below(4)];
        let mut api = json!({
            "metadata": {"namespace": "default", "labels": {"app": self.random.either("a", "b")}},
            "spec": {"containers": [testing::container(asks)]},
        });
        for _ in 0..self.random.below(4) {
            let part = self.part();
            merge(&mut api, part);
        }
        api
    }

    fn add_pod(&mut self) {
        self.made += 1;
        let name = format!("pod-{}", self.made);
        let mut api = self.templates[self.random.below(self.templates.len())].clone();
        merge(&mut api, json!({"metadata": {"name": name, "uid": format!("uid-{name}")}}));
        // Somebody else may have bound it.
        if self.random.below(5) == 0
            && let Some(node) = self.random.of(self.nodes.keys())
        {
            merge(&mut api, json!({"spec": {"nodeName": node}}));
        }
        self.show_pod(&name, api);
    }

    /// Something that pods may say.
    fn part(&mut self) -> Value {
        let about = json!({"matchLabels": {"app": "a"}});
        let zone = "topology.kubernetes.io/zone";
        let host = "kubernetes.io/hostname";
        let topology = self.random.either(zone, host);
        let term = json!({"topologyKey": topology, "labelSelector": about});
        let spread = |when: &str| {
            json!({"spec": {"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": topology, "whenUnsatisfiable": when, "labelSelector": about}]}})
        };
        let ssd =
            json!({"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]});
        let named = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": [format!("node-{}", self.random.below(12))]}]});
        match self.random.below(26) {
            0 => json!({"spec": {"priority": 10}}),
            1 => json!({"spec": {"priority": 100}}),
            2 => json!({"spec": {"priority": 100, "preemptionPolicy": "Never"}}),
            3 => json!({"spec": {"schedulerName": "batch"}}),
            4 => json!({"spec": {"schedulerName": "sampled"}}),
            5 => json!({"spec": {"nodeSelector": {"disk": "ssd"}}}),
            6 => json!({"spec": {"tolerations": [{"key": "team", "operator": "Exists"}]}}),
            7 => {
                json!({"spec": {"containers": [{"name": "main", "ports": [{"hostPort": 80, "containerPort": 80}]}]}})
            }
            8 => json!({"spec": {"containers": [testing::container("gpu=1")]}}),
            9 | 20 | 21 => json!({"spec": {"containers": [{"name": "main", "image": "web"}]}}),
            10 => {
                json!({"spec": {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}})
            }
            11 => {
                json!({"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}})
            }
            12 => {
                json!({"spec": {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}}}})
            }
            13 | 22 | 23 => spread("DoNotSchedule"),
            14 => spread("ScheduleAnyway"),
            15 | 24 | 25 => {
                json!({"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "preference": ssd}]}}}})
            }
            16 => {
                json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named]}}}}})
            }
            17 => {
                json!({"spec": {"volumes": [{"name": "data", "gcePersistentDisk": {"pdName": "disk"}}]}})
            }
            18 => {
                json!({"spec": {"containers": [{"name": "main", "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]}]}})
            }
            _ => {
                json!({"status": {"nominatedNodeName": format!("node-{}", self.random.below(12))}})
            }
        }
    }

    fn change_pod(&mut self) {
        let Some(name) = self.random.of(self.pods.keys()) else { return };
        let change = match self.random.below(4) {
            0 => json!({"metadata": {"labels": {"app": self.random.either("a", "b")}}}),
            1 => json!({"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}),
            2 => {
                json!({"status": {"nominatedNodeName": format!("node-{}", self.random.below(12))}})
            }
            _ => json!({"status": {"phase": self.random.either("Running", "Succeeded")}}),
        };
        self.merge_pod(&name, change);
    }

    fn merge_pod(&mut self, name: &str, change: Value) {
        if let Some(mut api) = self.pods.get(name).cloned() {
            merge(&mut api, change);
            self.show_pod(name, api);
        }
    }

    fn show_pod(&mut self, name: &str, api: Value) {
        let pod = testing::pod(&mut self.world, api.clone());
        self.pods.insert(name.to_owned(), api);
        let now = self.now;
        self.both(|scheduler| scheduler.pod_set(pod.clone(), now));
    }

    fn remove_pod(&mut self) {
        if let Some(name) = self.random.of(self.pods.keys()) {
            self.delete_pod(&name);
        }
    }

    fn delete_pod(&mut self, name: &str) {
        self.pods.remove(name);
        let (key, now) = (key(name), self.now);
        self.both(|scheduler| scheduler.pod_gone(&key, now));
    }

    fn set_object(&mut self) {
        let meta = json!({"name": "x", "namespace": "default"});
        let about = json!({"matchLabels": {"app": "a"}});
        let world = &mut self.world;
        let change = match self.random.below(3) {
            0 => {
                let api = json!({"metadata": meta, "spec": {"selector": {"app": "a"}}});
                let api = serde_json::from_value(api).unwrap();
                Change::Service(Arc::new(Service::from_api(&api, world).unwrap()))
            }
            1 => {
                let api = json!({"metadata": meta, "spec": {"selector": about}, "status": {"disruptionsAllowed": 0}});
                let mut api: Value = api;
                merge(
                    &mut api,
                    json!({"status": {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}}),
                );
                let api = serde_json::from_value(api).unwrap();
                let budget = PodDisruptionBudget::from_api(&api, world).unwrap();
                Change::PodDisruptionBudget(Arc::new(budget))
            }
            _ => {
                let api = json!({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": testing::GPU}});
                let api = serde_json::from_value(api).unwrap();
                Change::DeviceClass(Arc::new(DeviceClass::from_api(&api, world).unwrap()))
            }
        };
        let (is_there, now) = (self.random.below(2) == 0, self.now);
        self.both(|scheduler| match is_there {
            true => scheduler.object_set(change.clone(), now),
            false => scheduler.object_gone(change.clone(), now),
        });
    }

    fn both<T>(&mut self, mut act: impl FnMut(&mut Scheduler<Option<Metrics>>) -> T) -> [T; 2] {
        let [remembering, naive] = &mut self.pair;
        [act(remembering), act(naive)]
    }
}

/// The default profile, one with a plugin that fails, and one that looks at some nodes only.
fn profiles(world: &mut World) -> Vec<(Text, Framework)> {
    let mut profile = |more: Vec<Extensions>| {
        let mut enabled: Vec<_> = more.into_iter().map(|plugin| (plugin, 1)).collect();
        for &(_, make, weight) in plugins::DEFAULT {
            enabled.push((make(&Value::Null, world).expect("the defaults work"), weight));
        }
        Framework::new(enabled)
    };
    let default = profile(Vec::new());
    let moody = profile(vec![Joining::new(Moody).filter().score().done()]);
    let sampled = profile(Vec::new()).with_percentage_of_nodes_to_score(10);
    let named = [("default-scheduler", default), ("batch", moody), ("sampled", sampled)];
    named.map(|(name, framework)| (world.text(name), framework)).into()
}

/// Fails on some nodes, and scores others in a scale that needs scaling.
struct Moody;

impl Plugin for Moody {
    fn name(&self) -> &'static str {
        "Moody"
    }
}

impl Moody {
    fn fails(&self, node: &NodeInfo, at: &str) -> bool {
        node.node().labels.iter().any(|(key, value)| *key == "moody" && *value == at)
    }
}

impl Filter for Moody {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        match self.fails(node, "filter") {
            true => Err(Status::error(format!("not on {}", node.name()))),
            false => Ok(()),
        }
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

impl Score for Moody {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        match self.fails(node, "score") {
            true => Err(Status::error(format!("not {}", node.name()))),
            false => Ok(node.pods().len() as i64 * 3),
        }
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }

    fn scaling(&self) -> Scaling {
        Scaling::ByHighest { reverse: false }
    }
}

/// A clock that goes on whenever it is looked at.
fn ticks() -> u64 {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    TICKS.fetch_add(1_000, Ordering::Relaxed)
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn either(&mut self, one: &'static str, other: &'static str) -> &'static str {
        if self.below(2) == 0 { one } else { other }
    }

    fn of<'a>(&mut self, names: impl ExactSizeIterator<Item = &'a String>) -> Option<String> {
        let mut names = names;
        let count = names.len();
        if count == 0 {
            return None;
        }
        names.nth(self.below(count)).cloned()
    }
}

/// A label that is null is no label.
fn without_nulls(api: Value) -> Value {
    match api {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        other => other,
    }
}
