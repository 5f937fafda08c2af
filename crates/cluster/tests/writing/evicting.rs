//! Victims.

use std::sync::Arc;

use roadstead_cluster::api::faults::Fault;
use roadstead_cluster::kubernetes::Input;
use roadstead_model::Pod;
use roadstead_scheduler::Command;

use crate::testing::*;

async fn evict(s: &mut Server, victim: &Arc<Pod>, preemptor: &Arc<Pod>) -> Result<(), String> {
    s.writer.send(Command::Evict { victim: victim.clone(), preemptor: preemptor.clone() });
    match s.answer().await {
        Input::Evicted { preemptor: uid, result } => {
            assert_eq!(uid, preemptor.uid);
            result
        }
        other => panic!("not what came of an eviction: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_victim_is_marked_and_deleted() {
    let mut s = Server::new();
    let (victim, preemptor) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    s.bind_elsewhere("victim", "pier");
    assert_eq!(evict(&mut s, &victim, &preemptor).await, Ok(()));
    let condition = s.condition("victim", "DisruptionTarget");
    assert_eq!(condition["status"], "True");
    assert_eq!(condition["reason"], "PreemptionByScheduler");
    assert_eq!(
        condition["message"],
        "default-scheduler: preempting to accommodate a higher priority pod"
    );
    assert!(s.pod("victim")["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(s.network.sent(), ["PATCH pods/victim/status", "DELETE pods/victim"]);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_tried_until_it_is_done() {
    let mut s = Server::new();
    let (victim, preemptor) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    for fault in [
        Fault::Lost,
        Fault::Conflict,
        Fault::Failed,
        Fault::Throttled { retry_after_seconds: 1 },
        Fault::Dropped,
    ] {
        s.faults.strike_next_write(fault);
    }
    assert_eq!(evict(&mut s, &victim, &preemptor).await, Ok(()));
    assert!(s.pod("victim").is_null());
}

#[tokio::test(start_paused = true)]
async fn a_victim_that_is_gone_is_evicted_and_its_successor_is_left_alone() {
    let mut s = Server::new();
    let (victim, preemptor) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    s.delete_pod("victim").await;
    assert_eq!(evict(&mut s, &victim, &preemptor).await, Ok(()));
    s.make_pod("victim").await;
    assert_eq!(evict(&mut s, &victim, &preemptor).await, Ok(()));
    assert!(s.condition("victim", "DisruptionTarget").is_null());
    assert!(s.pod("victim")["metadata"]["deletionTimestamp"].is_null());
}

/// The answer of the deletion is lost and the pod is gone when it is sent again.
#[tokio::test(start_paused = true)]
async fn a_deletion_that_was_done_unnoticed_is_done() {
    let mut s = Server::new();
    let (victim, preemptor) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    s.network.stall_next_write(Stall::Not);
    s.network.stall_next_write(Stall::After);
    assert_eq!(evict(&mut s, &victim, &preemptor).await, Ok(()));
    assert!(s.pod("victim").is_null());
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_stays_impossible_fails_in_the_servers_words() {
    let mut s = Server::new();
    let (victim, preemptor) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    (0..200).for_each(|_| s.faults.strike_next_write(Fault::Failed));
    let error = evict(&mut s, &victim, &preemptor).await.unwrap_err();
    assert_eq!(error, "Internal error occurred: a fault was asked for");
}
