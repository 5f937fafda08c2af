//! Scoring: the fewer pods of its kind in a node's domains, the better.

use std::sync::Arc;

use roadstead_model::{Pod, SpreadConstraint, Text, WhenUnsatisfiable};

use super::PodTopologySpread;
use super::counts::group;
use crate::counts::{Counts, Division, DivisionRule, Domain, NodeTally, Table};
use crate::framework::{Context, CycleState, Feasible, PreScore, PreScoreAnswer, Score, Status};
use crate::nodes::NodeInfo;

impl PreScore for PodTopologySpread {
    fn pre_score(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        nodes: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        if context.nodes.is_empty() {
            return Ok(PreScoreAnswer::Skip);
        }
        let soft =
            self.defaults.constraints(context.listers, pod, WhenUnsatisfiable::ScheduleAnyway);
        let soft = soft.map_err(|error| {
            Status::error(format!(
                "calculating preScoreState: obtaining pod's soft topology spread constraints: \
                 {error}"
            ))
        })?;
        if soft.is_empty() {
            return Ok(PreScoreAnswer::Skip);
        }
        let need_all_labels = self.defaults.need_all_labels(pod);
        let mut scoring =
            context.nodes.count(|counts| Scoring::new(counts, pod, &soft, need_all_labels));
        scoring.weigh(nodes.list());
        state.put_for_search(SCORE_STATE, Arc::new(scoring));
        Ok(PreScoreAnswer::Proceed)
    }
}

impl Score for PodTopologySpread {
    fn score(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let scoring = state.get::<Arc<Scoring>>(SCORE_STATE).ok_or_else(not_prepared)?;
        if scoring.ignores(node) {
            return Ok(0);
        }
        let scores = scoring.tendencies.iter().filter_map(|tendency| tendency.score(node));
        // Rounded half away from zero, in both languages.
        Ok(scores.sum::<f64>().round() as i64)
    }

    /// The emptier the better: the highest score is turned into the lowest. Nodes that count for
    /// nothing get nothing.
    fn normalize(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        nodes: &[&NodeInfo],
        scores: &mut [i64],
    ) -> Result<(), Status> {
        let scoring = state.get::<Arc<Scoring>>(SCORE_STATE).ok_or_else(not_prepared)?;
        let ignored: Vec<bool> = nodes.iter().map(|node| scoring.ignores(node)).collect();
        let counted = || scores.iter().zip(&ignored).filter(|(_, ignored)| !**ignored);
        let min = counted().map(|(score, _)| *score).min().unwrap_or(0);
        let max = counted().map(|(score, _)| *score).max().unwrap_or(0).max(0);
        for (score, is_ignored) in scores.iter_mut().zip(&ignored) {
            *score = match (is_ignored, max) {
                (true, _) => 0,
                (false, 0) => 100,
                (false, max) => 100 * (max + min - *score) / max,
            };
        }
        Ok(())
    }
}

/// What PreScore finds out.
struct Scoring {
    tendencies: Vec<Tendency>,
    /// Whether only nodes with the labels of all constraints count.
    need_all_labels: bool,
}

impl Scoring {
    /// The pods on all nodes count, also on those that cannot take the pod.
    fn new(
        counts: &mut Counts,
        pod: &Pod,
        soft: &[SpreadConstraint],
        need_all_labels: bool,
    ) -> Self {
        let keys = || soft.iter().map(|constraint| &constraint.topology_key);
        let tendency = |constraint: &SpreadConstraint| {
            let labelled = counts.division(&DivisionRule::by(&constraint.topology_key));
            let pods = if constraint.topology_key == HOSTNAME {
                Pods::OnNode(counts.by_node(&group(constraint, pod)))
            } else {
                let rule = |needs: &[&Text]| {
                    DivisionRule::of_constraint(constraint, pod.spec(), needs.iter().copied())
                };
                let division = if need_all_labels {
                    rule(&keys().collect::<Vec<_>>())
                } else {
                    rule(&[]).with_unlabelled()
                };
                Pods::InDomain(counts.table(&group(constraint, pod), &division))
            };
            Tendency { labelled, pods, ahead: constraint.max_skew.wrapping_sub(1), weight: 0.0 }
        };
        Self { tendencies: soft.iter().map(tendency).collect(), need_all_labels }
    }

    /// The more domains there are among the nodes that may take the pod, the more each counts.
    fn weigh(&mut self, nodes: &[&NodeInfo]) {
        let counting: Vec<&NodeInfo> =
            nodes.iter().copied().filter(|node| !self.ignores(node)).collect();
        for tendency in &mut self.tendencies {
            let size = match &tendency.pods {
                Pods::OnNode(_) => counting.len(),
                Pods::InDomain(_) => tendency.domains_of(&counting),
            };
            tendency.weight = ((size + 2) as f64).ln();
        }
    }

    fn ignores(&self, node: &NodeInfo) -> bool {
        let lacks_label = |tendency: &Tendency| tendency.labelled.domain_of(node).is_none();
        self.need_all_labels && self.tendencies.iter().any(lacks_label)
    }
}

/// A soft constraint.
struct Tendency {
    /// The nodes that have the constraint's label.
    labelled: Arc<Division>,
    pods: Pods,
    /// How far ahead of others a domain may be.
    ahead: i32,
    weight: f64,
}

/// How many pods there are.
enum Pods {
    /// Each node is a domain of its own, and counts in any case.
    OnNode(NodeTally),
    InDomain(Table),
}

impl Tendency {
    /// `None` if the node is in no domain.
    fn score(&self, node: &NodeInfo) -> Option<f64> {
        let domain = self.labelled.domain_of(node)?;
        let pods = match &self.pods {
            Pods::OnNode(tally) => tally.on(node),
            Pods::InDomain(table) => table.of(domain),
        };
        Some(f64::from(pods) * self.weight + f64::from(self.ahead))
    }

    /// How many domains these nodes are in; that of nodes without the label is one too.
    fn domains_of(&self, nodes: &[&NodeInfo]) -> usize {
        let mut seen: Vec<bool> = Vec::new();
        for node in nodes {
            let domain = self.labelled.domain_of(node).unwrap_or(Domain::UNLABELLED).index();
            if domain >= seen.len() {
                seen.resize(domain + 1, false);
            }
            seen[domain] = true;
        }
        seen.into_iter().filter(|seen| *seen).count()
    }
}

fn not_prepared() -> Status {
    Status::error(format!("error reading \"{SCORE_STATE}\" from cycleState: not found"))
}

const SCORE_STATE: &str = "PreScorePodTopologySpread";
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
