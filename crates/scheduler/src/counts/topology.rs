//! Which domain each node is in.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Labels, Node, NodeInclusion, NodeSelector, PodSpec, SpreadConstraint};
use roadstead_model::{Text, Toleration};

use super::tally::Tally;
use crate::nodes::{NodeInfo, Slot};

/// How nodes are divided into domains.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DivisionRule {
    /// The label whose values are the domains.
    key: Text,
    /// Other labels that a node must have, sorted.
    needs: Box<[Text]>,
    /// Whether nodes without the label are in the domain of the empty value.
    takes_unlabelled: bool,
    admission: Admission,
}

impl DivisionRule {
    /// All nodes that have the label.
    pub(crate) fn by(key: &Text) -> Self {
        Self {
            key: key.clone(),
            needs: Box::default(),
            takes_unlabelled: false,
            admission: Admission::default(),
        }
    }

    /// The nodes that a constraint of a pod counts, among those that have all these labels.
    pub(crate) fn of_constraint<'a>(
        constraint: &SpreadConstraint,
        pod: &PodSpec,
        needs: impl IntoIterator<Item = &'a Text>,
    ) -> Self {
        let key = &constraint.topology_key;
        let mut needs: Vec<Text> =
            needs.into_iter().filter(|other| *other != key).cloned().collect();
        needs.sort_unstable();
        needs.dedup();
        let admission = Admission::of_constraint(constraint, pod);
        Self { needs: needs.into(), admission, ..Self::by(key) }
    }

    /// The same, with nodes that do not have the label in the domain of the empty value.
    pub(crate) fn with_unlabelled(self) -> Self {
        Self { takes_unlabelled: true, ..self }
    }

    fn value<'a>(&self, node: &'a Node, no_value: &'a Text) -> Option<&'a Text> {
        let value = match node.labels.get(&self.key) {
            None if self.takes_unlabelled => no_value,
            labelled => labelled?,
        };
        let counts = self.needs.iter().all(|key| node.labels.has(key));
        (counts && self.admission.admits(node)).then_some(value)
    }
}

/// What keeps nodes from being counted: those that a pod could not go to anyway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Admission {
    node_selector: Option<Labels>,
    node_affinity: Option<NodeSelector>,
    /// Only these taints' tolerations; `None` where taints do not matter.
    tolerations: Option<Box<[Toleration]>>,
}

impl Admission {
    fn of_constraint(constraint: &SpreadConstraint, pod: &PodSpec) -> Self {
        let mut admission = Self::default();
        // What restricts nothing is left out, so that more pods share a division.
        if constraint.node_affinity_policy == NodeInclusion::Honor {
            admission.node_selector =
                Some(&pod.node_selector).filter(|pairs| !pairs.is_empty()).cloned();
            admission.node_affinity = pod.required_node_affinity.clone();
        }
        if constraint.node_taints_policy == NodeInclusion::Honor {
            admission.tolerations = Some(pod.tolerations.clone());
        }
        admission
    }

    fn admits(&self, node: &Node) -> bool {
        let has_pairs = |pairs: &Labels| pairs.is_subset_of(&node.labels);
        let is_meant = |terms: &NodeSelector| terms.matches(&node.labels, Some(&node.name));
        let is_tolerated = |tolerations: &[Toleration]| {
            let mut hard = node.taints.iter().filter(|taint| taint.effect.is_hard());
            hard.all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        };
        self.node_selector.as_ref().is_none_or(has_pairs)
            && self.node_affinity.as_ref().is_none_or(is_meant)
            && self.tolerations.as_deref().is_none_or(is_tolerated)
    }
}

/// A domain among those of one label. Those of different labels have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Domain(pub(super) u32);

impl Domain {
    /// The domain of the empty value, in every division.
    pub(crate) const UNLABELLED: Self = Self(0);

    /// As an index: domains are numbered from 0 on, and numbers used again.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Nodes divided into domains, as a [`DivisionRule`] says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Division {
    /// The domain of the node in each slot; [`NONE`] where the node does not count.
    by_slot: Vec<u32>,
    /// How many nodes each domain has.
    sizes: Tally,
}

impl Division {
    /// The node's domain, if it counts. It is a node of the cluster, or a copy of one.
    pub(crate) fn domain_of(&self, node: &NodeInfo) -> Option<Domain> {
        self.at(node.slot())
    }

    /// How many domains there are.
    pub(crate) fn domains(&self) -> usize {
        self.sizes.places()
    }

    pub(super) fn at(&self, slot: Slot) -> Option<Domain> {
        let domain = self.by_slot.get(slot.index()).copied().unwrap_or(NONE);
        (domain != NONE).then_some(Domain(domain))
    }

    fn put(&mut self, slot: Slot, domain: u32) {
        if slot.index() >= self.by_slot.len() {
            self.by_slot.resize(slot.index() + 1, NONE);
        }
        self.by_slot[slot.index()] = domain;
        self.sizes.add(domain, 1);
    }

    fn take(&mut self, slot: Slot) {
        if let Some(Domain(domain)) = self.at(slot) {
            self.by_slot[slot.index()] = NONE;
            self.sizes.take(domain, 1);
        }
    }
}

/// The nodes of a cluster, and all divisions of them that somebody has asked for.
#[derive(Clone, Debug)]
pub(super) struct Topology {
    nodes: Vec<Option<Arc<Node>>>,
    /// By label.
    values: HashMap<Text, Values>,
    divisions: Vec<Option<Divided>>,
    by_rule: HashMap<DivisionRule, DivisionId>,
    no_value: Text,
}

/// A division's place in the list. It is used again once the division is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DivisionId(usize);

#[derive(Clone, Debug)]
struct Divided {
    rule: DivisionRule,
    division: Arc<Division>,
    /// When it was last asked for.
    used: u64,
}

impl Topology {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            values: HashMap::new(),
            divisions: Vec::new(),
            by_rule: HashMap::new(),
            no_value: Text::unshared(""),
        }
    }

    /// A node takes a slot.
    pub(super) fn join(&mut self, slot: Slot, node: &Arc<Node>) {
        for (key, values) in &mut self.values {
            if let Some(value) = node.labels.get(key) {
                values.hold(value);
            }
        }
        for divided in self.divisions.iter_mut().flatten() {
            if let Some(value) = divided.rule.value(node, &self.no_value) {
                let domain = self.values[&divided.rule.key].number(value);
                Arc::make_mut(&mut divided.division).put(slot, domain);
            }
        }
        if slot.index() >= self.nodes.len() {
            self.nodes.resize(slot.index() + 1, None);
        }
        self.nodes[slot.index()] = Some(Arc::clone(node));
    }

    /// The node leaves its slot.
    pub(super) fn leave(&mut self, slot: Slot) {
        let Some(node) = self.nodes.get_mut(slot.index()).and_then(Option::take) else { return };
        for divided in self.divisions.iter_mut().flatten() {
            Arc::make_mut(&mut divided.division).take(slot);
        }
        for (key, values) in &mut self.values {
            if let Some(value) = node.labels.get(key) {
                values.release(value);
            }
        }
    }

    /// The division of that rule, made if need be.
    pub(super) fn division(&mut self, rule: &DivisionRule, now: u64) -> DivisionId {
        if let Some(&id) = self.by_rule.get(rule) {
            if let Some(divided) = &mut self.divisions[id.0] {
                divided.used = now;
            }
            return id;
        }
        let nodes = || self.nodes.iter().enumerate().filter_map(|(at, n)| Some((at, n.as_ref()?)));
        let values = self.values.entry(rule.key.clone()).or_insert_with(|| {
            let mut values = Values::new(&self.no_value);
            let labelled = nodes().filter_map(|(_, node)| node.labels.get(&rule.key));
            labelled.for_each(|value| values.hold(value));
            values
        });
        let mut division = Division::default();
        for (at, node) in nodes() {
            if let Some(value) = rule.value(node, &self.no_value) {
                division.put(Slot::new(at), values.number(value));
            }
        }
        let free = self.divisions.iter().position(Option::is_none);
        let id = DivisionId(free.unwrap_or(self.divisions.len()));
        if id.0 == self.divisions.len() {
            self.divisions.push(None);
        }
        let division = Arc::new(division);
        self.divisions[id.0] = Some(Divided { rule: rule.clone(), division, used: now });
        self.by_rule.insert(rule.clone(), id);
        id
    }

    /// The division with that number.
    pub(super) fn get(&self, id: DivisionId) -> &Arc<Division> {
        let divided = self.divisions[id.0].as_ref();
        &divided.expect("a division is kept while a table refers to it").division
    }

    /// How many divisions there are.
    pub(super) fn len(&self) -> usize {
        self.by_rule.len()
    }

    /// Whether there is a division with that number.
    pub(super) fn has(&self, id: DivisionId) -> bool {
        self.divisions.get(id.0).is_some_and(Option::is_some)
    }

    /// When each division was last asked for.
    pub(super) fn uses(&self) -> impl Iterator<Item = u64> {
        self.divisions.iter().flatten().map(|divided| divided.used)
    }

    /// Drops the divisions that were not asked for since that time, and what only they need; but
    /// none of those that are `pinned`.
    pub(super) fn drop_unused(&mut self, since: u64, pinned: impl Fn(DivisionId) -> bool) {
        for (at, place) in self.divisions.iter_mut().enumerate() {
            let is_unused = |divided: &mut Divided| divided.used < since && !pinned(DivisionId(at));
            if let Some(divided) = place.take_if(is_unused) {
                self.by_rule.remove(&divided.rule);
            }
        }
        let divisions = &self.divisions;
        let keys = || divisions.iter().flatten().map(|divided| &divided.rule.key);
        self.values.retain(|key, _| keys().any(|used| used == key));
    }
}

/// The values of a label, numbered.
#[derive(Clone, Debug)]
struct Values {
    numbers: HashMap<Text, u32>,
    /// How many nodes have each.
    nodes: Vec<usize>,
    free: Vec<u32>,
}

impl Values {
    /// The empty value is always there: nodes without the label may count as having it.
    fn new(no_value: &Text) -> Self {
        let numbers = [(no_value.clone(), Domain::UNLABELLED.0)].into_iter().collect();
        Self { numbers, nodes: vec![1], free: Vec::new() }
    }

    fn hold(&mut self, value: &Text) {
        let number = match self.numbers.get(value) {
            Some(number) => *number,
            None => {
                let number = self.free.pop().unwrap_or(self.nodes.len() as u32);
                if number as usize == self.nodes.len() {
                    self.nodes.push(0);
                }
                self.numbers.insert(value.clone(), number);
                number
            }
        };
        self.nodes[number as usize] += 1;
    }

    fn release(&mut self, value: &Text) {
        let number = self.number(value);
        let nodes = &mut self.nodes[number as usize];
        *nodes -= 1;
        if *nodes == 0 {
            self.numbers.remove(value);
            self.free.push(number);
        }
    }

    fn number(&self, value: &Text) -> u32 {
        self.numbers[value]
    }
}

const NONE: u32 = u32::MAX;
