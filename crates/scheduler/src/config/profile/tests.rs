//! Merging and expansion, in tables.

use super::*;
use crate::config::{Gates, SchedulerConfiguration};

const GATES_OFF: Gates = Gates {
    dra_device_binding_conditions: true,
    dra_resource_claim_device_status: true,
    dra_scheduler_filter_timeout: true,
    gang_scheduling: false,
    node_declared_features: false,
    storage_capacity_scoring: false,
    topology_aware_workload_scheduling: false,
};

/// The in-tree plugins and three others.
fn known() -> Known {
    let mut known = Known::default();
    known.add("Custom", [Point::Filter, Point::Score, Point::Permit]);
    known.add("Other", [Point::Filter, Point::Score, Point::QueueSort, Point::Bind]);
    known.add("Watcher", [Point::PostBind]);
    known
}

fn profile(plugins: &str, known: &Known) -> Profile {
    let text = format!(
        "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, \
         profiles: [{{plugins: {{{plugins}}}}}]}}"
    );
    let read = SchedulerConfiguration::read("test.yaml", &text, known);
    let configuration = read.unwrap_or_else(|error| panic!("{plugins}: {error}"));
    let mut profiles = configuration.profiles(known).expect("what was read is right");

    // Whatever was merged is merged again by whoever reads what was printed.
    let again = SchedulerConfiguration::read("again.yaml", &configuration.to_yaml(), known);
    assert_eq!(again.unwrap_or_else(|error| panic!("{plugins}: {error}")), configuration);
    profiles.remove(0)
}

/// The plugins at a point, with weights where there are any: `A=3 B=1`.
fn at(profile: &Profile, point: Point) -> String {
    let entry = |plugin: &PointPlugin| match plugin.weight {
        0 => plugin.name.clone(),
        weight => format!("{}={weight}", plugin.name),
    };
    profile.at(point).iter().map(entry).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_default_profile_is_kube_schedulers() {
    const PRE_FILTER: &str = "NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions \
        NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity \
        DynamicResources NodeDeclaredFeatures";
    let filter = format!("NodeUnschedulable NodeName TaintToleration {PRE_FILTER}");
    #[rustfmt::skip]
    let rows = [
        (Point::PreEnqueue, "SchedulingGates DynamicResources DefaultPreemption"),
        (Point::QueueSort,  "PrioritySort"),
        (Point::PreFilter,  PRE_FILTER),
        (Point::Filter,     &filter),
        (Point::PostFilter, "DynamicResources DefaultPreemption"),
        (Point::PreScore,   "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding \
                             PodTopologySpread InterPodAffinity NodeResourcesBalancedAllocation"),
        (Point::Score,      "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 \
                             PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 \
                             NodeResourcesBalancedAllocation=1 ImageLocality=1"),
        (Point::Reserve,    "VolumeBinding DynamicResources"),
        (Point::PreBind,    "VolumeBinding DynamicResources"),
        (Point::Bind,       "DefaultBinder"),
        (Point::PlacementScore,    "NodeResourcesFit=1"),
        (Point::Permit,            ""),
        (Point::PostBind,          ""),
        (Point::PlacementGenerate, ""),
    ];
    let profile = profile("", &Known::default());
    for (point, expected) in rows {
        assert_eq!(at(&profile, point), expected, "{point}");
    }
    assert_eq!(rows.len(), Point::ALL.len());
}

#[test]
fn gates_change_the_default_profile() {
    let profile = |gates: Gates| profile("", &Known::new(gates));
    let without = profile(GATES_OFF);
    assert!(!at(&without, Point::Filter).contains("NodeDeclaredFeatures"));

    let gang = profile(Gates { gang_scheduling: true, ..Gates::default() });
    assert_eq!(at(&gang, Point::Permit), "GangScheduling");
    let pre_enqueue = "SchedulingGates DynamicResources DefaultPreemption GangScheduling";
    assert_eq!(at(&gang, Point::PreEnqueue), pre_enqueue);

    let topology = Gates { topology_aware_workload_scheduling: true, ..Gates::default() };
    let topology = profile(topology);
    assert_eq!(at(&topology, Point::PlacementGenerate), "TopologyPlacementGenerator");
    assert_eq!(at(&topology, Point::PlacementScore), "NodeResourcesFit=1 PodGroupPodsCount=1");
}

#[test]
fn plugins_are_merged_and_expanded_as_upstream() {
    const SCORE: &str = "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 \
        PodTopologySpread=2 InterPodAffinity=2 DynamicResources=2 \
        NodeResourcesBalancedAllocation=1 ImageLocality=1";
    let after = |own: &str| format!("{SCORE} {own}");
    let rest = |dropped: &str| {
        SCORE.split(' ').filter(|p| !dropped.contains(p)).collect::<Vec<_>>().join(" ")
    };
    #[rustfmt::skip]
    let rows = [
        ("at a point: after the defaults",
            "score: {enabled: [{name: Custom, weight: 7}]}", Point::Score, after("Custom=7")),
        ("at a point: in their own order",
            "score: {enabled: [{name: Other}, {name: Custom}]}", Point::Score, after("Other=1 Custom=1")),
        ("at a point: only there",
            "score: {enabled: [{name: Custom}]}", Point::Permit, String::new()),
        ("a weight of 0 is 1",
            "score: {enabled: [{name: Custom, weight: 0}]}", Point::Score, after("Custom=1")),
        ("a negative weight stays",
            "score: {enabled: [{name: Custom, weight: -2}]}", Point::Score, after("Custom=-2")),
        ("a default that is listed again comes first, and loses its weight",
            "score: {enabled: [{name: ImageLocality}, {name: TaintToleration}]}", Point::Score,
            format!("ImageLocality=1 TaintToleration=1 {}", rest("TaintToleration=3 ImageLocality=1"))),
        ("a default that is listed again with a weight",
            "score: {enabled: [{name: NodeAffinity, weight: 9}]}", Point::Score,
            format!("NodeAffinity=9 {}", rest("NodeAffinity=2"))),
        ("first the defaults listed again, last the others",
            "score: {enabled: [{name: Custom}, {name: ImageLocality}]}", Point::Score,
            format!("ImageLocality=1 {} Custom=1", rest("ImageLocality=1"))),
        ("one disabled",
            "score: {disabled: [{name: ImageLocality}]}", Point::Score, rest("ImageLocality=1")),
        ("one disabled at another point",
            "filter: {disabled: [{name: TaintToleration}]}", Point::Score, SCORE.to_owned()),
        ("all disabled",
            "score: {disabled: [{name: '*'}]}", Point::Score, String::new()),
        ("all disabled but one",
            "score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 4}]}", Point::Score,
            "ImageLocality=4".to_owned()),
        ("enabled wins over disabled, as one of the point's own: it comes last",
            "score: {disabled: [{name: TaintToleration}], enabled: [{name: TaintToleration}]}", Point::Score,
            format!("{} TaintToleration=1", rest("TaintToleration=3"))),
        ("to disable what is not there means nothing",
            "score: {disabled: [{name: NoSuch}]}", Point::Score, SCORE.to_owned()),

        ("at all points: after the defaults",
            "multiPoint: {enabled: [{name: Custom, weight: 3}]}", Point::Score, after("Custom=3")),
        ("at all points: at each that it joins",
            "multiPoint: {enabled: [{name: Custom, weight: 3}]}", Point::Permit, "Custom".to_owned()),
        ("at all points: a default is replaced in its place",
            "multiPoint: {enabled: [{name: NodeAffinity, weight: 5}]}", Point::Score,
            SCORE.replace("NodeAffinity=2", "NodeAffinity=5")),
        ("at all points: a default is replaced even by an unset weight",
            "multiPoint: {enabled: [{name: TaintToleration}]}", Point::Score,
            SCORE.replace("TaintToleration=3", "TaintToleration=1")),
        ("at all points: one disabled",
            "multiPoint: {disabled: [{name: ImageLocality}]}", Point::Score, rest("ImageLocality=1")),
        ("at all points: moved to the end by disabling and enabling it",
            "multiPoint: {disabled: [{name: TaintToleration}], enabled: [{name: TaintToleration, weight: 3}]}",
            Point::Score, format!("{} TaintToleration=3", rest("TaintToleration=3"))),
        ("at all points: all disabled but some",
            "multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, {name: ImageLocality}, {name: PrioritySort}]}",
            Point::Score, "ImageLocality=1".to_owned()),
        ("at all points, but not at one",
            "multiPoint: {enabled: [{name: Custom}]}, score: {disabled: [{name: Custom}]}", Point::Score,
            SCORE.to_owned()),
        ("the point's weight wins",
            "multiPoint: {enabled: [{name: Custom, weight: 3}]}, score: {enabled: [{name: Custom, weight: 8}]}",
            Point::Score, format!("Custom=8 {SCORE}")),
        ("the point's weight wins even unset",
            "multiPoint: {enabled: [{name: Custom, weight: 3}]}, score: {enabled: [{name: Custom}]}",
            Point::Score, format!("Custom=1 {SCORE}")),
        ("twice at all points is once where each point lists it itself",
            "multiPoint: {enabled: [{name: Watcher}, {name: Watcher}]}, postBind: {enabled: [{name: Watcher}]}",
            Point::PostBind, "Watcher".to_owned()),
        ("another order of the queue",
            "multiPoint: {disabled: [{name: PrioritySort}]}, queueSort: {enabled: [{name: Other}]}",
            Point::QueueSort, "Other".to_owned()),
        ("another order of the queue, the default only taken from its point",
            "queueSort: {disabled: [{name: '*'}], enabled: [{name: Other}]}",
            Point::QueueSort, "Other".to_owned()),
        ("two binders",
            "bind: {enabled: [{name: Other}]}", Point::Bind, "DefaultBinder Other".to_owned()),
    ];
    for (why, plugins, point, expected) in rows {
        assert_eq!(at(&profile(plugins, &known()), point), expected, "{why}");
    }
}

#[test]
fn a_plugin_that_is_enabled_nowhere_is_not_made() {
    let plugins = "multiPoint: {disabled: [{name: NodeName}]}, \
        score: {disabled: [{name: ImageLocality}]}, postBind: {enabled: [{name: Watcher}]}";
    let profile = profile(plugins, &known());
    let made: Vec<&str> = profile.plugins().collect();
    assert!(!made.contains(&"NodeName"));
    assert!(made.contains(&"ImageLocality"), "enabled at multiPoint, though at no point");
    assert_eq!(made.iter().filter(|name| **name == "Watcher").count(), 1);
    assert_eq!(made[0], "SchedulingGates");
}

#[test]
fn the_best_score_of_all_plugins_must_fit() {
    const MOST: i64 = i64::MAX / 100;
    #[rustfmt::skip]
    let rows = [
        (vec![],            false),
        (vec![3, 2, 1],     false),
        (vec![MOST],        false),
        (vec![MOST + 1],    true),
        (vec![MOST, 1],     true),
        (vec![MOST / 2; 2], false),
        (vec![MOST / 2 + 1; 2], true),
    ];
    for (weights, expected) in rows {
        assert_eq!(could_overflow(weights.iter().copied()), expected, "{weights:?}");
    }
}
