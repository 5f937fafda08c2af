//! What is said of pods in each place where they may be.

use super::*;
use crate::framework::{
    CycleState, Handle, Joining, Permission, Permit, Plugin, Registration, Status,
};

/// Lets every pod wait a minute for a permission that does not come.
struct Harbourmaster;

impl Plugin for Harbourmaster {
    fn name(&self) -> &'static str {
        "Harbourmaster"
    }

    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl Permit for Harbourmaster {
    fn permit(
        &self,
        _: &mut Handle<'_>,
        _: &mut CycleState,
        _: &Arc<Pod>,
        _: &Text,
    ) -> Result<Permission, Status> {
        Ok(Permission::Wait(Duration::from_secs(60)))
    }
}

#[test]
fn who_has_not_permitted_it_is_told() {
    let mut cluster = TestCluster::with(|| vec![Joining::new(Harbourmaster).permit().done()]);
    cluster.show(node("n1", "cpu=1"));
    cluster.set_pod("web", pod("cpu=1"));
    cluster.run();
    cluster.after(10);
    assert_eq!(
        cluster.explained("web"),
        "default/web may go to n1 and waits for permission by Harbourmaster; it is rejected in 50s \
         if that does not come.\n"
    );
    let explained = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
    let data = serde_json::to_value(explained).expect("it serialises");
    assert_eq!((&data["place"], &data["until"]), (&json!("permit"), &json!(1060.0)));
    assert_eq!((&data["node"], &data["plugins"]), (&json!("n1"), &json!(["Harbourmaster"])));

    cluster.after(50);
    let text = cluster.explained("web");
    assert!(text.starts_with("default/web waits for an event, after 1 attempt.\n"), "{text}");
    assert!(text.contains("\nHarbourmaster refuses no node now\n"), "{text}");
}

#[test]
fn what_is_being_bound_is_told() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.set_pod("web", pod("cpu=1"));
    assert!(cluster.scheduler.schedule_one(cluster.now));
    assert_eq!(cluster.explained("web"), "default/web is being bound to n1.\n");
}

#[test]
fn a_backoff_is_told_with_its_end() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.set_pod("web", pod("cpu=2"));
    cluster.run();
    let large = cases::with(node("n1", "cpu=2"), json!({}));
    let large = testing::node(&mut cluster.world, large);
    cluster.scheduler.node_set(large, cluster.now);
    assert_eq!(
        cluster.explained("web"),
        "default/web backs off, after 1 attempt; its backoff ends in 1s.\n1 node would take \
         it now.\nNodeResourcesFit refuses no node now\n"
    );
    cluster.after(2);
    assert_eq!(cluster.explained("web"), "default/web is on n1.\n");
}

#[test]
fn a_pod_that_was_woken_is_in_its_place_since_then() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.set_pod("web", pod("cpu=2"));
    cluster.run();
    cluster.now = cluster.now + Duration::from_millis(13_500);
    let large = cases::with(node("n1", "cpu=2"), json!({}));
    let large = testing::node(&mut cluster.world, large);
    cluster.scheduler.node_set(large, cluster.now);
    cluster.now = cluster.now + Duration::from_millis(400);
    let text = cluster.explained("web");
    assert!(text.starts_with("default/web is ready for 0.4s, after 1 attempt;"), "{text}");
    let explained = cluster.scheduler.explain(&key("web"), cluster.now).expect("it is there");
    let data = serde_json::to_value(explained).expect("it serialises");
    assert_eq!(data["since"], json!(1013.5));
}

#[test]
fn a_backoff_after_an_error_is_told() {
    let mut cluster = TestCluster::new();
    cluster.refuses = true;
    cluster.show(node("n1", "cpu=2"));
    cluster.set_pod("web", pod("cpu=2"));
    cluster.run();
    assert_eq!(
        cluster.explained("web"),
        "default/web backs off after an error, after 1 attempt; its backoff ends in 1s.\n1 \
         node would take it now.\n"
    );
}

#[test]
fn one_that_waits_for_its_evictions_is_held() {
    let mut cluster = TestCluster::new();
    cluster.show(node("n1", "cpu=1"));
    cluster.show(on("n1", "db", "cpu=1", json!({})));
    cluster.set_pod("web", cases::with(pod("cpu=1"), json!({"spec": {"priority": 10}})));
    assert!(cluster.scheduler.schedule_one(cluster.now));
    // Nobody has carried out the eviction yet.
    let text = cluster.explained("web");
    assert!(
        text.contains("n1 is kept for it until those who make room there are gone.\n"),
        "{text}"
    );
    assert!(
        text.contains("  needs answers to the evictions that it has asked for\n"),
        "it is held: {text}"
    );
    cluster.run();
    cluster.after(15);
    assert_eq!(cluster.explained("web"), "default/web is on n1.\n", "the evictions were answered");
}

#[test]
fn room_that_is_kept_for_others_is_no_room() {
    let mut cluster = TestCluster::new();
    cluster.victims_linger = true;
    cluster.show(node("n1", "cpu=2"));
    cluster.show(on("n1", "db", "cpu=1", json!({})));
    let urgent = json!({"metadata": {"name": "urgent", "uid": "u"}, "spec": {"priority": 10}});
    cluster.set_pod("urgent", cases::with(pod("cpu=1500m"), urgent));
    cluster.run();
    cluster
        .set_pod("web", cases::with(pod("cpu=1"), json!({"spec": {"preemptionPolicy": "Never"}})));
    cluster.run();
    let text = cluster.explained("web");
    assert!(
        text.contains(
            "needs a node with 1500m more cpu free beside what is kept for others; n1 is nearest\n"
        ),
        "{text}"
    );
    assert!(text.ends_with("Fits on 1 node if it asked for no cpu.\n"), "{text}");
    let changed = applying::to_pod("it asked for no cpu", &cluster.objects["web"]);
    cluster.set_pod("web", changed);
    cluster.run();
    cluster.after(15);
    assert_eq!(cluster.explained("web"), "default/web is on n1.\n");
}
