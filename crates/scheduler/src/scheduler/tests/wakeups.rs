//! Pods that sleep though they could be placed are found.

use roadstead_queue::Action;
use serde_json::json;

use super::*;
use crate::events;
use crate::framework::{Context, CycleState, Filter, Joining, Plugin, Registration, Status};
use crate::nodes::NodeInfo;

/// Wants a label on the node, and hears only of new nodes: it misses labels that change.
struct Deaf;

impl Deaf {
    fn extensions() -> Extensions {
        Joining::new(Self).filter().done()
    }
}

impl Plugin for Deaf {
    fn name(&self) -> &'static str {
        "Deaf"
    }

    fn events(&self) -> Vec<Registration> {
        vec![Registration::new(events::NODE, Action::ADD, roadstead_queue::Ask::Nobody)]
    }
}

impl Filter for Deaf {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        match node.node().labels.get_str("ready") {
            Some(_) => Ok(()),
            None => Err(Status::unschedulable("not ready")),
        }
    }
}

fn node(labels: Value) -> Value {
    json!({
        "metadata": {"name": "one", "labels": labels},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "10"}},
    })
}

#[test]
fn a_missed_wake_up_is_reported_with_plugin_and_event_and_mended() {
    let mut c = TestCluster::with(|| vec![Deaf::extensions()]);
    c.verifies = false;
    c.node_json(node(json!({})));
    c.pod("web", "cpu=1", json!({}));
    assert!(c.scheduler.verify_wakeups(10, c.now).is_empty(), "it really fits nowhere");
    c.after(20);
    c.news();

    c.node_json(node(json!({"ready": "yes"})));
    assert_eq!(c.place("web"), Some(Place::Unschedulable), "the plugin has not heard of it");
    let missed = c.scheduler.verify_wakeups(10, c.now);
    assert_eq!(missed.len(), 1);
    assert_eq!(missed[0].pod.name.as_str(), "web");
    assert_eq!(missed[0].node.as_str(), "one");
    assert_eq!(missed[0].rejectors, ["Deaf"]);
    assert_eq!(missed[0].events, ["NodeUpdateNodeLabel"]);

    c.run();
    assert_eq!(c.news(), ["web on one"]);
}

#[test]
fn a_pod_that_waits_for_one_that_is_being_bound_has_missed_nothing() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=8 memory=8Gi");
    c.pod("web", "cpu=1", near_db());
    c.after(20);
    let api = json!({
        "metadata": {"name": "db", "namespace": "default", "uid": "uid-db", "labels": {"app": "db"}},
        "spec": {"containers": [testing::container("cpu=1")]},
    });
    c.set_pod("db", api);
    assert!(c.scheduler.schedule_one(c.now), "db has a node");
    assert!(c.scheduler.verify_wakeups(10, c.now).is_empty(), "its binding is news to come");
    assert!(c.scheduler.verify_wakeups(10, c.now).is_empty(), "however often one looks");
    c.news();
    c.run();
    assert_eq!(c.news(), ["db on one", "web on one"]);
}

#[test]
fn a_small_budget_still_reaches_every_class() {
    let mut c = TestCluster::with(|| vec![Deaf::extensions()]);
    c.verifies = false;
    c.node_json(node(json!({})));
    for number in 0..5 {
        c.pod(&format!("web-{number}"), &format!("cpu={number}m"), json!({}));
    }
    c.after(20);
    c.node_json(node(json!({"ready": "yes"})));
    let mut found = std::collections::BTreeSet::new();
    for _ in 0..5 {
        for missed in c.scheduler.verify_wakeups(1, c.now) {
            found.insert(missed.pod.name.to_string());
        }
    }
    assert_eq!(found.len(), 5, "{found:?}");
}

#[test]
fn a_pod_that_only_the_flush_has_brought_back_is_counted() {
    let mut c = TestCluster::with(|| vec![Deaf::extensions()]);
    c.verifies = false;
    c.node_json(node(json!({})));
    c.pod("web", "cpu=1", json!({}));
    c.after(20);
    c.pod("large", "cpu=4", json!({}));
    let flushed = "scheduler_pod_scheduled_after_flush_total";
    assert_eq!(c.samples(flushed), [format!("{flushed} 0")]);

    c.node_json(node(json!({"ready": "yes"})));
    c.news();
    c.after(400);
    assert!(c.news().contains(&"web on one".to_owned()));
    assert_eq!(c.samples(flushed), [format!("{flushed} 1")], "the other one still fits nowhere");
}
