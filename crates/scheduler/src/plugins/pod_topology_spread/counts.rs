//! How many pods there are in each domain.

use std::sync::Arc;

use roadstead_model::{Labels, Pod, Selector, SpreadConstraint};

use crate::counts::{
    Counts, Division, DivisionRule, Domain, GroupRule, Matcher, Namespaces, Table,
};
use crate::nodes::NodeInfo;

/// A hard constraint of a pod, and how many pods each of its domains has.
pub(super) struct Rule {
    constraint: SpreadConstraint,
    /// 1 if the pod counts itself, else 0.
    own: i64,
    /// The nodes that have the constraint's label.
    labelled: Arc<Division>,
    /// The pods on nodes that count.
    counted: Table,
    lowest: Lowest,
    /// The most pods that a domain may have to take the pod as well.
    most: i64,
}

impl Rule {
    /// The hard constraints of a pod. Only nodes that have the labels of all count for any.
    pub(super) fn all(counts: &mut Counts, pod: &Pod, hard: Vec<SpreadConstraint>) -> Arc<[Self]> {
        let keys: Vec<_> = hard.iter().map(|constraint| constraint.topology_key.clone()).collect();
        let rule = |constraint: SpreadConstraint| {
            let own = i64::from(constraint.selector.matches(&pod.spec().labels));
            let labelled = counts.division(&DivisionRule::by(&constraint.topology_key));
            let division = DivisionRule::of_constraint(&constraint, pod.spec(), &keys);
            let counted = counts.table(&group(&constraint, pod), &division);
            let lowest = Lowest::of(&counted);
            let rule = Self { constraint, own, labelled, counted, lowest, most: 0 };
            Self { most: rule.most(&Changes::default(), 0), ..rule }
        };
        hard.into_iter().map(rule).collect()
    }

    /// Whether the node's domain may have one pod more; `None` if the node is in no domain.
    /// Whether the node itself counts is not asked: other plugins see to that.
    pub(super) fn admits(&self, changes: &Changes, at: usize, node: &NodeInfo) -> Option<bool> {
        let domain = self.labelled.domain_of(node)?;
        let pods = i64::from(self.counted.of(domain));
        if changes.0.is_empty() {
            return Some(pods <= self.most);
        }
        Some(pods + changes.in_domain(at, domain) <= self.most(changes, at))
    }

    /// How many pods too many there are in the node's domain for the pod to go there, above zero
    /// if it may not; `None` if the node is in no domain.
    pub(super) fn excess(&self, node: &NodeInfo) -> Option<i64> {
        let domain = self.labelled.domain_of(node)?;
        Some(i64::from(self.counted.of(domain)) - self.most)
    }

    /// How many domains there should be more, for the emptiest of those that are there to count.
    pub(super) fn missing_domains(&self) -> i64 {
        let domains = i64::try_from(self.counted.division.domains()).unwrap_or(i64::MAX);
        i64::from(self.constraint.min_domains) - domains
    }

    /// How many pods the emptiest domain has.
    pub(super) fn lowest(&self) -> i64 {
        self.minimum(&Changes::default(), 0)
    }

    pub(super) fn constraint(&self) -> &SpreadConstraint {
        &self.constraint
    }

    /// The domain of the node, if it counts and the constraint speaks of the other pod.
    pub(super) fn counts(&self, other: &Pod, node: &NodeInfo) -> Option<Domain> {
        let speaks_of_it = self.constraint.selector.matches(&other.spec().labels);
        self.counted.division.domain_of(node).filter(|_| speaks_of_it)
    }

    /// No domain may get further ahead of the emptiest than the constraint says.
    fn most(&self, changes: &Changes, at: usize) -> i64 {
        self.minimum(changes, at) + i64::from(self.constraint.max_skew) - self.own
    }

    /// How many pods the emptiest domain has. With fewer domains than there should be, one that
    /// is not there yet is the emptiest.
    fn minimum(&self, changes: &Changes, at: usize) -> i64 {
        let domains = i64::try_from(self.counted.division.domains()).unwrap_or(i64::MAX);
        if domains < i64::from(self.constraint.min_domains) {
            return 0;
        }
        let unchanged = self.lowest.without(&self.counted, || changes.domains(at));
        let changed = changes.of(at).map(|(domain, by)| i64::from(self.counted.of(domain)) + by);
        unchanged.map(i64::from).into_iter().chain(changed).min().unwrap_or(i32::MAX.into())
    }
}

/// What a what-if adds to what was counted, by constraint and domain. It is about one node, so a
/// few lines do.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Vec<(usize, Domain, i64)>);

impl Changes {
    pub(super) fn add(&mut self, constraint: usize, domain: Domain, by: i64) {
        let is_it =
            |(at, known, _): &&mut (usize, Domain, i64)| (*at, *known) == (constraint, domain);
        match self.0.iter_mut().find(is_it) {
            Some((_, _, change)) => *change += by,
            None => self.0.push((constraint, domain, by)),
        }
    }

    fn of(&self, constraint: usize) -> impl Iterator<Item = (Domain, i64)> {
        let of_it = self.0.iter().filter(move |(at, _, _)| *at == constraint);
        of_it.map(|(_, domain, by)| (*domain, *by))
    }

    fn domains(&self, constraint: usize) -> impl Iterator<Item = Domain> {
        self.of(constraint).map(|(domain, _)| domain)
    }

    fn in_domain(&self, constraint: usize, domain: Domain) -> i64 {
        self.of(constraint).find(|(known, _)| *known == domain).map_or(0, |(_, by)| by)
    }
}

/// The two lowest numbers of pods that any domain has, and how many domains have them.
///
/// With two of them it is known at once what the lowest is without a certain domain.
#[derive(Clone, Copy, Debug)]
struct Lowest([(u32, usize); 2]);

impl Lowest {
    fn of(counted: &Table) -> Self {
        let mut lowest = Self([(u32::MAX, 0); 2]);
        lowest.note(0, counted.division.domains() - counted.tally.places());
        for (pods, domains) in counted.tally.numbers().take(2) {
            lowest.note(pods, domains);
        }
        lowest
    }

    fn note(&mut self, pods: u32, domains: usize) {
        let [first, second] = &mut self.0;
        if domains == 0 {
        } else if first.1 == 0 || pods < first.0 {
            (*second, *first) = (*first, (pods, domains));
        } else if pods == first.0 {
            first.1 += domains;
        } else if second.1 == 0 || pods < second.0 {
            *second = (pods, domains);
        } else if pods == second.0 {
            second.1 += domains;
        }
    }

    /// The lowest number, without these domains; `None` if there are no others.
    fn without<I: Iterator<Item = Domain>>(
        self,
        counted: &Table,
        domains: impl Fn() -> I,
    ) -> Option<u32> {
        let left = |(pods, number): &(u32, usize)| {
            *number > domains().filter(|domain| counted.of(*domain) == *pods).count()
        };
        if let Some((pods, _)) = self.0.iter().find(|lowest| left(lowest)) {
            return Some(*pods);
        }
        // Three or more changed: a domain without pods is not among the others.
        let others = counted.iter().filter(|(domain, _)| domains().all(|known| known != *domain));
        others.map(|(_, pods)| pods).min()
    }
}

/// The pods that count for a constraint of a pod.
pub(super) fn group(constraint: &SpreadConstraint, pod: &Pod) -> GroupRule {
    // Upstream's `CountPodsMatchSelector` takes a selector of everything for one of nothing.
    let is_everything = constraint.selector.is_empty();
    let selector = if is_everything { Selector::nothing() } else { constraint.selector.clone() };
    let namespaces = Namespaces::Only([pod.namespace().clone()].into());
    GroupRule { all_of: [Matcher { selector, namespaces }].into(), without_terminating: true }
}

/// Whether the labels have the topology keys of all constraints.
pub(super) fn has_all_keys<'a>(
    labels: &Labels,
    constraints: impl IntoIterator<Item = &'a SpreadConstraint>,
) -> bool {
    constraints.into_iter().all(|constraint| labels.has(&constraint.topology_key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    #[test]
    fn the_lowest_number_is_known_without_any_domains() {
        let zones = ["a", "b", "c", "d", "e"];
        let node = |zone| json!({"metadata": {"labels": {"zone": zone}}});
        let pod = |node| json!({"spec": {"nodeName": format!("node-{node}")}});
        // 1, 1, 2, 3 and 3 pods.
        let pods = [1, 2, 3, 3, 4, 4, 4, 5, 5, 5].map(pod);
        let nodes = zones.map(node);
        let mut cluster = testing::cluster(json!({"nodes": nodes, "pods": pods}));
        let waiting = cluster.pod(json!({"spec": {"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}}]}}));
        let hard = waiting.spec().spread_constraints.to_vec();
        let rules = cluster.nodes.count(|counts| Rule::all(counts, &waiting, hard));
        let domain = |zone: &str| {
            let at = zones.iter().position(|known| *known == zone).expect("a zone");
            let node = cluster.nodes.at(at).expect("a node of that zone");
            rules[0].labelled.domain_of(node).expect("a zone")
        };
        #[rustfmt::skip]
        let rows: [(&[&str], Option<u32>); 7] = [
            (&[],                        Some(1)),
            (&["a"],                     Some(1)),
            (&["a", "b"],                Some(2)),
            (&["a", "c", "d"],           Some(1)),
            (&["a", "b", "c"],           Some(3)),
            (&["a", "b", "c", "d"],      Some(3)),
            (&["a", "b", "c", "d", "e"], None),
        ];
        for (without, expected) in rows {
            let gone = || without.iter().map(|zone| domain(zone));
            let found = rules[0].lowest.without(&rules[0].counted, gone);
            assert_eq!(found, expected, "without {without:?}");
        }
    }
}
