//! Which pods would have to come or go.

use std::collections::BTreeMap;

use roadstead_model::{AffinityTerm, PodAffinity, World};

use super::matching::{self, Matching};
use super::{NO_COMPANY, UNWANTED_BY_COMPANY, UNWANTED_COMPANY};
use crate::explain::words::{all_of, any_of, elsewhere, pods};
use crate::explain::{Refusal, Remedies, WITHOUT};

pub(super) fn remedies(matching: &Matching<'_>, refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    let pod = refusal.pod;
    let own = pod.namespace();
    if refusal.has(NO_COMPANY) {
        for (at, term) in matching::required(pod).iter().enumerate() {
            let what = pods(&term.selector, "a pod", "labelled") + &elsewhere(term, own);
            remedies.cluster(format!("{what} {}", place(refusal, term, NO_COMPANY)));
            let words = format!("it did not ask for {what} near by {}", term.topology_key);
            let change = refusal.change(words, WITHOUT, |spec| {
                drop_term(&mut spec.pod_affinity, at, |affinity| &mut affinity.required.terms);
            });
            remedies.of_pod.push(change);
        }
    }
    if refusal.has(UNWANTED_COMPANY) {
        for (at, term) in matching::required_anti(pod).iter().enumerate() {
            let what = pods(&term.selector, "no pod", "labelled") + &elsewhere(term, own);
            remedies.cluster(format!("{what} {}", place(refusal, term, UNWANTED_COMPANY)));
            let what = pods(&term.selector, "pods", "labelled") + &elsewhere(term, own);
            let words = format!("it did not keep away from {what} by {}", term.topology_key);
            let change = refusal.change(words, WITHOUT, |spec| {
                drop_term(&mut spec.pod_affinity, at, |affinity| &mut affinity.required_anti.terms);
            });
            remedies.of_pod.push(change);
        }
    }
    if refusal.has(UNWANTED_BY_COMPANY) {
        kept_away(matching, refusal, &mut remedies);
    }
    remedies
}

/// Running pods keep it away: they may go, or it may be labelled otherwise.
fn kept_away(matching: &Matching<'_>, refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let all = refusal.context.nodes.iter().flat_map(|node| node.pods_with_affinity());
    let keeps_away = all.filter(|other| {
        matching::required_anti(other).iter().any(|term| matching.others_term(term))
    });
    let names: Vec<String> =
        keeps_away.map(|other| format!("{}/{}", other.namespace(), other.name)).collect();
    remedies.cluster(format!("{} gone, whose anti-affinity keeps it away", all_of(names)));
    let labels = &refusal.pod.spec().labels;
    for (key, value) in labels.iter() {
        let words = format!("it were not labelled {key}={value}");
        remedies.of_pod.push(refusal.change(words, WITHOUT * 3 / 4, |spec| {
            let others = labels.iter().filter(|(other, _)| *other != key);
            let others: BTreeMap<String, String> =
                others.map(|(key, value)| (key.to_string(), value.to_string())).collect();
            spec.labels = World::new().labels(&others);
        }));
    }
}

/// Where it matters: the values of the term's label on the nodes that are refused for it.
fn place(refusal: &Refusal<'_>, term: &AffinityTerm, reason: &str) -> String {
    let key = &term.topology_key;
    let values: Vec<String> = refusal
        .because(reason)
        .filter_map(|node| node.node().labels.get(key))
        .map(|value| format!("{key}={value}"))
        .collect();
    match values.is_empty() {
        true => format!("and a node labelled {key}"),
        false => format!("on nodes with {}", any_of(values)),
    }
}

fn drop_term(
    affinity: &mut Option<Box<PodAffinity>>,
    at: usize,
    list: impl Fn(&mut PodAffinity) -> &mut Box<[AffinityTerm]>,
) {
    if let Some(affinity) = affinity {
        let terms = list(affinity);
        let others = terms.iter().enumerate().filter(|(other, _)| *other != at);
        *terms = others.map(|(_, term)| term.clone()).collect();
    }
}
