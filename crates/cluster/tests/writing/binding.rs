//! Bindings: known to be done, or known not to be.

use roadstead_cluster::api::faults::{Chances, Fault, FaultConfig};
use roadstead_cluster::kubernetes::Input;
use roadstead_cluster::kubernetes::writing::{Class, Limits};

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn a_bind_binds_and_takes_one_request() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    assert_eq!(s.bind(&web, "pier").await, Ok(()));
    assert_eq!(s.node_of("web").as_deref(), Some("pier"));
    assert_eq!(s.network.sent(), ["POST pods/web/binding"]);
    let counts = s.writer.counts(Class::Bind);
    assert_eq!((counts.done, counts.looks, counts.waiting, counts.running), (1, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_bind_whose_answer_is_lost_is_told_as_done_and_done_once() {
    for lose in [
        |s: &Server| s.faults.strike_next_write(Fault::Lost),
        |s: &Server| s.network.stall_next_write(Stall::After),
    ] {
        let mut s = Server::new();
        let web = s.make_pod("web").await;
        lose(&s);
        assert_eq!(s.bind(&web, "pier").await, Ok(()));
        assert_eq!(s.network.sent(), ["POST pods/web/binding", "GET pods/web"]);
        assert_eq!(s.writer.counts(Class::Bind).unclear, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bind_that_does_not_arrive_is_sent_again() {
    for lose in [
        |s: &Server| s.faults.strike_next_write(Fault::Dropped),
        |s: &Server| s.faults.strike_next_write(Fault::Failed),
        |s: &Server| s.network.stall_next_write(Stall::Before),
    ] {
        let mut s = Server::new();
        let web = s.make_pod("web").await;
        lose(&s);
        assert_eq!(s.bind(&web, "pier").await, Ok(()));
        let sent = ["POST pods/web/binding", "GET pods/web", "POST pods/web/binding"];
        assert_eq!(s.network.sent(), sent);
        assert_eq!(s.node_of("web").as_deref(), Some("pier"));
    }
}

/// The second request is refused with a conflict; looking says why.
#[tokio::test(start_paused = true)]
async fn a_bind_that_arrives_after_we_gave_it_up_is_told_as_done() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.network.stall_next_write(Stall::Late(3));
    for _ in 0..20 {
        s.faults.strike_next_write(Fault::Failed);
    }
    assert_eq!(s.bind(&web, "pier").await, Ok(()));
    assert_eq!(s.node_of("web").as_deref(), Some("pier"));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_fails_the_bind_in_the_servers_words() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.faults.strike_next_write(Fault::Conflict);
    let error = s.bind(&web, "pier").await.unwrap_err();
    assert!(error.contains("the object has been modified"), "{error}");
    assert_eq!(s.node_of("web"), None);

    s.bind_elsewhere("web", "quay");
    let error = s.bind(&web, "pier").await.unwrap_err();
    assert_eq!(
        error,
        "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to \
         node \"quay\""
    );
}

/// A conflict after a request that was lost does not mean that the lost one was not done.
#[tokio::test(start_paused = true)]
async fn a_conflict_after_a_lost_request_is_not_believed_at_once() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.network.stall_next_write(Stall::Late(5));
    s.faults.strike_next_write(Fault::Conflict);
    assert_eq!(s.bind(&web, "pier").await, Ok(()), "it arrived in the end");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_bind_comes_back_when_it_is_told_to() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.faults.strike_next_write(Fault::Throttled { retry_after_seconds: 7 });
    let began = tokio::time::Instant::now();
    assert_eq!(s.bind(&web, "pier").await, Ok(()));
    let took = began.elapsed().as_millis();
    assert!((7000..7100).contains(&took), "{took} ms");
    assert_eq!(s.writer.counts(Class::Bind).throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn a_bind_of_a_pod_that_is_gone_or_another_fails() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    s.delete_pod("web").await;
    assert_eq!(s.bind(&web, "pier").await, Err("pods \"web\" not found".to_owned()));

    s.make_pod("web").await;
    let error = s.bind(&web, "pier").await.unwrap_err();
    assert!(error.contains("UID in precondition"), "{error}");
    s.faults.strike_next_write(Fault::Dropped);
    assert_eq!(s.bind(&web, "pier").await, Err("pods \"web\" not found".to_owned()));
    assert_eq!(s.node_of("web"), None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_given_up_and_the_answer_says_that_nobody_knows() {
    let mut s = Server::new();
    let web = s.make_pod("web").await;
    let down = Chances { dropped: 1.0, ..Chances::default() };
    let config = FaultConfig { writes: down.clone(), reads: down, ..FaultConfig::default() };
    s.faults.configure(config);
    let began = tokio::time::Instant::now();
    let error = s.bind(&web, "pier").await.unwrap_err();
    assert_eq!(error, "whether the pod was bound is not known: connection reset by peer");
    assert!((50..=60).contains(&began.elapsed().as_secs()));
}

/// Whatever goes wrong, what is told is what is true.
#[tokio::test(start_paused = true)]
async fn on_a_bad_network_every_answer_is_true() {
    for seed in 0..20 {
        let mut s = Server::with(Limits { qps: -1.0, ..Limits::default() });
        let mut pods = Vec::new();
        for i in 0..20 {
            pods.push(s.make_pod(&format!("pod-{i}")).await);
        }
        let chances =
            || Chances { dropped: 0.1, lost: 0.15, conflict: 0.05, throttled: 0.1, failed: 0.1 };
        let config = FaultConfig { seed, writes: chances(), reads: chances(), cut: 0.0 };
        s.faults.configure(config);
        for pod in &pods {
            s.writer.send(bind(pod, "pier"));
        }
        let mut bound = 0;
        for _ in &pods {
            let Input::Bound { pod: uid, result } = s.answer().await else { panic!("no binding") };
            let pod = pods.iter().find(|pod| pod.uid == uid).unwrap();
            assert_eq!(
                result.is_ok(),
                s.node_of(&pod.name).is_some(),
                "seed {seed}, {}: {result:?}",
                pod.name
            );
            bound += usize::from(result.is_ok());
        }
        assert!(bound > 10, "seed {seed}: most are bound, not {bound}");
        s.cluster.with(|cluster, _| cluster.check_invariants());
    }
}
