//! Made-up pods and their next versions.

use std::sync::Arc;

use super::Source;
use crate::trace::{Action, Labels, Pod, Uid};

pub(super) const GATES: [&str; 2] = ["example.com/gate", "example.com/other"];

/// A pod to be scheduled. `number` tells it from all others, also from those of its name.
pub(super) fn pod(source: &mut dyn Source, namespace: &str, name: &str, number: usize) -> Pod {
    Pod {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        uid: Uid(Arc::from(format!("uid-{number}"))),
        priority: priority(source),
        labels: labels(source),
        gates: gates(source, 15),
        nominated: nominated(source, 20),
        affinity: affinity(source),
        cpu: cpu(source),
        tolerations: if source.chance(20) { vec!["t1".to_owned()] } else { Vec::new() },
        node: String::new(),
    }
}

/// Another pod, on a node.
pub(super) fn assigned(source: &mut dyn Source, name: &str, number: usize) -> Pod {
    Pod {
        name: name.to_owned(),
        namespace: source.one_of(NAMESPACES).to_owned(),
        uid: Uid(Arc::from(format!("uid-{number}"))),
        priority: 0,
        labels: labels(source),
        gates: Vec::new(),
        nominated: String::new(),
        affinity: Labels::new(),
        cpu: cpu(source),
        tolerations: Vec::new(),
        node: node(source).to_owned(),
    }
}

/// Changes up to three things about a pod; sometimes to what they were.
pub(super) fn change(source: &mut dyn Source, pod: &mut Pod) {
    for _ in 0..source.one_of([0, 1, 1, 1, 1, 2, 2, 3]) {
        match source.below(12) {
            0..=2 => pod.labels = labels(source),
            3..=4 => pod.priority = priority(source),
            5 => pod.cpu = cpu(source),
            6 => pod.cpu /= 2,
            7..=8 if pod.gates.is_empty() => pod.gates = gates(source, 60),
            7..=8 => pod.gates.truncate(source.below(2) as usize),
            9 => pod.nominated = nominated(source, 60),
            10 => pod.affinity = affinity(source),
            _ => change_tolerations(pod),
        }
    }
}

/// Changes about a pod what can be said to have changed by `action`.
pub(super) fn bring_about(source: &mut dyn Source, pod: &mut Pod, action: Action) {
    if action.meets(Action::UPDATE_POD_LABEL) {
        pod.labels = labels(source);
    }
    if action.meets(Action::UPDATE_POD_SCALE_DOWN) {
        pod.cpu -= pod.cpu.min(1);
    }
    if action.meets(Action::UPDATE_POD_TOLERATION) {
        change_tolerations(pod);
    }
}

pub(super) fn labels(source: &mut dyn Source) -> Labels {
    let app = source.one_of([None, Some("x"), Some("y")]);
    let zone = source.one_of([None, Some("a"), Some("b"), Some("b"), Some("c")]);
    let pairs = [("app", app), ("zone", zone)];
    let present = pairs.into_iter().filter_map(|(key, value)| Some((key, value?)));
    present.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

pub(super) fn node(source: &mut dyn Source) -> &'static str {
    source.one_of(["node-1", "node-2"])
}

pub(super) const NAMESPACES: [&str; 3] = ["ns", "ns", "ns2"];

fn priority(source: &mut dyn Source) -> i32 {
    source.one_of([0, 0, 0, 0, -5, 5, 10, 10, 50, 100])
}

fn gates(source: &mut dyn Source, percent: u32) -> Vec<String> {
    let count = if source.chance(percent) { source.between(1, 2) as usize } else { 0 };
    GATES[..count].iter().map(|gate| (*gate).to_owned()).collect()
}

fn nominated(source: &mut dyn Source, percent: u32) -> String {
    if source.chance(percent) { node(source).to_owned() } else { String::new() }
}

fn affinity(source: &mut dyn Source) -> Labels {
    let app = source.one_of([None, None, None, Some("x"), Some("y")]);
    app.map(|app| ("app".to_owned(), app.to_owned())).into_iter().collect()
}

/// One more, or none after a few.
fn change_tolerations(pod: &mut Pod) {
    match pod.tolerations.len() {
        few @ 0..=2 => pod.tolerations.push(format!("t{}", few + 1)),
        _ => pod.tolerations.clear(),
    }
}

fn cpu(source: &mut dyn Source) -> i32 {
    source.one_of([0, 100, 500, 1000])
}
