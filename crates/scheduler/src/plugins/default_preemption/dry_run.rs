//! Whom evicting would make room, node by node, tried out on copies.

use std::sync::Arc;

use roadstead_model::{Pod, Text};

use super::choice::{Cost, by_importance};
use super::memory::{CostId, Trials};
use super::stretches::{Group, LENGTH, Summary};
use super::{has_victims, is_victim};
use crate::framework::filtering::{ADD_POD, Follower, REMOVE_POD, follow};
use crate::framework::{Code, Context, CycleState, Framework, PreFilterExtensions, Status};
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
    /// The plugins whose state follows pods that go.
    followers: Vec<Follower<'a>>,
}

/// What the attempt found.
#[derive(Default)]
pub(super) struct Found {
    /// Where there would be room, if that was to be listed: first the nodes where no budget is
    /// violated.
    pub(super) candidates: Vec<Slot>,
    /// The one of them that costs least; among equals the first.
    pub(super) cheapest: Option<Slot>,
    /// If there is none: why there would be no room on the nodes that were tried, and on how many.
    pub(super) statuses: Vec<(Arc<Status>, usize)>,
}

/// How thoroughly nodes are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// Each of them, and all candidates are listed.
    Listing,
    /// Each of them, only for the cheapest.
    Careful,
    /// Only those where something may have changed. It is for pods that no node would take, each
    /// for a reason of its own that a pod of the same class was told before.
    Quick,
}

impl Found {
    /// Nobody could go from any of so many nodes.
    pub(super) fn no_victims(nodes: usize) -> Self {
        let statuses = vec![(Arc::new(Status::unresolvable(NO_VICTIMS)), nodes)];
        Self { statuses, ..Self::default() }
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
        if self.cheapest.is_some() {
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
        let followers = framework.followers(state);
        Self { framework, context, state, pod, filters, followers }
    }

    /// Whether anybody is worth less than the pod.
    pub(super) fn has_victims(&self) -> bool {
        has_victims(self.pod, self.context.nodes.lowest_priority())
    }

    /// Tries the nodes that might do until enough candidates are found, one without violations
    /// among them.
    ///
    /// Upstream starts at a random node; here the order of the cluster is kept, so that one
    /// cluster and one pod have one answer.
    pub(super) fn run(
        &self,
        is_potential: impl Fn(Slot) -> bool,
        enough: usize,
        trials: &mut Trials,
        pass: Pass,
    ) -> Found {
        trials.follow(self.context.nodes);
        let found = self.pass(&is_potential, enough, trials, pass);
        // Why nodes do not do is asked only where none does.
        match found.cheapest {
            None if pass == Pass::Quick => self.pass(&is_potential, enough, trials, Pass::Careful),
            _ => found,
        }
    }

    fn pass(
        &self,
        is_potential: &impl Fn(Slot) -> bool,
        enough: usize,
        trials: &mut Trials,
        pass: Pass,
    ) -> Found {
        let now = self.context.now;
        let mut all = Summary::default();
        let mut listed = [Vec::new(), Vec::new()];
        let mut found = Found::default();
        let mut without_victims = 0;
        'nodes: for (number, stretch) in self.context.nodes.order().chunks(LENGTH).enumerate() {
            if pass == Pass::Quick
                && let Some(summary) = trials.stretches.found(number)
                && all.count() + summary.count() < enough
            {
                all.extend(summary, |a, b| trials.cost(a).cmp(trials.cost(b), now));
                continue;
            }
            let mut own = Summary::default();
            for slot in stretch.iter().copied().filter(|slot| is_potential(*slot)) {
                if trials.get(slot).is_none()
                    && let Some(node) = self.context.nodes.in_slot(slot)
                {
                    let tried = self.tried(node, trials);
                    trials.keep(self.context, self.pod, node, tried);
                }
                match trials.get(slot) {
                    Some(Tried::Candidate(cost, _)) => {
                        let one = Group::of(slot, *cost);
                        let cmp = |a, b| trials.cost(a).cmp(trials.cost(b), now);
                        let violates = trials.cost(*cost).violates_budgets();
                        own.group_mut(violates).extend(&one, cmp);
                        let group = all.group_mut(violates);
                        if group.count < enough {
                            group.extend(&one, cmp);
                            if pass == Pass::Listing {
                                listed[usize::from(violates)].push(slot);
                            }
                        }
                        if all.harmless.count > 0 && all.count() >= enough {
                            break 'nodes;
                        }
                    }
                    Some(Tried::Refused(status)) => found.note(status),
                    Some(Tried::NoVictims) => without_victims += 1,
                    None => {}
                }
            }
            if pass == Pass::Quick {
                trials.stretches.keep(number, own);
            }
        }
        if without_victims > 0 {
            found.statuses.extend(Found::no_victims(without_victims).statuses);
        }
        // Violated budgets cost more than anything else.
        let cheapest = all.harmless.cheapest.or(all.violating.cheapest);
        found.cheapest = cheapest.map(|(slot, _)| slot);
        found.candidates = listed.concat();
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
        let (mut trial, mut potential) = Trial::new(self, node)?;
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

/// A node and what plugins remember, both as if some pods were not there.
struct Trial<'a> {
    run: &'a DryRun<'a>,
    node: NodeInfo,
    /// Where some plugin's state follows.
    state: Option<CycleState>,
    /// Whether somebody is nominated to the node.
    has_nominated: bool,
}

impl<'a> Trial<'a> {
    /// Without all that are worth less than the pod, and these.
    fn new(run: &'a DryRun<'a>, node: &NodeInfo) -> Result<(Self, Vec<Arc<Pod>>), Status> {
        let has_nominated = !run.context.nominations.to(node.name()).is_empty();
        if run.followers.is_empty() {
            let (node, gone) = node.without(|other| is_victim(run.pod, other));
            return Ok((Self { run, node, state: None, has_nominated }, gone));
        }
        let state = Some(run.state.clone());
        let mut trial = Self { run, node: node.clone(), state, has_nominated };
        let gone = node.pods().iter().filter(|other| is_victim(run.pod, other));
        let gone: Vec<Arc<Pod>> = gone.cloned().collect();
        for other in &gone {
            trial.node.remove_pod(&other.uid);
            trial.follow_gone(other)?;
        }
        Ok((trial, gone))
    }

    /// Lets the pod stay if there is room nevertheless.
    fn reprieve(&mut self, other: &Arc<Pod>) -> Result<bool, Status> {
        self.node.add_pod(other);
        self.follow(ADD_POD, |extensions, state, run, node| {
            extensions.add_pod(run.context, state, run.pod, other, node)
        })?;
        if self.filter().is_ok() {
            return Ok(true);
        }
        self.node.take_back();
        self.follow_gone(other)?;
        Ok(false)
    }

    fn follow_gone(&mut self, other: &Arc<Pod>) -> Result<(), Status> {
        self.follow(REMOVE_POD, |extensions, state, run, node| {
            extensions.remove_pod(run.context, state, run.pod, other, node)
        })
    }

    fn follow(
        &mut self,
        point: &'static str,
        step: impl Fn(
            &dyn PreFilterExtensions,
            &mut CycleState,
            &DryRun<'_>,
            &NodeInfo,
        ) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let Self { run, node, state, .. } = self;
        let Some(state) = state else { return Ok(()) };
        follow(&run.followers, point, state, |extensions, state| step(extensions, state, run, node))
    }

    fn filter(&self) -> Result<(), Status> {
        let DryRun { framework, context, pod, state, .. } = *self.run;
        let state = self.state.as_ref().unwrap_or(state);
        let filters = self.run.filters.iter().copied();
        let judged = match self.has_nominated {
            true => framework.judge(filters, context, state, pod, &self.node),
            false => framework.ask(filters, context, state, pod, &self.node),
        };
        judged.map_err(|refusal| refusal.status)
    }
}

const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
