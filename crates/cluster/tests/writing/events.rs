//! Events and their series.

use std::sync::Arc;

use roadstead_cluster::api::faults::Fault;
use roadstead_cluster::kubernetes::election::hostname;
use roadstead_cluster::kubernetes::writing::{Class, Limits};
use roadstead_model::Pod;
use roadstead_scheduler::{Command, Record};

use crate::testing::*;

fn preempted(victim: &Arc<Pod>, preemptor: &Arc<Pod>) -> Command {
    Command::RecordEvent(Record {
        regarding: victim.clone(),
        related: Some(preemptor.clone()),
        is_warning: false,
        reason: "Preempted",
        action: "Preempting",
        note: "Preempted by pod x on node pier".to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn an_event_says_who_reports_what_of_whom() {
    let mut s = Server::new();
    let (victim, urgent) = (s.make_pod("victim").await, s.make_pod("urgent").await);
    s.writer.send(preempted(&victim, &urgent));
    s.after(1).await;
    let events = s.events().await;
    let [event] = &events[..] else { panic!("one event, not {events:?}") };
    assert!(event["metadata"]["name"].as_str().unwrap().starts_with("victim."));
    assert_eq!(event["type"], "Normal");
    assert_eq!(event["reason"], "Preempted");
    assert_eq!(event["action"], "Preempting");
    assert_eq!(event["note"], "Preempted by pod x on node pier");
    assert_eq!(event["reportingController"], "default-scheduler");
    assert_eq!(event["reportingInstance"], format!("default-scheduler-{}", hostname()));
    assert_eq!(event["regarding"]["uid"], victim.uid.as_str());
    assert_eq!(event["regarding"]["kind"], "Pod");
    assert!(event["related"].is_null(), "as on a server that kube-scheduler writes to");
    assert!(event["eventTime"].is_string());
    assert!(event["series"].is_null());
}

#[tokio::test(start_paused = true)]
async fn what_happens_again_becomes_a_series_that_is_written_twice_and_at_its_end() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.writer.send(failed_event(&web, "first"));
    s.after(10).await;
    assert!(s.events().await[0]["series"].is_null());
    s.writer.send(failed_event(&web, "second"));
    s.after(10).await;
    let second = s.events().await;
    assert_eq!(second[0]["series"]["count"], 2);
    for _ in 0..5 {
        s.writer.send(failed_event(&web, "more"));
        s.after(300).await;
    }
    assert_eq!(s.events().await, second, "later ones are only counted");

    s.after(400).await;
    let over = s.events().await;
    assert_eq!(over.len(), 1);
    assert_eq!(over[0]["series"]["count"], 7);
    assert_eq!(over[0]["note"], "first", "a series keeps its first note");

    s.writer.send(failed_event(&web, "anew"));
    s.after(10).await;
    let events = s.events().await;
    assert_eq!(events.len(), 2, "after a pause it is another Event");
}

/// The second comes before the first is answered.
#[tokio::test(start_paused = true)]
async fn a_repetition_while_the_event_is_being_written_is_not_lost() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.network.stall_next_write(Stall::After);
    s.writer.send(failed_event(&web, "first"));
    s.after(1).await;
    s.writer.send(failed_event(&web, "second"));
    s.after(30).await;
    let events = s.events().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["series"]["count"], 2);
}

#[tokio::test(start_paused = true)]
async fn events_wait_no_longer_than_their_bound() {
    let limits = Limits { qps: 0.001, burst: 1, waiting_events: 3, ..Limits::default() };
    let mut s = Server::with(limits);
    let mut pods = Vec::new();
    for i in 0..10 {
        pods.push(s.make_pod(&format!("pod-{i}")).await);
    }
    pods.iter().for_each(|pod| s.writer.send(failed_event(pod, "too small")));
    let counts = s.writer.counts(Class::Event);
    assert_eq!((counts.waiting, counts.dropped), (3, 7));
}

#[tokio::test(start_paused = true)]
async fn an_event_is_sent_a_few_times_and_written_once() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    for fault in [Fault::Failed, Fault::Dropped, Fault::Lost] {
        s.faults.strike_next_write(fault);
    }
    s.writer.send(failed_event(&web, "too small"));
    s.after(60).await;
    assert_eq!(s.events().await.len(), 1);
    assert_eq!(s.writer.counts(Class::Event).dropped, 0);

    (0..10).for_each(|_| s.faults.strike_next_write(Fault::Failed));
    let other = s.make_pod("other").await;
    s.writer.send(failed_event(&other, "too small"));
    s.after(600).await;
    assert_eq!(s.writer.counts(Class::Event).dropped, 1);
}

#[tokio::test(start_paused = true)]
async fn a_series_whose_event_the_server_forgot_is_written_anew() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.writer.send(failed_event(&web, "too small"));
    s.after(1).await;
    let name = s.events().await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let path = format!("/apis/events.k8s.io/v1/namespaces/default/events/{name}");
    s.client.request_text(http::Request::delete(path).body(Vec::new()).unwrap()).await.unwrap();
    s.writer.send(failed_event(&web, "too small"));
    s.after(1).await;
    let events = s.events().await;
    assert_eq!(events[0]["series"]["count"], 2);
    assert_eq!(events[0]["note"], "too small");
}
