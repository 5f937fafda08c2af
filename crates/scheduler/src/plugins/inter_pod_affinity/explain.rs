//! Which pods would have to come or go.

use std::collections::{BTreeMap, BTreeSet};

use roadstead_model::{AffinityTerm, PodAffinity, Text};
use roadstead_queue::Action;

use super::counts::{Counts, Nearby};
use super::matching::{self, Matching};
use super::{NO_COMPANY, UNWANTED_BY_COMPANY, UNWANTED_COMPANY};
use crate::events;
use crate::explain::words::{all_of, any_of, elsewhere, joined, pods};
use crate::explain::{Refusal, Remedies, WITHOUT, most_frequent, without_labels};
use crate::framework::Status;
use crate::nodes::NodeInfo;

pub(super) fn remedies(matching: &Matching<'_>, refusal: &Refusal<'_>) -> Remedies {
    let mut remedies = Remedies::default();
    Crowd::new(matching, refusal).tell(&mut remedies);
    if refusal.has(NO_COMPANY) {
        ask_for_less(refusal, &mut remedies);
    }
    if refusal.has(UNWANTED_COMPANY) {
        bear_more(refusal, &mut remedies);
    }
    if refusal.has(UNWANTED_BY_COMPANY) {
        without_labels(refusal, |_| true, &mut remedies);
    }
    if matching::required(refusal.pod).is_empty() {
        remedies.never(events::POD, &[Action::ADD]);
        if matching::required_anti(refusal.pod).is_empty() {
            remedies.never(events::ASSIGNED_POD, &[events::UPDATE_POD_LABEL]);
        }
    }
    remedies
}

/// What stands in the way on a node.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Obstacle {
    /// The node has no such label.
    NoLabel(Text),
    /// Nobody is near whom the pod requires, by this label and value.
    Lonely(Text, Text),
    /// Somebody is near of whom this term of the pod speaks, by this value.
    Unwanted(usize, Text),
    /// These keep it away.
    Kept(BTreeSet<String>),
}

/// Who is where, as far as it matters to the pod.
struct Crowd<'a> {
    refusal: &'a Refusal<'a>,
    /// Whom the pod requires.
    near: Nearby,
    /// By term of the pod, the values of its label where unwanted pods are.
    unwanted: Vec<BTreeSet<&'a Text>>,
    /// By label and value, the pods that keep it away from there.
    keepers: BTreeMap<(&'a Text, &'a Text), BTreeSet<String>>,
}

impl<'a> Crowd<'a> {
    fn new(matching: &Matching<'_>, refusal: &'a Refusal<'a>) -> Self {
        let nodes = refusal.context.nodes;
        let near = Counts::over(nodes, matching).near;
        let places = |term: &AffinityTerm| {
            let is_there =
                |node: &&NodeInfo| node.pods().iter().any(|other| matching.own_term(term, other));
            let taken = nodes.iter().filter(is_there);
            taken.filter_map(|node| node.node().labels.get(&term.topology_key)).collect()
        };
        let unwanted = matching::required_anti(refusal.pod).iter().map(places).collect();
        let mut keepers: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for node in nodes.iter() {
            for other in node.pods_with_affinity() {
                let terms = matching::required_anti(other).iter();
                for term in terms.filter(|term| matching.others_term(term)) {
                    if let Some(value) = node.node().labels.get(&term.topology_key) {
                        let name = format!("{}/{}", other.namespace(), other.name);
                        keepers.entry((&term.topology_key, value)).or_default().insert(name);
                    }
                }
            }
        }
        Self { refusal, near, unwanted, keepers }
    }

    /// All that stands in the way on a node. One that has company needs no more of it.
    fn obstacles(&self, node: &NodeInfo, status: &Status) -> Vec<Obstacle> {
        let labels = &node.node().labels;
        let mut all = Vec::new();
        if status.reasons().iter().any(|reason| reason == NO_COMPANY) {
            all.extend(self.near.lacking_at(node).map(|key| match labels.get(key) {
                Some(value) => Obstacle::Lonely(key.clone(), value.clone()),
                None => Obstacle::NoLabel(key.clone()),
            }));
        }
        // It is another node that is wanted.
        if all.iter().any(|obstacle| matches!(obstacle, Obstacle::NoLabel(_))) {
            all.retain(|obstacle| matches!(obstacle, Obstacle::NoLabel(_)));
            return all;
        }
        let terms = matching::required_anti(self.refusal.pod).iter().zip(&self.unwanted);
        for (at, (term, places)) in terms.enumerate() {
            let here = labels.get(&term.topology_key).filter(|value| places.contains(value));
            all.extend(here.map(|value| Obstacle::Unwanted(at, value.clone())));
        }
        let near = self.keepers.iter().filter(|((key, value), _)| labels.get(key) == Some(*value));
        let keepers: BTreeSet<String> = near.flat_map(|(_, names)| names.clone()).collect();
        if !keepers.is_empty() {
            all.push(Obstacle::Kept(keepers));
        }
        all
    }

    /// What would have to be otherwise, for the most frequent sets of obstacles. Where nodes differ
    /// only in which value of a label it is, they are told together.
    fn tell(&self, remedies: &mut Remedies) {
        let all = self.refusal.nodes.iter().map(|(node, status)| self.obstacles(node, status));
        let mut sets = most_frequent(all);
        sets.sort_by_key(|(set, _)| set.len());
        let mut single: BTreeMap<Obstacle, Vec<String>> = BTreeMap::new();
        for (set, _) in &sets {
            match set.as_slice() {
                [Obstacle::Lonely(key, value)] => {
                    let places = single.entry(Obstacle::Lonely(key.clone(), Text::unshared("")));
                    places.or_default().push(format!("{key}={value}"));
                }
                [Obstacle::Unwanted(at, value)] => {
                    let places = single.entry(Obstacle::Unwanted(*at, Text::unshared("")));
                    let key = &matching::required_anti(self.refusal.pod)[*at].topology_key;
                    places.or_default().push(format!("{key}={value}"));
                }
                _ => {}
            }
        }
        for (obstacle, places) in single {
            remedies.cluster(self.words(&obstacle, &any_of(places)));
        }
        for (set, _) in sets {
            if matches!(set.as_slice(), [] | [Obstacle::Lonely(..) | Obstacle::Unwanted(..)]) {
                continue;
            }
            let all = set.iter().map(|obstacle| self.words(obstacle, &self.place(obstacle)));
            remedies.cluster(all.collect::<Vec<_>>().join("; and "));
        }
    }

    fn place(&self, obstacle: &Obstacle) -> String {
        match obstacle {
            Obstacle::Lonely(key, value) => format!("{key}={value}"),
            Obstacle::Unwanted(at, value) => {
                let key = &matching::required_anti(self.refusal.pod)[*at].topology_key;
                format!("{key}={value}")
            }
            Obstacle::NoLabel(_) | Obstacle::Kept(_) => String::new(),
        }
    }

    fn words(&self, obstacle: &Obstacle, place: &str) -> String {
        match obstacle {
            Obstacle::NoLabel(key) => {
                format!("a node labelled {key}, and {} where it is so too", self.company())
            }
            Obstacle::Lonely(..) => format!("{} on a node with {place}", self.company()),
            Obstacle::Unwanted(at, _) => {
                let term = &matching::required_anti(self.refusal.pod)[*at];
                let nobody = pods(&term.selector, "no pod", "labelled");
                let elsewhere = elsewhere(term, self.refusal.pod.namespace());
                format!("{nobody}{elsewhere} on nodes with {place}")
            }
            Obstacle::Kept(names) => {
                let names = all_of(names.iter().cloned().collect());
                format!("{names} gone, whose anti-affinity keeps it away")
            }
        }
    }

    /// Whom the pod requires: of several terms, one pod must be what all of them say.
    fn company(&self) -> String {
        let own = self.refusal.pod.namespace();
        let terms = matching::required(self.refusal.pod).iter();
        let meant = |term: &AffinityTerm| {
            (pods(&term.selector, "", "labelled") + &elsewhere(term, own)).trim().to_owned()
        };
        let mut all: Vec<String> = terms.map(meant).filter(|words| !words.is_empty()).collect();
        all.dedup();
        format!("a pod {}", joined(&all, "and")).trim_end().to_owned()
    }
}

/// The pod without one of the terms that it requires company by.
fn ask_for_less(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let own = refusal.pod.namespace();
    for (at, term) in matching::required(refusal.pod).iter().enumerate() {
        let what = pods(&term.selector, "a pod", "labelled") + &elsewhere(term, own);
        let words = format!("it did not ask for {what} near by {}", term.topology_key);
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
            drop_term(&mut spec.pod_affinity, at, |affinity| &mut affinity.required.terms);
        }));
    }
}

/// The pod without one of the terms by which it keeps away from others.
fn bear_more(refusal: &Refusal<'_>, remedies: &mut Remedies) {
    let own = refusal.pod.namespace();
    for (at, term) in matching::required_anti(refusal.pod).iter().enumerate() {
        let what = pods(&term.selector, "pods", "labelled") + &elsewhere(term, own);
        let words = format!("it did not keep away from {what} by {}", term.topology_key);
        remedies.of_pod.push(refusal.change(words, WITHOUT, |spec| {
            drop_term(&mut spec.pod_affinity, at, |affinity| &mut affinity.required_anti.terms);
        }));
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
