//! How many pods there are in each domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Labels, Node, NodeInclusion, Pod, SpreadConstraint, Text};

use crate::nodes::{NodeInfo, Nodes};

/// The domains of a hard constraint and how many pods each has.
#[derive(Clone, Debug, Default)]
pub(super) struct Domains {
    counted: Arc<HashMap<Text, i64>>,
    /// Domains that this copy sees otherwise: a what-if is about one node, so they are few.
    changed: Vec<(Text, i64)>,
    /// How many domains have that many pods.
    by_count: BTreeMap<i64, usize>,
    len: usize,
}

impl Domains {
    /// Counts the pods on all nodes, for each constraint. Only nodes that have the labels of all
    /// constraints count for any.
    pub(super) fn over(nodes: &Nodes, pod: &Pod, constraints: &[SpreadConstraint]) -> Vec<Self> {
        let mut counted = vec![HashMap::new(); constraints.len()];
        for node in nodes.iter() {
            let labels = &node.node().labels;
            if !has_all_keys(labels, constraints) {
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(&mut counted) {
                if let Some(value) = labels.get(&constraint.topology_key)
                    && includes(constraint, pod, node.node())
                {
                    // A domain without pods is a domain.
                    *counts.entry(value.clone()).or_insert(0) +=
                        matching_pods(constraint, pod, node);
                }
            }
        }
        counted.into_iter().map(Self::new).collect()
    }

    fn new(counted: HashMap<Text, i64>) -> Self {
        let mut by_count = BTreeMap::new();
        for count in counted.values() {
            *by_count.entry(*count).or_insert(0) += 1;
        }
        let len = counted.len();
        Self { counted: Arc::new(counted), changed: Vec::new(), by_count, len }
    }

    /// Counts one pod more or less in a domain, which is there from now on.
    pub(super) fn change(&mut self, domain: &Text, by: i64) {
        let before = self.count(domain);
        let after = before.unwrap_or(0) + by;
        match before {
            Some(before) => self.forget(before),
            None => self.len += 1,
        }
        *self.by_count.entry(after).or_insert(0) += 1;
        match self.changed.iter_mut().find(|(known, _)| known == domain) {
            Some((_, count)) => *count = after,
            None => self.changed.push((domain.clone(), after)),
        }
    }

    /// How many pods there are in the domain, if it is one.
    pub(super) fn count(&self, domain: &Text) -> Option<i64> {
        let changed = self.changed.iter().find(|(known, _)| known == domain);
        changed.map(|(_, count)| *count).or_else(|| self.counted.get(domain).copied())
    }

    /// How many pods the emptiest domain has. With fewer domains than there should be, one that
    /// is not there yet is the emptiest.
    pub(super) fn minimum(&self, min_domains: i32) -> i64 {
        if i64::try_from(self.len).is_ok_and(|len| len < i64::from(min_domains)) {
            return 0;
        }
        self.by_count.first_key_value().map_or(i64::from(i32::MAX), |(count, _)| *count)
    }

    fn forget(&mut self, count: i64) {
        if let Some(domains) = self.by_count.get_mut(&count) {
            *domains -= 1;
            if *domains == 0 {
                self.by_count.remove(&count);
            }
        }
    }
}

/// Whether the labels have the topology keys of all constraints.
pub(super) fn has_all_keys<'a>(
    labels: &Labels,
    constraints: impl IntoIterator<Item = &'a SpreadConstraint>,
) -> bool {
    constraints.into_iter().all(|constraint| labels.has(&constraint.topology_key))
}

/// Whether the constraint of a pod takes the node into account.
pub(super) fn includes(constraint: &SpreadConstraint, pod: &Pod, node: &Node) -> bool {
    let honors = |policy| policy == NodeInclusion::Honor;
    let spec = pod.spec();
    let tolerates = || {
        let mut hard = node.taints.iter().filter(|taint| taint.effect.is_hard());
        hard.all(|taint| spec.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    };
    (!honors(constraint.node_affinity_policy)
        || spec.matches_node(&node.labels, &node.name) == Ok(true))
        && (!honors(constraint.node_taints_policy) || tolerates())
}

/// How many pods on the node count for the constraint of a pod.
pub(super) fn matching_pods(constraint: &SpreadConstraint, pod: &Pod, node: &NodeInfo) -> i64 {
    // Upstream's `CountPodsMatchSelector` takes a selector of everything for one of nothing.
    if constraint.selector.is_empty() {
        return 0;
    }
    let counts = |other: &&Arc<Pod>| {
        other.namespace() == pod.namespace()
            && !other.is_terminating()
            && constraint.selector.matches(&other.spec().labels)
    };
    node.pods().iter().filter(counts).map(|_| 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roadstead_model::World;

    #[test]
    fn the_minimum_follows_every_change() {
        let mut world = World::new();
        let [a, b, c] = ["a", "b", "c"].map(|domain| world.text(domain));
        let counted = Domains::new([(a.clone(), 2), (b.clone(), 3)].into_iter().collect());
        let rows = [
            // domain, change, minimum of one domain or more, of three or more
            (&a, 1, 3, 0),
            (&b, -3, 0, 0),
            (&b, 4, 3, 0),
            (&c, 5, 3, 3),
            (&a, 3, 4, 4),
            (&c, -6, -1, -1),
        ];
        let mut domains = counted.clone();
        for (domain, by, of_one, of_three) in rows {
            domains.change(domain, by);
            let found = (domains.minimum(1), domains.minimum(3));
            assert_eq!(found, (of_one, of_three), "{domain} by {by}");
        }
        assert_eq!((counted.minimum(1), counted.count(&a), counted.count(&c)), (2, Some(2), None));
    }
}
