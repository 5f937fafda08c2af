//! Made-up configurations: the settings of the recorded traces, in any combination.

use super::Source;
use crate::trace::{Action as A, Event, Header, Hint, HintResult, Rule};

pub(super) fn header(source: &mut dyn Source) -> Header {
    let (initial_backoff_ms, max_backoff_ms) = source.one_of([
        (1000, 10_000),
        (1000, 10_000),
        (1000, 10_000),
        (250, 2000),
        (700, 5000),
        (6000, 10_000),
        (4000, 1500),
        (1000, 0),
        (1, 600_000),
    ]);
    Header {
        name: "made up".to_owned(),
        about: None,
        quirk: None,
        start_ms: 1_700_000_000_000 + u64::from(source.below(10_000)),
        initial_backoff_ms,
        max_backoff_ms,
        max_in_unschedulable_ms: source.one_of([300_000, 300_000, 20_000, 5000, 3000, 1000]),
        queueing_hints: source.below(2) == 0,
        pop_from_backoff: source.below(2) == 0,
        gates: super::pods::GATES.map(str::to_owned).to_vec(),
        hints: hints(source),
    }
}

/// Plugins that may reject a pod, and what they register for, if they do.
#[rustfmt::skip]
pub(super) const PLUGINS: [(&str, &[(&str, A)]); 15] = [
    ("Fit",               &[("Node", A::ADD.or(A::UPDATE_NODE_ALLOCATABLE)), ("Pod", A::DELETE.or(A::UPDATE_POD_SCALE_DOWN))]),
    ("Zone",              &[("Node", A::ADD.or(A::UPDATE_NODE_LABEL))]),
    ("Taint",             &[("Node", A::ADD.or(A::UPDATE_NODE_TAINT)), ("Pod", A::UPDATE_POD_TOLERATION)]),
    ("Tolerations",       &[("Pod", A::UPDATE_POD_TOLERATION)]),
    ("Scale",             &[("Pod", A::UPDATE_POD_SCALE_DOWN.or(A::UPDATE_POD_LABEL))]),
    ("Labels",            &[("Pod", A::UPDATE_POD_LABEL)]),
    ("InterPodAffinity",  &[("Pod", A::ADD.or(A::UPDATE_POD_LABEL).or(A::DELETE)), ("Node", A::ADD.or(A::UPDATE_NODE_LABEL))]),
    ("PodTopologySpread", &[("Pod", A::ADD.or(A::UPDATE_POD_LABEL).or(A::DELETE)), ("Node", A::ADD.or(A::DELETE).or(A::UPDATE_NODE_LABEL))]),
    ("Volumes",           &[("PersistentVolumeClaim", A::ADD.or(A::UPDATE)), ("PersistentVolume", A::ADD.or(A::UPDATE))]),
    ("Claims",            &[("resource.k8s.io/ResourceClaim", A::ALL), ("Pod", A::UPDATE_POD_GENERATED_RESOURCE_CLAIM)]),
    ("AnyPodUpdate",      &[("Pod", A::UPDATE)]),
    ("AnyAdd",            &[("*", A::ADD)]),
    ("Everything",        &[("*", A::ALL)]),
    ("Broken",            &[("Node", A::DELETE.or(A::UPDATE_NODE_CONDITION)), ("Pod", A::UPDATE_POD_LABEL)]),
    ("NoEvents",          &[]),
];

fn hints(source: &mut dyn Source) -> Vec<Hint> {
    let mut hints = Vec::new();
    for (plugin, registered) in PLUGINS {
        // One that hears everything leaves little for the others to show.
        let percent = if plugin == "Everything" { 5 } else { 45 };
        if registered.is_empty() || !source.chance(percent) {
            continue;
        }
        let events = registered.iter().map(|(resource, action)| Event::new(resource, *action));
        hints.push(Hint {
            plugin: plugin.to_owned(),
            events: events.collect(),
            rule: rule(source, plugin),
        });
    }
    hints
}

fn rule(source: &mut dyn Source, plugin: &str) -> Rule {
    if plugin == "Broken" {
        return Rule::Error {};
    }
    match source.below(10) {
        0..=4 => Rule::Always { result: HintResult::Queue },
        5 => Rule::Always { result: HintResult::Skip },
        6..=8 => Rule::Label { key: source.one_of(["app", "zone"]).to_owned() },
        _ => Rule::Error {},
    }
}
