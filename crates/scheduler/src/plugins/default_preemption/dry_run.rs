//! Whom evicting would make room, node by node, tried out on copies.

use std::cmp::Ordering;
use std::sync::Arc;

use roadstead_model::{Pod, Text};

use super::choice::{Cost, by_importance};
use super::memory::{CostId, Trials};
use super::{has_victims, is_victim};
use crate::framework::{Code, Context, CycleState, Framework, Status};
use crate::nodes::{NodeInfo, Slot};

/// A node where evicting pods would make room for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreemptionCandidate {
    /// The node.
    pub node: Text,
    /// Who would have to go, most important first.
    pub victims: Vec<Arc<Pod>>,
    /// How many of them a disruption budget protects.
    pub pdb_violations: usize,
}

/// What trying one node came to.
pub(super) enum Tried {
    /// Nobody there is worth less than the pod.
    NoVictims,
    Candidate(CostId, Arc<PreemptionCandidate>),
    Refused(Arc<Status>),
}

/// An attempt to make room for a pod.
pub(super) struct DryRun<'a> {
    framework: &'a Framework,
    context: &'a Context<'a>,
    state: &'a CycleState,
    pod: &'a Pod,
    /// The filters that are asked, over and over.
    filters: Vec<usize>,
}

/// What the attempt found.
pub(super) struct Found {
    /// Where there would be room: first the nodes where no budget is violated.
    pub(super) candidates: Vec<Slot>,
    /// The one of them that costs least; among equals the first.
    pub(super) cheapest: Option<Slot>,
    /// Why there would be none on the other nodes that were tried, and on how many.
    pub(super) statuses: Vec<(Arc<Status>, usize)>,
}

impl Found {
    /// Nobody could go from any of so many nodes.
    pub(super) fn no_victims(nodes: usize) -> Self {
        let statuses = vec![(Arc::new(Status::unresolvable(NO_VICTIMS)), nodes)];
        Self { candidates: Vec::new(), cheapest: None, statuses }
    }

    fn note(&mut self, status: &Arc<Status>) {
        // Equal ones mostly come one after the other.
        match self.statuses.last_mut() {
            Some((last, count)) if Arc::ptr_eq(last, status) || last == status => *count += 1,
            _ => self.statuses.push((status.clone(), 1)),
        }
    }

    /// What went wrong, where that may be why there is no candidate.
    pub(super) fn error(&self) -> Option<Status> {
        if !self.candidates.is_empty() {
            return None;
        }
        let statuses = self.statuses.iter().map(|(status, _)| status);
        let errors = statuses.filter(|status| status.code() == Code::Error);
        let mut texts: Vec<String> = Vec::new();
        for text in errors.map(|status| status.message()) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.as_slice() {
            [] => None,
            [one] => Some(Status::error(one.clone())),
            several => Some(Status::error(format!("[{}]", several.join(", ")))),
        }
    }
}

impl<'a> DryRun<'a> {
    pub(super) fn new(
        framework: &'a Framework,
        context: &'a Context<'a>,
        state: &'a CycleState,
        pod: &'a Pod,
    ) -> Self {
        let filters = framework.active_filters(state).collect();
        Self { framework, context, state, pod, filters }
    }

    /// Tries the nodes in these slots until enough candidates are found, one without violations
    /// among them.
    ///
    /// Upstream starts at a random node; here the order of the cluster is kept, so that one
    /// cluster and one pod have one answer.
    pub(super) fn run(
        &self,
        slots: impl Iterator<Item = Slot>,
        enough: usize,
        trials: &mut Trials,
    ) -> Found {
        trials.follow(self.context.nodes);
        let now = self.context.now;
        let (mut harmless, mut violating) = (Listed::default(), Listed::default());
        let mut found = Found { candidates: Vec::new(), cheapest: None, statuses: Vec::new() };
        let mut without_victims = 0;
        for slot in slots {
            if trials.get(slot).is_none()
                && let Some(node) = self.context.nodes.in_slot(slot)
            {
                let tried = self.tried(node, trials);
                trials.keep(self.context, self.pod, node, tried);
            }
            match trials.get(slot) {
                Some(Tried::Candidate(cost, _)) => {
                    let list = match trials.cost(*cost).violates_budgets() {
                        false => &mut harmless,
                        true => &mut violating,
                    };
                    if list.slots.len() < enough {
                        list.add(slot, *cost, |a, b| trials.cost(a).cmp(trials.cost(b), now));
                    }
                    let listed = harmless.slots.len() + violating.slots.len();
                    if !harmless.slots.is_empty() && listed >= enough {
                        break;
                    }
                }
                Some(Tried::Refused(status)) => found.note(status),
                Some(Tried::NoVictims) => without_victims += 1,
                None => {}
            }
        }
        if without_victims > 0 {
            found.statuses.extend(Found::no_victims(without_victims).statuses);
        }
        // Violated budgets cost more than anything else.
        found.cheapest = harmless.cheapest.or(violating.cheapest).map(|(slot, _)| slot);
        harmless.slots.append(&mut violating.slots);
        found.candidates = harmless.slots;
        found
    }

    fn tried(&self, node: &NodeInfo, trials: &mut Trials) -> Tried {
        if !has_victims(self.pod, node.lowest_priority()) {
            return Tried::NoVictims;
        }
        match self.victims(node) {
            Ok(candidate) => {
                let cost = trials.cost_id(Cost::of(&candidate, self.context.now));
                Tried::Candidate(cost, Arc::new(candidate))
            }
            Err(status) => Tried::Refused(Arc::new(status)),
        }
    }

    /// The fewest and least important pods that must leave the node.
    fn victims(&self, node: &NodeInfo) -> Result<PreemptionCandidate, Status> {
        let name = node.name().clone();
        let mut potential: Vec<Arc<Pod>> =
            node.pods().iter().filter(|other| is_victim(self.pod, other)).cloned().collect();
        let mut trial = Trial { run: self, node: node.clone(), state: self.state.clone() };
        for other in &potential {
            trial.remove(other)?;
        }
        trial.filter()?;

        potential.sort_by(|a, b| by_importance(a, b, self.context.now));
        let (protected, others) = self.split_by_budgets(potential);
        let mut victims = Vec::new();
        for pod in protected {
            if !trial.reprieve(&pod)? {
                victims.push(pod);
            }
        }
        let pdb_violations = victims.len();
        for pod in others {
            if !trial.reprieve(&pod)? {
                victims.push(pod);
            }
        }
        if victims.is_empty() {
            let text = format!("expected at least one victim pod on node \"{name}\"");
            return Err(Status::error(text));
        }
        victims.sort_by(|a, b| by_importance(a, b, self.context.now));
        Ok(PreemptionCandidate { node: name, victims, pdb_violations })
    }

    /// The pods that their budgets do not allow to go, and the others, each in order. The most
    /// important ones use the budgets up first.
    fn split_by_budgets(&self, pods: Vec<Arc<Pod>>) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
        let mut budgets: Vec<_> = (self.context.listers.pod_disruption_budgets.values())
            .map(|budget| (budget, budget.disruptions_allowed))
            .collect();
        pods.into_iter().partition(|pod| {
            let mut is_violation = false;
            for (budget, left) in &mut budgets {
                if budget.covers(pod) {
                    *left = left.saturating_sub(1);
                    is_violation |= *left < 0;
                }
            }
            is_violation
        })
    }
}

/// Candidates in the order in which they were found.
#[derive(Default)]
struct Listed {
    slots: Vec<Slot>,
    cheapest: Option<(Slot, CostId)>,
}

impl Listed {
    fn add(&mut self, slot: Slot, cost: CostId, cmp: impl Fn(CostId, CostId) -> Ordering) {
        let is_less = |(_, least): (Slot, CostId)| least != cost && cmp(cost, least).is_lt();
        if self.cheapest.is_none_or(is_less) {
            self.cheapest = Some((slot, cost));
        }
        self.slots.push(slot);
    }
}

/// A node and what plugins remember, both as if some pods were not there.
struct Trial<'a> {
    run: &'a DryRun<'a>,
    node: NodeInfo,
    state: CycleState,
}

impl Trial<'_> {
    /// Lets the pod stay if there is room nevertheless.
    fn reprieve(&mut self, other: &Arc<Pod>) -> Result<bool, Status> {
        let DryRun { framework, context, pod, .. } = *self.run;
        self.node.add_pod(other);
        framework.add_pod(context, &mut self.state, pod, other, &self.node)?;
        if self.filter().is_ok() {
            return Ok(true);
        }
        self.remove(other)?;
        Ok(false)
    }

    fn remove(&mut self, other: &Arc<Pod>) -> Result<(), Status> {
        let DryRun { framework, context, pod, .. } = *self.run;
        self.node.remove_pod(&other.uid);
        framework.remove_pod(context, &mut self.state, pod, other, &self.node)
    }

    fn filter(&self) -> Result<(), Status> {
        let DryRun { framework, context, pod, .. } = *self.run;
        let filters = self.run.filters.iter().copied();
        let judged = framework.judge(filters, context, &self.state, pod, &self.node);
        judged.map_err(|refusal| refusal.status)
    }
}

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
