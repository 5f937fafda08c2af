//! How many pods of a kind there are on each node and in each domain.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Labels, Pod, Selector, Text};

use super::tally::Tally;
use super::topology::{DivisionId, Topology};
use crate::nodes::Slot;

/// Which pods are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GroupRule {
    /// Each of these means them.
    pub(crate) all_of: Box<[Matcher]>,
    /// Whether pods that are on their way out are left out.
    pub(crate) without_terminating: bool,
}

impl GroupRule {
    fn means(&self, namespace: &Text, labels: &Labels) -> bool {
        self.all_of.iter().all(|matcher| matcher.means(namespace, labels))
    }

    fn counts(&self, pod: &Pod) -> bool {
        !(self.without_terminating && pod.is_terminating())
    }
}

/// Pods by their labels and namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Matcher {
    /// Their labels.
    pub(crate) selector: Selector,
    /// Their namespaces.
    pub(crate) namespaces: Namespaces,
}

/// Some namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Namespaces {
    /// All of them.
    All,
    /// Those of these names, sorted.
    Only(Box<[Text]>),
}

impl Matcher {
    fn means(&self, namespace: &Text, labels: &Labels) -> bool {
        let covers = match &self.namespaces {
            Namespaces::All => true,
            Namespaces::Only(names) => names.contains(namespace),
        };
        covers && self.selector.matches(labels)
    }
}

/// The pods on nodes by namespace and labels, and the groups of them that somebody has asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    pods: HashMap<Text, HashMap<Labels, Pods>>,
    groups: Vec<Option<Group>>,
    by_rule: HashMap<GroupRule, GroupId>,
}

/// A group's place in the list. It is used again once the group is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupId(usize);

/// All pods of one namespace with equal labels.
#[derive(Clone, Debug, Default)]
struct Pods {
    /// By slot, those that are on their way out apart.
    running: Tally,
    terminating: Tally,
    /// The groups that they are in.
    groups: Vec<GroupId>,
}

#[derive(Clone, Debug)]
struct Group {
    rule: GroupRule,
    by_slot: Arc<Tally>,
    by_domain: Vec<(DivisionId, Arc<Tally>)>,
    /// When it was last asked for.
    used: u64,
}

impl Groups {
    /// A pod comes to the node in a slot, which is in its domains already.
    pub(super) fn join(&mut self, topology: &Topology, slot: Slot, pod: &Pod) {
        let (namespace, labels) = (pod.namespace(), &pod.spec().labels);
        let alike = self.pods.entry(namespace.clone()).or_default();
        let alike = alike.entry(labels.clone()).or_insert_with(|| {
            let groups = (0..).zip(&self.groups).filter_map(|(at, group)| {
                group.as_ref()?.rule.means(namespace, labels).then_some(GroupId(at))
            });
            Pods { groups: groups.collect(), ..Pods::default() }
        });
        alike.tally(pod).add(slot.number(), 1);
        for GroupId(at) in &alike.groups {
            if let Some(group) = &mut self.groups[*at]
                && group.rule.counts(pod)
            {
                Arc::make_mut(&mut group.by_slot).add(slot.number(), 1);
                for (division, tally) in &mut group.by_domain {
                    if let Some(domain) = topology.get(*division).at(slot) {
                        Arc::make_mut(tally).add(domain.0, 1);
                    }
                }
            }
        }
    }

    /// A pod leaves the node in a slot, which is still in its domains.
    pub(super) fn leave(&mut self, topology: &Topology, slot: Slot, pod: &Pod) {
        let (namespace, labels) = (pod.namespace(), &pod.spec().labels);
        let in_namespace = self.pods.get_mut(namespace).expect("a pod leaves after it came");
        let alike = in_namespace.get_mut(labels).expect("a pod leaves after it came");
        alike.tally(pod).take(slot.number(), 1);
        for GroupId(at) in &alike.groups {
            if let Some(group) = &mut self.groups[*at]
                && group.rule.counts(pod)
            {
                Arc::make_mut(&mut group.by_slot).take(slot.number(), 1);
                for (division, tally) in &mut group.by_domain {
                    if let Some(domain) = topology.get(*division).at(slot) {
                        Arc::make_mut(tally).take(domain.0, 1);
                    }
                }
            }
        }
        if alike.running.total() + alike.terminating.total() == 0 {
            in_namespace.remove(labels);
            if in_namespace.is_empty() {
                self.pods.remove(namespace);
            }
        }
    }

    /// The group of that rule, counted if need be.
    pub(super) fn group(&mut self, rule: &GroupRule, now: u64) -> GroupId {
        if let Some(&id) = self.by_rule.get(rule) {
            if let Some(group) = &mut self.groups[id.0] {
                group.used = now;
            }
            return id;
        }
        let free = self.groups.iter().position(Option::is_none);
        let id = GroupId(free.unwrap_or(self.groups.len()));
        if id.0 == self.groups.len() {
            self.groups.push(None);
        }
        let mut by_slot = Tally::default();
        for (namespace, pods) in &mut self.pods {
            for (labels, alike) in pods {
                if rule.means(namespace, labels) {
                    let mut count = |(slot, number)| by_slot.add(slot, number);
                    alike.running.iter().for_each(&mut count);
                    if !rule.without_terminating {
                        alike.terminating.iter().for_each(count);
                    }
                    alike.groups.push(id);
                }
            }
        }
        let by_slot = Arc::new(by_slot);
        self.groups[id.0] =
            Some(Group { rule: rule.clone(), by_slot, by_domain: Vec::new(), used: now });
        self.by_rule.insert(rule.clone(), id);
        id
    }

    /// How many of the group there are on each node, by slot.
    pub(super) fn by_slot(&self, id: GroupId) -> &Arc<Tally> {
        &self.get(id).by_slot
    }

    /// How many of the group there are in each domain of a division, counted if need be.
    pub(super) fn by_domain(
        &mut self,
        topology: &Topology,
        id: GroupId,
        division: DivisionId,
    ) -> &Arc<Tally> {
        let group = self.groups[id.0].as_mut().expect(HELD);
        let known = group.by_domain.iter().position(|(known, _)| *known == division);
        let at = known.unwrap_or_else(|| {
            let (mut tally, nodes) = (Tally::default(), topology.get(division));
            for (slot, number) in group.by_slot.iter() {
                if let Some(domain) = nodes.at(Slot::new(slot as usize)) {
                    tally.add(domain.0, number);
                }
            }
            group.by_domain.push((division, Arc::new(tally)));
            group.by_domain.len() - 1
        });
        &group.by_domain[at].1
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.by_rule.len()
    }

    /// When each group was last asked for.
    pub(super) fn uses(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().flatten().map(|group| group.used)
    }

    /// Drops the groups that were not asked for since that time.
    pub(super) fn drop_unused(&mut self, since: u64) {
        for place in &mut self.groups {
            if let Some(group) = place.take_if(|group| group.used < since) {
                self.by_rule.remove(&group.rule);
            }
        }
        let groups = &self.groups;
        for alike in self.pods.values_mut().flat_map(HashMap::values_mut) {
            alike.groups.retain(|id| groups[id.0].is_some());
        }
    }

    /// Drops what was counted by divisions that are no more.
    pub(super) fn drop_divisions(&mut self, topology: &Topology) {
        for group in self.groups.iter_mut().flatten() {
            group.by_domain.retain(|(division, _)| topology.has(*division));
        }
    }

    fn get(&self, id: GroupId) -> &Group {
        self.groups[id.0].as_ref().expect(HELD)
    }
}

impl Pods {
    fn tally(&mut self, pod: &Pod) -> &mut Tally {
        if pod.is_terminating() { &mut self.terminating } else { &mut self.running }
    }
}

const HELD: &str = "a group is dropped only between questions";
