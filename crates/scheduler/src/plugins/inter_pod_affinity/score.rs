//! Scoring: how much a pod and those that run would like each other near.

use std::sync::Arc;

use roadstead_model::{Pod, Text};

use super::InterPodAffinity;
use super::matching::{self, Matching};
use crate::counts::{Counts, Division, DivisionRule, GroupRule, Role, Table};
use crate::framework::{
    Context, CycleState, Feasible, PreScore, PreScoreAnswer, Reach, Scaling, Score, Status,
};
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
        let is_alone = self.ignore_existing || !context.nodes.have_pods_with_affinity();
        if is_alone && !has_preferences {
            return Ok(PreScoreAnswer::Skip);
        }
        let matching = self.matching(context.listers, pod);
        let liking = context.nodes.count(|counts| self.liking(counts, &matching));
        if liking.0.is_empty() {
            return Ok(PreScoreAnswer::Skip);
        }
        state.put_for_search(SCORE_STATE, Arc::new(liking));
        Ok(PreScoreAnswer::Proceed)
    }
}

impl InterPodAffinity {
    /// What the waiting pod thinks of those that run, and the other way round.
    fn liking(&self, counts: &mut Counts, matching: &Matching<'_>) -> Liking {
        let mut liking = Liking::default();
        for (term, weight) in matching::preferred(matching.pod) {
            let all_of = [matching.meant(term)].into();
            let group = GroupRule { all_of, without_terminating: false };
            let table = counts.table(&group, &DivisionRule::by(&term.topology_key));
            liking.add(&term.topology_key, &table, weight);
        }
        let weight = |role| match role {
            Role::Required => Some(self.hard_weight).filter(|weight| *weight > 0),
            Role::RequiredAnti => None,
            Role::Preferred(weight) => Some(weight),
        };
        let is_weighed = |role| weight(role).is_some();
        for said in counts.said_of(matching.pod.spec(), matching.namespace_labels, is_weighed) {
            if let Some(weight) = weight(said.role) {
                liking.add(&said.topology_key, &said.carriers, weight);
            }
        }
        liking
    }
}

/// How much each domain is liked, for each label that anybody who runs speaks of.
#[derive(Default)]
struct Liking(Vec<LikingBy>);

struct LikingBy {
    topology_key: Text,
    division: Arc<Division>,
    by_domain: Vec<i64>,
}

impl Liking {
    fn add(&mut self, topology_key: &Text, table: &Table, weight: i64) {
        // Who is in no domain adds nothing, not even 0.
        if table.tally.total() == 0 {
            return;
        }
        let known = self.0.iter().position(|known| known.topology_key == *topology_key);
        let at = known.unwrap_or_else(|| {
            let (topology_key, division) = (topology_key.clone(), table.division.clone());
            self.0.push(LikingBy { topology_key, division, by_domain: Vec::new() });
            self.0.len() - 1
        });
        let by_domain = &mut self.0[at].by_domain;
        for (domain, pods) in table.iter() {
            if domain.index() >= by_domain.len() {
                by_domain.resize(domain.index() + 1, 0);
            }
            by_domain[domain.index()] += weight * i64::from(pods);
        }
    }

    fn at(&self, node: &NodeInfo) -> i64 {
        let here = |by: &LikingBy| by.by_domain.get(by.division.domain_of(node)?.index()).copied();
        self.0.iter().filter_map(here).sum()
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
        let liking = state.get::<Arc<Liking>>(SCORE_STATE).ok_or_else(not_prepared)?;
        Ok(liking.at(node))
    }

    fn reach(&self, _: &Context<'_>, state: &CycleState, _: &Pod) -> Reach {
        let keys = |liking: &Arc<Liking>| {
            let mut keys: Vec<Text> = liking.0.iter().map(|by| by.topology_key.clone()).collect();
            keys.sort_unstable();
            keys
        };
        let liking = state.get::<Arc<Liking>>(SCORE_STATE);
        liking.map_or(Reach::Cluster, |liking| Reach::Labels(keys(liking)))
    }

    fn scaling(&self) -> Scaling {
        Scaling::BySet
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
