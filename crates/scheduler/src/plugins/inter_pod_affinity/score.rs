//! Scoring: how much a pod and those that run would like each other near.

use std::sync::Arc;

use roadstead_model::Pod;

use super::InterPodAffinity;
use super::counts::ByTopology;
use super::matching::{self, Matching};
use crate::framework::{Context, CycleState, Feasible, PreScore, PreScoreAnswer, Score, Status};
use crate::nodes::NodeInfo;

impl PreScore for InterPodAffinity {
    fn pre_score(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        _: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status> {
        let affinity = pod.spec().pod_affinity.as_ref();
        if let Some(error) = affinity.and_then(|affinity| affinity.error()) {
            return Err(Status::error(format!("failed to parse pod: {error}")));
        }
        let has_preferences = matching::preferred(pod).next().is_some();
        if self.ignore_existing && !has_preferences {
            return Ok(PreScoreAnswer::Skip);
        }
        let matching = self.matching(context.listers, pod);
        let mut liking = ByTopology::default();
        for node in context.nodes.iter() {
            let others = if has_preferences { node.pods() } else { node.pods_with_affinity() };
            for other in others {
                self.add_liking(&mut liking, &matching, other, node);
            }
        }
        if liking.is_empty() {
            return Ok(PreScoreAnswer::Skip);
        }
        state.put(SCORE_STATE, Arc::new(liking));
        Ok(PreScoreAnswer::Proceed)
    }
}

impl InterPodAffinity {
    /// Adds what the waiting pod thinks of one that runs, and the other way round.
    fn add_liking(
        &self,
        liking: &mut ByTopology,
        matching: &Matching<'_>,
        other: &Pod,
        node: &NodeInfo,
    ) {
        let own =
            matching::preferred(matching.pod).filter(|(term, _)| matching.own_term(term, other));
        let hard_weight = Some(self.hard_weight).filter(|weight| *weight > 0);
        let required =
            matching::required(other).iter().filter_map(|term| Some((term, hard_weight?)));
        let others = required.chain(matching::preferred(other));
        let others = others.filter(|(term, _)| matching.others_term(term));
        for (term, weight) in own.chain(others) {
            if let Some(value) = node.node().labels.get(&term.topology_key) {
                liking.add(&term.topology_key, value, weight);
            }
        }
    }
}

impl Score for InterPodAffinity {
    fn score(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let liking = state.get::<Arc<ByTopology>>(SCORE_STATE).ok_or_else(not_prepared)?;
        Ok(liking.sum_at(&node.node().labels))
    }

    /// The least liked node gets 0, the most liked 100.
    fn normalize(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        _: &Pod,
        _: &[&NodeInfo],
        scores: &mut [i64],
    ) -> Result<(), Status> {
        let min = scores.iter().copied().min().unwrap_or(0);
        let range = scores.iter().copied().max().unwrap_or(0) - min;
        for score in scores {
            // In floating point, in this order, since upstream's results are cut to whole numbers.
            *score = match range {
                0 => 0,
                _ => (100.0 * ((*score - min) as f64 / range as f64)) as i64,
            };
        }
        Ok(())
    }
}

fn not_prepared() -> Status {
    Status::error(format!("failed to read \"{SCORE_STATE}\" from cycleState: not found"))
}

const SCORE_STATE: &str = "PreScoreInterPodAffinity";
