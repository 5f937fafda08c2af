//! Conditions and nominations.

use roadstead_cluster::api::faults::Fault;
use roadstead_cluster::kubernetes::writing::{Class, Limits};

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn a_status_sets_the_condition_and_the_nomination() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.writer.send(unschedulable(&web, "0/3 nodes are available."));
    s.writer.send(nominate(&web, "pier"));
    s.after(1).await;
    let condition = s.condition("web", "PodScheduled");
    assert_eq!(condition["status"], "False");
    assert_eq!(condition["reason"], "Unschedulable");
    assert_eq!(condition["message"], "0/3 nodes are available.");
    assert_eq!(condition["observedGeneration"], 1);
    assert!(condition["lastTransitionTime"].is_string());
    assert_eq!(s.pod("web")["status"]["nominatedNodeName"], "pier");
    let patches = s.network.sent().iter().filter(|it| it.starts_with("PATCH")).count();
    assert_eq!(patches, 1, "they are one patch");

    s.writer.send(nominate(&web, ""));
    s.after(1).await;
    assert!(s.pod("web")["status"]["nominatedNodeName"].is_null());
    assert_eq!(s.condition("web", "PodScheduled")["message"], "0/3 nodes are available.");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_says_the_same_again_is_not_sent_and_another_keeps_the_time() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.writer.send(unschedulable(&web, "too small"));
    s.after(1).await;
    let before = s.condition("web", "PodScheduled");
    let sent = s.network.sent().len();
    s.after(5).await;

    s.writer.send(unschedulable(&web, "too small"));
    s.after(1).await;
    assert_eq!(s.network.sent().len(), sent);
    assert_eq!(s.writer.counts(Class::Status).unchanged, 1);

    s.writer.send(unschedulable(&web, "too full"));
    s.after(1).await;
    let after = s.condition("web", "PodScheduled");
    assert_eq!(after["message"], "too full");
    assert_eq!(after["lastTransitionTime"], before["lastTransitionTime"]);
}

/// A scheduler that starts anew finds out what another said of pods that are older than itself.
#[tokio::test(start_paused = true)]
async fn what_another_scheduler_wrote_is_not_written_again() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.writer.send(unschedulable(&web, "too small"));
    s.after(1).await;
    let written = s.pod("web");

    let (sender, _answers) = tokio::sync::mpsc::channel(1);
    let limits = Limits::default();
    let leadership = roadstead_cluster::kubernetes::election::Leadership::always();
    let second = roadstead_cluster::kubernetes::writing::Writer::start(
        s.client.clone(),
        sender,
        limits,
        leadership,
    );
    second.send(unschedulable(&web, "too small"));
    s.after(1).await;
    assert_eq!(second.counts(Class::Status).unchanged, 1);
    assert_eq!(s.pod("web"), written);
}

#[tokio::test(start_paused = true)]
async fn a_later_status_replaces_one_that_is_unsent() {
    let mut s = Server::with(Limits { statuses: 1, qps: -1.0, ..Limits::default() });
    let (first, web) = (s.make_pod("first").await, s.make_pod("web").await);
    s.writer.send(unschedulable(&first, "busy"));
    s.writer.send(unschedulable(&web, "one"));
    s.writer.send(unschedulable(&web, "two"));
    s.writer.send(unschedulable(&web, "three"));
    s.after(1).await;
    assert_eq!(s.condition("web", "PodScheduled")["message"], "three");
    assert_eq!(s.writer.counts(Class::Status).merged, 2);
    assert_eq!(s.writer.counts(Class::Status).done, 2);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_sent_again_unless_the_pod_is_gone_or_another() {
    for (fault, times) in [
        (Fault::Failed, 3),
        (Fault::Dropped, 3),
        (Fault::Conflict, 3),
        (Fault::Throttled { retry_after_seconds: 2 }, 2),
    ] {
        let mut s = Server::new();
        let web = s.make_pod("web").await;
        (0..times).for_each(|_| s.faults.strike_next_write(fault));
        s.writer.send(unschedulable(&web, "too small"));
        s.after(10).await;
        assert_eq!(s.condition("web", "PodScheduled")["message"], "too small", "{fault:?}");
    }

    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.replace_pod("web").await;
    s.writer.send(nominate(&web, "pier"));
    s.after(60).await;
    assert!(s.pod("web")["status"]["nominatedNodeName"].is_null(), "it is another pod");
    s.delete_pod("web").await;
    s.writer.send(nominate(&web, "pier"));
    s.after(60).await;
    assert_eq!(s.network.sent(), ["PATCH pods/web/status", "PATCH pods/web/status"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_never_succeeds_is_given_up() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    (0..100).for_each(|_| s.faults.strike_next_write(Fault::Failed));
    s.writer.send(nominate(&web, "pier"));
    s.after(600).await;
    let counts = s.writer.counts(Class::Nominate);
    assert_eq!((counts.unclear, counts.dropped, counts.waiting), (8, 1, 0));
}

/// Or it would say of a bound pod that it cannot be scheduled.
#[tokio::test(start_paused = true)]
async fn a_status_never_comes_after_the_bind_that_follows_it() {
    for fault in [None, Some(Fault::Failed), Some(Fault::Lost)] {
        let mut s = Server::new();
        let web = s.make_pod("web").await;
        if let Some(fault) = fault {
            s.faults.strike_next_write(fault);
        }
        s.writer.send(unschedulable(&web, "too small"));
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(s.bind(&web, "pier").await, Ok(()));
        s.after(5).await;
        assert_eq!(s.condition("web", "PodScheduled")["status"], "True", "{fault:?}");
    }
}
