//! The end, and not being the leader.

use std::time::Duration;

use roadstead_cluster::api::faults::Fault;
use roadstead_cluster::kubernetes::Input;
use roadstead_cluster::kubernetes::writing::Limits;

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn what_waits_is_written_before_the_end_the_most_urgent_first() {
    let mut s = Server::with(Limits { qps: 1.0, burst: 1, ..Limits::default() });
    let (web, other) = (s.make_pod("web").await, s.make_pod("other").await);
    s.writer.send(failed_event(&other, "too small"));
    s.writer.send(nominate(&other, "quay"));
    s.writer.send(bind(&web, "pier"));
    s.faults.strike_next_write(Fault::Lost);
    let left = s.writer.clone().drain(Duration::from_secs(60)).await;
    assert_eq!(left, 0);
    assert!(matches!(s.answer().await, Input::Bound { result: Ok(()), .. }));
    assert_eq!(s.pod("other")["status"]["nominatedNodeName"], "quay");
    assert_eq!(s.events().await.len(), 1);
    let sent = s.network.sent();
    assert_eq!(sent[0], "POST pods/web/binding");
    assert_eq!(sent.last().map(String::as_str), Some("POST events"));
}

#[tokio::test(start_paused = true)]
async fn what_takes_too_long_is_given_up() {
    let mut s = Server::with(Limits { qps: 1.0, burst: 1, ..Limits::default() });
    let mut pods = Vec::new();
    for i in 0..10 {
        pods.push(s.make_pod(&format!("pod-{i}")).await);
    }
    pods.iter().for_each(|pod| s.writer.send(nominate(pod, "pier")));
    let began = tokio::time::Instant::now();
    let left = s.writer.clone().drain(Duration::from_millis(2500)).await;
    assert_eq!(left, 7, "three were sent: one at once, two more in two seconds");
    assert_eq!(began.elapsed(), Duration::from_millis(2500));
    s.after(60).await;
    assert_eq!(s.network.sent().len(), 3, "nothing is sent after the end");
}

/// The last writer takes with it what it has not written.
#[tokio::test(start_paused = true)]
async fn a_writer_that_is_dropped_writes_no_more() {
    let mut s = Server::with(Limits { qps: 1.0, burst: 1, ..Limits::default() });
    let (a, b) = (s.make_pod("a").await, s.make_pod("b").await);
    let network = s.network.clone();
    s.writer.send(nominate(&a, "pier"));
    s.writer.send(nominate(&b, "pier"));
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(s);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(network.sent(), ["PATCH pods/a/status"]);
}
