//! What is there, and what happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::embedded::Binding;
use roadstead_cluster::kubernetes::{Input, WatchOptions, WatchPhase};
use roadstead_cluster::{Kind, Notice};
use serde_json::json;

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn everything_is_shown_once_and_pods_after_the_rest() {
    for options in both_ways() {
        let mut h = Setup { options, ..Setup::default() }.start(EVERYTHING);
        assert!(!h.watching.is_synced());
        let heard = h.sync().await;
        assert!(h.watching.is_synced() && h.watching.is_running());

        let mut seen = BTreeMap::new();
        let mut kinds = Vec::new();
        for input in &heard[..heard.len() - 1] {
            let Input::Set(object) = input else { panic!("{input:?}") };
            assert_eq!(seen.insert(object.key(), object.clone()), None, "told once");
            kinds.push(object.kind());
        }
        assert_eq!(seen, h.there());
        assert_eq!(
            kinds.iter().copied().collect::<BTreeSet<_>>(),
            Notice::KINDS.iter().copied().collect(),
            "one of each"
        );
        let first_pod = kinds.iter().position(|kind| *kind == Kind::Pod).unwrap();
        assert!(kinds[first_pod..].iter().all(|kind| *kind == Kind::Pod), "{kinds:?}");
        assert_eq!(h.news().await, [""; 0]);
        for status in h.watching.statuses() {
            let there = seen.keys().filter(|key| key.kind == status.kind).count();
            assert_eq!(
                (status.phase, status.error, status.lists, status.resumed, status.objects),
                (WatchPhase::Watching, None, 1, 0, there)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_cluster_is_synced_as_well() {
    for options in both_ways() {
        let mut h = Setup { options, ..Setup::default() }.start("");
        let heard: Vec<String> = h.sync().await.iter().map(short).collect();
        let namespaces = heard.iter().filter(|news| news.starts_with("+Namespace")).count();
        assert_eq!(namespaces, heard.len() - 1, "only those that every cluster has: {heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_is_told_as_it_happens() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    h.touch(Kind::Node, "pier");
    assert_eq!(h.news().await, ["+Node pier"]);
    h.load(&pods(["d"]));
    h.touch(Kind::Pod, "a");
    h.delete(Kind::Pod, "c");
    assert_eq!(h.news().await, ["+Pod d", "+Pod a", "-Pod c"]);
    assert_eq!(h.status(Kind::Pod).objects, 3);
    h.delete(Kind::Pod, "d");
    h.load(&pods(["d"]));
    assert_eq!(h.news().await, ["-Pod d", "+Pod d"], "another pod of that name");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_finished_is_gone() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    let mut run: Pod = serde_json::from_value(json!({
        "metadata": {"name": "run", "namespace": "default"},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app"}]},
    }))
    .unwrap();
    let seconds = ("roadstead.dev/run-seconds".to_owned(), "10".to_owned());
    run.metadata.annotations = Some([seconds].into());
    h.create(run);
    let bind = Binding::new("default", "run", "pier");
    h.cluster.with(|cluster, now| cluster.bind(now, &bind)).unwrap();
    h.after(1);
    assert_eq!(h.news_of_pods().await, ["+Pod run"; 3], "made, bound, running");
    h.after(10);
    assert_eq!(h.news_of_pods().await, ["-Pod run"]);
    assert!(h.cluster.with(|cluster, _| cluster.pod("default", "run").is_some()), "it is there");

    h.faults.cut_watches();
    h.touch(Kind::Node, "pier");
    h.forget();
    assert_eq!(h.news_of_pods().await, [""; 0]);
    assert_eq!(h.status(Kind::Pod).lists, 2, "nor is it listed");
}

#[tokio::test(start_paused = true)]
async fn managed_fields_are_left_out_and_nothing_else() {
    for options in both_ways() {
        let guard = Guard::default();
        guard.answer(|asked| {
            let metadata = |name: &str| {
                object(
                    Kind::CSIDriver,
                    name,
                    json!({
                        "managedFields": [{"manager": "kubectl", "operation": "Update",
                            "fieldsV1": {"f:metadata": {"f:labels": {}}}}],
                        "labels": {"managedFields": "is a label here"},
                        "uid": "u", "resourceVersion": "5",
                    }),
                )
            };
            if !asked.starts_with("/apis/storage.k8s.io/v1/csidrivers") {
                return None;
            }
            let body = if asked.contains("sendInitialEvents") {
                let mark = json!({"resourceVersion": "6",
                    "annotations": {"k8s.io/initial-events-end": "true"}});
                let mark = object(Kind::CSIDriver, "", mark);
                [("ADDED", metadata("disks")), ("BOOKMARK", mark)]
                    .map(|(kind, object)| format!("{}\n", json!({"type": kind, "object": object})))
                    .concat()
            } else if asked.contains("watch=true") {
                String::new()
            } else {
                json!({"metadata": {"resourceVersion": "6"}, "items": [metadata("disks")]})
                    .to_string()
            };
            Some((200, body))
        });
        let mut h = Setup { options, guard, ..Setup::default() }.start("");
        let heard = h.sync().await;
        let driver = heard.iter().find_map(|input| match input {
            Input::Set(object) if object.kind() == Kind::CSIDriver => Some(object.metadata()),
            _ => None,
        });
        let driver = driver.expect("it was told");
        assert_eq!(driver.managed_fields, None);
        assert_eq!(driver.labels.as_ref().unwrap()["managedFields"], "is a label here");
        assert_eq!(driver.uid.as_deref(), Some("u"));
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_receives_slowly_slows_the_watches_down() {
    for streaming_lists in [true, false] {
        let options = WatchOptions { streaming_lists, page_size: 10, ..WatchOptions::default() };
        let many: String = (0..1000).map(|i| pods([&*format!("p{i:03}")])).collect();
        let mut h = Setup { options, room: 1, ..Setup::default() }.start(&many);
        let mut names = BTreeSet::new();
        loop {
            // As long as nobody receives, nothing goes on.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let listed = h.guard.requests().iter().filter(|asked| asked.contains("/pods?")).count();
            assert!(listed <= 2, "{listed} pages for one object");
            match h.next_input().await {
                Input::Set(object) if object.kind() == Kind::Pod => {
                    assert!(names.insert(object.name().to_owned()), "told once");
                    assert!(!h.watching.is_synced() || names.len() > 998);
                }
                Input::Set(_) => {}
                Input::Synced => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(names.len(), 1000);
    }
}

#[tokio::test(start_paused = true)]
async fn the_watches_end_with_their_owner_and_with_their_listener() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    drop(h.watching);
    assert!(h.inputs.recv().await.is_none());

    let h = Harness::new(EVERYTHING);
    drop(h.inputs);
    h.cluster.with(|cluster, now| load(cluster, now, &pods(["d"])));
    tokio::time::sleep(QUIET).await;
    assert!(!h.watching.is_running());
}
