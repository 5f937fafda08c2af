//! What the scheduler does, told from outside: notifications in, commands out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roadstead_model::{Pod, Text, World};
use roadstead_queue::{Config, Place, Time};
use serde_json::{Value, json};

use super::{PodKey, Scheduler};
use crate::activity::{Activity, Depths};
use crate::command::Command;
use crate::framework::{Extensions, Framework, Write};
use crate::journal::Journal;
use crate::metrics::Metrics;
use crate::plugins;
use crate::testing;

mod activity;
mod binding;
mod explain;
mod journal;
mod listing;
mod metrics;
mod objects;
mod remembering;
mod volumes;
mod wakeups;

/// A cluster that does as it is told, and remembers it.
struct TestCluster {
    world: World,
    scheduler: Scheduler<(Metrics, (Journal, Activity))>,
    objects: BTreeMap<String, Value>,
    now: Time,
    notes: Vec<String>,
    /// Whether bindings are refused.
    refuses: bool,
    /// Whether victims stay until the test lets them go.
    victims_linger: bool,
    /// Whether a missed wake-up ends the test.
    verifies: bool,
}

impl TestCluster {
    fn new() -> Self {
        Self::with(Vec::new)
    }

    /// With more plugins than the default profile has.
    fn with(more: impl Fn() -> Vec<Extensions>) -> Self {
        Self::made_of(more, Metrics::new(None))
    }

    fn made_of(more: impl Fn() -> Vec<Extensions>, metrics: Metrics) -> Self {
        let mut world = World::new();
        let mut profile = |name: &str| {
            let mut enabled: Vec<_> = more().into_iter().map(|plugin| (plugin, 0)).collect();
            for &(_, make, weight) in plugins::DEFAULT {
                let plugin = make(&Value::Null, &mut world);
                enabled.push((plugin.expect("the defaults work"), weight));
            }
            (name.to_owned(), Framework::new(enabled))
        };
        let profiles = [profile("default-scheduler"), profile("batch")];
        let profiles = profiles.map(|(name, framework)| (world.text(&name), framework)).into();
        let observers = (metrics, (Journal::default(), Activity::new()));
        Self {
            scheduler: Scheduler::new(Config::default(), profiles, observers, 7),
            world,
            objects: BTreeMap::new(),
            now: Time::from_secs(1_000),
            notes: Vec::new(),
            refuses: false,
            victims_linger: false,
            verifies: true,
        }
    }

    fn node(&mut self, name: &str, amounts: &str) {
        let amounts = testing::amounts(&format!("pods=110 {amounts}"));
        self.node_json(json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": amounts},
        }));
    }

    fn node_json(&mut self, api: Value) {
        let node = testing::node(&mut self.world, api);
        self.scheduler.node_set(node, self.now);
        self.run();
    }

    /// A pod that asks for so much; the rest of it is `more`.
    fn pod(&mut self, name: &str, asks: &str, more: Value) {
        let mut api = json!({
            "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
            "spec": {"containers": [testing::container(asks)]},
        });
        merge(&mut api, more);
        self.set_pod(name, api);
        self.run();
    }

    /// The cluster shows a pod with this change.
    fn change(&mut self, name: &str, change: Value) {
        let mut api = self.objects[name].clone();
        merge(&mut api, change);
        self.set_pod(name, api);
        self.run();
    }

    fn delete(&mut self, name: &str) {
        self.objects.remove(name);
        self.scheduler.pod_gone(&key(name), self.now);
        self.run();
    }

    fn after(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now = self.now + Duration::from_secs(1);
            self.scheduler.on_time(self.now);
            self.run();
        }
    }

    /// Lets the scheduler do what it can, and the cluster do as it is told.
    fn run(&mut self) {
        while self.scheduler.schedule_one(self.now) || self.obey() {}
        if self.verifies {
            let missed = self.scheduler.verify_wakeups(100, self.now);
            assert!(missed.is_empty(), "{missed:?}");
        }
        self.scheduler.queue().check_invariants().expect("the queue is sound");
        let truth = Depths { binding: 0, ..Depths::of(&self.scheduler) };
        assert_eq!(self.scheduler.queue().observer().1.1.depths(), truth, "moves add up");
    }

    fn obey(&mut self) -> bool {
        let commands: Vec<_> = self.scheduler.commands().collect();
        for command in &commands {
            match command {
                Command::Bind { pod, .. } if self.refuses => {
                    self.scheduler.bound(&pod.uid, Err("refused".into()), self.now);
                }
                Command::Bind { pod, node } => {
                    let (name, node) = (pod.name.to_string(), node.to_string());
                    self.notes.push(format!("{name} on {node}"));
                    let mut api = self.objects[&name].clone();
                    merge(&mut api, json!({"spec": {"nodeName": node}}));
                    self.set_pod(&name, api);
                    self.scheduler.bound(&pod.uid, Ok(()), self.now);
                }
                Command::Evict { victim, preemptor } => {
                    let name = victim.name.to_string();
                    self.notes.push(format!("{name} evicted"));
                    if !self.victims_linger {
                        self.objects.remove(&name);
                        self.scheduler.pod_gone(&key(&name), self.now);
                    }
                    self.scheduler.evicted(&preemptor.uid, &Ok(()), self.now);
                }
                Command::Write { for_pod, write } => {
                    self.notes.push(match write {
                        Write::BindVolume(volume) => format!("{} kept", volume.name),
                        Write::SelectNode(claim) => format!("{} to be made", claim.name),
                    });
                    let answer = if self.refuses { Err("refused".into()) } else { Ok(()) };
                    self.scheduler.written(&for_pod.uid, answer, self.now);
                }
                Command::PatchStatus { pod, nominated_node, .. } => {
                    let name = pod.name.to_string();
                    if let (Some(node), Some(api)) = (nominated_node, self.objects.get(&name)) {
                        let mut api = api.clone();
                        merge(&mut api, json!({"status": {"nominatedNodeName": node.as_str()}}));
                        self.set_pod(&name, api);
                    }
                }
                Command::RecordEvent(record) if record.reason == "FailedScheduling" => {
                    self.notes.push(record.note.clone());
                }
                Command::RecordEvent(_) => {}
            }
        }
        !commands.is_empty()
    }

    fn set_pod(&mut self, name: &str, api: Value) {
        let pod = testing::pod(&mut self.world, api.clone());
        self.objects.insert(name.to_owned(), api);
        self.scheduler.pod_set(pod, self.now);
    }

    fn place(&self, name: &str) -> Option<Place> {
        self.scheduler.queue().place(&key(name))
    }

    /// What happened since this was last asked.
    fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

fn key(name: &str) -> PodKey {
    PodKey { namespace: Text::unshared("default"), name: Text::unshared(name) }
}

/// A pod that wants to be on a node with one of `app: db`.
fn near_db() -> Value {
    json!({"spec": {"affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"app": "db"}},
            "topologyKey": "kubernetes.io/hostname",
        }],
    }}}})
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

#[test]
fn a_pod_goes_where_there_is_room() {
    let mut c = TestCluster::new();
    c.node("small", "cpu=1 memory=8Gi");
    c.node("large", "cpu=8 memory=8Gi");
    c.pod("web", "cpu=4", json!({}));
    assert_eq!(c.news(), ["web on large"]);
    assert_eq!(c.place("web"), None);
    assert_eq!(c.scheduler.bindings(), 0);
}

#[test]
fn a_pod_that_fits_nowhere_waits_for_the_event_that_helps() {
    let mut c = TestCluster::new();
    c.node("small", "cpu=1 memory=8Gi");
    c.pod("web", "cpu=4", json!({}));
    assert_eq!(
        c.news(),
        ["0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: \
          0/1 nodes are available: 1 Preemption is not helpful for scheduling."]
    );
    assert_eq!(c.place("web"), Some(Place::Unschedulable));

    c.after(20);
    c.node("also-small", "cpu=2 memory=8Gi");
    assert_eq!(c.place("web"), Some(Place::Unschedulable), "that does not help");
    c.node("large", "cpu=8 memory=8Gi");
    assert_eq!(c.news(), ["web on large"]);
}

#[test]
fn the_urgent_go_first_when_there_is_little() {
    let mut c = TestCluster::new();
    for (name, priority) in [("low", 1), ("high", 9), ("middle", 5)] {
        c.pod(name, "cpu=1", json!({"spec": {"priority": priority, "preemptionPolicy": "Never"}}));
    }
    c.news();
    c.after(20);
    c.node("one", "cpu=2 memory=8Gi");
    c.after(20);
    let placed: Vec<_> = c.news().into_iter().filter(|note| note.ends_with("on one")).collect();
    assert_eq!(placed, ["high on one", "middle on one"]);
}

#[test]
fn a_failed_binding_frees_the_node_and_is_tried_again() {
    let mut c = TestCluster::new();
    c.refuses = true;
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("web", "cpu=2", json!({}));
    assert_eq!(c.news(), ["running Bind plugin \"DefaultBinder\": refused"]);
    assert!(c.place("web").is_some_and(Place::is_backoff));
    assert_eq!(c.scheduler.cache().pod_count(), 0);

    c.refuses = false;
    c.after(3);
    assert_eq!(c.news(), ["web on one"]);
}

#[test]
fn a_gated_pod_is_not_tried_until_its_gate_is_gone() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    let gates = json!({"spec": {"schedulingGates": [{"name": "example.com/quota"}]}});
    c.pod("web", "cpu=1", gates);
    assert!(matches!(c.place("web"), Some(Place::Gated { .. })));
    c.node("two", "cpu=2 memory=8Gi");
    assert_eq!(c.news(), [""; 0]);
    c.change("web", json!({"spec": {"schedulingGates": []}}));
    assert_eq!(c.news().len(), 1);
}

#[test]
fn a_more_urgent_pod_preempts_is_nominated_and_lands_there() {
    let mut c = TestCluster::new();
    c.victims_linger = true;
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("low", "cpu=2", json!({"spec": {"priority": 1}}));
    c.pod("high", "cpu=2", json!({"spec": {"priority": 9}}));
    let news = c.news();
    assert_eq!(news[0], "low on one");
    assert!(news.contains(&"low evicted".to_owned()), "{news:?}");
    let one = Text::unshared("one");
    let high = testing::pod(&mut c.world, c.objects["high"].clone());
    assert_eq!(high.nominated_node.as_ref(), Some(&one));

    c.pod("sneaky", "cpu=2", json!({"spec": {"priority": 5}}));
    c.after(20);
    c.delete("low");
    c.after(20);
    let placed: Vec<_> = c.news().into_iter().filter(|note| note.ends_with("on one")).collect();
    assert_eq!(placed, ["high on one"], "the node was kept for it");
}

#[test]
fn a_pod_with_affinity_wakes_for_the_pod_it_wants_and_for_no_other() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=8 memory=8Gi");
    c.pod("web", "cpu=1", near_db());
    assert_eq!(c.place("web"), Some(Place::Unschedulable));
    c.after(20);
    c.news();

    c.pod("other", "cpu=1", json!({"metadata": {"labels": {"app": "cache"}}}));
    assert_eq!(c.news(), ["other on one"]);
    assert_eq!(c.place("web"), Some(Place::Unschedulable));

    c.change("other", json!({"metadata": {"labels": {"app": "db"}}}));
    assert_eq!(c.news(), ["web on one"], "a label change made it what was wanted");
}

#[test]
fn pods_of_other_schedulers_are_counted_and_left_alone() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("theirs", "cpu=1", json!({"spec": {"schedulerName": "another"}}));
    assert_eq!(c.place("theirs"), None);
    let unclaimed = |c: &TestCluster| -> Vec<String> {
        c.scheduler.unclaimed_pods().map(|key| key.name.to_string()).collect()
    };
    assert_eq!(unclaimed(&c), ["theirs"]);
    c.pod("gone", "cpu=1", json!({"spec": {"schedulerName": "another"}}));
    c.delete("gone");
    assert_eq!(unclaimed(&c), ["theirs"]);
    c.change("theirs", json!({"spec": {"nodeName": "one"}}));
    assert!(unclaimed(&c).is_empty(), "it has a node");
    c.pod("ours", "cpu=2", json!({"spec": {"schedulerName": "batch"}}));
    assert_eq!(c.place("ours"), Some(Place::Unschedulable));
    c.after(20);
    c.delete("theirs");
    assert!(c.news().contains(&"ours on one".to_owned()));
}

#[test]
fn a_pod_that_is_deleted_while_it_is_bound_leaves_nothing_behind() {
    let mut c = TestCluster::new();
    let node = testing::node(
        &mut c.world,
        json!({"metadata": {"name": "one"}, "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "10"}}}),
    );
    c.scheduler.node_set(node, c.now);
    let api = json!({"metadata": {"name": "web", "namespace": "default", "uid": "u"}, "spec": {"containers": [testing::container("cpu=1")]}});
    let pod: Arc<Pod> = testing::pod(&mut c.world, api);
    c.scheduler.pod_set(pod.clone(), c.now);
    assert!(c.scheduler.schedule_one(c.now));
    assert_eq!(c.scheduler.bindings(), 1);

    c.scheduler.pod_gone(&key("web"), c.now);
    c.scheduler.bound(&pod.uid, Err("pods \"web\" not found".into()), c.now);
    assert_eq!(c.scheduler.cache().pod_count(), 0);
    assert_eq!((c.scheduler.bindings(), c.place("web")), (0, None));
}

#[test]
fn the_same_calls_give_the_same_commands() {
    let run = || {
        let mut c = TestCluster::new();
        for number in 0..8 {
            c.node(&format!("node-{number}"), "cpu=4 memory=8Gi");
        }
        for number in 0..20 {
            c.pod(&format!("pod-{number}"), "cpu=1", json!({}));
        }
        c.news()
    };
    let news = run();
    assert_eq!(news.len(), 20);
    assert_eq!(news, run());
}
