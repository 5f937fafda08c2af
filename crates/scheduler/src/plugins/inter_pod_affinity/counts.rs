//! How many pods there are in each topology that decide whether another may go there.

use std::sync::Arc;

use roadstead_model::{Labels, Node, Pod, Text};

use super::matching::{self, Matching};
use crate::counts::{self, DivisionRule, GroupRule, Role, Table, Tally};
use crate::nodes::{NodeInfo, Nodes};

/// What matters to one waiting pod, counted over the cluster.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Terms of running pods that keep the pod away.
    pub(super) existing: Nearby,
    /// Pods that are all it requires near, once for each label that it requires them by.
    pub(super) near: Nearby,
    /// Pods that it requires not to be near, once for each term.
    pub(super) apart: Nearby,
}

impl Counts {
    /// What the cluster has counted.
    pub(super) fn over(nodes: &Nodes, matching: &Matching<'_>) -> Self {
        nodes.count(|counts| Self {
            existing: existing(counts, matching),
            near: near(counts, matching),
            apart: apart(counts, matching),
        })
    }

    /// The labels by which anything is counted.
    pub(super) fn topology_keys(&self) -> Vec<Text> {
        let all = [&self.existing, &self.near, &self.apart].into_iter();
        let mut keys: Vec<Text> =
            all.flat_map(|nearby| nearby.counted.iter()).map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Counts one pod more or less on a node.
    pub(super) fn change(&mut self, matching: &Matching<'_>, other: &Pod, node: &Node, by: i64) {
        for term in matching::required_anti(other) {
            if node.labels.has(&term.topology_key) && matching.others_term(term) {
                self.existing.change(&term.topology_key, &node.labels, by);
            }
        }
        if matching.is_company(other) {
            for (topology_key, _) in self.near.counted.clone().iter() {
                self.near.change(topology_key, &node.labels, by);
            }
        }
        for term in matching::required_anti(matching.pod) {
            if matching.own_term(term, other) {
                self.apart.change(&term.topology_key, &node.labels, by);
            }
        }
    }
}

fn existing(counts: &mut counts::Counts, matching: &Matching<'_>) -> Nearby {
    let keeps_away = |role| role == Role::RequiredAnti;
    let said = counts.said_of(matching.pod.spec(), matching.namespace_labels, keeps_away);
    Nearby::new(said.into_iter().map(|said| (said.topology_key, said.carriers)).collect())
}

fn near(counts: &mut counts::Counts, matching: &Matching<'_>) -> Nearby {
    let required = matching::required(matching.pod);
    let mut keys: Vec<&Text> = required.iter().map(|term| &term.topology_key).collect();
    keys.sort_unstable();
    keys.dedup();
    // One pod must be all of it.
    let all_of = required.iter().map(|term| matching.meant(term)).collect();
    let company = GroupRule { all_of, without_terminating: false };
    let table = |key: &Text| (key.clone(), counts.table(&company, &DivisionRule::by(key)));
    Nearby::new(keys.into_iter().map(table).collect())
}

fn apart(counts: &mut counts::Counts, matching: &Matching<'_>) -> Nearby {
    let unwanted = matching::required_anti(matching.pod).iter().map(|term| {
        let group = GroupRule { all_of: [matching.meant(term)].into(), without_terminating: false };
        let key = &term.topology_key;
        (key.clone(), counts.table(&group, &DivisionRule::by(key)))
    });
    Nearby::new(unwanted.collect())
}

/// Counts by topology, of which many copies differ a little.
#[derive(Clone, Debug)]
pub(super) struct Nearby {
    /// By label. One that is there twice counts as the sum.
    counted: Arc<[(Text, Table)]>,
    /// What this copy adds to what all share: a what-if is about one node, so a few lines do.
    changes: Vec<(Text, Text, i64)>,
    total: i64,
}

impl Nearby {
    fn new(counted: Vec<(Text, Table)>) -> Self {
        let total: u64 = counted.iter().map(|(_, table)| table.tally.total()).sum();
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        Self { counted: summed(counted).into(), changes: Vec::new(), total }
    }

    /// Counts so many more where a node with these labels is, as far as it has the label `key`.
    fn change(&mut self, key: &Text, labels: &Labels, by: i64) {
        let Some(value) = labels.get(key) else { return };
        self.total += by;
        let known = self.changes.iter_mut().find(|(k, v, _)| k == key && v == value);
        match known {
            Some((_, _, change)) => *change += by,
            None => self.changes.push((key.clone(), value.clone(), by)),
        }
    }

    /// Whether anything is counted in a topology that the node is part of.
    pub(super) fn is_any_at(&self, node: &NodeInfo) -> bool {
        if self.changes.is_empty() {
            return self.counted.iter().any(|(_, table)| table.at(node).is_some_and(|n| n > 0));
        }
        let counted = self.counted.iter().map(|(key, _)| key);
        let mut keys = counted.chain(self.changes.iter().map(|(key, _, _)| key));
        keys.any(|key| self.at(key, node) > 0)
    }

    /// Whether something is counted in every topology; `None` if the node is not part of all.
    pub(super) fn is_all_at(&self, node: &NodeInfo) -> Option<bool> {
        let mut is_all = true;
        for (key, table) in self.counted.iter() {
            let here = table.at(node)?;
            is_all &= if self.changes.is_empty() { here > 0 } else { self.at(key, node) > 0 };
        }
        Some(is_all)
    }

    /// The labels in whose topologies nothing is counted, or which the node does not have.
    pub(super) fn lacking_at(&self, node: &NodeInfo) -> impl Iterator<Item = &Text> {
        self.counted.iter().map(|(key, _)| key).filter(|key| self.at(key, node) <= 0)
    }

    /// Whether nothing is counted anywhere.
    pub(super) fn is_zero(&self) -> bool {
        self.total == 0
    }

    fn at(&self, key: &Text, node: &NodeInfo) -> i64 {
        let tables = self.counted.iter().filter(|(known, _)| known == key);
        let counted = tables.filter_map(|(_, table)| table.at(node)).map(i64::from);
        let value = node.node().labels.get(key);
        let is_here = |(k, v, _): &&(Text, Text, i64)| k == key && Some(v) == value;
        let changes = self.changes.iter().filter(is_here).map(|(_, _, change)| *change);
        counted.chain(changes).sum()
    }
}

/// The same counts, with one table for each label that has more than a few: every node is asked
/// for every table.
fn summed(counted: Vec<(Text, Table)>) -> Vec<(Text, Table)> {
    if counted.len() <= A_FEW {
        return counted;
    }
    let mut sums: Vec<(Text, Table)> = Vec::new();
    for (key, table) in counted {
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => {
                let tally: &mut Tally = Arc::make_mut(&mut sum.tally);
                table.tally.iter().for_each(|(domain, number)| tally.add(domain, number));
            }
            None => sums.push((key, table)),
        }
    }
    sums
}

const A_FEW: usize = 3;
