//! What the journal keeps of what the scheduler did.

use serde_json::json;

use super::*;
use crate::journal::{History, JournalLimits};

impl TestCluster {
    fn journal(&mut self) -> &mut Journal {
        &mut self.scheduler.observer_mut().1.0
    }

    fn history(&mut self, name: &str) -> History {
        self.journal().history(&key(name)).expect("something is kept of it")
    }

    fn lines(&mut self, name: &str) -> Vec<String> {
        self.history(name).lines().map(|line| line.trim_start().to_owned()).collect()
    }

    fn limited(limits: JournalLimits) -> Self {
        let mut cluster = Self::new();
        // The plugins' names were told when the scheduler was made.
        let plugins = cluster.scheduler.queue().plugins().clone();
        *cluster.journal() = Journal::new(limits);
        crate::Observer::start(cluster.journal(), &plugins);
        cluster
    }
}

#[test]
fn a_history_tells_everything_in_order() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    cluster.pod("web", "cpu=2", json!({}));
    cluster.after(3);
    cluster.node("quay", "cpu=1");
    cluster.node("mole", "cpu=4");
    assert_eq!(
        cluster.lines("web"),
        [
            "+0s  queued (UnschedulablePodAdd)",
            "+0s  attempt 1",
            "+0s    NodeResourcesFit: 1 Insufficient cpu",
            "+0s  waits for an event (ScheduleAttemptFailure)",
            "+3s    NodeAdd: NodeResourcesFit says no help",
            "+3s    NodeAdd: NodeResourcesFit says worth a retry",
            "+3s  ready to be tried (NodeAdd, for NodeResourcesFit)",
            "+3s  attempt 2",
            "+3s  a node was found",
            "+3s  bound to mole after 2 attempts",
        ]
    );
}

#[test]
fn a_gate_is_named() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=4");
    let gates = |gates: Value| json!({"spec": {"schedulingGates": gates}});
    cluster.pod("web", "cpu=2", gates(json!([{"name": "example.com/quota"}])));
    cluster.after(1);
    cluster.change("web", gates(json!([])));
    assert_eq!(
        cluster.lines("web"),
        [
            "+0s  queued (UnschedulablePodAdd)",
            "+0s  held by SchedulingGates (UnschedulablePodAdd)",
            "+1s    UnschedulablePodUpdatePodSchedulingGatesEliminated: SchedulingGates says worth \
             a retry",
            "+1s  ready to be tried (UnschedulablePodUpdatePodSchedulingGatesEliminated)",
            "+1s  attempt 1",
            "+1s  a node was found",
            "+1s  bound to pier after 1 attempt",
        ]
    );
}

#[test]
fn preemption_is_told_of_both_sides() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=4");
    cluster.pod("small", "cpu=3", json!({}));
    cluster.pod("big", "cpu=4", json!({"spec": {"priority": 10}}));
    cluster.after(2);
    let big = cluster.lines("big");
    assert!(big.iter().any(|line| line.ends_with("1 pod is to leave pier for it")), "{big:?}");
    assert!(big.iter().any(|line| line.ends_with("pier is kept for it")), "{big:?}");
    let small = cluster.lines("small");
    let last = small.last().expect("a line");
    assert!(last.ends_with("is to make room for default/big"), "{small:?}");
}

#[test]
fn what_a_hint_said_of_a_whole_class_is_told_of_each() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    cluster.pod("web-0", "cpu=2", json!({}));
    cluster.pod("web-1", "cpu=2", json!({}));
    cluster.after(1);
    cluster.node("quay", "cpu=1");
    cluster.node("mole", "cpu=1");
    for name in ["web-0", "web-1"] {
        let lines = cluster.lines(name);
        let last = lines.last().expect("a line");
        assert_eq!(last, "+1s    NodeAdd: NodeResourcesFit says no help (2 times)", "{lines:?}");
    }
}

#[test]
fn what_was_said_of_a_class_stands_between_waiting_and_the_move_that_it_caused() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    for name in ["web-0", "web-1", "web-2"] {
        cluster.pod(name, "cpu=2", json!({}));
    }
    for node in ["quay", "mole"] {
        cluster.after(20);
        // Room for one of them.
        cluster.node(node, "cpu=2");
    }
    cluster.after(20);
    cluster.pod("web-3", "cpu=2", json!({}));
    cluster.node("jetty", "cpu=1");
    assert_eq!(
        cluster.lines("web-2"),
        [
            "+0s  queued (UnschedulablePodAdd)",
            "+0s  attempt 1",
            "+0s    NodeResourcesFit: 1 Insufficient cpu",
            "+0s  waits for an event (ScheduleAttemptFailure)",
            "+20s    NodeAdd: NodeResourcesFit says worth a retry",
            "+20s  ready to be tried (NodeAdd, for NodeResourcesFit)",
            "+20s  attempt 2",
            "+20s    NodeResourcesFit: 2 Insufficient cpu",
            "+20s  waits for an event (ScheduleAttemptFailure)",
            "+40s    NodeAdd: NodeResourcesFit says worth a retry",
            "+40s  ready to be tried (NodeAdd, for NodeResourcesFit)",
            "+40s  attempt 3",
            "+40s    NodeResourcesFit: 3 Insufficient cpu",
            "+40s  waits for an event (ScheduleAttemptFailure)",
            "+1m    NodeAdd: NodeResourcesFit says no help",
        ]
    );
    // It came when those of its class had been asked about much before.
    assert_eq!(
        cluster.lines("web-3"),
        [
            "+0s  queued (UnschedulablePodAdd)",
            "+0s  attempt 1",
            "+0s    NodeResourcesFit: 3 Insufficient cpu",
            "+0s  waits for an event (ScheduleAttemptFailure)",
            "+0s    NodeAdd: NodeResourcesFit says no help",
        ]
    );
}

#[test]
fn what_went_wrong_is_told() {
    let mut cluster = TestCluster::new();
    cluster.pod("web", "", json!({}));
    let lines = cluster.lines("web");
    assert_eq!(lines[2], "+0s    failed: no nodes available to schedule pods");
    assert_eq!(lines[3], "+0s  backs off after an error (ScheduleAttemptFailure)");
}

#[test]
fn the_oldest_entries_go_first_and_are_counted() {
    let mut cluster = TestCluster::limited(JournalLimits { entries: 5, ..Default::default() });
    cluster.node("pier", "cpu=1");
    cluster.pod("web", "cpu=2", json!({}));
    for number in 0..5 {
        cluster.after(20);
        cluster.node_json(json!({
            "metadata": {"name": format!("quay-{number}")},
            "spec": {"taints": [{"key": "full", "effect": "NoSchedule"}]},
            "status": {"allocatable": testing::amounts("cpu=2 pods=1")},
        }));
    }
    let history = cluster.history("web");
    assert_eq!(history.iter().len(), 1 + 5);
    assert!(history.dropped > 10, "{history:?}");
    let first: Vec<String> = history.lines().take(2).collect();
    let dropped = format!("     …     {} entries are no longer kept", history.dropped);
    assert_eq!(first, ["      +0s  queued (UnschedulablePodAdd)".to_owned(), dropped]);
    let times: Vec<_> = history.iter().map(|entry| entry.at).collect();
    assert!(times.is_sorted());
}

#[test]
fn of_finished_pods_only_the_last_are_kept() {
    let mut cluster = TestCluster::limited(JournalLimits { finished: 2, ..Default::default() });
    cluster.node("pier", "cpu=1");
    for name in ["a", "b", "c"] {
        cluster.pod(name, "", json!({}));
    }
    cluster.pod("waits", "cpu=2", json!({}));
    let mut known: Vec<_> = cluster.journal().histories().into_iter().map(|pod| pod.name).collect();
    known.sort_unstable();
    assert_eq!(known, ["b", "c", "waits"]);
}

#[test]
fn memory_that_was_given_back_is_taken_anew() {
    let mut cluster = TestCluster::limited(JournalLimits { finished: 1, ..Default::default() });
    cluster.node("pier", "cpu=1");
    for round in 0..3 {
        let names = ["a", "b", "c", "d"].map(|name| format!("{name}{round}"));
        for name in &names {
            cluster.pod(name, "cpu=2", json!({}));
        }
        for name in &names {
            assert_eq!(cluster.lines(name).len(), 4, "queued, tried, refused, waiting");
        }
        names.iter().for_each(|name| cluster.delete(name));
    }
    assert_eq!(cluster.journal().histories().len(), 1);
}

#[test]
fn pods_beyond_the_limit_are_only_counted() {
    let mut cluster = TestCluster::limited(JournalLimits { pods: 2, ..Default::default() });
    cluster.node("pier", "cpu=1");
    for name in ["a", "b", "c"] {
        cluster.pod(name, "cpu=2", json!({}));
    }
    assert_eq!((cluster.journal().histories().len(), cluster.journal().untold()), (2, 1));
    cluster.delete("a");
    cluster.pod("d", "cpu=2", json!({}));
    assert_eq!(cluster.lines("d")[0], "+0s  queued (UnschedulablePodAdd)");
    assert_eq!(cluster.journal().history(&key("a")), None, "it made room");
}

#[test]
fn a_pod_of_the_same_name_starts_afresh() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    cluster.pod("web", "cpu=2", json!({}));
    cluster.delete("web");
    assert_eq!(cluster.lines("web").last().map(String::as_str), Some("+0s  left the queue"));
    cluster.after(5);
    cluster.pod("web", "cpu=1", json!({"metadata": {"uid": "another"}}));
    assert_eq!(cluster.lines("web").len(), 4, "queued, tried, found, bound");
}

#[test]
fn words_that_nobody_has_make_room_for_others() {
    let limits = JournalLimits { names: 8, finished: 1, ..Default::default() };
    let mut cluster = TestCluster::limited(limits);
    for number in 0..30 {
        let name = format!("n{number}");
        cluster.node(&name, "cpu=1");
        cluster.pod(&name, "cpu=1", json!({}));
        let lines = cluster.lines(&name);
        let last = lines.last().expect("a line");
        assert!(
            last.ends_with(&format!("bound to {name} after 1 attempt"))
                || last.ends_with("bound to … after 1 attempt"),
            "{last}"
        );
    }
}

#[test]
fn a_thread_writes_the_same_in_the_same_order() {
    let limits = JournalLimits { entries: 8, finished: 300, ..Default::default() };
    let told = |journal: Journal| {
        let mut cluster = TestCluster::new();
        let plugins = cluster.scheduler.queue().plugins().clone();
        *cluster.journal() = journal;
        crate::Observer::start(cluster.journal(), &plugins);
        for number in 0..20 {
            cluster.node(&format!("node-{number}"), "cpu=8");
        }
        for number in 0..600 {
            let asks = if number % 3 == 0 { "cpu=9" } else { "cpu=100m" };
            cluster.pod(&format!("pod-{number}"), asks, json!({}));
            // Reading in between makes no difference.
            if number % 50 == 0 {
                cluster.lines(&format!("pod-{number}"));
            }
            if number % 7 == 0 {
                cluster.after(1);
            }
        }
        cluster.node("large", "cpu=10");
        let mut told = cluster.journal().histories();
        told.sort_by(|a, b| a.name.cmp(&b.name));
        told
    };
    let at_once = told(Journal::new(limits));
    assert_eq!(at_once.len(), 300 + 199, "finished and waiting");
    assert_eq!(told(Journal::with_thread(limits)), at_once);
}

#[test]
fn a_history_is_data_too() {
    let mut cluster = TestCluster::new();
    cluster.node("pier", "cpu=1");
    cluster.pod("web", "cpu=2", json!({}));
    let data = serde_json::to_value(cluster.history("web")).expect("it serialises");
    assert_eq!(
        data["entries"][2],
        json!({"at": 1000.0, "what": "refused", "plugin": "NodeResourcesFit",
               "reason": "Insufficient cpu", "nodes": 1})
    );
    assert_eq!(data["entries"][3]["to"], "unschedulable");
    assert_eq!((&data["namespace"], &data["dropped"]), (&json!("default"), &json!(0)));
}
