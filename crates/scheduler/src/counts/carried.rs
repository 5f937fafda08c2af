//! The terms that pods on nodes carry, and how many carry each in every domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use roadstead_model::{AffinityTerm, Class, Labels, Pod, PodSpec, Text, WeightedAffinityTerm};

use super::tally::Tally;
use super::topology::{DivisionId, DivisionRule, Topology};
use crate::nodes::Slot;

/// What a pod's term is to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// Required affinity.
    Required,
    /// Required anti-affinity.
    RequiredAnti,
    /// Preferred affinity with this weight; anti-affinity where it is negative.
    Preferred(i64),
}

/// All different terms of the pods on nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    /// In the order in which they came.
    terms: BTreeMap<TermId, CarriedTerm>,
    by_term: HashMap<(Role, AffinityTerm), TermId>,
    /// The terms of each class of pods that is on some node.
    carriers: HashMap<Class, Carrier>,
    memory: Memory,
    /// The number of the next term.
    next: u64,
}

/// A term's number. No number is ever given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TermId(u64);

/// A term that some pods on nodes carry.
#[derive(Clone, Debug)]
pub(super) struct CarriedTerm {
    pub(super) role: Role,
    pub(super) term: AffinityTerm,
    pub(super) division: DivisionId,
    /// How many carry it, by domain; those on nodes without the label are not counted.
    pub(super) by_domain: Arc<Tally>,
    /// How many lists of carriers it stands in.
    lists: usize,
}

#[derive(Clone, Debug)]
struct Carrier {
    /// A term that a pod has twice is here twice.
    terms: Box<[TermId]>,
    pods: usize,
}

/// Which terms speak of pods with certain labels in a namespace.
#[derive(Clone, Debug, Default)]
struct Memory {
    known: HashMap<Text, HashMap<Labels, Speaking>>,
    len: usize,
}

/// What is remembered of the terms that speak of some pods.
#[derive(Clone, Debug)]
struct Speaking {
    /// Terms from this one on have not been looked at.
    next: TermId,
    terms: Vec<TermId>,
    /// The labels that the pods' namespace had.
    namespace_labels: Labels,
}

impl Carried {
    /// A pod comes to the node in a slot, which is in its domains already.
    pub(super) fn join(&mut self, topology: &mut Topology, slot: Slot, pod: &Pod, now: u64) {
        if pod.spec().pod_affinity.is_none() {
            return;
        }
        if !self.carriers.contains_key(&pod.class) {
            let terms = terms(pod.spec()).map(|(role, term)| self.held(topology, role, term, now));
            let carrier = Carrier { terms: terms.collect(), pods: 0 };
            self.carriers.insert(pod.class.clone(), carrier);
        }
        let carrier = self.carriers.get_mut(&pod.class).expect("it was just put there");
        carrier.pods += 1;
        for id in &carrier.terms {
            let carried = self.terms.get_mut(id).expect(HELD);
            if let Some(domain) = topology.get(carried.division).at(slot) {
                Arc::make_mut(&mut carried.by_domain).add(domain.0, 1);
            }
        }
    }

    /// A pod leaves the node in a slot, which is still in its domains.
    pub(super) fn leave(&mut self, topology: &Topology, slot: Slot, pod: &Pod) {
        let Some(carrier) = self.carriers.get_mut(&pod.class) else { return };
        carrier.pods -= 1;
        for id in &carrier.terms {
            let carried = self.terms.get_mut(id).expect(HELD);
            if let Some(domain) = topology.get(carried.division).at(slot) {
                Arc::make_mut(&mut carried.by_domain).take(domain.0, 1);
            }
        }
        if carrier.pods == 0
            && let Some(carrier) = self.carriers.remove(&pod.class)
        {
            carrier.terms.iter().for_each(|id| self.release(*id));
        }
    }

    /// The terms that speak of pods with this pod's labels in its namespace, which has these
    /// labels; in the order in which they came.
    pub(super) fn about(
        &mut self,
        pod: &PodSpec,
        namespace_labels: &Labels,
    ) -> impl Iterator<Item = &CarriedTerm> {
        let Self { terms, memory, next, .. } = self;
        let speaking: &[TermId] = match terms.is_empty() {
            true => &[],
            false => memory.recall(terms, TermId(*next), pod, namespace_labels),
        };
        speaking.iter().map(|id| &terms[id])
    }

    /// The divisions that terms need.
    pub(super) fn divisions(&self) -> HashSet<DivisionId> {
        self.terms.values().map(|carried| carried.division).collect()
    }

    fn held(
        &mut self,
        topology: &mut Topology,
        role: Role,
        term: &AffinityTerm,
        now: u64,
    ) -> TermId {
        let id = *self.by_term.entry((role, term.clone())).or_insert_with(|| {
            let id = TermId(self.next);
            self.next += 1;
            let division = topology.division(&DivisionRule::by(&term.topology_key), now);
            let by_domain = Arc::default();
            let term = term.clone();
            self.terms.insert(id, CarriedTerm { role, term, division, by_domain, lists: 0 });
            id
        });
        self.terms.get_mut(&id).expect(HELD).lists += 1;
        id
    }

    fn release(&mut self, id: TermId) {
        let carried = self.terms.get_mut(&id).expect(HELD);
        carried.lists -= 1;
        if carried.lists == 0
            && let Some(carried) = self.terms.remove(&id)
        {
            self.by_term.remove(&(carried.role, carried.term));
        }
    }
}

impl Memory {
    /// Looks only at the terms that came since the last time, unless the namespace changed.
    fn recall(
        &mut self,
        terms: &BTreeMap<TermId, CarriedTerm>,
        next: TermId,
        pod: &PodSpec,
        namespace_labels: &Labels,
    ) -> &[TermId] {
        if self.len >= REMEMBERED {
            *self = Self::default();
        }
        let in_namespace = self.known.entry(pod.namespace.clone()).or_default();
        let speaking = in_namespace.entry(pod.labels.clone()).or_insert_with(|| {
            self.len += 1;
            Speaking::new(namespace_labels)
        });
        if speaking.namespace_labels != *namespace_labels {
            *speaking = Speaking::new(namespace_labels);
        }
        speaking.terms.retain(|id| terms.contains_key(id));
        for (id, carried) in terms.range(speaking.next..) {
            if carried.term.matches(&pod.namespace, &pod.labels, namespace_labels) {
                speaking.terms.push(*id);
            }
        }
        speaking.next = next;
        &speaking.terms
    }
}

impl Speaking {
    fn new(namespace_labels: &Labels) -> Self {
        Self { next: TermId(0), terms: Vec::new(), namespace_labels: namespace_labels.clone() }
    }
}

/// All terms of a pod.
fn terms(pod: &PodSpec) -> impl Iterator<Item = (Role, &AffinityTerm)> {
    pod.pod_affinity.iter().flat_map(|affinity| {
        let required = affinity.required.terms.iter().map(|term| (Role::Required, term));
        let apart = affinity.required_anti.terms.iter().map(|term| (Role::RequiredAnti, term));
        let preferred = |sign: i64| {
            move |weighted: &'_ WeightedAffinityTerm| {
                Role::Preferred(sign * i64::from(weighted.weight))
            }
        };
        let (near, far) = (preferred(1), preferred(-1));
        let near = affinity.preferred.terms.iter().map(move |w| (near(w), &w.term));
        let far = affinity.preferred_anti.terms.iter().map(move |w| (far(w), &w.term));
        required.chain(apart).chain(near).chain(far)
    })
}

const HELD: &str = "a term is there while a pod carries it";

/// For how many different pods it is remembered which terms speak of them.
const REMEMBERED: usize = 4_096;
