//! What a scheduler writes, and what kubelets make of it.

use k8s_openapi::api::core::v1::PodCondition;
use roadstead_cluster::Kind;
use roadstead_cluster::embedded::{Binding, PodStatusPatch};
use roadstead_queue::Time;

use crate::testing::*;

#[test]
fn a_bound_pod_runs_after_a_second() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), pod("web")));
    c.bind("web", "pier").unwrap();
    assert_eq!(condition(c.pod("web"), "PodScheduled"), Some("True"));
    assert_eq!(c.phase("web"), "Pending");
    assert_eq!(c.cluster.next_wakeup(), Some(Time::from_secs(1)));
    c.after(1);
    assert_eq!(c.phase("web"), "Running");
    assert_eq!(condition(c.pod("web"), "Ready"), Some("True"));
    assert_eq!(c.cluster.next_wakeup(), None);
}

#[test]
fn a_pod_finishes_after_the_time_of_its_annotation() {
    let mut c = TestCluster::new();
    let text =
        pod("batch").replace("labels:", "annotations: {roadstead.dev/run-seconds: '90'}, labels:");
    c.load(&format!("{}{text}", node("pier")));
    c.bind("batch", "pier").unwrap();
    c.after(90);
    assert_eq!(c.phase("batch"), "Running");
    c.after(1);
    assert_eq!(c.phase("batch"), "Succeeded");
    c.delete(Kind::Pod, "batch");
    assert!(!c.has(Kind::Pod, "batch"), "a finished pod goes at once");
}

#[test]
fn a_binding_conflicts_with_what_the_pod_has_become() {
    let mut c = TestCluster::new();
    let pods =
        [pod("bound"), pod("leaving"), pod_with("gated", ", schedulingGates: [{name: quota}]")];
    c.load(&format!("{}{}", node("pier"), pods.concat()));
    c.bind("bound", "pier").unwrap();
    c.bind("leaving", "pier").unwrap();
    c.delete(Kind::Pod, "leaving");

    let on = "operation cannot be fulfilled on pods";
    for (name, reason) in [
        ("bound", "pod bound is already assigned to node \"pier\""),
        ("leaving", "pod leaving is being deleted, cannot be assigned to a host"),
        ("gated", "pod gated has non-empty .spec.schedulingGates"),
    ] {
        let error = c.bind(name, "quay").unwrap_err();
        assert!(error.is_conflict());
        assert_eq!(error.to_string(), format!("{on} \"default/{name}\": {reason}"));
    }
    assert!(c.bind("nobody", "pier").unwrap_err().is_not_found());

    let other = Binding::new("default", "gated", "pier").only("some-uid");
    assert!(c.cluster.bind(c.now, &other).unwrap_err().is_conflict());
}

#[test]
fn binding_clears_the_nomination() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), pod("web")));
    let nominate = |to: &str| PodStatusPatch {
        nominated_node_name: Some(to.to_owned()),
        ..PodStatusPatch::default()
    };
    c.cluster.patch_pod_status(c.now, "default", "web", nominate("pier")).unwrap();
    let nominated =
        |c: &TestCluster| c.pod("web").status.as_ref().unwrap().nominated_node_name.clone();
    assert_eq!(nominated(&c).as_deref(), Some("pier"));
    c.cluster.patch_pod_status(c.now, "default", "web", nominate("")).unwrap();
    assert_eq!(nominated(&c), None);
    c.cluster.patch_pod_status(c.now, "default", "web", nominate("pier")).unwrap();
    c.bind("web", "pier").unwrap();
    assert_eq!(nominated(&c), None);
}

#[test]
fn a_condition_keeps_its_time_until_its_status_changes() {
    let mut c = TestCluster::new();
    c.load(&pod("web"));
    let unschedulable = |message: &str| PodStatusPatch {
        conditions: vec![PodCondition {
            type_: "PodScheduled".into(),
            status: "False".into(),
            reason: Some("Unschedulable".into()),
            message: Some(message.into()),
            ..PodCondition::default()
        }],
        ..PodStatusPatch::default()
    };
    let since = |c: &TestCluster| {
        let conditions = c.pod("web").status.as_ref().unwrap().conditions.as_ref().unwrap();
        assert_eq!(conditions.len(), 1);
        conditions[0].last_transition_time.as_ref().unwrap().0.as_second()
    };
    c.after(5);
    c.cluster.patch_pod_status(c.now, "default", "web", unschedulable("0/0 nodes")).unwrap();
    let version = c.cluster.version();
    c.after(5);
    c.cluster.patch_pod_status(c.now, "default", "web", unschedulable("0/0 nodes")).unwrap();
    assert_eq!(c.cluster.version(), version, "what changes nothing is no write");
    c.cluster.patch_pod_status(c.now, "default", "web", unschedulable("0/1 nodes")).unwrap();
    assert_eq!((since(&c), c.cluster.version()), (5, version + 1));
    c.bind("web", "pier").unwrap();
    assert_eq!(since(&c), 10);
}

#[test]
fn a_pod_on_a_node_that_is_not_there_waits_for_it_a_while() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", pod("late"), pod("lost")));
    c.bind("late", "pier").unwrap();
    c.bind("lost", "nowhere").unwrap();
    c.after(10);
    assert_eq!(c.phase("late"), "Pending");
    c.load(&node("pier"));
    c.after(40);
    assert_eq!(c.names(), ["late"]);
    assert_eq!(c.phase("late"), "Running");

    c.delete(Kind::Node, "pier");
    c.after(39);
    assert_eq!(c.names(), ["late"]);
    c.after(1);
    assert!(c.names().is_empty());
}

#[test]
fn a_pod_that_follows_another_of_its_name_is_not_run_by_its_timers() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), pod("web")));
    c.bind("web", "pier").unwrap();
    let key = Kind::Pod.key("default", "web");
    let at_once = roadstead_cluster::embedded::DeleteOptions {
        grace_period: Some(std::time::Duration::ZERO),
        ..Default::default()
    };
    c.cluster.delete(c.now, &key, &at_once).unwrap();
    c.load(&pod("web"));
    c.after(2);
    assert_eq!(c.phase("web"), "Pending");
}
