//! A network that loses things.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::runtime::watcher::{self, Event, watcher};
use roadstead_cluster::api::faults::{Chances, Fault, FaultConfig};

use crate::testing::*;

#[tokio::test]
async fn a_lost_answer_is_of_a_request_that_was_done_and_a_dropped_one_is_not() {
    let s = Server::new();
    let (client, control) = s.faulty(FaultConfig::default());
    let pods = Api::<Pod>::default_namespaced(client);
    let make = async |name: &str| pods.create(&PostParams::default(), &pod(name)).await;

    control.strike_next_write(Fault::Lost);
    control.strike_next_write(Fault::Dropped);
    assert!(pods.list(&ListParams::default()).await.is_ok(), "reads are spared");
    assert!(matches!(make("lost").await, Err(kube::Error::Service(_))));
    assert!(matches!(make("dropped").await, Err(kube::Error::Service(_))));
    make("fine").await.unwrap();
    let there = pods.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(names(&there), ["fine", "lost"]);
    assert_eq!(control.struck(), 2);
}

#[tokio::test]
async fn refusals_are_those_of_an_api_server_and_nothing_is_done() {
    let s = Server::new();
    let (client, control) = s.faulty(FaultConfig::default());
    let pods = Api::<Pod>::default_namespaced(client);
    for (fault, code, reason) in [
        (Fault::Conflict, 409, "Conflict"),
        (Fault::Throttled { retry_after_seconds: 7 }, 429, "TooManyRequests"),
        (Fault::Failed, 500, "InternalError"),
    ] {
        control.strike_next_write(fault);
        let error = pods.create(&PostParams::default(), &pod("web")).await.unwrap_err();
        let status = refusal(error);
        assert_eq!((status.code, &*status.reason), (code, reason));
        if code == 429 {
            assert_eq!(status.details.unwrap().retry_after_seconds, 7);
        }
    }
    assert!(pods.get_opt("web").await.unwrap().is_none());
}

#[tokio::test]
async fn throttling_says_when_to_come_back() {
    use tower_service::Service;
    let s = Server::new();
    let mut faults =
        roadstead_cluster::api::faults::Faults::new(s.cluster.service(), FaultConfig::default());
    faults.control().strike_next_write(Fault::Throttled { retry_after_seconds: 7 });
    let request = http::Request::post("/api/v1/nodes").body(kube::client::Body::empty()).unwrap();
    let response = faults.call(request).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
}

/// Everything goes wrong at times, and a watcher still ends up with what is there.
#[tokio::test]
async fn a_watcher_on_a_bad_network_ends_up_with_what_is_there() {
    for seed in 0..20 {
        let s = Server::new();
        let chances =
            || Chances { dropped: 0.1, lost: 0.1, conflict: 0.0, throttled: 0.1, failed: 0.1 };
        let config = FaultConfig { seed, writes: chances(), reads: chances(), cut: 0.3 };
        let (client, control) = s.faulty(config);
        let pods = Api::<Pod>::default_namespaced(client);
        let mut watch = watcher(pods.clone(), watcher::Config::default()).boxed();
        let mut seen: BTreeMap<String, Pod> = BTreeMap::new();
        let mut listed: BTreeMap<String, Pod> = BTreeMap::new();
        for i in 0..40 {
            // Whether it was done is not known; doing it again finds out.
            let name = format!("pod-{}", i % 7);
            if i % 3 == 2 {
                let _ = pods.delete(&name, &Default::default()).await;
            } else {
                let _ = pods.create(&PostParams::default(), &pod(&name)).await;
            }
            for _ in 0..3 {
                if is_quiet_now(&mut watch, &mut seen, &mut listed).await {
                    break;
                }
            }
        }
        control.configure(FaultConfig::default());
        while !is_quiet_now(&mut watch, &mut seen, &mut listed).await {}
        let there = s.pods().list(&ListParams::default()).await.unwrap().items;
        let there: BTreeMap<String, Pod> =
            there.into_iter().map(|pod| (pod.metadata.name.clone().unwrap(), pod)).collect();
        assert_eq!(seen, there, "seed {seed}");
        assert!(control.struck() > 5, "seed {seed}: it was a bad network");
        s.check();
    }
}

/// Takes what a watcher says next; whether it said nothing.
async fn is_quiet_now<S>(
    watch: &mut S,
    seen: &mut BTreeMap<String, Pod>,
    listed: &mut BTreeMap<String, Pod>,
) -> bool
where
    S: futures_util::Stream<Item = watcher::Result<Event<Pod>>> + Unpin,
{
    use futures_util::FutureExt;
    for _ in 0..50 {
        let Some(event) = watch.next().now_or_never() else {
            tokio::task::yield_now().await;
            continue;
        };
        let name = |pod: &Pod| pod.metadata.name.clone().unwrap();
        match event.expect("a watcher goes on for ever") {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(pod)) => drop(listed.insert(name(&pod), pod)),
            Ok(Event::InitDone) => *seen = std::mem::take(listed),
            Ok(Event::Apply(pod)) => drop(seen.insert(name(&pod), pod)),
            Ok(Event::Delete(pod)) => drop(seen.remove(&name(&pod))),
            Err(_) => {}
        }
        return false;
    }
    true
}
