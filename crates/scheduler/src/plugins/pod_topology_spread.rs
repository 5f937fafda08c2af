//! Spreads pods that are alike over the values of a node label.

mod arguments;
mod constraints;
mod counts;
mod explain;
mod hint;
mod score;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use roadstead_model::{Pod, SpreadConstraint, WhenUnsatisfiable, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde_json::Value;

use super::ArgumentError;
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, PreFilter, PreFilterAnswer,
    PreFilterExtensions, Reach, Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

use constraints::Defaults;
use counts::{Changes, Rule};

/// Spreads pods that are alike over the values of a node label, each of which is a domain.
///
/// A hard constraint keeps a pod off domains that would get too far ahead of the emptiest; a soft
/// one makes them less attractive. Pods without constraints have those of the cluster, about the
/// pods of the services and the controller that they belong to.
pub struct PodTopologySpread {
    defaults: Defaults,
}

impl PodTopologySpread {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Arguments other than a `defaultingType` and, if that is `List`, `defaultConstraints`
    /// without selectors.
    pub fn extensions(arguments: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let defaults = arguments::read(arguments, world)?;
        Ok(Joining::new(Self { defaults }).pre_filter().filter().pre_score().score().done())
    }

    /// The constraints that a pod must keep.
    fn hard(&self, listers: &Listers, pod: &Pod) -> Result<Vec<SpreadConstraint>, String> {
        let hard = self.defaults.constraints(listers, pod, WhenUnsatisfiable::DoNotSchedule);
        hard.map_err(|e| format!("obtaining pod's hard topology spread constraints: {e}"))
    }
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Any pod that counts may change which domain is the emptiest, and so may any node that makes
    /// or ends a domain. With the taints policy, tolerations and taints decide which nodes count.
    fn events(&self) -> Vec<Registration> {
        let update = events::UPDATE_POD_LABEL | events::UPDATE_POD_TOLERATION;
        let pod = Action::ADD | Action::DELETE | update;
        let update = events::UPDATE_NODE_LABEL | events::UPDATE_NODE_TAINT;
        let node = Action::ADD | Action::DELETE | update;
        vec![
            Registration::new(events::ASSIGNED_POD, pod, Ask::Class),
            // It may be the waiting pod itself, which its like do not care for.
            Registration::new(events::UNSCHEDULABLE_POD, pod, Ask::Item),
            Registration::new(events::NODE, node, Ask::Class),
        ]
    }

    fn hint(&self, listers: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let hard = || self.hard(listers, pod);
        if event.resource == events::NODE {
            hint::on_node(hard, event)
        } else {
            hint::on_pod(hard, pod, event)
        }
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let hard = self.hard(refusal.context.listers, refusal.pod).unwrap_or_default();
        explain::remedies(hard, refusal)
    }
}

impl PreFilter for PodTopologySpread {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let hard = self
            .hard(context.listers, pod)
            .map_err(|error| Status::error(format!("get constraints from pod: {error}")))?;
        if hard.is_empty() {
            return Ok(PreFilterAnswer::Skip);
        }
        let rules = context.nodes.count(|counts| Rule::all(counts, pod, hard));
        state.put_for_search(FILTER_STATE, FilterState { rules, changes: Changes::default() });
        Ok(PreFilterAnswer::AnyNode)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for PodTopologySpread {
    fn add_pod(
        &self,
        _: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        follow(state, pod, other, node, 1)
    }

    fn remove_pod(
        &self,
        _: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        follow(state, pod, other, node, -1)
    }
}

impl Filter for PodTopologySpread {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let state = state.get::<FilterState>(FILTER_STATE).ok_or_else(not_prepared)?;
        for (at, rule) in state.rules.iter().enumerate() {
            match rule.admits(&state.changes, at, node) {
                Some(true) => {}
                Some(false) => return Err(Status::unschedulable(TOO_MANY)),
                None => return Err(Status::unresolvable(NO_DOMAIN)),
            }
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::Cluster
    }
}

/// What PreFilter finds out: the hard constraints with their domains, and what what-ifs change.
#[derive(Clone)]
struct FilterState {
    rules: Arc<[Rule]>,
    changes: Changes,
}

/// Counts one pod more or less on a node.
///
/// Upstream does not ask whether the pod is terminating here, nor leave out what an empty selector
/// matches, as it does when it counts all pods (`updateWithPod`).
fn follow(
    state: &mut CycleState,
    pod: &Pod,
    other: &Pod,
    node: &NodeInfo,
    by: i64,
) -> Result<(), Status> {
    let state = state.get_mut::<FilterState>(FILTER_STATE).ok_or_else(not_prepared)?;
    if other.namespace() != pod.namespace() {
        return Ok(());
    }
    for (at, rule) in state.rules.iter().enumerate() {
        if let Some(domain) = rule.counts(other, node) {
            state.changes.add(at, domain, by);
        }
    }
    Ok(())
}

fn not_prepared() -> Status {
    Status::error(format!("reading \"{FILTER_STATE}\" from cycleState: not found"))
}

const NAME: &str = "PodTopologySpread";
const FILTER_STATE: &str = "PreFilterPodTopologySpread";

const TOO_MANY: &str = "node(s) didn't match pod topology spread constraints";
const NO_DOMAIN: &str =
    "node(s) didn't match pod topology spread constraints (missing required label)";
