//! The scheduling framework: plugins, in the order of a profile, run point by point.

mod filtering;
mod plugin;
mod post_filtering;
mod scoring;
mod state;
mod status;

use std::any::Any;
use std::sync::Arc;

use roadstead_model::{Pod, Text};

use crate::events::{self, ClusterEvent};
use crate::listers::Listers;
use crate::nodes::Nodes;

pub use filtering::{Candidates, PreFiltered};
pub use plugin::{
    Extensions, Filter, Joining, Nomination, Plugin, PostFilter, PostFilterAnswer, PreEnqueue,
    PreFilter, PreFilterAnswer, PreScore, PreScoreAnswer, Preemption, Registration, Score,
};
pub use post_filtering::PostFiltered;
pub use scoring::NodeScores;
pub(crate) use scoring::{BrokenLine, MAX_SCORE, default_normalize};
pub use state::CycleState;
pub use status::{Code, Reason, Status};

/// What plugins may look at during a cycle: the cluster as it is now.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The nodes with what runs on them.
    pub nodes: &'a Nodes,
    /// Everything else.
    pub listers: &'a Listers,
    /// Who waits for which node.
    pub nominations: &'a dyn Nominations,
    /// The time in Unix nanoseconds, where a plugin needs one.
    pub now: i128,
}

/// Which waiting pods are nominated to a node.
pub trait Nominations {
    /// They, in the order in which they were nominated.
    fn to(&self, node: &Text) -> Vec<Arc<Pod>>;
}

/// Nobody is nominated to any node.
pub struct NoNominations;

impl Nominations for NoNominations {
    fn to(&self, _: &Text) -> Vec<Arc<Pod>> {
        Vec::new()
    }
}

/// The plugins of a profile, in order.
pub struct Framework {
    plugins: Vec<Enabled>,
}

/// A plugin with its weight in scoring.
struct Enabled {
    extensions: Extensions,
    weight: i64,
}

impl Framework {
    /// A framework of these plugins, in this order at every point, with their weights.
    #[must_use]
    pub fn new(plugins: impl IntoIterator<Item = (Extensions, i64)>) -> Self {
        let enabled = |(extensions, weight)| Enabled { extensions, weight };
        Self { plugins: plugins.into_iter().map(enabled).collect() }
    }

    /// The plugin of that name.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&dyn Plugin> {
        self.plugins().find(|plugin| plugin.name() == name)
    }

    /// The plugin of that type: for who must tell it what happened.
    #[must_use]
    pub fn get<P: Plugin>(&self) -> Option<&P> {
        self.plugins.iter().find_map(|enabled| {
            let plugin: &dyn Any = &*enabled.extensions.plugin;
            plugin.downcast_ref()
        })
    }

    /// All plugins, in order.
    pub fn plugins(&self) -> impl Iterator<Item = &dyn Plugin> {
        self.plugins.iter().map(|enabled| &*enabled.extensions.plugin)
    }

    /// All plugins with the points that they join, in order.
    pub(crate) fn extensions(&self) -> impl Iterator<Item = &Extensions> {
        self.plugins.iter().map(|enabled| &enabled.extensions)
    }

    /// What a plugin has registered for, what the framework adds included: whoever waits for
    /// new nodes also hears of changed taints, since a node may be added with taints that keep
    /// its news from those who would not tolerate it.
    #[must_use]
    pub fn registrations(plugin: &dyn Plugin) -> Vec<Registration> {
        let mut registrations = plugin.events();
        let hears = |action| {
            let event = ClusterEvent::new(events::NODE, action);
            registrations.iter().any(|r| event.is_heard_by(&r.resource, r.action))
        };
        if hears(roadstead_queue::Action::ADD) && !hears(events::UPDATE_NODE_TAINT) {
            let ask = roadstead_queue::Ask::Nobody;
            registrations.push(Registration::new(events::NODE, events::UPDATE_NODE_TAINT, ask));
        }
        registrations
    }

    fn each<'a, T: ?Sized + 'a>(
        &'a self,
        point: impl Fn(&'a Extensions) -> Option<&'a Arc<T>>,
    ) -> impl Iterator<Item = &'a T> {
        self.plugins.iter().filter_map(move |enabled| point(&enabled.extensions).map(|p| &**p))
    }
}
