//! Watches, and a real watcher on top of them.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use roadstead_cluster::api::faults::FaultConfig;
use roadstead_cluster::embedded::Config;
use serde_json::json;

use crate::testing::*;

/// An event, in short: `+` came, `~` changed, `-` went, `#` a bookmark, `!` an error.
fn short(event: WatchEvent<Pod>) -> String {
    let name = |pod: Pod| pod.metadata.name.unwrap_or_default();
    match event {
        WatchEvent::Added(pod) => format!("+{}", name(pod)),
        WatchEvent::Modified(pod) => format!("~{}", name(pod)),
        WatchEvent::Deleted(pod) => format!("-{}", name(pod)),
        WatchEvent::Bookmark(mark) => {
            let end = mark.metadata.annotations.contains_key("k8s.io/initial-events-end");
            let end = if end { " end" } else { "" };
            format!("#{}{end}", mark.metadata.resource_version)
        }
        WatchEvent::Error(status) => format!("!{} {}", status.code, status.reason),
    }
}

async fn relabel(s: &Server, pod: &str, app: &str) {
    let patch = json!({"metadata": {"labels": {"app": app}}});
    s.pods().patch(pod, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

macro_rules! says {
    ($watch:expr, $($events:expr),*) => {
        for expected in [$($events.to_string()),*] {
            assert_eq!(short(next(&mut $watch).await.unwrap().unwrap()), expected);
        }
    };
}

#[tokio::test]
async fn a_watch_tells_what_happens_after_a_version() {
    let s = Server::new();
    s.make_pods(["old"]).await;
    let from = s.version().to_string();
    s.make_pods(["a"]).await;
    let mut watch = s.pods().watch(&WatchParams::default(), &from).await.unwrap().boxed();
    says!(watch, "+a");
    assert!(is_quiet(&mut watch).await);

    relabel(&s, "a", "web").await;
    s.make_node("pier").await;
    s.pods().delete("old", &DeleteParams::default()).await.unwrap();
    says!(watch, "~a", "-old");
    assert!(is_quiet(&mut watch).await);
}

#[tokio::test]
async fn a_watch_of_no_version_begins_with_what_is_there() {
    let s = Server::new();
    s.make_pods(["a", "b"]).await;
    let mut watch = s.pods().watch(&WatchParams::default(), "0").await.unwrap().boxed();
    says!(watch, "+a", "+b");
    s.make_pods(["c"]).await;
    says!(watch, "+c");
}

#[tokio::test]
async fn a_streamed_list_says_where_it_ends() {
    let s = Server::new();
    let mut empty =
        s.pods().watch(&WatchParams::default().initial_events(), "").await.unwrap().boxed();
    says!(empty, format!("#{} end", s.version()));

    // More than are told at once.
    for i in 0..600 {
        s.make_pods([&*format!("p{i:03}")]).await;
    }
    let version = s.version();
    let mut watch =
        s.pods().watch(&WatchParams::default().initial_events(), "").await.unwrap().boxed();
    for i in 0..600 {
        says!(watch, format!("+p{i:03}"));
    }
    says!(watch, format!("#{version} end"));
    s.make_pods(["last"]).await;
    says!(watch, "+last");
}

#[tokio::test]
async fn to_who_picks_objects_come_and_go_as_they_begin_and_cease_to_match() {
    let s = Server::new();
    s.make_pods(["a", "b"]).await;
    let from = s.version();
    let params = WatchParams::default().labels("app=web");
    let mut watch = s.pods().watch(&params, &from.to_string()).await.unwrap().boxed();
    relabel(&s, "a", "db").await;
    relabel(&s, "a", "web").await;
    relabel(&s, "b", "db").await;
    let more = json!({"metadata": {"annotations": {"x": "y"}}});
    s.pods().patch("a", &PatchParams::default(), &Patch::Merge(more)).await.unwrap();
    relabel(&s, "a", "db").await;
    s.pods().delete("a", &DeleteParams::default()).await.unwrap();
    says!(watch, "+a", "~a");
    match next(&mut watch).await.unwrap().unwrap() {
        WatchEvent::Deleted(pod) => {
            assert_eq!(pod.metadata.labels.unwrap()["app"], "web", "as it was last seen");
            assert_eq!(pod.metadata.resource_version, Some((from + 5).to_string()));
        }
        other => panic!("{other:?}"),
    }
    assert!(is_quiet(&mut watch).await, "its deletion is no news");
}

#[tokio::test]
async fn unassigned_pods_leave_the_watch_when_they_are_bound() {
    let s = Server::new();
    s.make_node("pier").await;
    let params = WatchParams::default().fields("spec.nodeName=");
    let mut watch = s.pods().watch(&params, "0").await.unwrap().boxed();
    s.make_pods(["web"]).await;
    says!(watch, "+web");
    let path = "/api/v1/namespaces/default/pods/web/binding";
    s.ask("POST", path, &binding("web", "pier")).await.unwrap();
    says!(watch, "-web");
}

#[tokio::test]
async fn a_watch_ends_with_its_time_and_says_how_far_it_came() {
    let s = Server::new();
    let params = WatchParams::default().timeout(90);
    let mut watch = s.pods().watch(&params, &s.version().to_string()).await.unwrap().boxed();
    s.make_node("pier").await;
    assert!(is_quiet(&mut watch).await);
    s.after(60);
    let after_node = s.version();
    says!(watch, format!("#{after_node}"));
    s.after(29);
    assert!(is_quiet(&mut watch).await, "one bookmark is enough");
    s.make_node("quay").await;
    s.after(1);
    says!(watch, format!("#{}", s.version()));
    assert!(next(&mut watch).await.is_none(), "it is over");

    let quiet = WatchParams { bookmarks: false, ..WatchParams::default().timeout(5) };
    let mut watch = s.pods().watch(&quiet, &after_node.to_string()).await.unwrap().boxed();
    s.after(5);
    assert!(next(&mut watch).await.is_none(), "without a word");
}

#[tokio::test]
async fn who_is_too_late_is_told_to_list_anew() {
    let s = Server::with(Config { changes_kept: 4, ..Config::default() });
    let mut late = s.pods().watch(&WatchParams::default(), "1").await.unwrap().boxed();
    says!(late, "!410 Expired");
    assert!(next(&mut late).await.is_none());

    // One that was in time, and has not listened since.
    let mut slow =
        s.pods().watch(&WatchParams::default(), &s.version().to_string()).await.unwrap().boxed();
    assert!(is_quiet(&mut slow).await);
    s.make_pods(["a", "b", "c", "d", "e"]).await;
    says!(slow, "!410 Expired");
    assert!(next(&mut slow).await.is_none());
}

#[tokio::test]
async fn options_that_do_not_go_together_are_refused() {
    let s = Server::new();
    for (query, why) in [
        (
            "watch=1&sendInitialEvents=true",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
    ] {
        let status = s.get(&format!("/api/v1/pods?{query}")).await.unwrap_err();
        let message = format!(
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {why}"
        );
        assert_eq!(told(&status), (422, "Invalid", &*message));
    }
}

/// An event of a watcher, in short.
fn brief(event: Event<Pod>) -> String {
    let name = |pod: Pod| pod.metadata.name.unwrap_or_default();
    match event {
        Event::Init => "init".to_owned(),
        Event::InitApply(pod) => format!("has {}", name(pod)),
        Event::InitDone => "done".to_owned(),
        Event::Apply(pod) => format!("~{}", name(pod)),
        Event::Delete(pod) => format!("-{}", name(pod)),
    }
}

macro_rules! tells {
    ($watch:expr, $($events:literal),*) => {
        for expected in [$($events),*] {
            assert_eq!(brief(next(&mut $watch).await.unwrap().unwrap()), expected);
        }
    };
}

#[tokio::test]
async fn a_watcher_resumes_where_its_connection_was_cut() {
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let s = Server::new();
        let (client, control) = s.faulty(FaultConfig::default());
        s.make_pods(["a", "b"]).await;
        let pods = kube::Api::<Pod>::default_namespaced(client);
        let mut watch = watcher(pods, config).boxed();
        tells!(watch, "init", "has a", "has b", "done");
        assert!(is_quiet(&mut watch).await);

        control.cut_watches();
        s.make_pods(["c"]).await;
        s.pods().delete("a", &DeleteParams::default()).await.unwrap();
        assert!(next(&mut watch).await.unwrap().is_err(), "the cut is told");
        tells!(watch, "~c", "-a");
    }
}

#[tokio::test]
async fn a_watcher_that_missed_too_much_lists_anew() {
    for config in
        [watcher::Config::default().page_size(2), watcher::Config::default().streaming_lists()]
    {
        let s = Server::with(Config { changes_kept: 4, ..Config::default() });
        let (client, control) = s.faulty(FaultConfig::default());
        s.make_pods(["a", "b", "c"]).await;
        let pods = kube::Api::<Pod>::default_namespaced(client);
        let mut watch = watcher(pods, config).boxed();
        tells!(watch, "init", "has a", "has b", "has c", "done");
        assert!(is_quiet(&mut watch).await);

        control.cut_watches();
        assert!(next(&mut watch).await.unwrap().is_err());
        s.pods().delete("b", &DeleteParams::default()).await.unwrap();
        s.make_pods(["d", "e", "f", "g"]).await;
        let error = next(&mut watch).await.unwrap().unwrap_err();
        assert!(error.to_string().contains("too old resource version"), "{error}");
        tells!(watch, "init", "has a", "has c", "has d", "has e", "has f", "has g", "done");
        s.make_pods(["h"]).await;
        tells!(watch, "~h");
    }
}

#[tokio::test]
async fn kubelets_work_when_time_passes_and_watches_hear_of_it() {
    let s = Server::new();
    s.make_node("pier").await;
    let mut run = pod("web");
    run.metadata.annotations =
        Some([("roadstead.dev/run-seconds".to_owned(), "10".to_owned())].into());
    s.pods().create(&PostParams::default(), &run).await.unwrap();
    let path = "/api/v1/namespaces/default/pods/web/binding";
    s.ask("POST", path, &binding("web", "pier")).await.unwrap();
    let mut watch =
        s.pods().watch(&WatchParams::default(), &s.version().to_string()).await.unwrap().boxed();
    for (seconds, expected) in [(1, "Running"), (10, "Succeeded")] {
        assert!(is_quiet(&mut watch).await);
        s.after(seconds);
        match next(&mut watch).await.unwrap().unwrap() {
            WatchEvent::Modified(pod) => assert_eq!(phase(&pod), expected),
            other => panic!("{other:?}"),
        }
    }
}
