//! What scenarios do to a cluster.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use roadstead_cluster::embedded::{self, Binding, Cluster, RUN_SECONDS};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use roadstead_sim::{Scenario, StartingAt, Timeline};

/// A cluster, a scenario at work on it, and a scheduler that puts everything on one node.
struct Stage {
    cluster: Cluster,
    play: Box<dyn Timeline>,
    now: Time,
    troubles: Vec<String>,
}

impl Stage {
    fn new(spec: &str) -> Self {
        let play = Box::new(read(spec).play(0));
        let cluster = Cluster::new(embedded::Config::default());
        Self { cluster, play, now: Time::ZERO, troubles: Vec::new() }
    }

    /// Lets everything happen up to a second.
    fn until(&mut self, second: u64) -> &mut Self {
        let end = Time::from_secs(second);
        loop {
            while let Some(at) = self.play.next()
                && at <= self.now
            {
                self.troubles.extend(self.play.act(self.now, &mut self.cluster));
            }
            self.cluster.on_time(self.now);
            let next = [self.play.next(), self.cluster.next_wakeup()].into_iter().flatten().min();
            match next.filter(|next| *next <= end) {
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
        }
        self.now = end;
        self
    }

    fn bind_all(&mut self, node: &str) -> &mut Self {
        let waiting: Vec<String> = self
            .cluster
            .list::<Pod>()
            .filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none()))
            .filter_map(|pod| pod.metadata.name.clone())
            .collect();
        for pod in waiting {
            self.cluster.bind(self.now, &Binding::new("default", &pod, node)).expect("it waits");
        }
        self
    }

    fn names(&self) -> Vec<String> {
        self.cluster.list::<Pod>().filter_map(|pod| pod.metadata.name.clone()).collect()
    }

    fn node(&self, name: &str) -> &Node {
        self.cluster.get::<Node>("", name).expect("it is there")
    }

    fn taints(&self, name: &str) -> Vec<String> {
        let taints = self.node(name).spec.iter().flat_map(|spec| spec.taints.iter().flatten());
        taints.map(|taint| format!("{}:{}", taint.key, taint.effect)).collect()
    }
}

fn read(spec: &str) -> Scenario {
    let text = format!(
        "apiVersion: sim.roadstead.dev/v1\nkind: Scenario\nmetadata: {{name: test}}\nspec:\n{spec}"
    );
    let beside = |_: &str| {
        Ok("apiVersion: v1\nkind: Pod\nmetadata: {name: beside, namespace: new}\n\
            spec: {containers: [{name: main}]}\n"
            .to_owned())
    };
    Scenario::read("test.yaml", &text, &beside).unwrap_or_else(|error| panic!("{error}"))
}

/// The pods that a scenario makes, one a line, with what was drawn for them.
fn pods_of(spec: &str, seed: u64) -> Vec<String> {
    let mut cluster = Cluster::new(embedded::Config::default());
    let mut play = read(spec).play(seed);
    while let Some(at) = play.next() {
        assert_eq!(play.act(at, &mut cluster), Vec::<String>::new());
    }
    let pods = cluster.list::<Pod>().map(|pod| {
        let run = pod.metadata.annotations.as_ref().and_then(|all| all.get(RUN_SECONDS));
        let asked = &pod.spec.as_ref().expect("it has one").containers[0].resources;
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        format!("{name} {run:?} {asked:?} {:?}", pod.metadata.creation_timestamp)
    });
    pods.collect()
}

const LOAD: &str = "
  workloads:
  - name: a
    count: 50
    arrivals: {poisson: {rate: 2/s}}
    sizes: [{requests: {cpu: {min: 100m, max: 2}}}]
    runs: {exponential: {mean: 30s}}
";

#[test]
fn equal_seeds_draw_equal_pods_and_others_do_not() {
    assert_eq!(pods_of(LOAD, 1), pods_of(LOAD, 1));
    assert_ne!(pods_of(LOAD, 1), pods_of(LOAD, 2));
}

#[test]
fn a_workload_that_is_added_changes_no_other() {
    let more = format!("{LOAD}  - {{name: b, count: 20, runs: {{uniform: {{max: 1m}}}}}}\n");
    let mut both = pods_of(&more, 1);
    both.retain(|pod| pod.starts_with("a-"));
    assert_eq!(both, pods_of(LOAD, 1));
}

#[test]
fn a_workload_of_any_size_is_made_as_it_comes() {
    let mut stage = Stage::new(
        "
  workloads:
  - {name: w, count: 1000000000000, arrivals: {constant: {rate: 2/s}}, runs: {constant: 1s}}
",
    );
    stage.until(10);
    assert_eq!(stage.names().len(), 21, "two a second, and the first at the start");
    assert_eq!(stage.play.next(), Some(Time::from_millis(10_500)));
}

#[test]
fn a_fleet_is_spread_over_its_zones_and_joins_at_its_time() {
    let mut stage = Stage::new(
        "
  fleets:
  - {name: pier, count: 5, at: 30s, zones: [a, b], capacity: {cpu: 4, nvidia.com/gpu: 2}}
",
    );
    assert_eq!(stage.until(29).cluster.list::<Node>().count(), 0);
    stage.until(30);
    let zones: Vec<&str> = stage
        .cluster
        .list::<Node>()
        .filter_map(|node| node.metadata.labels.as_ref()?.get("topology.kubernetes.io/zone"))
        .map(String::as_str)
        .collect();
    assert_eq!(zones, ["a", "b", "a", "b", "a"]);
    let status = stage.node("pier-4").status.as_ref().expect("it has one");
    let capacity = status.capacity.as_ref().expect("it has one");
    let amounts: Vec<_> = capacity.iter().map(|(name, amount)| (&**name, &*amount.0)).collect();
    assert_eq!(amounts, [("cpu", "4"), ("nvidia.com/gpu", "2"), ("pods", "110")]);
}

#[test]
fn a_failed_node_loses_its_pods_after_their_toleration_and_may_come_back() {
    let mut stage = Stage::new(
        "
  fleets: [{name: pier, count: 1, capacity: {cpu: 4}}]
  workloads:
  - {name: patient, count: 1}
  - name: hasty
    count: 1
    template:
      spec:
        tolerations:
        - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 20}
  timeline:
  - {at: 10s, failNode: {node: pier-0, recoverAfter: 100s}}
",
    );
    stage.until(0).bind_all("pier-0").until(15);
    let unreachable = "node.kubernetes.io/unreachable";
    let both = [format!("{unreachable}:NoSchedule"), format!("{unreachable}:NoExecute")];
    assert_eq!(stage.taints("pier-0"), both);
    assert_eq!(stage.until(29).names(), ["hasty-0", "patient-0"]);
    assert_eq!(stage.until(32).names(), ["patient-0"]);
    assert_eq!(stage.until(110).taints("pier-0"), Vec::<String>::new());
    assert_eq!(stage.until(1000).names(), ["patient-0"]);
    assert_eq!(stage.troubles, Vec::<String>::new());
}

#[test]
fn a_drain_waits_for_budgets_and_gives_up_in_time() {
    let mut stage = Stage::new(
        "
  fleets: [{name: pier, count: 1, capacity: {cpu: 4}}]
  workloads:
  - {name: w, count: 3, template: {metadata: {labels: {app: w}}}}
  timeline:
  - at: 0s
    apply:
      objects:
      - apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata: {name: two}
        spec: {minAvailable: 2, selector: {matchLabels: {app: w}}}
  - {at: 10s, drain: {node: pier-0, timeout: 20s}}
  - {at: 60s, delete: {kind: PodDisruptionBudget, name: two}}
  - {at: 61s, drain: {node: pier-0}}
",
    );
    stage.until(0).bind_all("pier-0").until(15);
    assert_eq!(stage.names().len(), 2, "one can be spared");
    assert_eq!(stage.node("pier-0").spec.as_ref().and_then(|s| s.unschedulable), Some(true));
    assert_eq!(stage.until(40).names().len(), 2);
    let given_up = "at 30s: drain: given up: pods \"default/w-1\" cannot be served now: The disruption budget \
         two needs 2 healthy pods and has 2 currently";
    assert_eq!(stage.troubles[0], given_up);
    assert_eq!(stage.troubles.len(), 2);
    assert_eq!(stage.until(70).names(), Vec::<String>::new());
}

#[test]
fn a_timeline_applies_scales_labels_taints_and_deletes() {
    let mut stage = Stage::new(
        "
  fleets: [{name: pier, count: 2, zones: [a, b], capacity: {cpu: 4}}]
  timeline:
  - at: 1s
    apply:
      objects:
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: web}
        spec:
          replicas: 2
          selector: {matchLabels: {app: web}}
          template:
            metadata: {labels: {app: web}}
            spec: {containers: [{name: main, image: web}]}
  - {at: 2s, scale: {kind: Deployment, name: web, replicas: 5}}
  - {at: 3s, label: {selector: {topology.kubernetes.io/zone: b}, set: {disk: ssd}}}
  - {at: 3s, taint: {nodes: [pier-0, pier-1], taints: [{key: t, effect: NoSchedule}, {key: t, effect: NoExecute}]}}
  - {at: 4s, untaint: {node: pier-0, keys: ['t:NoExecute']}}
  - {at: 4s, untaint: {node: pier-1, keys: [t]}}
  - {at: 5s, unlabel: {node: pier-1, keys: [disk]}}
  - {at: 6s, apply: {file: beside.yaml}}
  - {at: 7s, delete: {kind: Deployment, name: web}}
",
    );
    assert_eq!(stage.until(1).names().len(), 2);
    assert_eq!(stage.until(2).names().len(), 5);
    let disk = |stage: &Stage, node: &str| {
        stage.node(node).metadata.labels.as_ref().and_then(|l| l.get("disk")).cloned()
    };
    stage.until(3);
    assert_eq!((disk(&stage, "pier-0"), disk(&stage, "pier-1")), (None, Some("ssd".into())));
    assert_eq!(stage.taints("pier-1"), ["t:NoSchedule", "t:NoExecute"]);
    stage.until(4);
    assert_eq!(stage.taints("pier-0"), ["t:NoSchedule"]);
    assert_eq!(stage.taints("pier-1"), Vec::<String>::new());
    assert_eq!(disk(stage.until(5), "pier-1"), None);
    assert!(stage.until(6).cluster.pod("new", "beside").is_some(), "its namespace was made");
    stage.until(8);
    assert!(stage.cluster.get::<Deployment>("default", "web").is_none());
    assert_eq!(stage.names(), ["beside"]);
    assert_eq!(stage.troubles, Vec::<String>::new());
}

#[test]
fn what_cannot_be_done_is_told_and_the_rest_goes_on() {
    let mut stage = Stage::new(
        "
  fleets: [{name: pier, count: 1, capacity: {cpu: 4}}]
  workloads:
  - {name: w, start: 3s, count: 5, template: {spec: {priorityClassName: high}}}
  timeline:
  - {at: 1s, cordon: {nodes: [gone, pier-0]}}
  - {at: 1s, uncordon: {selector: {disk: ssd}}}
  - {at: 2s, scale: {kind: Job, name: none, replicas: 3}}
",
    );
    stage.until(10);
    assert_eq!(
        stage.troubles,
        [
            "at 1s: cordon: nodes \"gone\" not found",
            "at 1s: uncordon: no node has these labels",
            "at 2s: scale: jobs \"default/none\" not found",
            "at 3s: workload w, which goes on: pods \"default/w-0\" is forbidden: no \
             PriorityClass with name high was found",
        ]
    );
    assert_eq!(stage.taints("pier-0"), ["node.kubernetes.io/unschedulable:NoSchedule"]);
}

#[test]
fn a_workload_goes_on_when_what_stood_against_its_pods_has_passed() {
    let mut stage = Stage::new(
        "
  workloads:
  - name: w
    count: 6
    arrivals: {constant: {rate: 1/s}}
    template: {spec: {priorityClassName: high}}
",
    );
    stage.until(3);
    let class = r#"{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": "high"}, "value": 9}"#;
    let loaded = stage.cluster.load(stage.now, manifests::parse("class.json", class));
    assert_eq!(loaded.loaded, 1);
    stage.until(20);
    assert_eq!(stage.names(), ["w-4", "w-5"], "the one of the third second came too soon");
    assert_eq!(stage.troubles.len(), 1, "{:?}", stage.troubles);
}

#[test]
fn sizes_become_requests_and_extended_resources_limits() {
    let spec = "
  workloads:
  - name: w
    count: 1
    sizes: [{requests: {cpu: 500m, memory: {min: 64Mi, max: 64Mi}, nvidia.com/gpu: 1}}]
    runs: {constant: 90s}
";
    let mut stage = Stage::new(spec);
    let pod = stage.until(0).cluster.pod("default", "w-0").expect("it has come").clone();
    let container = &pod.spec.as_ref().expect("it has one").containers[0];
    let resources = container.resources.as_ref().expect("it asks for something");
    let told = |amounts: &Option<std::collections::BTreeMap<String, _>>| {
        let amounts = amounts.clone().unwrap_or_default();
        let told =
            |(name, amount): (String, k8s_openapi::apimachinery::pkg::api::resource::Quantity)| {
                format!("{name} {}", amount.0)
            };
        amounts.into_iter().map(told).collect::<Vec<String>>()
    };
    assert_eq!(told(&resources.requests), ["cpu 500m", "memory 64Mi", "nvidia.com/gpu 1"]);
    assert_eq!(told(&resources.limits), ["nvidia.com/gpu 1"]);
    let annotations = pod.metadata.annotations.as_ref().expect("it has some");
    assert_eq!(annotations[RUN_SECONDS], "90");
}

#[test]
fn a_scenario_says_when_to_stop_and_what_to_draw_from() {
    let scenario = read("  seed: -1\n  stop: {after: 90s}\n");
    assert_eq!(scenario.stop(), Some(Duration::from_secs(90)));
    assert_eq!(scenario.seed(), Some(u64::MAX));
    assert_eq!(read("  stop: {atQuiet: true}\n").stop(), None);
}

#[test]
fn what_happens_every_so_often_happens_again_wherever_time_begins() {
    let spec = "
  stop: {after: 1h}
  fleets: [{name: pier, count: 1, capacity: {cpu: 4}}]
  timeline:
  - {at: 10s, every: 60s, cordon: {node: pier-0}}
  - {at: 20s, every: 60s, uncordon: {node: pier-0}}
";
    for start in [0, 1_800_000_000] {
        let mut stage = Stage::new(spec);
        stage.now = Time::from_secs(start);
        stage.play = Box::new(StartingAt::new(stage.now, read(spec).play(0)));
        for (second, cordoned) in [(5, false), (15, true), (25, false), (75, true), (3145, false)] {
            stage.until(start + second);
            let node = stage.cluster.get::<Node>("", "pier-0").expect("it has joined");
            let is_cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable);
            assert_eq!(is_cordoned.unwrap_or_default(), cordoned, "{second} s after {start} s");
        }
    }
}
