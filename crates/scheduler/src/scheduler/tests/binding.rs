//! What plugins can do once a node is chosen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roadstead_model::{Pod, Text};
use serde_json::json;

use super::*;
use crate::framework::{
    Bind, BindAnswer, CycleState, Handle, Joining, Permission, Permit, Plugin, PostBind, PreBind,
    PreFlight, Progress, Registration, Reserve, Status, Verdict,
};
use crate::listers::Listers;

type Diary = Arc<Mutex<Vec<String>>>;

/// Writes down whatever it is asked, and refuses pods that are called after a point.
struct Clerk(Diary);

impl Clerk {
    fn extensions(diary: &Diary) -> Extensions {
        let clerk = Joining::new(Self(diary.clone())).reserve().permit();
        clerk.pre_bind().bind().post_bind().done()
    }

    fn note(&self, point: &str, pod: &Pod) {
        self.0.lock().unwrap().push(format!("{point} {}", pod.name));
    }

    fn refuse(&self, point: &str, pod: &Pod) -> Result<(), Status> {
        self.note(point, pod);
        match pod.name.as_str().split_once('-') {
            Some((known, "rejected")) if known == point => Err(Status::unschedulable("no")),
            Some((known, "broken")) if known == point => Err(Status::error("broken")),
            _ => Ok(()),
        }
    }
}

impl Plugin for Clerk {
    fn name(&self) -> &'static str {
        "Clerk"
    }

    fn events(&self) -> Vec<Registration> {
        Vec::new()
    }
}

impl Reserve for Clerk {
    fn reserve(
        &self,
        handle: &mut Handle<'_>,
        _: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    ) -> Result<(), Status> {
        let on_node = handle.nodes.get(node).map_or(0, |node| node.pods().len());
        assert!(on_node > 0, "the pod is on its node already");
        self.refuse("reserve", pod)
    }

    fn unreserve(&self, _: &mut Handle<'_>, _: &mut CycleState, pod: &Arc<Pod>, _: &Text) {
        self.note("unreserve", pod);
    }
}

impl Permit for Clerk {
    fn permit(
        &self,
        _: &mut Handle<'_>,
        _: &mut CycleState,
        pod: &Arc<Pod>,
        _: &Text,
    ) -> Result<Permission, Status> {
        self.refuse("permit", pod)?;
        Ok(Permission::Allow)
    }
}

impl PreBind for Clerk {
    fn pre_flight(
        &self,
        _: &Listers,
        _: &CycleState,
        pod: &Arc<Pod>,
        _: &Text,
    ) -> Result<PreFlight, Status> {
        self.refuse("preflight", pod)?;
        Ok(if pod.name.as_str() == "quick" { PreFlight::Skip } else { PreFlight::Run })
    }

    fn pre_bind(
        &self,
        _: &mut Handle<'_>,
        _: &mut CycleState,
        pod: &Arc<Pod>,
        _: &Text,
    ) -> Result<Progress, Status> {
        self.refuse("prebind", pod)?;
        Ok(Progress::Done)
    }
}

impl Bind for Clerk {
    fn bind(&self, _: &CycleState, pod: &Arc<Pod>, _: &Text) -> Result<BindAnswer, Status> {
        self.refuse("bind", pod)?;
        Ok(BindAnswer::Skip)
    }
}

impl PostBind for Clerk {
    fn post_bind(&self, _: &mut Handle<'_>, _: &mut CycleState, pod: &Arc<Pod>, _: &Text) {
        self.note("postbind", pod);
    }
}

#[test]
fn a_pod_passes_every_point_in_order_and_a_refusal_undoes_what_was_done() {
    let rows: [(&str, &str, &str); 11] = [
        ("plain", "reserve permit preflight prebind bind postbind", "plain on one"),
        ("quick", "reserve permit preflight bind postbind", "quick on one"),
        ("reserve-rejected", "reserve unreserve", "0/1 nodes are available: 1 no."),
        ("reserve-broken", "reserve unreserve", "running Reserve plugin \"Clerk\": broken"),
        ("permit-rejected", "reserve permit unreserve", "0/1 nodes are available: 1 no."),
        ("permit-broken", "reserve permit unreserve", "running Permit plugin \"Clerk\": broken"),
        (
            "preflight-broken",
            "reserve permit preflight unreserve",
            "running PreBindPreFlight \"Clerk\": broken",
        ),
        ("prebind-rejected", "reserve permit preflight prebind unreserve", "no"),
        (
            "prebind-broken",
            "reserve permit preflight prebind unreserve",
            "running PreBind plugin \"Clerk\": broken",
        ),
        ("bind-rejected", "reserve permit preflight prebind bind unreserve", "no"),
        (
            "bind-broken",
            "reserve permit preflight prebind bind unreserve",
            "running Bind plugin \"Clerk\": broken",
        ),
    ];
    for (name, points, news) in rows {
        let diary = Diary::default();
        let mut c = TestCluster::with(|| vec![Clerk::extensions(&diary)]);
        c.node("one", "cpu=2 memory=8Gi");
        c.pod(name, "cpu=1", json!({}));
        let expected: Vec<_> =
            points.split_whitespace().map(|point| format!("{point} {name}")).collect();
        assert_eq!(*diary.lock().unwrap(), expected, "{name}");
        assert_eq!(c.news(), [news], "{name}");
        let is_placed = news.ends_with("on one");
        assert_eq!(c.scheduler.cache().pod_count(), usize::from(is_placed), "{name}");
        assert_eq!(c.scheduler.bindings(), 0, "{name}");
        let waits_for_events = c.place(name) == Some(Place::Unschedulable);
        let is_rejected_early = matches!(name, "reserve-rejected" | "permit-rejected");
        assert_eq!(waits_for_events, is_rejected_early, "{name}: {:?}", c.place(name));
        let backs_off = c.place(name).is_some_and(Place::is_backoff);
        assert_eq!(backs_off, !is_placed && !is_rejected_early, "{name}: {:?}", c.place(name));
    }
}

/// Lets pods go once there are two of them.
struct Pair;

impl Pair {
    fn extensions() -> Extensions {
        Joining::new(Self).permit().done()
    }
}

impl Plugin for Pair {
    fn name(&self) -> &'static str {
        "Pair"
    }
}

impl Permit for Pair {
    fn permit(
        &self,
        handle: &mut Handle<'_>,
        _: &mut CycleState,
        pod: &Arc<Pod>,
        _: &Text,
    ) -> Result<Permission, Status> {
        if pod.name.as_str() == "single" {
            return Ok(Permission::Allow);
        }
        let partners: Vec<_> =
            handle.waiting().iter().map(|waiting| waiting.pod.uid.clone()).collect();
        if partners.is_empty() {
            return Ok(Permission::Wait(Duration::from_secs(30)));
        }
        for partner in partners {
            handle.answer("Pair", &partner, Verdict::Allow);
        }
        Ok(Permission::Allow)
    }
}

fn pair() -> TestCluster {
    let mut c = TestCluster::with(|| vec![Pair::extensions()]);
    c.node("one", "cpu=2 memory=8Gi");
    c
}

#[test]
fn a_pod_waits_for_permission_with_its_node_kept_and_shown() {
    let mut c = pair();
    c.pod("first", "cpu=1", json!({}));
    assert_eq!(c.news(), [""; 0]);
    assert_eq!(c.scheduler.waiting_for_permission().count(), 1);
    assert_eq!(c.scheduler.cache().pod_count(), 1, "its node is kept");
    assert_eq!(c.objects["first"]["status"]["nominatedNodeName"], "one");

    c.pod("second", "cpu=1", json!({}));
    let mut news = c.news();
    news.sort();
    assert_eq!(news, ["first on one", "second on one"]);
    assert_eq!(c.scheduler.bindings(), 0);
}

#[test]
fn permission_that_does_not_come_in_time_is_a_rejection() {
    let mut c = pair();
    c.pod("first", "cpu=2", json!({}));
    c.after(29);
    assert_eq!(c.news(), [""; 0]);
    c.after(1);
    let refused =
        "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin Pair.";
    assert_eq!(c.news(), [refused]);
    assert_eq!(c.place("first"), Some(Place::Unschedulable), "its own release wakes it not");
    assert_eq!(c.scheduler.cache().pod_count(), 0);
    assert_eq!(c.scheduler.waiting_for_permission().count(), 0);
}

#[test]
fn permission_can_be_given_and_refused_from_outside() {
    for (verdict, expected) in [
        (Verdict::Allow, "first on one"),
        (Verdict::Reject("no partner".into()), "0/1 nodes are available: 1 no partner."),
    ] {
        let mut c = pair();
        c.pod("first", "cpu=2", json!({}));
        let uid = Text::unshared("uid-first");
        c.scheduler.answer_permit(&uid, "NobodyKnown", Verdict::Allow, c.now);
        c.run();
        assert_eq!(c.news(), [""; 0], "only the plugin that it waits for counts");
        c.scheduler.answer_permit(&uid, "Pair", verdict, c.now);
        c.run();
        assert_eq!(c.news(), [expected]);
    }
}

#[test]
fn a_pod_that_is_deleted_while_it_waits_for_permission_makes_room() {
    let mut c = pair();
    c.pod("first", "cpu=2", json!({}));
    c.pod("single", "cpu=2", json!({}));
    c.news();
    c.after(15);
    c.delete("first");
    assert_eq!(c.scheduler.waiting_for_permission().count(), 0);
    assert_eq!(c.news(), ["single on one"]);
}

#[test]
fn a_more_urgent_pod_takes_the_node_of_one_that_waits_for_permission() {
    let mut c = pair();
    c.pod("first", "cpu=2", json!({"spec": {"priority": 1}}));
    c.pod("single", "cpu=2", json!({"spec": {"priority": 9}}));
    c.after(12);
    let news = c.news();
    assert!(news.contains(&"waiting on permit for pod: preempted".to_owned()), "{news:?}");
    assert!(news.contains(&"single on one".to_owned()), "{news:?}");
    assert!(!news.contains(&"first evicted".to_owned()), "nobody need be deleted: {news:?}");
}
