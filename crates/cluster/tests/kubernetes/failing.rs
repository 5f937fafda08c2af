//! Servers that cannot, must not or will not.

use std::time::Duration;

use roadstead_cluster::Kind;
use roadstead_cluster::api::faults::{Chances, FaultConfig};
use roadstead_cluster::kubernetes::WatchPhase;

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn lists_are_read_in_pages_where_the_server_does_not_stream_them() {
    let refused = refusal(
        422,
        "Invalid",
        "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the \
         WatchList feature gate is enabled",
    );
    // The last one takes the request, and never says where the list ends.
    for answer in [refused, refusal(400, "BadRequest", "unknown parameter"), (200, String::new())] {
        let guard = Guard::default();
        guard.answer(move |asked| asked.contains("sendInitialEvents").then(|| answer.clone()));
        let mut h = Setup { guard, ..Setup::default() }.start(EVERYTHING);
        let heard = h.sync().await;
        assert_eq!(heard.len(), h.there().len() + 1);
        assert!(h.watching.statuses().iter().all(|status| status.error.is_none()));

        h.guard.requests();
        h.faults.cut_watches();
        h.delete(Kind::Pod, "a");
        h.forget();
        assert_eq!(h.news().await, ["-Pod a"]);
        let asked = h.guard.requests();
        assert!(!asked.iter().any(|asked| asked.contains("sendInitialEvents")), "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_server_does_not_have_keeps_nobody_waiting() {
    let guard = Guard::default();
    guard.answer(|asked| {
        let missing = asked.contains("/csistoragecapacities");
        missing.then(|| (404, "404 page not found\n".to_owned()))
    });
    let mut h = Setup { guard, ..Setup::default() }.start(EVERYTHING);
    h.sync().await;
    assert_eq!(h.status(Kind::CSIStorageCapacity).phase, WatchPhase::Missing);
    assert!(h.watching.is_synced());

    h.guard.requests();
    tokio::time::sleep(Duration::from_secs(240)).await;
    let asked = h.guard.requests();
    let asked = asked.iter().filter(|asked| asked.contains("/csistoragecapacities")).count();
    assert!((2..=4).contains(&asked), "asked {asked} times in four minutes");

    h.guard.let_pass();
    assert_eq!(h.next().await, "+CSIStorageCapacity here");
    assert_eq!(h.news().await, [""; 0]);
    assert_eq!(h.status(Kind::CSIStorageCapacity).phase, WatchPhase::Watching);
}

#[tokio::test(start_paused = true)]
async fn without_the_core_group_it_is_no_api_server() {
    let guard = Guard::default();
    guard.answer(|asked| {
        asked.starts_with("/api/").then(|| (404, "404 page not found\n".to_owned()))
    });
    let mut h = Setup { guard, ..Setup::default() }.start("");
    assert_eq!(h.news().await, [""; 0]);
    assert!(!h.watching.is_synced());
    let error = h.status(Kind::Node).error.expect("it is told");
    assert!(error.starts_with("404"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_named_and_waited_for() {
    let guard = Guard::default();
    guard.answer(|asked| {
        asked.contains("/storageclasses").then(|| {
            refusal(403, "Forbidden", "storageclasses.storage.k8s.io is forbidden: User \"x\"")
        })
    });
    let mut h = Setup { guard, ..Setup::default() }.start(EVERYTHING);
    let news = h.news().await;
    assert!(!news.iter().any(|news| news == "synced" || news.contains("Pod a")), "{news:?}");
    assert!(!h.watching.is_synced());
    let error = h.status(Kind::StorageClass).error.expect("it is told");
    assert_eq!(
        error,
        "not allowed to list and watch storageclasses: a ClusterRole has to grant the verbs `list` \
         and `watch` for the resource `storageclasses` of the API group `storage.k8s.io` to the \
         scheduler's user; the server says: storageclasses.storage.k8s.io is forbidden: User \"x\""
    );
    assert_eq!(h.status(Kind::Pod).phase, WatchPhase::Waiting);

    h.guard.let_pass();
    let heard: Vec<String> = h.sync().await.iter().map(short).collect();
    assert_eq!(heard, ["+StorageClass fast", "+Pod a", "+Pod b", "+Pod c", "synced"]);
    assert_eq!(h.status(Kind::StorageClass).error, None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_is_asked_ever_more_rarely() {
    let down = Chances { dropped: 1.0, ..Chances::default() };
    let faults = FaultConfig { reads: down, ..FaultConfig::default() };
    let mut h = Setup { faults, ..Setup::default() }.start(EVERYTHING);
    let mut asked = Vec::new();
    for seconds in [10, 50, 600] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let nodes = h.guard.requests().into_iter().filter(|asked| asked.contains("/nodes?"));
        asked.push(nodes.count());
    }
    assert!((4..=6).contains(&asked[0]), "{asked:?}");
    assert!((1..=5).contains(&asked[1]), "{asked:?}");
    assert!((20..=41).contains(&asked[2]), "{asked:?}");
    let error = h.status(Kind::Node).error.expect("it is told");
    assert!(error.contains("connection reset by peer"), "{error}");

    h.faults.configure(FaultConfig::default());
    h.sync().await;
    assert!(h.watching.statuses().iter().all(|status| status.error.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_gets_it() {
    let guard = Guard::default();
    guard.answer(|asked| {
        let status = r#"{"kind":"Status","code":429,"reason":"TooManyRequests","message":"wait",
            "details":{"retryAfterSeconds":45}}"#;
        asked.contains("/nodes?").then(|| (429, status.to_owned()))
    });
    let mut h = Setup { guard, ..Setup::default() }.start("");
    h.news().await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let asked = h.guard.requests().iter().filter(|asked| asked.contains("/nodes?")).count();
    assert_eq!(asked, 1);
}

/// As behind a proxy that ends every watch at once.
#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_not_repeated_in_haste() {
    let mut h = Harness::new("");
    h.sync().await;
    h.guard.answer(|asked| asked.contains("watch=true").then(|| (200, String::new())));
    h.faults.cut_watches();
    h.guard.requests();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = h.guard.requests().iter().filter(|asked| asked.contains("/nodes?")).count();
    assert!((5..=12).contains(&asked), "asked {asked} times in a minute");
    h.guard.let_pass();
    h.load(&pods(["a"]));
    assert_eq!(h.next().await, "+Pod a");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_dead_is_given_up() {
    let mut h = Harness::new("");
    h.sync().await;
    assert_eq!(h.news().await, [""; 0]);
    h.guard.requests();
    // The cluster's clock stands still, so that it never ends a watch.
    tokio::time::sleep(Duration::from_secs(620)).await;
    let asked = h.guard.requests().iter().filter(|asked| asked.contains("/nodes?")).count();
    assert_eq!(asked, 1);
    assert_eq!(h.status(Kind::Node).lists, 1);
}
