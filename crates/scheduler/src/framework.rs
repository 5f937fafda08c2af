//! The scheduling framework: plugins, in the order of a profile, run point by point.

mod binding;
mod calls;
pub(crate) mod filtering;
mod plugin;
mod post_filtering;
mod reach;
mod sampling;
mod scoring;
mod state;
mod status;

use std::any::Any;
use std::sync::Arc;

use roadstead_model::{Pod, Text};

use crate::config::{Point, Profile};
use crate::events::{self, ClusterEvent};
use crate::listers::Listers;
use crate::nodes::Nodes;

pub(crate) use binding::Wishes;
pub use binding::{
    Bind, BindAnswer, Handle, Permission, Permit, PostBind, PreBind, PreFlight, Progress, Reserve,
    Verdict, Waiting, Write,
};
pub use calls::Evaluation;
pub(crate) use calls::{Calls, Failure, Run, SKIP, SUCCESS, WAIT, status_name};
pub use filtering::{Candidates, PreFiltered};
pub use plugin::{
    Extensions, Filter, Joining, Nomination, Plugin, PostFilter, PostFilterAnswer, PreEnqueue,
    PreFilter, PreFilterAnswer, PreFilterExtensions, PreScore, PreScoreAnswer, Preemption,
    QueueSort, Rank, Registration, Score,
};
pub use post_filtering::PostFiltered;
pub(crate) use reach::{Local, Reaches};
pub use reach::{Reach, Scaling};
use sampling::NodesToScore;
pub(crate) use scoring::{BrokenLine, LocalScore, MAX_SCORE, Scale};
pub use scoring::{Feasible, NodeScores};
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

    /// The nodes that anybody is nominated to, in any order.
    fn nodes(&self) -> Vec<Text>;
}

/// Nobody is nominated to any node.
pub struct NoNominations;

impl Nominations for NoNominations {
    fn to(&self, _: &Text) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn nodes(&self) -> Vec<Text> {
        Vec::new()
    }
}

/// The plugins of a profile: who is asked at each point, in order.
#[derive(Default)]
pub struct Framework {
    plugins: Vec<Extensions>,
    queue_sort: Option<Arc<dyn QueueSort>>,
    pre_enqueue: Vec<Arc<dyn PreEnqueue>>,
    pre_filter: Vec<Arc<dyn PreFilter>>,
    filter: Vec<Arc<dyn Filter>>,
    post_filter: Vec<Arc<dyn PostFilter>>,
    pre_score: Vec<Arc<dyn PreScore>>,
    score: Vec<Weighted>,
    pub(crate) reserve: Vec<Arc<dyn Reserve>>,
    pub(crate) permit: Vec<Arc<dyn Permit>>,
    pub(crate) pre_bind: Vec<Arc<dyn PreBind>>,
    pub(crate) bind: Vec<Arc<dyn Bind>>,
    pub(crate) post_bind: Vec<Arc<dyn PostBind>>,
    nodes_to_score: NodesToScore,
}

/// A plugin that scores, with its weight.
struct Weighted {
    plugin: Arc<dyn Score>,
    weight: i64,
}

impl Framework {
    /// A framework of these plugins, in this order at every point that they join, with their
    /// weights.
    #[must_use]
    pub fn new(plugins: impl IntoIterator<Item = (Extensions, i64)>) -> Self {
        let mut framework = Self::default();
        for (extensions, weight) in plugins {
            for point in Point::ALL {
                framework.join(point, &extensions, weight);
            }
            framework.plugins.push(extensions);
        }
        framework
    }

    /// The plugins of a profile, each at the points and in the order that it says. `made` has
    /// all of them.
    pub(crate) fn of_profile(profile: &Profile, made: Vec<Extensions>) -> Self {
        let mut framework = Self::default();
        for point in Point::ALL {
            for at in profile.at(point) {
                let plugin = made.iter().find(|made| made.plugin.name() == at.name);
                if let Some(extensions) = plugin {
                    framework.join(point, extensions, at.weight);
                }
            }
        }
        framework.plugins = made;
        // Nothing said and 0 are the same in a configuration, and here mean all.
        match profile.percentage_of_nodes_to_score() {
            0 => framework,
            percentage => framework.with_percentage_of_nodes_to_score(percentage),
        }
    }

    /// Asks the plugin at the point too, if it joins it.
    fn join(&mut self, point: Point, plugin: &Extensions, weight: i64) {
        match point {
            Point::QueueSort => {
                self.queue_sort = self.queue_sort.take().or(plugin.queue_sort.clone())
            }
            Point::PreEnqueue => self.pre_enqueue.extend(plugin.pre_enqueue.clone()),
            Point::PreFilter => self.pre_filter.extend(plugin.pre_filter.clone()),
            Point::Filter => self.filter.extend(plugin.filter.clone()),
            Point::PostFilter => self.post_filter.extend(plugin.post_filter.clone()),
            Point::PreScore => self.pre_score.extend(plugin.pre_score.clone()),
            Point::Score => {
                let weighted = |plugin| Weighted { plugin, weight };
                self.score.extend(plugin.score.clone().map(weighted));
            }
            Point::Reserve => self.reserve.extend(plugin.reserve.clone()),
            Point::Permit => self.permit.extend(plugin.permit.clone()),
            Point::PreBind => self.pre_bind.extend(plugin.pre_bind.clone()),
            Point::Bind => self.bind.extend(plugin.bind.clone()),
            Point::PostBind => self.post_bind.extend(plugin.post_bind.clone()),
            // Groups of pods are not placed together yet.
            Point::PlacementGenerate | Point::PlacementScore => {}
        }
    }

    /// The plugin of that name.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&dyn Plugin> {
        self.plugins().find(|plugin| plugin.name() == name)
    }

    /// The plugin of that type: for who must tell it what happened.
    #[must_use]
    pub fn get<P: Plugin>(&self) -> Option<&P> {
        self.plugins.iter().find_map(|extensions| {
            let plugin: &dyn Any = &*extensions.plugin;
            plugin.downcast_ref()
        })
    }

    /// All plugins, in order.
    pub fn plugins(&self) -> impl Iterator<Item = &dyn Plugin> {
        self.plugins.iter().map(|extensions| &*extensions.plugin)
    }

    /// All plugins, those that gate pods first, in the order in which they are asked there.
    pub(crate) fn gates_first(&self) -> impl Iterator<Item = (&Arc<dyn Plugin>, bool)> {
        let gate_of = |name: &str| self.pre_enqueue.iter().position(|gate| gate.name() == name);
        let mut plugins: Vec<_> =
            self.plugins.iter().map(|extensions| &extensions.plugin).collect();
        plugins.sort_by_key(|plugin| gate_of(plugin.name()).unwrap_or(usize::MAX));
        plugins.into_iter().map(move |plugin| (plugin, gate_of(plugin.name()).is_some()))
    }

    /// The gate of that plugin, if it is asked there.
    pub(crate) fn gate(&self, plugin: &str) -> Option<&Arc<dyn PreEnqueue>> {
        self.pre_enqueue.iter().find(|gate| gate.name() == plugin)
    }

    /// Whether the plugin says which nodes will do.
    pub(crate) fn filters(&self, plugin: &str) -> bool {
        self.pre_filter.iter().any(|own| own.name() == plugin)
            || self.filter.iter().any(|own| own.name() == plugin)
    }

    /// In which order pods are tried, if a plugin says.
    pub(crate) fn queue_sort(&self) -> Option<&Arc<dyn QueueSort>> {
        self.queue_sort.as_ref()
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
}
