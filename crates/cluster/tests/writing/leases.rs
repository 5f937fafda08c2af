//! Elections on a server, and a writer that obeys them.

use std::time::Duration;

use kube::Client;
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::faults::{Chances, FaultConfig, FaultControl, Faults};
use roadstead_cluster::kubernetes::election::{
    Election, ElectionError, Leadership, Settings, Standing, identity,
};
use roadstead_cluster::kubernetes::writing::{Class, Limits};
use roadstead_scheduler::config::LeaderElection;
use serde_json::Value;

use crate::testing::*;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler";

fn candidate(cluster: &SharedCluster, name: &str) -> (Election, FaultControl) {
    let faults = Faults::new(cluster.service(), FaultConfig::default());
    let control = faults.control();
    let client = Client::new(faults, "default");
    let election =
        Election::start(client, &LeaderElection::default(), name.to_owned(), "default-scheduler");
    let election = election.unwrap();
    (election, control)
}

async fn lease(cluster: &SharedCluster) -> Value {
    let client = Client::new(cluster.service(), "default");
    client.request(http::Request::get(LEASE).body(Vec::new()).unwrap()).await.unwrap()
}

fn cut_off(control: &FaultControl) {
    let all = Chances { dropped: 1.0, ..Chances::default() };
    control.configure(FaultConfig { writes: all.clone(), reads: all, ..FaultConfig::default() });
}

fn may_write(leadership: &Leadership) -> bool {
    leadership.may_write(tokio::time::Instant::now().into_std())
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_another_takes_over_when_it_is_cut_off() {
    let cluster = cluster();
    let (first, network) = candidate(&cluster, "first");
    pass(1).await;
    let (second, _) = candidate(&cluster, "second");
    let [one, two] = [first.leadership(), second.leadership()];
    pass(60).await;
    assert_eq!((one.standing(), two.standing()), (Standing::Leading, Standing::Standby));
    assert!(may_write(&one) && !may_write(&two));
    let spec = lease(&cluster).await["spec"].clone();
    assert_eq!(spec["holderIdentity"], "first");
    assert_eq!((&spec["leaseDurationSeconds"], &spec["leaseTransitions"]), (&15.into(), &0.into()));
    let now = tokio::time::Instant::now().into_std();
    assert!(one.renewed_ago(now).unwrap() < Duration::from_secs(3));

    cut_off(&network);
    let mut changes = two.changes();
    let began = tokio::time::Instant::now();
    let mut stopped = None;
    while !*changes.has_changed().as_ref().unwrap() {
        assert!(!(may_write(&one) && may_write(&two)));
        if !may_write(&one) && stopped.is_none() {
            stopped = Some(began.elapsed());
        }
        assert!(began.elapsed() < Duration::from_secs(30));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    changes.mark_unchanged();
    assert_eq!((one.standing(), two.standing()), (Standing::Lost, Standing::Leading));
    let taken = began.elapsed();
    assert!(stopped.unwrap() <= Duration::from_secs(10));
    assert!(taken >= Duration::from_secs(13) && taken <= Duration::from_secs(20), "{taken:?}");
    let spec = lease(&cluster).await["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&"second".into(), &1.into()));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_up_passes_on_soon() {
    let cluster = cluster();
    let (first, _) = candidate(&cluster, "first");
    pass(1).await;
    let (second, _) = candidate(&cluster, "second");
    pass(20).await;
    let leadership = first.leadership();
    first.release().await;
    assert!(!may_write(&leadership));
    let spec = lease(&cluster).await["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&"".into(), &1.into()));
    pass(5).await;
    assert!(may_write(&second.leadership()), "within the longest pause between two tries");
    assert_eq!(lease(&cluster).await["spec"]["leaseTransitions"], 1);
}

/// The notes of the Events about the lease, oldest first.
async fn announced(cluster: &SharedCluster) -> Vec<String> {
    let client = Client::new(cluster.service(), "default");
    let path = "/apis/events.k8s.io/v1/namespaces/kube-system/events";
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let list: Value = client.request(request).await.unwrap();
    let mut events = list["items"].as_array().unwrap().clone();
    events.sort_by_key(|event| event["eventTime"].as_str().map(str::to_owned));
    let lease = lease(cluster).await;
    for event in &events {
        let about = &event["regarding"];
        assert_eq!((&about["kind"], &about["name"]), (&"Lease".into(), &"kube-scheduler".into()));
        assert_eq!(about["uid"], lease["metadata"]["uid"]);
        assert_eq!(
            (&event["reason"], &event["type"]),
            (&"LeaderElection".into(), &"Normal".into())
        );
        assert_eq!(event["reportingController"], "default-scheduler");
    }
    events.iter().map(|event| event["note"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn who_leads_is_told_in_events_about_the_lease() {
    let cluster = cluster();
    let (first, _) = candidate(&cluster, "first");
    pass(1).await;
    let (_second, _) = candidate(&cluster, "second");
    pass(20).await;
    assert_eq!(announced(&cluster).await, ["first became leader"]);
    first.release().await;
    assert_eq!(announced(&cluster).await, ["first became leader", "first stopped leading"]);
    pass(5).await;
    assert_eq!(
        announced(&cluster).await,
        ["first became leader", "first stopped leading", "second became leader"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_has_to_look_first_is_counted() {
    let cluster = cluster();
    let (first, _) = candidate(&cluster, "first");
    pass(20).await;
    assert_eq!(first.leadership().slow_renewals(), 0);
    // Somebody writes something beside it, and the version that the leader knows is another.
    let patch = http::Request::patch(LEASE)
        .header("Content-Type", "application/merge-patch+json")
        .body(br#"{"metadata": {"labels": {"touched": "yes"}}}"#.to_vec())
        .unwrap();
    let client = Client::new(cluster.service(), "default");
    let _: Value = client.request(patch).await.unwrap();
    pass(20).await;
    assert_eq!(first.leadership().slow_renewals(), 1);
    assert_eq!(first.leadership().standing(), Standing::Leading);
}

#[tokio::test(start_paused = true)]
async fn a_leader_on_a_bad_network_stays_leader() {
    let cluster = cluster();
    let (first, network) = candidate(&cluster, "first");
    let chances =
        || Chances { dropped: 0.05, lost: 0.05, conflict: 0.05, throttled: 0.02, failed: 0.03 };
    let config = FaultConfig { seed: 3, writes: chances(), reads: chances(), cut: 0.0 };
    pass(1).await;
    network.configure(config);
    pass(600).await;
    assert_eq!(first.leadership().standing(), Standing::Leading);
    assert!(network.struck() > 50);
    assert_eq!(lease(&cluster).await["spec"]["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_writer_without_the_lease_writes_nothing_and_says_so() {
    let other = cluster();
    let (first, network) = candidate(&other, "first");
    pass(1).await;
    let leadership = first.leadership();
    let mut s = Server::led(Limits { qps: -1.0, ..Limits::default() }, leadership.clone());
    let web = s.make_pod("web").await;
    assert_eq!(s.bind(&web, "pier").await, Ok(()));

    cut_off(&network);
    pass(30).await;
    assert_eq!(leadership.standing(), Standing::Lost);
    let (late, sent) = (s.make_pod("late").await, s.network.sent().len());
    let error = s.bind(&late, "pier").await.unwrap_err();
    assert_eq!(error, "not sent: this scheduler does not hold the leader lease");
    s.writer.send(nominate(&late, "pier"));
    s.writer.send(failed_event(&late, "too small"));
    s.after(10).await;
    assert_eq!(s.network.sent().len(), sent);
    assert_eq!(s.writer.counts(Class::Bind).withheld, 1);
}

/// A request that is under way when the lease ends is given up, not waited for.
#[tokio::test(start_paused = true)]
async fn a_request_does_not_outlive_the_lease() {
    let other = cluster();
    let (first, network) = candidate(&other, "first");
    pass(1).await;
    let leadership = first.leadership();
    let limits =
        Limits { qps: -1.0, request_timeout: Duration::from_secs(100), ..Limits::default() };
    let mut s = Server::led(limits, leadership.clone());
    let web = s.make_pod("web").await;
    cut_off(&network);
    s.network.stall_next_write(Stall::Before);
    let until = leadership.until().unwrap();
    s.writer.send(bind(&web, "pier"));
    tokio::time::sleep_until(tokio::time::Instant::from_std(until)).await;
    s.after(1).await;
    assert_eq!(s.network.sent()[..2], ["POST pods/web/binding", "GET pods/web"]);
    assert!(s.network.sent()[2..].iter().all(|line| line.starts_with("GET")));
}

#[test]
fn durations_with_which_no_election_works_are_refused() {
    use roadstead_scheduler::config::Duration as Span;
    let check = |change: fn(&mut LeaderElection)| {
        let mut config = LeaderElection::default();
        change(&mut config);
        Settings::from_config(&config)
    };
    assert!(check(|_| {}).is_ok());
    let zero = check(|it| it.retry_period = Span::from_seconds(0));
    assert_eq!(zero, Err(ElectionError::NotPositive("retryPeriod")));
    let short = check(|it| it.lease_duration = Span::from_seconds(10));
    assert_eq!(short, Err(ElectionError::LeaseTooShort));
    let once = check(|it| it.retry_period = Span::from_seconds(9));
    assert_eq!(once, Err(ElectionError::DeadlineTooShort));
}

#[test]
fn an_identity_is_the_host_and_a_random_uuid() {
    let [one, two] = [identity("host"), identity("host")];
    assert_ne!(one, two);
    let uuid = one.strip_prefix("host_").unwrap();
    let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert_eq!(&uuid[14..15], "4");
    assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"));
}
