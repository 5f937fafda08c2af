//! Keeps a pod that names a node off every other node.

use roadstead_model::Pod;
use roadstead_queue::{Action, Ask};

use crate::events;
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, Reach, Registration, Status,
};
use crate::nodes::NodeInfo;

/// Keeps a pod that names a node off every other node.
pub struct NodeName;

impl NodeName {
    /// The plugin with its points.
    #[must_use]
    pub fn extensions() -> Extensions {
        Joining::new(Self).filter().done()
    }
}

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        "NodeName"
    }

    /// Nodes are never renamed, so only a new one can help.
    fn events(&self) -> Vec<Registration> {
        vec![Registration::new(events::NODE, Action::ADD, Ask::Nobody)]
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        if let Some(name) = &refusal.pod.node_name {
            remedies.cluster(format!("a node called {name}"));
        }
        remedies
    }
}

impl Filter for NodeName {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        match &pod.node_name {
            Some(wanted) if wanted != node.name() => Err(Status::unresolvable(MISMATCH)),
            _ => Ok(()),
        }
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

const MISMATCH: &str = "node(s) didn't match the requested node name";
