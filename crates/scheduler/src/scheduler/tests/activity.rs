//! What an activity shows of what the scheduler did.

use serde_json::json;

use super::*;
use crate::activity::{ActivityDocument, HeldPods};

impl TestCluster {
    fn activity(&mut self) -> ActivityDocument {
        let (counts, now) = (Depths::of(&self.scheduler), self.now);
        let held = HeldPods::of(&self.scheduler);
        self.scheduler.observer_mut().1.1.document(counts, held, now)
    }
}

#[test]
fn totals_flows_and_seconds_tell_what_happened() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    cluster.pod("web", "cpu=2", json!({}));
    cluster.pod("db", "cpu=1", json!({}));
    cluster.after(3);
    cluster.node("quay", "cpu=2");
    cluster.after(1);
    let shown = cluster.activity();
    let totals = shown.totals;
    assert_eq!((totals.attempts, totals.bound, totals.unschedulable, totals.errors), (3, 2, 1, 0));

    let flow = |from, to, cause: &str| {
        let is_it = |flow: &&crate::activity::Flow| {
            (flow.from, flow.to, flow.cause.as_str()) == (from, to, cause)
        };
        shown.flows.iter().find(is_it).map(|flow| flow.count)
    };
    assert_eq!(flow("new", "active", "UnschedulablePodAdd"), Some(2));
    assert_eq!(flow("inFlight", "unschedulable", "ScheduleAttemptFailure"), Some(1));
    assert_eq!(flow("unschedulable", "active", "NodeAdd"), Some(1));
    assert_eq!(flow("inFlight", "bound", "Done"), Some(2));
    assert_eq!(totals.moves, shown.flows.iter().map(|flow| flow.count).sum::<u64>());

    let series = shown.series.as_ref().expect("it is there");
    assert_eq!((series.start, series.samples.len()), (1000, 4));
    let waiting: Vec<_> = series.samples.iter().map(|sample| sample.unschedulable).collect();
    assert_eq!(waiting, [1, 1, 1, 0]);
    let bound: Vec<_> = series.samples.iter().map(|sample| sample.bound).collect();
    assert_eq!(bound, [1, 0, 0, 1]);
    let wait = series.samples[3].wait_p99.expect("two were bound");
    assert!((3.0..4.5).contains(&wait), "{wait}");

    let last = shown.recent.last().expect("there were moves");
    assert_eq!((last.name.as_str(), last.from, last.to), ("web", "inFlight", "bound"));
}

#[test]
fn hints_are_charged_with_what_became_of_those_they_woke() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    for name in ["big-1", "big-2", "big-3"] {
        cluster.pod(name, "cpu=4", json!({}));
    }
    cluster.after(5);
    // Too small for any: nobody is woken. Then large enough for one of three.
    cluster.node("quay", "cpu=1");
    cluster.node("mole", "cpu=4");
    cluster.after(1);
    let shown = cluster.activity();
    let hint = shown.hints.iter().find(|hint| hint.event == "NodeAdd").expect("it was asked");
    assert_eq!(hint.plugin.as_deref(), Some("NodeResourcesFit"));
    assert_eq!((hint.asked, hint.queue, hint.skip, hint.error), (2, 1, 1, 0));
    assert_eq!((hint.woke, hint.placed), (3, 1));
    assert!((hint.precision.expect("they were tried") - 1.0 / 3.0).abs() < 1e-9);
    let event = shown.events.iter().find(|event| event.event == "NodeAdd").expect("it woke some");
    assert_eq!((event.woke, event.placed), (3, 1));
}

#[test]
fn pods_are_counted_by_what_holds_them() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    for name in ["big-1", "big-2", "big-3"] {
        cluster.pod(name, "cpu=4", json!({}));
    }
    let elsewhere = json!({"spec": {"nodeSelector": {"disk": "ssd"}}});
    cluster.pod("picky", "cpu=1", elsewhere);
    cluster.pod("held", "cpu=1", json!({"spec": {"schedulingGates": [{"name": "quota"}]}}));
    let held = cluster.activity().held;
    let told: Vec<_> = held
        .iter()
        .map(|held| (held.gate.as_deref(), held.rejectors.join(" "), held.pods))
        .collect();
    let expected = [
        (None, "NodeResourcesFit".to_owned(), 3),
        (None, "NodeAffinity".to_owned(), 1),
        (Some("SchedulingGates"), String::new(), 1),
    ];
    assert_eq!(told, expected);
    cluster.delete("big-2");
    assert_eq!(cluster.activity().held[0].pods, 2);
}

#[test]
fn the_sample_of_moves_is_bounded_in_number_and_rate() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=100");
    for number in 0..40 {
        cluster.pod(&format!("pod-{number}"), "cpu=1", json!({}));
    }
    assert_eq!(cluster.activity().recent.len(), 5);
    for number in 0..40 {
        cluster.after(1);
        cluster.pod(&format!("more-{number}"), "cpu=1", json!({}));
    }
    let recent = cluster.activity().recent;
    assert_eq!(recent.len(), 45);
    for number in 40..60 {
        cluster.after(1);
        cluster.pod(&format!("more-{number}"), "cpu=1", json!({}));
    }
    assert_eq!(cluster.activity().recent.len(), 50);
    assert_eq!(recent.last().expect("the latest").name, "more-39");
}

#[test]
fn what_is_said_of_a_pod_is_its_last_move_however_great_the_rush() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    for number in 0..200 {
        cluster.pod(&format!("pod-{number}"), "cpu=2", json!({}));
        if number % 40 == 39 {
            cluster.after(1);
        }
    }
    let recent = cluster.activity().recent;
    assert_eq!(recent.len(), 25);
    for moved in &recent {
        assert_eq!(moved.to, "unschedulable", "{moved:?}");
    }
    cluster.node("quay", "cpu=1000");
    cluster.node("mole", "cpu=1000");
    cluster.after(20);
    let recent = cluster.activity().recent;
    assert!(recent.iter().all(|moved| moved.to == "bound"), "{recent:?}");
    assert!(recent.is_sorted_by_key(|moved| moved.at));
}

/// Every step of every test compares the moves with the queue; here the steps are random.
#[test]
fn moves_add_up_to_the_queues_own_counts_whatever_happens() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for _ in 0..6 {
        let mut cluster = TestCluster::new();
        cluster.verifies = false;
        for _ in 0..250 {
            let name = format!("pod-{}", draw(12));
            let exists = cluster.objects.contains_key(&name);
            cluster.refuses = draw(5) == 0;
            match draw(9) {
                0 => cluster.node(&format!("node-{}", draw(4)), &format!("cpu={}", 1 + draw(6))),
                1 => {
                    let node = Text::unshared(&format!("node-{}", draw(4)));
                    cluster.scheduler.node_gone(&node, cluster.now);
                    cluster.run();
                }
                2 if exists => cluster.delete(&name),
                3 if exists => {
                    let gates = json!({"spec": {"schedulingGates": null}});
                    cluster.change(&name, gates);
                }
                4 if exists => cluster.change(&name, json!({"metadata": {"labels": {"a": "b"}}})),
                5 => cluster.after(1 + draw(12)),
                6 if exists => {
                    cluster.scheduler.on_time(cluster.now + Duration::from_secs(400));
                    cluster.now = cluster.now + Duration::from_secs(400);
                    cluster.run();
                }
                _ if !exists => {
                    let more = match draw(3) {
                        0 => json!({"spec": {"schedulingGates": [{"name": "wait"}]}}),
                        _ => json!({"spec": {"priority": draw(3)}}),
                    };
                    cluster.pod(&name, &format!("cpu={}", 1 + draw(5)), more);
                }
                _ => {}
            }
        }
        assert!(cluster.activity().totals.moves > 100);
    }
}
