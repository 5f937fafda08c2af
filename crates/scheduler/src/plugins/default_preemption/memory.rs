//! What dry runs found on nodes that have not changed since.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{ClassId, Pod, PodDisruptionBudget};

use super::choice::Cost;
use super::dry_run::Tried;
use super::stretches::Stretches;
use crate::framework::{Context, CycleState, Framework, Local, Status};
use crate::nodes::{NodeInfo, Nodes, Slot};

/// What dry runs found, for the classes of pods that last asked for any.
#[derive(Default)]
pub(super) struct Memory {
    classes: HashMap<ClassId, Kept>,
    uses: u64,
}

/// What dry runs found for one class of pods.
#[derive(Default)]
struct Kept {
    /// Who was asked.
    filters: Vec<Local>,
    /// The budgets that there were.
    budgets: Vec<Arc<PodDisruptionBudget>>,
    trials: Trials,
    last_use: u64,
}

/// What dry runs found on each node, as far as it still holds.
///
/// A node counts as changed when somebody is nominated to it or no longer is, too: by the time that
/// a pod looks for others to make room, its nodes tell that.
#[derive(Default)]
pub(super) struct Trials {
    by_slot: Vec<Option<Tried>>,
    /// The nodes' clock when they were last looked at.
    seen: u64,
    /// What holds for this cycle only.
    fleeting: Vec<Slot>,
    last_refusal: Option<Arc<Status>>,
    pub(super) stretches: Stretches,
    /// Every cost that some candidate has, or had.
    costs: Vec<Cost>,
    cost_ids: HashMap<Cost, CostId>,
}

/// A cost among those of a class: most candidates cost the same, and are told apart at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CostId(u32);

impl Memory {
    /// What is remembered for pods like this one. `None` if what dry runs find for it depends on
    /// more than a node and what runs there.
    pub(super) fn of(
        &mut self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
    ) -> Option<&mut Trials> {
        let is_resized = !std::ptr::eq(pod.requests(), &pod.spec().requests);
        if !state.may_remember || is_resized {
            return None;
        }
        let reaches = framework.filter_reaches(context, state, pod);
        if !reaches.wide.is_empty() {
            return None;
        }
        self.uses += 1;
        let class = pod.class.id();
        if self.classes.len() >= MOST_CLASSES && !self.classes.contains_key(&class) {
            self.drop_oldest();
        }
        let kept = self.classes.entry(class).or_default();
        kept.last_use = self.uses;
        let budgets = context.listers.pod_disruption_budgets.values();
        let are_budgets_same = kept.budgets.len() == budgets.len()
            && kept.budgets.iter().zip(budgets.clone()).all(|(a, b)| Arc::ptr_eq(a, b));
        if kept.filters != reaches.local || !are_budgets_same {
            kept.filters = reaches.local;
            kept.budgets = budgets.cloned().collect();
            kept.trials = Trials::default();
        }
        Some(&mut kept.trials)
    }

    fn drop_oldest(&mut self) {
        let oldest = self.classes.iter().min_by_key(|(_, kept)| kept.last_use);
        if let Some(class) = oldest.map(|(class, _)| *class) {
            self.classes.remove(&class);
        }
    }
}

impl Trials {
    /// Forgets what does not hold any more.
    pub(super) fn follow(&mut self, nodes: &Nodes) {
        if self.costs.len() > 2 * nodes.slots() + MOST_COSTS {
            *self = Self::default();
        }
        self.by_slot.resize_with(nodes.slots(), || None);
        self.stretches.follow(nodes);
        for slot in nodes.changed_since(self.seen).chain(self.fleeting.drain(..)) {
            self.by_slot[slot.index()] = None;
            self.stretches.forget(slot);
        }
        self.seen = nodes.clock();
    }

    /// What trying the node in that slot came to, if it was tried.
    pub(super) fn get(&self, slot: Slot) -> Option<&Tried> {
        self.by_slot.get(slot.index())?.as_ref()
    }

    /// Keeps what trying a node for a pod came to.
    pub(super) fn keep(&mut self, context: &Context<'_>, pod: &Pod, node: &NodeInfo, tried: Tried) {
        // Who has not started yet counts as starting now: that order holds later too, unless
        // somebody has started in the future.
        let is_past = |pod: &Arc<Pod>| {
            pod.started.is_none_or(|time| i128::from(time.as_micros()) * 1000 <= context.now)
        };
        // The pod's own nomination does not count for it, but for others like it it does.
        let mut nominated = context.nominations.to(node.name()).into_iter();
        if nominated.any(|other| other.uid == pod.uid) || !node.pods().iter().all(is_past) {
            self.fleeting.push(node.slot());
        }
        let tried = match tried {
            Tried::Refused(status) => Tried::Refused(self.shared(status)),
            other => other,
        };
        if let Some(kept) = self.by_slot.get_mut(node.slot().index()) {
            *kept = Some(tried);
        }
    }

    /// A cost that some candidate has.
    pub(super) fn cost(&self, CostId(at): CostId) -> &Cost {
        &self.costs[at as usize]
    }

    /// The number of a cost.
    pub(super) fn cost_id(&mut self, cost: Cost) -> CostId {
        let costs = &mut self.costs;
        *self.cost_ids.entry(cost).or_insert_with(|| {
            costs.push(cost);
            CostId(u32::try_from(costs.len() - 1).expect("fewer than four billion costs"))
        })
    }

    /// The same status as the last, if it is equal: then they need not be compared again.
    fn shared(&mut self, status: Arc<Status>) -> Arc<Status> {
        match &self.last_refusal {
            Some(last) if *last == status => last.clone(),
            _ => self.last_refusal.insert(status).clone(),
        }
    }
}

/// Each costs some words for every node, and as many references as there are victims.
const MOST_CLASSES: usize = 16;

/// How many costs are kept that nobody has, besides as many as there are nodes.
const MOST_COSTS: usize = 1_024;
