//! Whatever is told of whatever pod holds: it is done, and seen to help.
//!
//! `ROADSTEAD_RUNS=10000` tries more seeds, `ROADSTEAD_SEED=42` one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cases::{Case, on, with};
use super::random::{self, REQUIRED};
use super::*;
use crate::explain::Explanation;

/// How often what was told and done, so that it is known that something was.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, usize>);

impl Seen {
    fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }
}

#[test]
fn whatever_is_told_of_whatever_pod_holds() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = match number("ROADSTEAD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ROADSTEAD_RUNS").unwrap_or(40),
    };
    let runs = seeds.end - seeds.start;
    let mut seen = Seen::default();
    for seed in seeds {
        let case = random::case(seed);
        let mut cluster = TestCluster::of(&case, &case.pod);
        if is_placed(&cluster) {
            seen.note("placed");
            continue;
        }
        let told = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
        let objects: Vec<String> = case.cluster.iter().map(ToString::to_string).collect();
        let about = || format!("seed {seed}:\n{told}\n{}\n{}", objects.join("\n"), case.pod);
        assert_eq!(told.untried, 0, "{}", about());
        changes_place_the_pod(&case, &told, &mut seen, &about);
        nothing_is_left_out(&case, &told, &mut seen, &about);
        needs_bring_it_back(&case, &told, &mut seen, &about);
        events_bring_it_back(&case, &told, &mut seen, &about);
    }
    if runs >= 40 {
        let enough = ["change", "smallest", "need", "event", "placed by a need", "nothing helps"];
        let few: Vec<_> = enough.iter().filter(|what| seen.0.get(*what) < Some(&3)).collect();
        assert!(few.is_empty(), "hardly any {few:?}: {seen:?}");
    }
}

fn let_backoff_end(cluster: &mut TestCluster) {
    cluster.now = cluster.now + Duration::from_secs(15);
    cluster.scheduler.on_time(cluster.now);
    cluster.run();
}

fn would_be_placed(case: &Case, pod: &Value) -> bool {
    is_placed(&TestCluster::of(case, pod))
}

/// Each change that is told places the pod, and one unit less of it does not.
fn changes_place_the_pod(
    case: &Case,
    told: &Explanation,
    seen: &mut Seen,
    about: &dyn Fn() -> String,
) {
    for change in &told.changes {
        let words = &change.change;
        let changed = applying::to_pod(words, &case.pod);
        assert!(would_be_placed(case, &changed), "{words}: it still waits\n{}", about());
        seen.note("change");
        if let Some(less) = applying::a_little_less(words, &case.pod) {
            assert!(!would_be_placed(case, &less), "{words}: less would do\n{}", about());
            seen.note("smallest");
        }
    }
}

/// Of every change of the kinds that are told, those that place the pod are told.
fn nothing_is_left_out(
    case: &Case,
    told: &Explanation,
    seen: &mut Seen,
    about: &dyn Fn() -> String,
) {
    for words in every_change(case) {
        let is_told =
            told.changes.iter().any(|change| match words.strip_prefix("it asked for no ") {
                Some(resource) => change.change.ends_with(&format!(" {resource}")),
                None => change.change == words,
            });
        if !is_told {
            let changed = applying::to_pod(&words, &case.pod);
            assert!(!would_be_placed(case, &changed), "{words}: would help\n{}", about());
        }
    }
    if told.changes.is_empty() {
        seen.note("nothing helps");
    }
}

fn every_change(case: &Case) -> Vec<String> {
    let (pod, spec) = (&case.pod, &case.pod["spec"]);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let pairs = |value: &Value| -> Vec<(String, String)> {
        let pairs = value.as_object().into_iter().flatten();
        pairs.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned())).collect()
    };
    let mut all = vec!["it tolerated node.kubernetes.io/unschedulable:NoSchedule".to_owned()];
    for (resource, _) in pairs(&spec["containers"][0]["resources"]["requests"]) {
        all.push(format!("it asked for no {resource}"));
    }
    let nodes = case.cluster.iter().filter(|it| it["kind"] == "Node");
    for taint in nodes.flat_map(|node| list(&node["spec"]["taints"])) {
        let field = |name: &str| taint[name].as_str().unwrap_or_default().to_owned();
        let value = Some(field("value")).filter(|value| !value.is_empty());
        let value = value.map_or(String::new(), |value| format!("={value}"));
        if field("effect") != "PreferNoSchedule" {
            all.push(format!("it tolerated {}{value}:{}", field("key"), field("effect")));
        }
    }
    let selector = pairs(&spec["nodeSelector"]);
    all.extend(selector.iter().map(|(k, v)| format!("it did not select nodes by {k}={v}")));
    if selector.len() > 1 {
        all.push("it had no node selector".to_owned());
    }
    let affinity = &spec["affinity"];
    if affinity["nodeAffinity"].is_object() {
        all.push("it had no required node affinity".to_owned());
    }
    for term in list(&affinity["podAffinity"][REQUIRED]) {
        let (app, by) = (&term["labelSelector"]["matchLabels"]["app"], &term["topologyKey"]);
        let (app, by) = (app.as_str().unwrap_or_default(), by.as_str().unwrap_or_default());
        all.push(format!("it did not ask for a pod labelled app={app} near by {by}"));
    }
    for term in list(&affinity["podAntiAffinity"][REQUIRED]) {
        let (app, by) = (&term["labelSelector"]["matchLabels"]["app"], &term["topologyKey"]);
        let (app, by) = (app.as_str().unwrap_or_default(), by.as_str().unwrap_or_default());
        all.push(format!("it did not keep away from pods labelled app={app} by {by}"));
    }
    for (key, value) in pairs(&pod["metadata"]["labels"]) {
        all.push(format!("it were not labelled {key}={value}"));
    }
    for constraint in list(&spec["topologySpreadConstraints"]) {
        let by = constraint["topologyKey"].as_str().unwrap_or_default();
        all.push(format!("it were scheduled anyway where it spreads badly over {by}"));
    }
    for port in list(&spec["containers"][0]["ports"]) {
        all.push(format!("it did not take host port {}/TCP", port["hostPort"]));
    }
    for volume in list(&spec["volumes"]) {
        match volume["iscsi"]["iqn"].as_str() {
            Some(disk) => all.push(format!("it did not use disk {disk}")),
            None => all.push("it did not use claim data".to_owned()),
        }
    }
    all
}

/// What is needed of the cluster is done: the pod is tried again, and if it still waits, the plugin
/// no longer stands in the way on some node where it did.
fn needs_bring_it_back(
    case: &Case,
    told: &Explanation,
    seen: &mut Seen,
    about: &dyn Fn() -> String,
) {
    for rejector in told.rejectors.iter().filter(|rejector| rejector.is_waited_for) {
        for need in &rejector.satisfied_by {
            let mut cluster = TestCluster::of(case, &case.pod);
            if !applying::to_cluster(need, &mut cluster, &case.cluster) {
                continue;
            }
            let_backoff_end(&mut cluster);
            seen.note("need");
            if is_placed(&cluster) {
                seen.note("placed by a need");
                continue;
            }
            let now = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
            let is_tried = now.attempts > told.attempts;
            assert!(is_tried, "{need}: it is not tried again\n{}\n{now}", about());
            let same = now.rejectors.iter().find(|now| now.plugin == rejector.plugin);
            let left = |all: usize, refuses: usize| all - refuses;
            let before = left(told.nodes, rejector.refuses);
            let after = same.map_or(now.nodes, |same| left(now.nodes, same.refuses));
            let is_satisfied = after > before || rejector.gate.is_some();
            assert!(is_satisfied, "{need}: it still refuses as many\n{}\n{now}", about());
        }
    }
}

/// What is told to bring it back in any case does.
fn events_bring_it_back(
    case: &Case,
    told: &Explanation,
    seen: &mut Seen,
    about: &dyn Fn() -> String,
) {
    for rejector in told.rejectors.iter().filter(|rejector| rejector.is_waited_for) {
        for news in &rejector.retried_on {
            let mut cluster = TestCluster::of(case, &case.pod);
            // Missed wake-ups are looked for above; here the events are about nothing.
            if !happens(news, &rejector.plugin, &mut cluster, case) {
                continue;
            }
            let_backoff_end(&mut cluster);
            seen.note("event");
            let now = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
            let is_tried = is_placed(&cluster) || now.attempts > told.attempts;
            let words = &news.words;
            assert!(is_tried, "{}: {words}: nothing happens\n{}", rejector.plugin, about());
        }
    }
}

/// Lets it happen, as far as it brings back the pod whatever it is about.
fn happens(
    news: &crate::explain::News,
    plugin: &str,
    cluster: &mut TestCluster,
    case: &Case,
) -> bool {
    let first = case.cluster[0].clone();
    match (news.words.as_str(), plugin) {
        ("a node is added", _) if !news.if_it_may_help => cluster.show(node("idle", "")),
        ("a node's taints change or it is uncordoned", _) if !news.if_it_may_help => {
            let taint = json!({"key": "new", "effect": "PreferNoSchedule"});
            let mut taints = first["spec"]["taints"].as_array().cloned().unwrap_or_default();
            taints.push(taint);
            cluster.show(with(first, json!({"spec": {"taints": taints}})));
        }
        ("a node's labels change", _) if !news.if_it_may_help => {
            cluster.show(with(first, json!({"metadata": {"labels": {"new": "label"}}})));
        }
        ("a PersistentVolume is added", _) if !news.if_it_may_help => {
            cluster.show(cases::volume("another", "another", json!({})));
        }
        ("the pod's tolerations change", "TaintToleration" | "NodeUnschedulable") => {
            cluster.change("web", json!({"spec": {"tolerations": [{"operator": "Exists"}, {"key": "a", "operator": "Exists"}]}}));
        }
        ("the pod's labels change", "InterPodAffinity") => {
            cluster.change("web", json!({"metadata": {"labels": {"new": "label"}}}));
        }
        ("the pod's last scheduling gate is removed", _) => {
            cluster.change("web", json!({"spec": {"schedulingGates": []}}));
        }
        ("a pod leaves its node", "NodeResourcesFit") => {
            cluster.verifies = false;
            let pod = on("n0", "brief", "", json!({}));
            cluster.show(pod);
            cluster.delete("brief");
        }
        _ => return false,
    }
    true
}
