//! How many pods there are in each topology that decide whether another may go there.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Labels, Node, Pod, Text};

use super::matching::{self, Matching};
use crate::nodes::Nodes;

/// What matters to one waiting pod, counted over the cluster.
///
/// This is the only place where pods are counted for filtering: over all nodes once, and then one
/// by one as a what-if adds and removes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Terms of running pods that keep the pod away.
    pub(super) existing: Tally,
    /// Pods that are all it requires near, once for each of its terms.
    pub(super) near: Tally,
    /// Pods that it requires not to be near, once for each term.
    pub(super) apart: Tally,
}

impl Counts {
    /// Counts the pods on all nodes.
    pub(super) fn over(nodes: &Nodes, matching: &Matching<'_>) -> Self {
        let mut counts = Self::default();
        for node in nodes.iter() {
            let labels = &node.node().labels;
            for other in node.pods_with_affinity() {
                counts.change_existing(matching, other, labels, 1);
            }
            if matching.requires_anything() {
                for other in node.pods() {
                    counts.change_own(matching, other, labels, 1);
                }
            }
        }
        counts
    }

    /// Counts one pod more or less on a node.
    pub(super) fn change(&mut self, matching: &Matching<'_>, other: &Pod, node: &Node, by: i64) {
        self.change_existing(matching, other, &node.labels, by);
        self.change_own(matching, other, &node.labels, by);
    }

    fn change_existing(&mut self, matching: &Matching<'_>, other: &Pod, labels: &Labels, by: i64) {
        for term in matching::required_anti(other) {
            if labels.has(&term.topology_key) && matching.others_term(term) {
                self.existing.change(&term.topology_key, labels, by);
            }
        }
    }

    fn change_own(&mut self, matching: &Matching<'_>, other: &Pod, labels: &Labels, by: i64) {
        if matching.is_company(other) {
            for term in matching::required(matching.pod) {
                self.near.change(&term.topology_key, labels, by);
            }
        }
        for term in matching::required_anti(matching.pod) {
            if matching.own_term(term, other) {
                self.apart.change(&term.topology_key, labels, by);
            }
        }
    }
}

/// Counts by topology, of which many copies differ a little.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    counted: Arc<ByTopology>,
    /// What this copy adds to what all share: a what-if is about one node, so a few lines do.
    changes: Vec<(Text, Text, i64)>,
    total: i64,
}

impl Tally {
    fn change(&mut self, key: &Text, labels: &Labels, by: i64) {
        let Some(value) = labels.get(key) else { return };
        self.total += by;
        if let Some(counted) = Arc::get_mut(&mut self.counted) {
            return counted.add(key, value, by);
        }
        let known = self.changes.iter_mut().find(|(k, v, _)| k == key && v == value);
        match known {
            Some((_, _, change)) => *change += by,
            None => self.changes.push((key.clone(), value.clone(), by)),
        }
    }

    /// The count where the label `key` is `value`.
    pub(super) fn at(&self, key: &Text, value: &Text) -> i64 {
        let change = self.changes.iter().find(|(k, v, _)| k == key && v == value);
        self.counted.at(key, value).unwrap_or(0) + change.map_or(0, |(_, _, change)| *change)
    }

    /// Whether anything is counted in a topology that a node with these labels is part of.
    pub(super) fn is_any_at(&self, labels: &Labels) -> bool {
        let counted = self.counted.keys().chain(self.changes.iter().map(|(key, _, _)| key));
        let mut here = counted.filter_map(|key| Some((key, labels.get(key)?)));
        here.any(|(key, value)| self.at(key, value) > 0)
    }

    /// Whether nothing is counted anywhere.
    pub(super) fn is_zero(&self) -> bool {
        self.total == 0
    }
}

/// A number for each value of some node labels.
#[derive(Clone, Debug, Default)]
pub(super) struct ByTopology(Vec<(Text, HashMap<Text, i64>)>);

impl ByTopology {
    /// Adds to the number where the label `key` is `value`.
    pub(super) fn add(&mut self, key: &Text, value: &Text, number: i64) {
        // Topology keys are few, even where values are many.
        let known = self.0.iter().position(|(known, _)| known == key);
        let at = known.unwrap_or_else(|| {
            self.0.push((key.clone(), HashMap::new()));
            self.0.len() - 1
        });
        *self.0[at].1.entry(value.clone()).or_insert(0) += number;
    }

    /// The number where the label `key` is `value`, if there is one.
    pub(super) fn at(&self, key: &Text, value: &Text) -> Option<i64> {
        let (_, values) = self.0.iter().find(|(known, _)| known == key)?;
        values.get(value).copied()
    }

    /// The sum over all topologies that a node with these labels is part of.
    pub(super) fn sum_at(&self, labels: &Labels) -> i64 {
        let here =
            |(key, values): &(Text, HashMap<Text, i64>)| values.get(labels.get(key)?).copied();
        self.0.iter().filter_map(here).sum()
    }

    /// Whether there is no number at all, not even 0.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn keys(&self) -> impl Iterator<Item = &Text> {
        self.0.iter().map(|(key, _)| key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roadstead_model::World;

    #[test]
    fn a_copy_of_a_tally_counts_for_itself() {
        let mut world = World::new();
        let (zone, rack) = (world.text("zone"), world.text("rack"));
        let labels = world.labels(&[("zone".to_owned(), "a".to_owned())].into());
        let a = world.text("a");
        let mut tally = Tally::default();
        tally.change(&zone, &labels, 1);
        tally.change(&rack, &labels, 1);
        assert_eq!((tally.at(&zone, &a), tally.at(&rack, &a)), (1, 0), "the node has no rack");

        let mut copy = tally.clone();
        copy.change(&zone, &labels, -1);
        assert!(copy.is_zero() && !copy.is_any_at(&labels), "{copy:?}");
        assert!(!tally.is_zero() && tally.is_any_at(&labels), "{tally:?}");

        drop(copy);
        tally.change(&zone, &labels, 1);
        assert_eq!(tally.at(&zone, &a), 2);
    }
}
