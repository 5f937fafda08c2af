//! What is kept is what a walk over all nodes and pods would count, whatever has happened.

mod history;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roadstead_model::{
    AffinityTerm, Node, NodeInclusion, Pod, SpreadConstraint, WhenUnsatisfiable, World,
};
use serde_json::{Value, json};

use super::*;
use crate::framework::{Context, CycleState, Framework, NoNominations};
use crate::listers::Listers;
use crate::nodes::Nodes;
use crate::plugins::{InterPodAffinity, PodTopologySpread};
use crate::testing::{self, Random};

use history::History;

#[test]
fn what_is_kept_is_what_a_recount_finds() {
    for seed in 0..8 {
        let mut history = History::new(seed);
        let waiting = history.waiting_pods();
        for step in 0..100 {
            let what = history.step();
            let nodes = history.cache.nodes();
            // Not everybody asks every time: what was not asked for follows too.
            for pod in waiting.iter().skip(step % 3).step_by(2) {
                let words = || format!("seed {seed}, step {step}: {what}, then {}", pod.name);
                check_spread(nodes, pod, &words);
                check_terms(nodes, pod, &words);
                check_carried(nodes, &history.listers, pod, &words);
            }
        }
    }
}

#[test]
fn plugins_decide_the_same_with_counts_kept_and_counted_anew() {
    for seed in 100..104 {
        let mut history = History::new(seed);
        let (waiting, framework) = (history.waiting_pods(), framework(&mut history.world));
        for step in 0..60 {
            let what = history.step();
            let kept = history.cache.nodes();
            let anew = kept.clone();
            for pod in waiting.iter().skip(step % 2).step_by(2) {
                let [kept, anew] =
                    [kept, &anew].map(|nodes| decisions(&framework, nodes, &history.listers, pod));
                assert_eq!(kept, anew, "seed {seed}, step {step}: {what}, then {}", pod.name);
            }
        }
    }
}

#[test]
fn a_what_if_comes_to_what_the_deed_would() {
    let mut tried = 0;
    for seed in 200..210 {
        let mut history = History::new(seed);
        let (waiting, framework) = (history.waiting_pods(), framework(&mut history.world));
        for _ in 0..80 {
            history.step();
        }
        let (listers, nodes) = (&history.listers, history.cache.nodes());
        for pod in &waiting {
            for node in nodes.iter() {
                // Terminating pods count in a what-if, though not in a count: upstream's way.
                for other in node.pods().iter().filter(|other| !other.is_terminating()) {
                    for comes in [false, true] {
                        let Some(what_if) =
                            what_if(&framework, nodes, listers, pod, (other, node, comes))
                        else {
                            continue;
                        };
                        let deed = nodes_after(nodes, (other, node, comes));
                        let deed = decisions(&framework, &deed, listers, pod).0;
                        let name = &other.name;
                        let words = format!("seed {seed}: {}, {name} comes: {comes}", pod.name);
                        assert_eq!(what_if, deed, "{words}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert!(tried > 500, "only {tried} what-ifs were tried");
}

#[test]
fn what_nobody_asks_for_makes_room() {
    let mut cluster = testing::nodes(json!([{"metadata": {"labels": {"zone": "a"}}}]));
    let mut busy = Vec::new();
    for number in 0..3 * MOST_DIVISIONS {
        let pod = cluster.pod(json!({"spec": {
            "nodeSelector": {"number": number.to_string()},
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]}}));
        let constraint = &pod.spec().spread_constraints[0];
        let rule = DivisionRule::of_constraint(constraint, pod.spec(), []);
        cluster.nodes.count(|counts| counts.division(&rule));
        // This one is asked for again and again.
        let by_zone = DivisionRule::by(&constraint.topology_key);
        busy.push(cluster.nodes.count(|counts| counts.division(&by_zone)));
    }
    assert!(busy.iter().all(|division| Arc::ptr_eq(division, &busy[0])), "it was made twice");
    let len = cluster.nodes.count(|counts| counts.topology.len());
    assert!(len <= MOST_DIVISIONS + 2, "{len} divisions");
}

/// Both plugins' verdicts of each node, and the scores of all.
type Decisions = (Vec<String>, Result<Vec<i64>, String>);

fn framework(world: &mut World) -> Framework {
    let spread = PodTopologySpread::extensions(&Value::Null, world).expect("good arguments");
    let affinity = InterPodAffinity::extensions(&Value::Null, world).expect("good arguments");
    Framework::new([(spread, 3), (affinity, 2)])
}

fn context<'a>(nodes: &'a Nodes, listers: &'a Listers) -> Context<'a> {
    Context { nodes, listers, nominations: &NoNominations, now: 0 }
}

fn decisions(framework: &Framework, nodes: &Nodes, listers: &Listers, pod: &Arc<Pod>) -> Decisions {
    let (context, mut state) = (context(nodes, listers), CycleState::new());
    let verdicts = match framework.pre_filter(&context, &mut state, pod) {
        Ok(_) => verdicts(framework, &context, &state, pod),
        Err(failure) => vec![testing::words(&failure.status)],
    };
    let all: Vec<&NodeInfo> = nodes.iter().collect();
    let scores = framework.score(&context, &mut state, pod, &all);
    let scores = scores.map(|scores| scores.into_iter().map(|score| score.total).collect());
    (verdicts, scores.map_err(|status| testing::words(&status)))
}

fn verdicts(
    framework: &Framework,
    context: &Context<'_>,
    state: &CycleState,
    pod: &Pod,
) -> Vec<String> {
    let verdict = |node: &NodeInfo| match framework.filter(context, state, pod, node) {
        Ok(()) => testing::FITS.to_owned(),
        Err(status) => testing::words(&status),
    };
    context.nodes.iter().map(verdict).collect()
}

/// A pod on a node goes, or another like it comes.
type Deed<'a> = (&'a Arc<Pod>, &'a NodeInfo, bool);

/// The verdicts as if it were done; `None` if a plugin sits out, which is then not told of
/// what-ifs.
fn what_if(
    framework: &Framework,
    nodes: &Nodes,
    listers: &Listers,
    pod: &Arc<Pod>,
    (other, node, comes): Deed<'_>,
) -> Option<Vec<String>> {
    let (context, mut state) = (context(nodes, listers), CycleState::new());
    framework.pre_filter(&context, &mut state, pod).ok()?;
    if framework.plugins().any(|plugin| state.skip_filter.has(plugin.name())) {
        return None;
    }
    // There and back again first.
    for adds in [!comes, comes, comes] {
        let done = match adds {
            true => framework.add_pod(&context, &mut state, pod, other, node),
            false => framework.remove_pod(&context, &mut state, pod, other, node),
        };
        done.expect("the state was prepared");
    }
    Some(verdicts(framework, &context, &state, pod))
}

fn nodes_after(nodes: &Nodes, (other, node, comes): Deed<'_>) -> Nodes {
    let mut after = nodes.clone();
    if comes {
        let mut twin = (**other).clone();
        twin.uid = Text::unshared("twin");
        after.add_pod(node.name(), &Arc::new(twin));
    } else {
        after.remove_pod(node.name(), &other.uid);
    }
    after
}

/// The constraints of a pod: how many pods of each, in which domains.
fn check_spread(nodes: &Nodes, pod: &Pod, words: &dyn Fn() -> String) {
    let all = &pod.spec().spread_constraints;
    for constraint in all {
        let is_hard = constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
        let needs = all.iter().map(|other| &other.topology_key).filter(|_| is_hard);
        let mut rule = DivisionRule::of_constraint(constraint, pod.spec(), needs);
        if !is_hard {
            rule = rule.with_unlabelled();
        }
        let namespaces = Namespaces::Only([pod.namespace().clone()].into());
        let matcher = Matcher { selector: constraint.selector.clone(), namespaces };
        let group = GroupRule { all_of: [matcher].into(), without_terminating: true };
        let no_value = Text::unshared("");
        let domain = |node: &Node| {
            let value = node.labels.get(&constraint.topology_key).cloned();
            let value = if is_hard { value } else { value.or(Some(no_value.clone())) };
            let counts = !is_hard || all.iter().all(|other| node.labels.has(&other.topology_key));
            value.filter(|_| counts && includes(constraint, pod, node))
        };
        let counts = |other: &Pod| {
            other.namespace() == pod.namespace()
                && !other.is_terminating()
                && constraint.selector.matches(&other.spec().labels)
        };
        let (table, by_node) =
            nodes.count(|kept| (kept.table(&group, &rule), kept.by_node(&group)));
        check_table(nodes, &table, domain, |other| u32::from(counts(other)), words);
        for node in nodes.iter() {
            let pods = node.pods().iter().filter(|other| counts(other)).count();
            assert_eq!(by_node.on(node) as usize, pods, "{}, on {}", words(), node.name());
        }
    }
}

/// The terms of a pod: how many pods are all that they speak of, in which domains.
fn check_terms(nodes: &Nodes, pod: &Pod, words: &dyn Fn() -> String) {
    let Some(affinity) = &pod.spec().pod_affinity else { return };
    let means = |term: &AffinityTerm, other: &Pod| {
        term.namespaces.contains(other.namespace()) && term.selector.matches(&other.spec().labels)
    };
    let matcher = |term: &AffinityTerm| Matcher {
        selector: term.selector.clone(),
        namespaces: Namespaces::Only(term.namespaces.clone()),
    };
    for terms in [&affinity.required.terms, &affinity.required_anti.terms] {
        let group =
            GroupRule { all_of: terms.iter().map(matcher).collect(), without_terminating: false };
        for key in terms.iter().map(|term| &term.topology_key) {
            let table = nodes.count(|kept| kept.table(&group, &DivisionRule::by(key)));
            let number = |other: &Pod| u32::from(terms.iter().all(|term| means(term, other)));
            check_table(nodes, &table, |node| node.labels.get(key).cloned(), number, words);
        }
    }
}

/// What pods on nodes say of a pod.
fn check_carried(nodes: &Nodes, listers: &Listers, pod: &Pod, words: &dyn Fn() -> String) {
    let no_labels = World::new().labels(&BTreeMap::new());
    let labels = listers.namespace_labels(pod.namespace()).unwrap_or(&no_labels);
    let said = nodes.count(|kept| kept.said_of(pod.spec(), labels, |_| true));
    let roles: [(&str, fn(&Pod) -> Vec<(Role, &AffinityTerm)>); 3] = [
        ("required", |other| {
            let terms = other.spec().pod_affinity.iter().flat_map(|a| &a.required.terms);
            terms.map(|term| (Role::Required, term)).collect()
        }),
        ("anti", |other| {
            let terms = other.spec().pod_affinity.iter().flat_map(|a| &a.required_anti.terms);
            terms.map(|term| (Role::RequiredAnti, term)).collect()
        }),
        ("preferred", |other| {
            let affinity = other.spec().pod_affinity.iter();
            let near = affinity.clone().flat_map(|a| &a.preferred.terms);
            let far = affinity.flat_map(|a| &a.preferred_anti.terms);
            let near = near.map(|w| (Role::Preferred(i64::from(w.weight)), &w.term));
            let far = far.map(|w| (Role::Preferred(-i64::from(w.weight)), &w.term));
            near.chain(far).collect()
        }),
    ];
    for (name, terms) in roles {
        // By label and value; the weights are summed up.
        let mut counted: BTreeMap<(Text, Text), i64> = BTreeMap::new();
        let mut kept = counted.clone();
        for node in nodes.iter() {
            let value = |key: &Text| node.node().labels.get(key).cloned();
            for (role, term) in node.pods().iter().flat_map(|other| terms(other)) {
                if term.matches(pod.namespace(), &pod.spec().labels, labels)
                    && let Some(value) = value(&term.topology_key)
                {
                    *counted.entry((term.topology_key.clone(), value)).or_default() += weight(role);
                }
            }
        }
        let of_role = |said: &&Said| match said.role {
            Role::Required => name == "required",
            Role::RequiredAnti => name == "anti",
            Role::Preferred(_) => name == "preferred",
        };
        for said in said.iter().filter(of_role) {
            let mut seen = BTreeSet::new();
            for node in nodes.iter() {
                let value = node.node().labels.get(&said.topology_key).cloned();
                assert_eq!(value.is_some(), said.carriers.at(node).is_some(), "{}", words());
                if let Some(value) = value
                    && seen.insert(value.clone())
                    && let Some(pods) = said.carriers.at(node).filter(|pods| *pods > 0)
                {
                    *kept.entry((said.topology_key.clone(), value)).or_default() +=
                        weight(said.role) * i64::from(pods);
                }
            }
        }
        assert_eq!(kept, counted, "{}, {name}", words());
    }
}

fn weight(role: Role) -> i64 {
    match role {
        Role::Preferred(weight) => weight,
        Role::Required | Role::RequiredAnti => 1,
    }
}

/// A table, against a walk over all nodes and pods.
fn check_table(
    nodes: &Nodes,
    table: &Table,
    domain: impl Fn(&Node) -> Option<Text>,
    number: impl Fn(&Pod) -> u32,
    words: &dyn Fn() -> String,
) {
    let mut counted: BTreeMap<Text, u32> = BTreeMap::new();
    for node in nodes.iter() {
        if let Some(domain) = domain(node.node()) {
            let pods: u32 = node.pods().iter().map(|other| number(other)).sum();
            *counted.entry(domain).or_default() += pods;
        }
    }
    for node in nodes.iter() {
        let expected = domain(node.node()).map(|domain| counted[&domain]);
        assert_eq!(table.at(node), expected, "{}, at {}", words(), node.name());
    }
    let total: u64 = counted.values().map(|pods| u64::from(*pods)).sum();
    let places = counted.values().filter(|pods| **pods > 0).count();
    let found = (table.division.domains(), table.tally.total(), table.tally.places());
    assert_eq!(found, (counted.len(), total, places), "{}", words());
}

/// Whether the constraint of a pod takes the node into account.
fn includes(constraint: &SpreadConstraint, pod: &Pod, node: &Node) -> bool {
    let honors = |policy| policy == NodeInclusion::Honor;
    let spec = pod.spec();
    let tolerates = || {
        let mut hard = node.taints.iter().filter(|taint| taint.effect.is_hard());
        hard.all(|taint| spec.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    };
    (!honors(constraint.node_affinity_policy)
        || spec.matches_node(&node.labels, &node.name) == Ok(true))
        && (!honors(constraint.node_taints_policy) || tolerates())
}
