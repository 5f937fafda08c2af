//! What would let a pod keep its spread, or break it.

use std::collections::BTreeMap;

use roadstead_model::{NodeInclusion, SpreadConstraint, WhenUnsatisfiable};

use super::counts::Rule;
use super::{NO_DOMAIN, TOO_MANY};
use crate::events;
use crate::explain::words::{counted_pods, joined};
use crate::explain::{Refusal, Remedies, WITHOUT, most_frequent, without_labels};
use crate::nodes::NodeInfo;

/// `hard` are the constraints that the pod must keep, its own or those of the cluster.
pub(super) fn remedies(hard: Vec<SpreadConstraint>, refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    let rules = refusal.context.nodes.count(|counts| Rule::all(counts, refusal.pod, hard));
    tell_labels(&rules, refusal, &mut remedies);
    tell_counts(&rules, refusal, &mut remedies);
    if !refusal.pod.spec().spread_constraints.is_empty() {
        relax(&rules, refusal, &mut remedies);
    }
    let counts_itself = |labels: &_| {
        rules.iter().any(|rule| {
            let selector = &rule.constraint().selector;
            selector.matches(&refusal.pod.spec().labels) && !selector.matches(labels)
        })
    };
    without_labels(refusal, counts_itself, &mut remedies);
    // Only the pod's own tolerations matter, and they only where taints do.
    remedies.never(events::ASSIGNED_POD, &[events::UPDATE_POD_TOLERATION]);
    if rules.iter().all(|rule| rule.constraint().node_taints_policy == NodeInclusion::Ignore) {
        remedies.never(events::UNSCHEDULABLE_POD, &[events::UPDATE_POD_TOLERATION]);
    }
    remedies
}

/// The labels that nodes lack, for as many sets of them as are told.
fn tell_labels(rules: &[Rule], refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let lacks = |node: &NodeInfo| -> Vec<String> {
        let keys = rules.iter().map(|rule| &rule.constraint().topology_key);
        keys.filter(|key| !node.node().labels.has(key)).map(ToString::to_string).collect()
    };
    for (keys, _) in most_frequent(refusal.because(NO_DOMAIN).map(lacks)) {
        remedies.cluster(format!("a node labelled {}", joined(&keys, "and")));
    }
}

/// How many pods are too many where, and how few elsewhere: of each set of constraints that some
/// node breaks, for the node that is nearest to taking the pod.
fn tell_counts(rules: &[Rule], refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let broken = |node: &NodeInfo| -> Vec<(usize, i64, String)> {
        let excess = |rule: &Rule| rule.excess(node).filter(|excess| *excess > 0);
        let value = |rule: &Rule| node.node().labels.get(&rule.constraint().topology_key).cloned();
        let rules = rules.iter().enumerate();
        rules.filter_map(|(at, r)| Some((at, excess(r)?, value(r)?.to_string()))).collect()
    };
    let mut nearest: BTreeMap<Vec<usize>, Vec<(usize, i64, String)>> = BTreeMap::new();
    for broken in refusal.because(TOO_MANY).map(broken).filter(|broken| !broken.is_empty()) {
        let worst = |broken: &[(usize, i64, String)]| {
            broken.iter().map(|(_, excess, _)| *excess).sum::<i64>()
        };
        let known = nearest.entry(broken.iter().map(|(at, ..)| *at).collect());
        let known = known.or_insert_with(|| broken.clone());
        if (worst(&broken), &broken) < (worst(known), &*known) {
            *known = broken;
        }
    }
    for broken in nearest.into_values() {
        let fewer = |(at, excess, value): &(usize, i64, String)| {
            let SpreadConstraint { topology_key: key, selector, .. } = rules[*at].constraint();
            format!("{} on nodes with {key}={value}", counted_pods(*excess, "fewer", selector))
        };
        remedies.cluster(broken.iter().map(fewer).collect::<Vec<_>>().join("; and "));
        if let [(at, excess, value)] = broken.as_slice() {
            remedies.cluster(more_elsewhere(&rules[*at], *excess, value));
        }
    }
}

/// What the emptiest domains lack, while the domain of `value` has so many too many.
fn more_elsewhere(rule: &Rule, excess: i64, value: &str) -> String {
    let SpreadConstraint { topology_key: key, selector, .. } = rule.constraint();
    match rule.missing_domains() {
        missing @ 1.. => {
            let values = if missing == 1 { "value" } else { "values" };
            format!("nodes with {missing} more {values} of {key}")
        }
        _ => {
            let least = counted_pods(rule.lowest() + excess, "", selector);
            format!("at least {least} in every {key} but {value}")
        }
    }
}

/// The pod with a constraint that asks for less.
fn relax(rules: &[Rule], refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let own = refusal.pod.spec().spread_constraints.iter().enumerate();
    let is_hard = |c: &SpreadConstraint| c.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
    for ((at, constraint), rule) in own.filter(|(_, own)| is_hard(own)).zip(rules) {
        let key = &constraint.topology_key;
        let mut steps: Vec<i64> = Vec::new();
        for node in refusal.because(TOO_MANY) {
            // Those that the node is kept for may count as well.
            let kept = refusal.context.nominations.to(node.name()).len() as i64;
            let excess = rule.excess(node).unwrap_or(0);
            steps.extend((excess..=excess + kept).filter(|more| *more > 0));
        }
        steps.sort_unstable();
        steps.dedup();
        for more in steps {
            let skew = i64::from(constraint.max_skew) + more;
            let Ok(skew) = i32::try_from(skew) else { break };
            let words = format!("it allowed a skew of {skew} over {key}");
            let size = SKEW + u32::try_from(more).unwrap_or(u32::MAX).min(WITHOUT - SKEW - 1);
            let change = refusal.change(words, size, |spec| {
                spec.spread_constraints[at].max_skew = skew;
            });
            remedies.of_pod.push(change.in_series(format!("skew {at}")));
        }
        let words = format!("it were scheduled anyway where it spreads badly over {key}");
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
            spec.spread_constraints[at].when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway;
        }));
    }
}

/// A little more skew is less than doing without the constraint.
const SKEW: u32 = 500;
