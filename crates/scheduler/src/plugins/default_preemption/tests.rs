//! The tables of the specification. Nodes have four places; who takes how many is all that the
//! one filter here counts.

use std::sync::Arc;

use roadstead_model::Pod;
use serde_json::{Value, json};

use super::*;
use crate::framework::{Filter, Joining, PreFilter, PreFilterAnswer, PreFilterExtensions};
use crate::nodes::NodeInfo;
use crate::testing::{self, Cluster};

/// Takes pods as long as their CPUs fit; cannot follow the removal of a pod called `stuck`.
struct Fit;

impl Plugin for Fit {
    fn name(&self) -> &'static str {
        "Fit"
    }
}

impl PreFilter for Fit {
    fn pre_filter(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        Ok(PreFilterAnswer::AnyNode)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for Fit {
    fn add_pod(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
        _: &Arc<Pod>,
        _: &NodeInfo,
    ) -> Result<(), Status> {
        Ok(())
    }

    fn remove_pod(
        &self,
        _: &Context<'_>,
        _: &mut CycleState,
        _: &Pod,
        other: &Arc<Pod>,
        _: &NodeInfo,
    ) -> Result<(), Status> {
        if &*other.name == "stuck" { Err(Status::error("cannot follow")) } else { Ok(()) }
    }
}

impl Filter for Fit {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if node.node().unschedulable {
            return Err(Status::unresolvable("closed"));
        }
        let total = &pod.requests().total;
        if total.fits(node.requested(), &node.node().allocatable) {
            Ok(())
        } else {
            Err(Status::unschedulable("Insufficient cpu"))
        }
    }
}

/// A pod of so many CPUs and this priority on a node.
fn on(node: &str, name: &str, cpu: u32, priority: i32) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"nodeName": node, "priority": priority,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu.to_string()}}}]},
        "status": {"startTime": "2024-01-01T00:00:00Z"}})
}

fn with(mut pod: Value, path: &str, value: Value) -> Value {
    let (outer, inner) = path.split_once('.').expect("two parts");
    pod[outer][inner] = value;
    pod
}

fn started(pod: Value, day: u32) -> Value {
    with(pod, "status.startTime", json!(format!("2024-01-{day:02}T00:00:00Z")))
}

fn terminating(pod: Value) -> Value {
    let evicted =
        json!([{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]);
    with(deleted(pod), "status.conditions", evicted)
}

fn deleted(pod: Value) -> Value {
    with(pod, "metadata.deletionTimestamp", json!("2024-01-20T00:00:00Z"))
}

fn waiting(name: &str, priority: i32) -> Value {
    let pod = with(on("", name, 1, priority), "spec.nodeName", Value::Null);
    with(pod, "status.nominatedNodeName", json!("a"))
}

/// Some open nodes of four CPUs, by name.
fn open(names: &[&str]) -> Vec<Value> {
    let allocatable = json!({"allocatable": {"cpu": "4"}});
    names.iter().map(|name| json!({"metadata": {"name": name}, "status": allocatable})).collect()
}

fn budget(allowed: i32, gone: &[&str]) -> Value {
    let gone: serde_json::Map<_, _> =
        gone.iter().map(|&name| (name.into(), json!("2024-01-08T10:01:00Z"))).collect();
    json!({"metadata": {"namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": gone}})
}

/// What becomes of a pod of priority 10 that wants all four CPUs.
struct Scene {
    nodes: Vec<Value>,
    pods: Vec<Value>,
    budgets: Vec<Value>,
    pod: Value,
    arguments: Value,
}

impl Scene {
    fn new(nodes: &[&str], pods: Vec<Value>) -> Self {
        let pod = with(on("", "test", 4, 10), "spec.nodeName", Value::Null);
        Self { nodes: open(nodes), pods, budgets: Vec::new(), pod, arguments: Value::Null }
    }

    fn budgets(self, budgets: Vec<Value>) -> Self {
        Self { budgets, ..self }
    }

    fn pod(self, path: &str, value: Value) -> Self {
        Self { pod: with(self.pod, path, value), ..self }
    }

    fn wants(self, cpu: u32) -> Self {
        let main = json!([{"name": "main", "resources": {"requests": {"cpu": cpu.to_string()}}}]);
        self.pod("spec.containers", main)
    }

    fn arguments(self, percentage: u32, absolute: u32) -> Self {
        let arguments = json!({"minCandidateNodesPercentage": percentage,
            "minCandidateNodesAbsolute": absolute});
        Self { arguments, ..self }
    }

    fn play<T>(
        &self,
        then: impl FnOnce(&Framework, &Context<'_>, &CycleState, &Arc<Pod>, &Diagnosis) -> T,
    ) -> T {
        let mut cluster: Cluster = testing::cluster(json!({"nodes": self.nodes, "pods": self.pods,
            "podDisruptionBudgets": self.budgets}));
        let preemption = cluster.plugin(DefaultPreemption::extensions, self.arguments.clone());
        let fit = Joining::new(Fit).pre_filter().filter().done();
        let framework = Framework::new([(fit, 0), (preemption, 0)]);
        let pod = cluster.pod(self.pod.clone());
        let (context, mut state) = (cluster.context(), CycleState::new());
        let found = framework.candidates(&context, &mut state, &pod).expect("no error");
        assert!(found.feasible.is_empty(), "the pod fits already");
        then(&framework, &context, &state, &pod, &found.diagnosis)
    }

    /// Node and victims; or what is said, with `keep` where the nomination stays.
    fn outcome(&self) -> String {
        self.play(|framework, context, state, pod, diagnosis| {
            let found = framework.post_filter(context, state, pod, diagnosis);
            match (found.preemption, found.nomination) {
                (Some(Preemption { node, victims, .. }), Nomination::Set(nominated)) => {
                    assert_eq!(node, nominated);
                    let names: Vec<&str> = victims.iter().map(|pod| pod.name.as_str()).collect();
                    format!("{node}: {}", names.join(" "))
                }
                (None, Nomination::Keep) => format!("keep, {}", found.message),
                (None, Nomination::Clear) => found.message,
                other => panic!("{other:?}"),
            }
        })
    }

    /// Each candidate with its number of violations.
    fn candidates(&self) -> Vec<String> {
        self.play(|framework, context, state, pod, diagnosis| {
            let plugin = framework.get::<DefaultPreemption>().expect("it is there");
            let found = plugin.candidates(framework, context, state, pod, diagnosis);
            found.iter().map(|c| format!("{} {}", c.node, c.pdb_violations)).collect()
        })
    }
}

#[test]
fn who_must_go() {
    let a = |name: &str, cpu, priority| on("a", name, cpu, priority);
    let mut closed = Scene::new(&["a"], vec![a("x", 4, 0)]);
    closed.nodes[0]["spec"] = json!({"unschedulable": true});
    #[rustfmt::skip]
    let rows = [
        ("a pod of lower priority",
            Scene::new(&["a"], vec![a("x", 4, 5)]), "a: x"),
        ("nobody of equal priority",
            Scene::new(&["a"], vec![a("x", 4, 10)]),
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."),
        ("nobody where it does not help", closed,
            "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."),
        ("nobody where it is not enough",
            Scene::new(&["a", "b"], vec![a("x", 2, 0), on("b", "y", 2, 0)]).wants(5),
            "preemption: 0/2 nodes are available: 2 Insufficient cpu."),
        ("a mixture",
            Scene::new(&["a", "b", "c"], vec![a("x", 2, 0)]).wants(5),
            "preemption: 0/3 nodes are available: 1 Insufficient cpu, 2 No preemption victims found for incoming pod."),
        ("as few as can be",
            Scene::new(&["a"], vec![a("small", 1, 1), a("large", 3, 5)]).wants(3), "a: large"),
        ("the newer of two",
            Scene::new(&["a"], vec![started(a("new", 2, 1), 5), started(a("old", 2, 1), 4)]).wants(2), "a: new"),
        ("one that has not started counts as new",
            Scene::new(&["a"], vec![with(a("new", 2, 1), "status.startTime", Value::Null), a("old", 2, 1)]).wants(2), "a: new"),
        ("several, most important first",
            Scene::new(&["a"], vec![a("low", 2, 1), a("mid", 2, 5)]), "a: mid low"),
        ("whom the budget does not protect",
            Scene::new(&["a"], vec![started(a("x", 2, 1), 1), started(a("y", 2, 1), 2)])
                .wants(2).budgets(vec![budget(1, &[])]), "a: x"),
        ("nobody for a pod that never preempts",
            Scene::new(&["a"], vec![a("x", 4, 0)]).pod("spec.preemptionPolicy", json!("Never")),
            "keep, preemption: not eligible due to preemptionPolicy=Never."),
        ("nobody while the former victims are leaving",
            Scene::new(&["a", "b"], vec![terminating(a("x", 4, 0)), on("b", "y", 4, 0)])
                .pod("status.nominatedNodeName", json!("a")),
            "keep, preemption: not eligible due to a terminating pod on the nominated node."),
        ("whoever leaves for other reasons is no former victim",
            Scene::new(&["a"], vec![deleted(a("x", 4, 0))]).pod("status.nominatedNodeName", json!("a")), "a: x"),
        ("a nominated node that is gone does not count",
            Scene::new(&["a"], vec![terminating(a("x", 4, 0))]).pod("status.nominatedNodeName", json!("z")), "a: x"),
        ("a failure with no other node",
            Scene::new(&["a"], vec![a("stuck", 4, 0)]), "keep, preemption: cannot follow"),
        ("a failure, but another node",
            Scene::new(&["a", "b"], vec![a("stuck", 4, 0), on("b", "y", 4, 0)]), "b: y"),
    ];
    for (words, scene, expected) in rows {
        assert_eq!(scene.outcome(), expected, "{words}");
    }
}

#[test]
fn which_node_is_cheapest() {
    let pod = |node: &str, name: &str, priority| on(node, name, 2, priority);
    let pair = |node: &str, first, second| {
        vec![on(node, &format!("{node}1"), 2, first), on(node, &format!("{node}2"), 2, second)]
    };
    let pairs = |pairs: [Vec<Value>; 2]| pairs.concat();
    let day = |node: &str, first, second| {
        vec![
            started(pod(node, &format!("{node}1"), 1), first),
            started(pod(node, &format!("{node}2"), 1), second),
        ]
    };
    let neg = |node: &str, n: usize, cpu: u32| -> Vec<Value> {
        let others = (0..n).map(|i| on(node, &format!("{node}{i}"), cpu, -1));
        std::iter::once(on(node, node, 2, 5)).chain(others).collect()
    };
    let unlabelled = |pods: Vec<Value>| -> Vec<Value> {
        pods.into_iter().map(|pod| with(pod, "metadata.labels", Value::Null)).collect()
    };
    #[rustfmt::skip]
    let rows = [
        ("fewest violations",     pairs([pair("a", 1, 1), unlabelled(pair("b", 5, 5))]), "b: b1 b2"),
        ("lowest top priority",   pairs([pair("a", 5, 1), pair("b", 4, 4)]),            "b: b1 b2"),
        ("smallest sum",          pairs([pair("a", 5, 5), pair("b", 5, 1)]),            "b: b1 b2"),
        ("negative priorities do not make up for their number",
                                  pairs([neg("a", 2, 1), neg("b", 1, 2)]),              "b: b b0"),
        ("the youngest",          pairs([day("a", 1, 9), day("b", 2, 3)]),              "b: b1 b2"),
        ("the first of equals",   pairs([pair("a", 1, 1), pair("b", 1, 1)]),            "a: a1 a2"),
    ];
    for (words, pods, expected) in rows {
        let scene = Scene::new(&["a", "b"], pods).budgets(vec![budget(0, &[])]);
        assert_eq!(scene.outcome(), expected, "{words}");
    }
}

#[test]
fn budgets_are_used_up_in_order_of_importance() {
    let two = || vec![on("a", "x", 2, 5), on("a", "y", 2, 1)];
    let bare = || two().into_iter().map(|p| with(p, "metadata.labels", Value::Null)).collect();
    let mut empty = budget(0, &[]);
    empty["spec"]["selector"] = json!({});
    #[rustfmt::skip]
    let rows = [
        ("no budget",               two(),  vec![],                          "a 0"),
        ("one may go",              two(),  vec![budget(1, &[])],            "a 1"),
        ("both may go",             two(),  vec![budget(2, &[])],            "a 0"),
        ("none may go",             two(),  vec![budget(0, &[])],            "a 2"),
        ("one counts as gone",      two(),  vec![budget(1, &["y"])],         "a 0"),
        ("an empty selector",       two(),  vec![empty],                     "a 0"),
        ("pods without labels",     bare(), vec![budget(0, &[])],            "a 0"),
    ];
    for (words, pods, budgets, expected) in rows {
        let scene = Scene::new(&["a"], pods).budgets(budgets);
        assert_eq!(scene.candidates(), [expected], "{words}");
    }
}

#[test]
fn the_search_ends_when_there_is_enough_to_choose_from() {
    let names = ["a", "b", "c", "d", "e"];
    let pods = |protected: &[&str]| -> Vec<Value> {
        let label =
            |node: &str| if protected.contains(&node) { json!({"app": "web"}) } else { json!({}) };
        let pod = |node: &str| {
            with(on(node, &format!("on-{node}"), 4, 1), "metadata.labels", label(node))
        };
        names.iter().map(|node| pod(node)).collect()
    };
    #[rustfmt::skip]
    let rows: [(&str, &[&str], (u32, u32), &[&str]); 5] = [
        ("all by default",            &[],                   (10, 100), &["a 0", "b 0", "c 0", "d 0", "e 0"]),
        ("a part of them",            &[],                   (40, 2),   &["a 0", "b 0"]),
        ("at least so many",          &[],                   (0, 3),    &["a 0", "b 0", "c 0"]),
        ("on, until one is harmless", &["a", "b"],           (40, 2),   &["c 0", "a 1", "b 1"]),
        ("of the harmful no more",    &["a", "b", "c", "d"], (40, 2),   &["e 0", "a 1", "b 1"]),
    ];
    for (words, protected, (percentage, absolute), expected) in rows {
        let scene = Scene::new(&names, pods(protected))
            .budgets(vec![budget(0, &[])])
            .arguments(percentage, absolute);
        assert_eq!(scene.candidates(), expected, "{words}");
    }
}

#[test]
fn enough_is_a_share_but_not_too_few() {
    #[rustfmt::skip]
    let rows = [
        //  %, least, nodes, enough
        (10,   100,     5,      5),
        (40,     2,     5,      2),
        (10,   100,   200,    100),
        (10,   100,  5000,    500),
        ( 0,     1,     0,      0),
    ];
    for (percentage, least, nodes, enough) in rows {
        let arguments = Arguments {
            min_candidate_nodes_percentage: percentage,
            min_candidate_nodes_absolute: least,
        };
        assert_eq!(arguments.candidates(nodes), enough, "{percentage} % of {nodes}");
    }
}

#[test]
fn those_who_waited_for_the_node_may_have_to_give_it_up() {
    let names = |leaving: bool| {
        let victim = on("a", "x", 4, 0);
        let victim = if leaving { deleted(victim) } else { victim };
        let pods = vec![victim, waiting("low", 1)];
        Scene::new(&["a"], pods).play(|framework, context, state, pod, diagnosis| {
            let found = framework.post_filter(context, state, pod, diagnosis);
            let preemption = found.preemption.expect("a victim");
            preemption.unnominate.iter().map(|pod| pod.name.to_string()).collect::<Vec<_>>()
        })
    };
    assert_eq!(names(false), ["low"]);
    assert!(names(true).is_empty(), "the victim leaves already: nothing is done");
    let scene = Scene::new(&["a"], vec![on("a", "x", 4, 0), waiting("high", 20)]);
    assert_eq!(
        scene.outcome(),
        "preemption: 0/1 nodes are available: 1 Insufficient cpu.",
        "room promised to a more important pod is not taken"
    );
}

#[test]
fn a_pod_is_held_while_its_victims_are_evicted() {
    let mut cluster = testing::nodes(json!([]));
    let plugin = cluster.plugin(DefaultPreemption::extensions, Value::Null);
    let gate = plugin.pre_enqueue.clone().expect("it is a gate");
    let framework = Framework::new([(plugin, 0)]);
    let preempting = framework.get::<DefaultPreemption>().expect("it is there").preempting();
    let pod = cluster.pod(json!({}));
    assert_eq!(gate.pre_enqueue(&cluster.listers, &pod), Ok(()));
    preempting.start(&pod.uid);
    assert_eq!(
        gate.pre_enqueue(&cluster.listers, &pod).map_err(|status| testing::words(&status)),
        Err("UnschedulableAndUnresolvable: waiting for the preemption for this pod to be finished"
            .to_owned())
    );
}

#[test]
fn a_deleted_pod_is_news_only_for_the_gate() {
    let mut cluster = testing::nodes(json!([]));
    let plugin = cluster.plugin(DefaultPreemption::extensions, Value::Null);
    let pod = cluster.pod(json!({}));
    #[rustfmt::skip]
    let rows = [
        (events::ASSIGNED_POD,      Action::DELETE, "Skip"),
        (events::UNSCHEDULABLE_POD, Action::DELETE, "Skip"),
        (events::ASSIGNED_POD,      Action::ADD,    "deaf"),
        (events::NODE,              Action::ADD,    "deaf"),
    ];
    for (resource, action, expected) in rows {
        let event = ClusterEvent::new(resource, action);
        assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{event:?}");
    }
}

#[test]
fn arguments_are_checked() {
    #[rustfmt::skip]
    let rows = [
        (json!(null),                                  ""),
        (json!({}),                                    ""),
        (json!({"minCandidateNodesPercentage": 0}),    ""),
        (json!({"minCandidateNodesPercentage": 101}),  "minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]"),
        (json!({"minCandidateNodesPercentage": -1}),   "minCandidateNodesPercentage: Invalid value: -1: not in valid range [0, 100]"),
        (json!({"minCandidateNodesAbsolute": -1}),     "minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)"),
        (json!({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0}),
            "minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute"),
    ];
    for (arguments, expected) in rows {
        let error = Arguments::read(&arguments).err();
        let text = error.map_or(String::new(), |e| format!("{}: {}", e.path, e.message));
        assert_eq!(text, expected, "{arguments}");
    }
    assert!(Arguments::read(&json!({"minCandidates": 1})).is_err(), "an unknown field");
}
