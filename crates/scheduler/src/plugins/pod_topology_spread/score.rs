//! Scoring: the fewer pods of its kind in a node's domains, the better.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Labels, Pod, SpreadConstraint, Text, WhenUnsatisfiable};

use super::PodTopologySpread;
use super::counts::{has_all_keys, includes, matching_pods};
use crate::framework::{Context, CycleState, Feasible, PreScore, PreScoreAnswer, Score, Status};
use crate::nodes::{NodeInfo, Nodes};

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
        let mut scoring = Scoring {
            tendencies: soft.into_iter().map(Tendency::new).collect(),
            need_all_labels: self.defaults.need_all_labels(pod),
            no_value: self.no_value.clone(),
        };
        scoring.open_domains(nodes.list());
        scoring.count(context.nodes, pod);
        state.put(SCORE_STATE, Arc::new(scoring));
        Ok(PreScoreAnswer::Proceed)
    }
}

impl Score for PodTopologySpread {
    fn score(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let scoring = state.get::<Arc<Scoring>>(SCORE_STATE).ok_or_else(not_prepared)?;
        if scoring.ignores(&node.node().labels) {
            return Ok(0);
        }
        let scores = scoring.tendencies.iter().filter_map(|tendency| tendency.score(pod, node));
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
        let ignored: Vec<bool> =
            nodes.iter().map(|node| scoring.ignores(&node.node().labels)).collect();
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
    /// The value of a label that a node does not have.
    no_value: Text,
}

impl Scoring {
    /// The domains are those of the nodes that may take the pod; their number makes the weight.
    fn open_domains(&mut self, nodes: &[&NodeInfo]) {
        let labels = nodes.iter().map(|node| &node.node().labels);
        let counting: Vec<&Labels> = labels.filter(|labels| !self.ignores(labels)).collect();
        for tendency in &mut self.tendencies {
            let size = if tendency.is_by_host {
                counting.len()
            } else {
                let key = &tendency.constraint.topology_key;
                let values =
                    counting.iter().map(|labels| labels.get(key).unwrap_or(&self.no_value));
                tendency.domains = values.map(|value| (value.clone(), 0)).collect();
                tendency.domains.len()
            };
            tendency.weight = ((size + 2) as f64).ln();
        }
    }

    /// Counts the pods on all nodes, also those that cannot take the pod.
    fn count(&mut self, nodes: &Nodes, pod: &Pod) {
        for node in nodes.iter() {
            let labels = &node.node().labels;
            if self.ignores(labels) {
                continue;
            }
            for tendency in &mut self.tendencies {
                let constraint = &tendency.constraint;
                let value = labels.get(&constraint.topology_key).unwrap_or(&self.no_value);
                if let Some(count) = tendency.domains.get_mut(value)
                    && includes(constraint, pod, node.node())
                {
                    *count += matching_pods(constraint, pod, node);
                }
            }
        }
    }

    fn ignores(&self, labels: &Labels) -> bool {
        let constraints = self.tendencies.iter().map(|tendency| &tendency.constraint);
        self.need_all_labels && !has_all_keys(labels, constraints)
    }
}

/// A soft constraint.
struct Tendency {
    constraint: SpreadConstraint,
    /// Whether each node is a domain of its own, whose pods are counted when it is scored.
    is_by_host: bool,
    domains: HashMap<Text, i64>,
    weight: f64,
}

impl Tendency {
    fn new(constraint: SpreadConstraint) -> Self {
        let is_by_host = constraint.topology_key == HOSTNAME;
        Self { constraint, is_by_host, domains: HashMap::new(), weight: 0.0 }
    }

    /// `None` if the node is in no domain.
    fn score(&self, pod: &Pod, node: &NodeInfo) -> Option<f64> {
        let value = node.node().labels.get(&self.constraint.topology_key)?;
        let count = if self.is_by_host {
            matching_pods(&self.constraint, pod, node)
        } else {
            self.domains.get(value).copied().unwrap_or(0)
        };
        Some(count as f64 * self.weight + f64::from(self.constraint.max_skew.wrapping_sub(1)))
    }
}

fn not_prepared() -> Status {
    Status::error(format!("error reading \"{SCORE_STATE}\" from cycleState: not found"))
}

const SCORE_STATE: &str = "PreScorePodTopologySpread";
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";
