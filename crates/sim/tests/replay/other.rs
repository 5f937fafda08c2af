//! The same inputs under another configuration.

use std::io::Cursor;
use std::time::Duration;

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use roadstead_recording::{Header, Reader, Source};
use roadstead_scheduler::Registry;
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_sim::{
    Baseline, ChangeCounts, Comparison, Config, Delay, Faults, Placement, PlacementChange,
    PodComparison, Setup, Setups, Simulation, Timeline, setup_of, setup_with, what_if,
};

use crate::testing::{reader, record_simulation, record_with, seeds};

#[test]
fn the_same_configuration_changes_nothing_of_a_run_without_faults() {
    let (mut placed, mut evicted) = (0, 0);
    let seeds = seeds(40);
    for seed in seeds.clone() {
        let compared = changes_nothing(seed);
        placed += compared.counts.equal;
        evicted += compared.other_evictions;
    }
    // A generator that no longer makes trouble would let everything pass.
    if seeds.end - seeds.start >= 40 {
        assert!(placed > 100 && evicted > 0, "{placed} placed, {evicted} evicted");
    }
}

/// Seed 247: its node is gone before it has left, so it takes longer than others do.
#[test]
fn an_evicted_pod_is_gone_as_long_after_its_eviction_as_it_was() {
    assert!(changes_nothing(247).other_evictions > 1);
}

/// Seed 264: the mark of its eviction is no part of what it came to by itself.
#[test]
fn what_follows_from_an_eviction_comes_only_with_one() {
    assert!(changes_nothing(264).other_evictions > 1);
}

#[test]
fn the_same_configuration_changes_nothing_where_everything_takes_its_own_time() {
    let delay = |most| Delay { least: Duration::from_millis(1), most: Duration::from_millis(most) };
    let mut placed = 0;
    for seed in 0..6 {
        let faults = Faults {
            command_delay: delay(400),
            answer_delay: delay(700),
            watch_delay: delay(300),
            ..Faults::default()
        };
        let (_, bytes) = record_with("delayed", seed, faults);
        placed += nothing_changes(seed, bytes).counts.equal;
    }
    assert!(placed > 20, "{placed} placed");
}

fn changes_nothing(seed: u64) -> Comparison {
    let (_, bytes) = record_with("same", seed, Faults::default());
    nothing_changes(seed, bytes)
}

fn nothing_changes(seed: u64, bytes: Vec<u8>) -> Comparison {
    let compared = compare(reader(bytes), None);
    let changed: Vec<&PodComparison> = compared.pods.iter().filter(is_changed).collect();
    assert!(changed.is_empty(), "seed {seed}: {changed:?}");
    assert_eq!(compared.other_evictions, compared.recorded_evictions, "seed {seed}");
    let Baseline { changed, evictions, .. } = compared.unchanged;
    assert_eq!((changed, evictions), (0, compared.recorded_evictions), "seed {seed}");
    compared
}

#[test]
fn packing_pods_makes_room_for_a_large_one_sooner_and_spreading_them_later() {
    let pods = [("a", "3", Some(30), 0), ("b", "1", Some(300), 0), ("c", "4", None, 5)];
    let (spread, packed) = (run(&pods, DEFAULT), run(&pods, PACKING));

    let sooner = compare(spread, Some(PACKING));
    let expected = ChangeCounts { sooner: 1, elsewhere: 1, equal: 1, ..ChangeCounts::default() };
    assert_eq!(sooner.counts, expected, "{:?}", sooner.pods);
    let first = &sooner.pods[0];
    assert_eq!((first.name.as_str(), first.change), ("c", PlacementChange::Sooner));
    let at = |placement: &Option<Placement>| placement.as_ref().map(|it| it.at.get());
    assert_eq!((at(&first.recorded), at(&first.other)), (Some(31.0), Some(5.0)));

    let later = compare(packed, Some(DEFAULT));
    let expected = ChangeCounts { later: 1, elsewhere: 1, equal: 1, ..ChangeCounts::default() };
    assert_eq!(later.counts, expected, "{:?}", later.pods);
}

#[test]
fn a_pod_runs_as_long_as_it_ran_wherever_and_whenever_it_is_placed() {
    // Packed, `c` begins at 5 s and `d` follows it on its node after the 20 s that it runs.
    let pods = [
        ("a", "3", Some(30), 0),
        ("b", "1", Some(300), 0),
        ("c", "4", Some(20), 5),
        ("d", "4", Some(10), 6),
    ];
    let compared = compare(run(&pods, DEFAULT), Some(PACKING));
    let of = |name: &str| compared.pods.iter().find(|pod| pod.name == name).expect("it was there");
    let times = |name: &str| {
        let at = |placement: &Option<Placement>| placement.as_ref().map(|it| it.at.get());
        (at(&of(name).recorded), at(&of(name).other))
    };
    assert_eq!(times("c"), (Some(31.0), Some(5.0)));
    // A second to start, and then its time.
    assert_eq!(times("d"), (Some(52.0), Some(26.0)));
}

#[test]
fn without_preemption_an_urgent_pod_is_no_longer_placed_and_its_victim_stays() {
    let pods = [("meek", "3", None, 0), ("urgent", "3", None, 5)];
    let preempting = run_on(1, &pods, DEFAULT);
    let compared = compare(preempting, Some(PATIENT));
    let expected = ChangeCounts { no_longer_placed: 1, equal: 1, ..ChangeCounts::default() };
    assert_eq!(compared.counts, expected, "{:?}", compared.pods);
    assert_eq!((compared.recorded_evictions, compared.other_evictions), (1, 0));

    let compared = compare(run_on(1, &pods, PATIENT), Some(DEFAULT));
    let expected = ChangeCounts { newly_placed: 1, equal: 1, ..ChangeCounts::default() };
    assert_eq!(compared.counts, expected, "{:?}", compared.pods);
    assert_eq!((compared.recorded_evictions, compared.other_evictions), (0, 1));
}

const DEFAULT: &str =
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}";

const PACKING: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: NodeResourcesBalancedAllocation}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
";

const PATIENT: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: DefaultPreemption}]
";

/// A pod: its name, its CPU, for how many seconds it runs, and when it comes.
type Wanted = (&'static str, &'static str, Option<u64>, u64);

/// A recorded run of these pods on two nodes of four CPUs.
fn run(pods: &[Wanted], configuration: &str) -> Reader<Cursor<Vec<u8>>> {
    run_on(2, pods, configuration)
}

fn run_on(nodes: usize, pods: &[Wanted], configuration: &str) -> Reader<Cursor<Vec<u8>>> {
    let registry = Registry::default();
    let read = SchedulerConfiguration::read("config.yaml", configuration, registry.known());
    let configuration = read.expect("it is fine");
    let mut cluster = Cluster::new(embedded::Config::default());
    let mut text = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, \
                    metadata: {name: urgent}, value: 1000}\n"
        .to_owned();
    for node in 0..nodes {
        text += &format!(
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: n{node}}}, \
             status: {{allocatable: {{cpu: 4, pods: 10}}}}}}\n"
        );
    }
    load(&mut cluster, Time::ZERO, &text);
    let setup = Setup::new(&configuration, &registry).expect("it is fine");
    let config = Config { until: Some(Time::from_secs(400)), ..Config::default() };
    let mut simulation = Simulation::new(cluster, setup, config);
    let header = Header::new(Source::Sim, configuration.to_json(), 0);
    record_simulation("other", &mut simulation, &header, &mut Arrivals(pods.to_vec()))
}

/// Pods that come at their times.
struct Arrivals(Vec<Wanted>);

impl Timeline for Arrivals {
    fn next(&self) -> Option<Time> {
        self.0.iter().map(|(.., at)| Time::from_secs(*at)).min()
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        let is_due = |wanted: &Wanted| Time::from_secs(wanted.3) <= now;
        for (name, cpu, runs, _) in self.0.iter().filter(|wanted| is_due(wanted)) {
            let runs = runs.map_or(String::new(), |runs| {
                format!(", annotations: {{roadstead.dev/run-seconds: '{runs}'}}")
            });
            let class = if *name == "urgent" { "priorityClassName: urgent, " } else { "" };
            let text = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}{runs}}}, \
                 spec: {{{class}containers: [{{name: c, image: i, \
                 resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}"
            );
            load(cluster, now, &text);
        }
        self.0.retain(|wanted| !is_due(wanted));
        Vec::new()
    }
}

fn load(cluster: &mut Cluster, now: Time, text: &str) {
    let report = cluster.load(now, manifests::parse("test.yaml", text));
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

fn is_changed(pod: &&PodComparison) -> bool {
    !matches!(pod.change, PlacementChange::Equal | PlacementChange::Waiting)
}

fn compare(reader: Reader<Cursor<Vec<u8>>>, other: Option<&str>) -> Comparison {
    let registry = Registry::default();
    let recorded = || setup_of(reader.header(), "run.rec", &registry).expect("the defaults");
    let other = match other {
        Some(text) => {
            let read = SchedulerConfiguration::read("other.yaml", text, registry.known());
            let configuration = read.expect("it is fine");
            setup_with(reader.header(), &configuration, &registry).expect("it is fine")
        }
        None => recorded(),
    };
    let setups = Setups { recorded: [recorded(), recorded(), recorded()], other };
    what_if(reader, setups, None).expect("it is whole")
}
