//! Watches that end, and what happened meanwhile.

use std::time::Duration;

use roadstead_cluster::embedded::Config;
use roadstead_cluster::kubernetes::{Input, WatchOptions};
use roadstead_cluster::{Kind, Notice};
use roadstead_queue::Time;
use roadstead_scheduler::{PodKey, Scheduler, Setup as SchedulerSetup};

use crate::testing::*;

#[tokio::test(start_paused = true)]
async fn a_watch_that_was_cut_is_taken_up_where_it_ended() {
    for options in both_ways() {
        let mut h = Setup { options, ..Setup::default() }.start(EVERYTHING);
        h.sync().await;
        assert_eq!(h.news().await, [""; 0]);
        h.faults.cut_watches();
        h.delete(Kind::Pod, "a");
        h.load(&pods(["d"]));
        h.touch(Kind::Node, "pier");
        let mut news = h.news().await;
        news.sort();
        assert_eq!(news, ["+Node pier", "+Pod d", "-Pod a"]);
        for status in h.watching.statuses() {
            assert_eq!((status.lists, status.resumed), (1, 1), "{status:?}");
            assert_eq!(status.error, None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_whose_time_is_over_is_taken_up_again() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    assert_eq!(h.news().await, [""; 0]);
    h.guard.requests();
    h.after(600);
    h.load(&pods(["d"]));
    assert_eq!(h.news().await, ["+Pod d"]);
    let asked = h.guard.requests();
    assert_eq!(asked.len(), Notice::KINDS.len(), "each once: {asked:?}");
    assert!(asked.iter().all(|asked| asked.contains("resourceVersion=")), "{asked:?}");
    assert_eq!(h.status(Kind::Pod).lists, 1);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_keep_a_quiet_kind_from_listing_anew() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    assert_eq!(h.news().await, [""; 0]);
    let old = h.cluster.with(|cluster, _| cluster.version());
    h.load(&pods(["d"]));
    h.after(60);
    assert_eq!(h.news().await, ["+Pod d"]);
    h.cluster.with(|cluster, _| cluster.forget_changes(old + 1));
    h.faults.cut_watches();
    assert_eq!(h.news().await, [""; 0]);
    for status in h.watching.statuses() {
        assert_eq!((status.lists, status.resumed), (1, 1), "{status:?}");
    }
}

/// What happens while nobody is looking, and is forgotten.
fn live_on(h: &Harness) {
    h.delete(Kind::Pod, "a");
    h.delete(Kind::Pod, "c");
    h.load(&pods(["c"]));
    h.load(&pods(["d", "e"]));
    h.delete(Kind::Pod, "e");
    h.touch(Kind::Node, "pier");
    h.forget();
}

const DIFFERENCE: [&str; 5] = ["+Node pier", "+Pod c", "+Pod d", "-Pod a", "-Pod c"];

#[tokio::test(start_paused = true)]
async fn after_a_gap_only_what_differs_is_told() {
    for options in both_ways() {
        let mut h = Setup { options, ..Setup::default() }.start(EVERYTHING);
        h.sync().await;
        assert_eq!(h.news().await, [""; 0]);
        let uid = |name| {
            h.cluster.with(|c, _| c.pod("default", name).unwrap().metadata.uid.clone().unwrap())
        };
        let (a, c) = (uid("a"), uid("c"));
        h.faults.cut_watches();
        live_on(&h);
        let mut news = Vec::new();
        for _ in DIFFERENCE {
            let input = h.next_input().await;
            if let Input::Gone(object) = &input {
                let uid = if object.name() == "a" { &a } else { &c };
                assert_eq!(object.uid(), uid, "the one that was known");
                assert_eq!(object.metadata().namespace.as_deref(), Some("default"));
            }
            news.push(short(&input));
        }
        let place = |wanted| news.iter().position(|news| news == wanted);
        assert!(place("-Pod c") < place("+Pod c"), "{news:?}");
        news.sort();
        assert_eq!(news, DIFFERENCE);
        assert_eq!(h.news().await, [""; 0]);
        assert_eq!(h.status(Kind::Pod).lists, 2);

        h.load(&pods(["f"]));
        assert_eq!(h.news().await, ["+Pod f"], "it goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gap_may_be_told_before_the_watch_begins() {
    let mut h = Harness::new(EVERYTHING);
    h.sync().await;
    assert_eq!(h.news().await, [""; 0]);
    h.guard.answer(|asked| {
        let resumes = asked.contains("watch=true") && !asked.contains("sendInitialEvents");
        resumes.then(|| refusal(410, "Expired", "too old resource version: 1 (2)"))
    });
    h.faults.cut_watches();
    live_on(&h);
    let mut news = h.news().await;
    news.sort();
    assert_eq!(news, DIFFERENCE);
    for status in h.watching.statuses() {
        assert_eq!((status.lists, status.error), (2, None), "{:?}", status.kind);
    }
}

/// Of every kind, what is left of an object that went while nobody was looking is enough for a
/// scheduler to let go of it.
#[tokio::test(start_paused = true)]
async fn an_object_of_any_kind_that_went_unseen_is_let_go_of() {
    let SchedulerSetup { mut world, profiles, queue } = SchedulerSetup::default();
    let mut scheduler = Scheduler::new(queue, profiles, (), 0);
    let mut h = Harness::new(EVERYTHING);
    for input in h.sync().await {
        if let Input::Set(object) = input {
            let notice = Notice::of(&object, &mut world).unwrap().expect("it is looked at");
            notice.tell(&mut scheduler, Time::ZERO);
        }
    }
    assert_eq!(scheduler.cache().nodes_unordered().len(), 1);
    let mut gone_kinds = Vec::new();
    for kind in Notice::KINDS {
        let there = h.there();
        let Some(key) = there.keys().find(|key| key.kind == *kind && key.name != "b") else {
            continue;
        };
        h.faults.cut_watches();
        let name = if *kind == Kind::Namespace { "team" } else { &*key.name };
        h.delete(*kind, name);
        h.after(60);
        h.forget();
        // Other objects may go with it.
        loop {
            let Input::Gone(object) = h.next_input().await else { continue };
            assert!(object.metadata().resource_version.is_none(), "its identity alone");
            let notice = Notice::of(&object, &mut world).unwrap().expect("it is looked at");
            let pod = if let Notice::Pod(pod) = &notice { Some(PodKey::of(pod)) } else { None };
            let is_queued = |scheduler: &Scheduler| {
                pod.as_ref().is_some_and(|key| scheduler.queue().place(key).is_some())
            };
            let is_meant = (object.kind(), object.name()) == (*kind, name);
            assert!(!is_meant || is_queued(&scheduler) == pod.is_some());
            notice.tell_gone(&mut scheduler, Time::ZERO);
            assert!(!is_queued(&scheduler));
            if is_meant {
                gone_kinds.push(*kind);
                break;
            }
        }
        h.news().await;
    }
    assert_eq!(gone_kinds, Notice::KINDS);
    assert_eq!(scheduler.cache().nodes_unordered().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_whose_pages_expire_is_asked_for_whole() {
    let options = WatchOptions { streaming_lists: false, page_size: 2, ..WatchOptions::default() };
    let config = Config { changes_kept: 4, ..Config::default() };
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut h = Setup { config, options, room: 1, ..Setup::default() }.start(&pods(names));
    while h.next().await != "+Pod a" {}
    // Nobody reads on while all this happens.
    for _ in 0..10 {
        h.touch(Kind::Pod, "f");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let mut news = Vec::new();
    while news.last().is_none_or(|last| last != "synced") {
        news.push(h.next().await);
    }
    assert_eq!(news, ["+Pod b", "+Pod c", "+Pod d", "+Pod e", "+Pod f", "synced"]);
    let asked = h.guard.requests();
    let lists: Vec<_> =
        asked.iter().filter(|a| a.contains("/pods?") && !a.contains("watch")).collect();
    assert!(lists[0].contains("limit=2"), "{lists:?}");
    assert!(lists.iter().any(|asked| asked.contains("continue=")), "{lists:?}");
    assert!(!lists.last().unwrap().contains("limit="), "{lists:?}");
}
