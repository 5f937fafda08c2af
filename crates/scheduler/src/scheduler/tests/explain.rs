//! What is said of pods that wait: every plugin's refusal, and the change that ends it, tried.

mod applying;
mod cases;
mod places;
mod property;
mod random;

use super::*;
use crate::events::{self, Object};
use crate::explain::{ExplainLimits, Whereabouts};
use crate::scheduler::Change;
use cases::{Case, all, node, on, pod};

impl TestCluster {
    /// A cluster as a case has it, with its pod last.
    fn of(case: &Case, pod: &Value) -> Self {
        let mut cluster = Self::new();
        for api in &case.cluster {
            cluster.show(api.clone());
        }
        cluster.set_pod("web", pod.clone());
        cluster.run();
        cluster
    }

    fn show(&mut self, api: Value) {
        let kind = api["kind"].as_str().expect("a kind").to_owned();
        let resource = match kind.as_str() {
            "Pod" => {
                let name = api["metadata"]["name"].as_str().expect("a name").to_owned();
                self.set_pod(&name, api);
                return self.run();
            }
            "Node" => return self.node_json(api),
            "PersistentVolume" => events::PERSISTENT_VOLUME,
            "PersistentVolumeClaim" => events::PERSISTENT_VOLUME_CLAIM,
            "StorageClass" => events::STORAGE_CLASS,
            "CSINode" => events::CSI_NODE,
            "DeviceClass" => events::DEVICE_CLASS,
            other => panic!("no {other}"),
        };
        let change = match testing::object(&mut self.world, &resource, api) {
            Object::PersistentVolume(volume) => Change::PersistentVolume(volume),
            Object::PersistentVolumeClaim(claim) => Change::PersistentVolumeClaim(claim),
            Object::StorageClass(class) => Change::StorageClass(class),
            Object::CsiNode(node) => Change::CsiNode(node),
            Object::DeviceClass(class) => Change::DeviceClass(class),
            other => panic!("no {other:?}"),
        };
        self.scheduler.object_set(change, self.now);
        self.run();
    }

    fn explained(&mut self, name: &str) -> String {
        self.scheduler.explain(&key(name), self.now).expect("it is there").to_string()
    }
}

fn is_placed(cluster: &TestCluster) -> bool {
    cluster.scheduler.cache().node_of(&Text::unshared("uid-web")).is_some()
}

/// What a patch has set to null is gone.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The texts are in a file of their own, each under its case's name.
const EXPECTED: &str = include_str!("explain/expected.txt");

fn expected(name: &str) -> &'static str {
    let section = EXPECTED
        .split("## ")
        .find_map(|section| section.strip_prefix(name)?.strip_prefix('\n').map(str::trim_end));
    section.unwrap_or("")
}

#[test]
fn every_situation_is_explained() {
    let cases = all();
    assert!(cases.len() >= 30, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let mut cluster = TestCluster::of(case, &case.pod);
        let text = cluster.explained("web");
        if text.trim_end() != expected(case.name) {
            wrong += &format!("## {}\n{text}\n", case.name);
        }
    }
    assert!(wrong.is_empty(), "these differ:\n{wrong}");
}

#[test]
fn the_smallest_change_that_is_told_places_the_pod() {
    for case in all() {
        let mut cluster = TestCluster::of(&case, &case.pod);
        let explained = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
        let told = explained.changes.first().map(|change| change.change.as_str());
        let changed = case.changed.as_ref().map(|(words, _)| *words);
        assert_eq!(told, changed, "{}", case.name);

        let Some((_, change)) = &case.changed else { continue };
        let mut api = case.pod.clone();
        merge(&mut api, change.clone());
        drop_nulls(&mut api);
        let cluster = TestCluster::of(&case, &api);
        let pod = key("web");
        let (shown, _) = cluster.scheduler.known_pod(&pod).expect("it is there");
        assert!(shown.node_name.is_some(), "{}: it still waits", case.name);
    }
}

#[test]
fn every_change_of_the_pod_that_is_told_places_it() {
    for case in all() {
        let mut cluster = TestCluster::of(&case, &case.pod);
        let told = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
        for change in &told.changes {
            let changed = applying::to_pod(&change.change, &case.pod);
            let cluster = TestCluster::of(&case, &changed);
            assert!(is_placed(&cluster), "{}: {}: it still waits", case.name, change.change);
        }
    }
}

#[test]
fn every_change_of_the_cluster_that_is_told_brings_the_pod_back_and_places_it() {
    // Behind the gate there is no room.
    let still_waits = ["a gate, and no room behind it", "a gate, and no nodes"];
    for case in all() {
        let mut cluster = TestCluster::of(&case, &case.pod);
        let told = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
        for need in told.rejectors.iter().flat_map(|rejector| &rejector.satisfied_by) {
            let mut cluster = TestCluster::of(&case, &case.pod);
            assert!(applying::to_cluster(need, &mut cluster, &case.cluster), "{need}");
            cluster.after(15);
            let waits = still_waits.contains(&case.name);
            assert_eq!(is_placed(&cluster), !waits, "{}: {need}", case.name);
        }
    }
}

#[test]
fn as_many_nodes_would_take_it_as_is_said() {
    // By hand, of the case that names a number above one.
    let mut cluster = TestCluster::new();
    for number in 0..14 {
        cluster.show(node(&format!("n{number:02}"), "cpu=700m"));
    }
    cluster.show(node("small", "cpu=100m"));
    cluster.set_pod("web", pod("cpu=1"));
    cluster.run();
    let text = cluster.explained("web");
    assert!(text.ends_with("Fits on 14 nodes if it asked 300m less cpu.\n"), "{text}");
}

#[test]
fn whoever_is_not_waiting_is_only_located() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.show(on("n1", "db", "cpu=1", json!({})));
    cluster.set_pod("other", cases::with(pod(""), json!({"metadata": {"name": "other", "uid": "other"}, "spec": {"schedulerName": "another"}})));
    cluster.run();
    assert_eq!(cluster.explained("db"), "default/db is on n1.\n");
    assert_eq!(
        cluster.explained("other"),
        "default/other waits for scheduler another, which is none of the profiles here.\n"
    );
    assert_eq!(cluster.scheduler.explain(&key("nobody"), cluster.now), None);
}

#[test]
fn the_place_in_the_line_is_told() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    for name in ["a", "b", "web"] {
        let api = cases::with(pod("cpu=100m"), json!({"metadata": {"name": name, "uid": name}}));
        cluster.set_pod(name, api);
    }
    let explained = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
    assert_eq!(explained.whereabouts, Whereabouts::Active { before: 2 });
    assert_eq!(
        explained.to_string(),
        "default/web is ready, not tried yet; 2 pods are tried before it.\n1 node would take \
         it now.\n"
    );
}

#[test]
fn a_nomination_is_told() {
    let mut cluster = TestCluster::new();
    cluster.victims_linger = true;
    cluster.show(node("n1", "cpu=1"));
    cluster.show(on("n1", "db", "cpu=1", json!({})));
    cluster.set_pod("web", cases::with(pod("cpu=1"), json!({"spec": {"priority": 10}})));
    cluster.run();
    let text = cluster.explained("web");
    assert!(text.contains("n1 is kept for it until those who make room there are gone."), "{text}");
}

#[test]
fn no_more_is_tried_than_allowed() {
    let mut cluster = TestCluster::new();
    for number in 0..4 {
        let taint = json!([{"key": format!("t{number}"), "effect": "NoSchedule"}]);
        cluster.show(cases::with(
            node(&format!("n{number}"), "cpu=1"),
            json!({"spec": {"taints": taint}}),
        ));
    }
    cluster.set_pod("web", pod("cpu=1"));
    cluster.run();
    let limits = ExplainLimits { changes: 3 };
    let explained = cluster.scheduler.explain_within(&key("web"), cluster.now, limits);
    let explained = explained.expect("it is there");
    assert_eq!((explained.tried, explained.untried, explained.changes.len()), (3, 1, 3));
}

#[test]
fn an_explanation_is_data_too() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.set_pod("web", pod("cpu=1500m"));
    cluster.run();
    let explained = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
    let data = serde_json::to_value(explained).expect("it serialises");
    assert_eq!(data["place"], "unschedulable");
    assert_eq!((&data["since"], &data["attempts"]), (&json!(1000.0), &json!(1)));
    assert_eq!(
        data["changes"],
        json!([{"plugin": "NodeResourcesFit", "change": "it asked 500m less cpu", "nodes": 1}])
    );
    let rejector = &data["rejectors"][0];
    assert_eq!(rejector["reasons"], json!([{"reason": "Insufficient cpu", "nodes": 1}]));
    assert_eq!(
        rejector["retriedOn"][0],
        json!({"event": "PodDelete", "words": "a pod leaves its node", "ifItMayHelp": true})
    );
}
