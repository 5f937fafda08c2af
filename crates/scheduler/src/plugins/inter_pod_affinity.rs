//! Keeps a pod near other pods, or away from them, as it and they ask.

mod counts;
mod explain;
mod hint;
mod matching;
mod score;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use roadstead_model::{Labels, Pod, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde::Deserialize;
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

use counts::Counts;
use matching::Matching;

/// Keeps a pod near other pods, or away from them, as it and they ask.
///
/// Near is a node with the same value of a label, the topology key. A pod that requires others
/// near must find one that is all it requires; where there is no such pod anywhere, one that is it
/// itself may be the first. Anti-affinity goes both ways: a running pod keeps away those that it
/// does not want near.
pub struct InterPodAffinity {
    /// What a running pod's required affinity counts in scoring.
    hard_weight: i64,
    /// Whether pods without preferences of their own do not care for those of running pods.
    ignore_existing: bool,
    no_labels: Labels,
}

impl InterPodAffinity {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Arguments other than a `hardPodAffinityWeight` from 0 to 100 and
    /// `ignorePreferredTermsOfExistingPods`.
    pub fn extensions(arguments: &Value, world: &mut World) -> Result<Extensions, ArgumentError> {
        let arguments = Arguments::read(arguments)?;
        let plugin = Self {
            hard_weight: arguments.hard_pod_affinity_weight.unwrap_or(1).into(),
            ignore_existing: arguments.ignore_preferred_terms_of_existing_pods.unwrap_or(false),
            no_labels: world.labels(&Default::default()),
        };
        Ok(Joining::new(plugin).pre_filter().filter().pre_score().score().done())
    }

    /// How terms of and about this pod are read.
    fn matching<'a>(&'a self, listers: &'a Listers, pod: &'a Pod) -> Matching<'a> {
        Matching::new(listers, pod, &self.no_labels)
    }
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Whoever waits for company may find it in a pod that comes or gets the right labels; whoever
    /// is kept away, when the other goes. A node may bring a new topology to either.
    fn events(&self) -> Vec<Registration> {
        let node = Action::ADD | events::UPDATE_NODE_LABEL;
        vec![
            Registration::new(events::POD, Action::ADD | Action::DELETE, Ask::Class),
            Registration::new(events::ASSIGNED_POD, events::UPDATE_POD_LABEL, Ask::Class),
            // The waiting pod's own update brings it back, but not its like.
            Registration::new(events::UNSCHEDULABLE_POD, events::UPDATE_POD_LABEL, Ask::Item),
            Registration::new(events::NODE, node, Ask::Class),
        ]
    }

    fn hint(&self, listers: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let matching = self.matching(listers, pod);
        if event.resource == events::NODE {
            hint::on_node(&matching, event)
        } else {
            hint::on_pod(&matching, event)
        }
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let matching = self.matching(refusal.context.listers, refusal.pod);
        explain::remedies(&matching, refusal)
    }
}

impl PreFilter for InterPodAffinity {
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status> {
        let affinity = pod.spec().pod_affinity.as_ref();
        if let Some(error) = affinity.and_then(|affinity| affinity.error()) {
            return Err(Status::unresolvable(format!("parsing pod: {error}")));
        }
        let matching = self.matching(context.listers, pod);
        // In many clusters nobody asks for company, and then nobody need be counted.
        if !matching.requires_anything() && !context.nodes.have_pods_with_affinity() {
            return Ok(PreFilterAnswer::Skip);
        }
        let counts = Counts::over(context.nodes, &matching);
        if counts.existing.is_zero() && !matching.requires_anything() {
            return Ok(PreFilterAnswer::Skip);
        }
        let is_own_company = matching.is_own_company();
        state.put_for_search(FILTER_STATE, FilterState { counts, is_own_company });
        Ok(PreFilterAnswer::AnyNode)
    }

    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for InterPodAffinity {
    fn add_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let state = state.get_mut::<FilterState>(FILTER_STATE).ok_or_else(not_prepared)?;
        state.counts.change(&self.matching(context.listers, pod), other, node.node(), 1);
        Ok(())
    }

    fn remove_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let state = state.get_mut::<FilterState>(FILTER_STATE).ok_or_else(not_prepared)?;
        state.counts.change(&self.matching(context.listers, pod), other, node.node(), -1);
        Ok(())
    }
}

impl Filter for InterPodAffinity {
    fn filter(
        &self,
        _: &Context<'_>,
        state: &CycleState,
        _: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let state = state.get::<FilterState>(FILTER_STATE).ok_or_else(not_prepared)?;
        if !state.has_company(node) {
            return Err(Status::unresolvable(NO_COMPANY));
        }
        if state.counts.apart.is_any_at(node) {
            return Err(Status::unschedulable(UNWANTED_COMPANY));
        }
        if state.counts.existing.is_any_at(node) {
            return Err(Status::unschedulable(UNWANTED_BY_COMPANY));
        }
        Ok(())
    }

    fn reach(&self, _: &Context<'_>, state: &CycleState, _: &Pod) -> Reach {
        let state = state.get::<FilterState>(FILTER_STATE);
        state.map_or(Reach::Cluster, |state| Reach::Labels(state.counts.topology_keys()))
    }
}

/// What PreFilter finds out.
#[derive(Clone)]
struct FilterState {
    counts: Counts,
    /// Whether the pod itself is all that it requires near.
    is_own_company: bool,
}

impl FilterState {
    /// Whether near a node is what the pod requires. The pod may come first: where nothing of it
    /// counts in any topology, the pod may be it.
    fn has_company(&self, node: &NodeInfo) -> bool {
        let near = &self.counts.near;
        match near.is_all_at(node) {
            Some(all_near) => all_near || (near.is_zero() && self.is_own_company),
            None => false,
        }
    }
}

fn not_prepared() -> Status {
    Status::error(format!("error reading \"{FILTER_STATE}\" from cycleState: not found"))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    hard_pod_affinity_weight: Option<i32>,
    ignore_preferred_terms_of_existing_pods: Option<bool>,
}

impl Arguments {
    fn read(arguments: &Value) -> Result<Self, ArgumentError> {
        if arguments.is_null() {
            return Ok(Self::default());
        }
        let read = Self::deserialize(arguments)
            .map_err(|error| ArgumentError { path: String::new(), message: error.to_string() })?;
        match read.hard_pod_affinity_weight {
            Some(weight) if !(0..=100).contains(&weight) => Err(ArgumentError {
                path: "hardPodAffinityWeight".to_owned(),
                message: format!("Invalid value: {weight}: not in valid range [0, 100]"),
            }),
            _ => Ok(read),
        }
    }
}

const NAME: &str = "InterPodAffinity";
const FILTER_STATE: &str = "PreFilterInterPodAffinity";

const NO_COMPANY: &str = "node(s) didn't match pod affinity rules";
const UNWANTED_COMPANY: &str = "node(s) didn't match pod anti-affinity rules";
const UNWANTED_BY_COMPANY: &str = "node(s) didn't satisfy existing pods anti-affinity rules";
