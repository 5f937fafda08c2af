//! What dry runs found on nodes that have not changed since.

use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{ClassId, Pod, PodDisruptionBudget};

use super::dry_run::Tried;
use crate::framework::{Context, CycleState, Framework, Local};
use crate::nodes::NodeInfo;

/// What dry runs found, for the classes of pods that last asked for any.
///
/// A node counts as changed when somebody is nominated to it or no longer is, too: by the time that
/// a pod looks for others to make room, its nodes tell that.
#[derive(Default)]
pub(super) struct Memory {
    classes: HashMap<ClassId, Kept>,
    uses: u64,
}

/// What dry runs found for one class of pods.
struct Kept {
    /// Who was asked.
    filters: Vec<Local>,
    /// The budgets that there were.
    budgets: Vec<Arc<PodDisruptionBudget>>,
    /// By slot, with the time of the node's last change before.
    by_slot: Vec<Option<(u64, Tried)>>,
    last_use: u64,
}

/// What is remembered in one cycle, and may be added to.
pub(super) struct Remembered<'a> {
    by_slot: &'a mut Vec<Option<(u64, Tried)>>,
    pod: &'a Pod,
}

impl Memory {
    /// What is remembered for pods like this one. `None` if what dry runs find for it depends on
    /// more than a node and what runs there.
    pub(super) fn of<'a>(
        &'a mut self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &'a Pod,
    ) -> Option<Remembered<'a>> {
        let is_resized = !std::ptr::eq(pod.requests(), &pod.spec().requests);
        let reaches = framework.filter_reaches(context, state, pod);
        if !state.may_remember || is_resized || !reaches.wide.is_empty() {
            return None;
        }
        let budgets = &context.listers.pod_disruption_budgets;
        self.uses += 1;
        let class = pod.class.id();
        if self.classes.len() >= MOST_CLASSES && !self.classes.contains_key(&class) {
            self.drop_oldest();
        }
        let new =
            || Kept { filters: Vec::new(), budgets: Vec::new(), by_slot: Vec::new(), last_use: 0 };
        let kept = self.classes.entry(class).or_insert_with(new);
        kept.last_use = self.uses;
        let are_budgets_same = kept.budgets.len() == budgets.len()
            && kept.budgets.iter().zip(budgets.values()).all(|(a, b)| Arc::ptr_eq(a, b));
        if kept.filters != reaches.local || !are_budgets_same {
            kept.filters = reaches.local;
            kept.budgets = budgets.values().cloned().collect();
            kept.by_slot.clear();
        }
        kept.by_slot.resize_with(context.nodes.slots(), || None);
        Some(Remembered { by_slot: &mut kept.by_slot, pod })
    }

    fn drop_oldest(&mut self) {
        let oldest = self.classes.iter().min_by_key(|(_, kept)| kept.last_use);
        if let Some(class) = oldest.map(|(class, _)| *class) {
            self.classes.remove(&class);
        }
    }
}

impl Remembered<'_> {
    /// What a dry run found on the node, if it is as it was then.
    pub(super) fn get(&self, context: &Context<'_>, node: &NodeInfo) -> Option<&Tried> {
        let (changed, tried) = self.by_slot.get(node.slot().index())?.as_ref()?;
        (*changed == context.nodes.last_change(node.slot())).then_some(tried)
    }

    /// Remembers what a dry run found.
    pub(super) fn keep(&mut self, context: &Context<'_>, node: &NodeInfo, tried: &Tried) {
        let slot = node.slot();
        // Who has not started yet counts as starting now: that order holds later too, unless
        // somebody has started in the future.
        let is_past = |pod: &Arc<Pod>| {
            pod.started.is_none_or(|time| i128::from(time.as_micros()) * 1000 <= context.now)
        };
        // The pod's own nomination does not count for it, but for others like it it does.
        let mut nominated = context.nominations.to(node.name()).into_iter();
        if node.pods().iter().all(is_past)
            && nominated.all(|other| other.uid != self.pod.uid)
            && let Some(kept) = self.by_slot.get_mut(slot.index())
        {
            *kept = Some((context.nodes.last_change(slot), tried.clone()));
        }
    }
}

/// Each costs a few words for every node, and as many references as there are victims.
const MOST_CLASSES: usize = 16;
