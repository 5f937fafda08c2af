//! Keeps nodes with GPUs free for the pods that need them.

use roadstead_model::{Node, Pod, Text, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use roadstead_scheduler::events::{self, ClusterEvent};
use roadstead_scheduler::framework::{
    Context, CycleState, Extensions, Filter, Joining, Plugin, Reach, Registration, Score, Status,
};
use roadstead_scheduler::plugins::ArgumentError;
use roadstead_scheduler::{Listers, NodeInfo};
use serde::Deserialize;
use serde_json::Value;

/// Keeps nodes with GPUs free for the pods that need them: a pod that asks for none goes elsewhere
/// if it can, or, if strict, in any case.
///
/// Work that could run anywhere otherwise takes the CPUs beside the GPUs, and strands them.
pub(crate) struct GpuKeeper {
    resource: Text,
    is_strict: bool,
}

impl GpuKeeper {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// An argument that it does not know, or of another type.
    pub(crate) fn extensions(
        arguments: &Value,
        world: &mut World,
    ) -> Result<Extensions, ArgumentError> {
        let given = if arguments.is_null() {
            Ok(Arguments::default())
        } else {
            Arguments::deserialize(arguments)
        };
        let Arguments { resource, strict } = given
            .map_err(|error| ArgumentError { path: String::new(), message: error.to_string() })?;
        let plugin = Self { resource: world.text(&resource), is_strict: strict };
        Ok(Joining::new(plugin).filter().score().done())
    }

    fn is_kept_from(&self, pod: &Pod, node: &Node) -> bool {
        node.allocatable.scalar(&self.resource) > 0
            && pod.requests().total.scalar(&self.resource) == 0
    }
}

impl Plugin for GpuKeeper {
    fn name(&self) -> &'static str {
        "GpuKeeper"
    }

    /// A node without GPUs may come, or lose those that it has.
    fn events(&self) -> Vec<Registration> {
        let change = Action::ADD | events::UPDATE_NODE_ALLOCATABLE;
        vec![Registration::new(events::NODE, change, Ask::Class)]
    }

    fn hint(&self, _: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let (_, new) = events::nodes(event)?;
        let helps = new.is_none_or(|node| !self.is_kept_from(pod, node));
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }
}

impl Filter for GpuKeeper {
    fn filter(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        if self.is_strict && self.is_kept_from(pod, node.node()) {
            return Err(Status::unresolvable(KEPT));
        }
        Ok(())
    }

    /// So its answers are remembered until the node changes.
    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

impl Score for GpuKeeper {
    fn score(
        &self,
        _: &Context<'_>,
        _: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        Ok(if self.is_kept_from(pod, node.node()) { 0 } else { 100 })
    }

    fn reach(&self, _: &Context<'_>, _: &CycleState, _: &Pod) -> Reach {
        Reach::NODE
    }
}

/// The arguments as a profile gives them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    resource: String,
    strict: bool,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { resource: "nvidia.com/gpu".to_owned(), strict: false }
    }
}

const KEPT: &str = "node(s) keep their GPUs for pods that ask for them";
