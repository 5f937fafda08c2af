//! Which plugins there are, which points each joins, and which of them a profile has by default.

use std::fmt;

use super::arguments::Kind;
use super::plugins::{Plugin, PluginSet, Plugins};
use Point::{
    Bind, Filter, Permit, PlacementGenerate, PlacementScore, PostFilter, PreBind, PreEnqueue,
    PreFilter, PreScore, QueueSort, Reserve, Score,
};

/// The plugins in kube-scheduler, in the order of its default profile: name, weight there, whether
/// it is there, points, arguments.
#[rustfmt::skip]
const IN_TREE: &[Row] = &[
    ("SchedulingGates",    None,    always, &[PreEnqueue], None),
    ("PrioritySort",       None,    always, &[QueueSort], None),
    ("NodeUnschedulable",  None,    always, &[Filter], None),
    ("NodeName",           None,    always, &[Filter], None),
    ("TaintToleration",    Some(3), always, &[Filter, PreScore, Score], None),
    ("NodeAffinity",       Some(2), always, &[PreFilter, Filter, PreScore, Score], Some(Kind::NodeAffinity)),
    ("NodePorts",          None,    always, &[PreFilter, Filter], None),
    ("NodeResourcesFit",   Some(1), always, &[PreFilter, Filter, PreScore, Score, PlacementScore], Some(Kind::NodeResourcesFit)),
    ("VolumeRestrictions", None,    always, &[PreFilter, Filter], None),
    ("NodeVolumeLimits",   None,    always, &[PreFilter, Filter], None),
    ("VolumeBinding",      None,    always, &[PreFilter, Filter, PreScore, Score, Reserve, PreBind], Some(Kind::VolumeBinding)),
    ("VolumeZone",         None,    always, &[PreFilter, Filter], None),
    ("PodTopologySpread",  Some(2), always, &[PreFilter, Filter, PreScore, Score], Some(Kind::PodTopologySpread)),
    ("InterPodAffinity",   Some(2), always, &[PreFilter, Filter, PreScore, Score], Some(Kind::InterPodAffinity)),
    ("DynamicResources",   Some(2), always, &[PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind], Some(Kind::DynamicResources)),
    ("DefaultPreemption",  None,    always, &[PreEnqueue, PostFilter], Some(Kind::DefaultPreemption)),
    ("NodeResourcesBalancedAllocation", Some(1), always, &[PreScore, Score], Some(Kind::NodeResourcesBalancedAllocation)),
    ("ImageLocality",      Some(1), always, &[Score], None),
    ("DefaultBinder",      None,    always, &[Bind], None),
    ("NodeDeclaredFeatures", None,  |gates| gates.node_declared_features, &[PreFilter, Filter], None),
    ("GangScheduling",     None,    |gates| gates.gang_scheduling, &[PreEnqueue, Permit], None),
    ("TopologyPlacementGenerator", None, |gates| gates.topology_aware_workload_scheduling, &[PlacementGenerate], None),
    ("PodGroupPodsCount",  Some(1), |gates| gates.topology_aware_workload_scheduling, &[PlacementScore], None),
];

type Row = (&'static str, Option<i32>, fn(&Gates) -> bool, &'static [Point], Option<Kind>);

fn always(_: &Gates) -> bool {
    true
}

/// Plugins that were in kube-scheduler once. To name one at a point is an error of its own.
pub(super) const REMOVED: [&str; 4] =
    ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// The arguments that a plugin of kube-scheduler takes.
pub(super) fn arguments_of(plugin: &str) -> Option<Kind> {
    IN_TREE.iter().find(|(name, ..)| *name == plugin).and_then(|&(.., kind)| kind)
}

/// The plugins that a scheduler has: kube-scheduler's own, and those that were added to it.
#[derive(Clone, Debug)]
pub struct Known {
    plugins: Vec<KnownPlugin>,
    gates: Gates,
}

impl Known {
    /// The plugins of kube-scheduler, and the default profile that these gates make of them.
    #[must_use]
    pub fn new(gates: Gates) -> Self {
        let plugin = |&(name, weight, is_default, points, _): &Row| KnownPlugin {
            name: name.to_owned(),
            points: points.to_vec(),
            default: is_default(&gates).then_some(weight),
        };
        Self { plugins: IN_TREE.iter().map(plugin).collect(), gates }
    }

    /// Adds a plugin, or replaces the one of its name. Profiles must enable it by name; it is
    /// given its arguments as they stand in the file.
    pub fn add(&mut self, name: impl Into<String>, points: impl IntoIterator<Item = Point>) {
        let name = name.into();
        let points = points.into_iter().collect();
        match self.plugins.iter_mut().find(|plugin| plugin.name == name) {
            Some(plugin) => plugin.points = points,
            None => self.plugins.push(KnownPlugin { name, points, default: None }),
        }
    }

    /// The plugin of that name.
    #[must_use]
    pub fn plugin(&self, name: &str) -> Option<&KnownPlugin> {
        self.plugins.iter().find(|plugin| plugin.name == name)
    }

    /// All plugins, kube-scheduler's own first, in the order of its default profile.
    pub fn plugins(&self) -> impl Iterator<Item = &KnownPlugin> {
        self.plugins.iter()
    }

    /// The feature gates that bear on the configuration.
    #[must_use]
    pub fn gates(&self) -> &Gates {
        &self.gates
    }

    /// What a profile enables that says nothing.
    #[must_use]
    pub fn default_plugins(&self) -> Plugins {
        let entry = |plugin: &KnownPlugin| {
            plugin.default.map(|weight| Plugin { name: plugin.name.clone(), weight })
        };
        let enabled = self.plugins.iter().filter_map(entry).collect();
        Plugins { multi_point: PluginSet { enabled, disabled: Vec::new() }, ..Plugins::default() }
    }
}

impl Default for Known {
    /// The plugins of kube-scheduler 1.36 with its default gates.
    fn default() -> Self {
        Self::new(Gates::default())
    }
}

/// A plugin that profiles may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPlugin {
    name: String,
    points: Vec<Point>,
    /// Its weight in the default profile, if it is in it.
    default: Option<Option<i32>>,
}

impl KnownPlugin {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The points that it joins.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }
}

/// Feature gates that change what a configuration means, at first as in kube-scheduler 1.36.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    /// `DRADeviceBindingConditions`: DynamicResources may have a `bindingTimeout`.
    pub dra_device_binding_conditions: bool,
    /// `DRAResourceClaimDeviceStatus`, which that also needs.
    pub dra_resource_claim_device_status: bool,
    /// `DRASchedulerFilterTimeout`: DynamicResources may have a `filterTimeout`.
    pub dra_scheduler_filter_timeout: bool,
    /// `GangScheduling`: that plugin is in the default profile.
    pub gang_scheduling: bool,
    /// `NodeDeclaredFeatures`: likewise.
    pub node_declared_features: bool,
    /// `StorageCapacityScoring`: VolumeBinding may have a `shape`.
    pub storage_capacity_scoring: bool,
    /// `TopologyAwareWorkloadScheduling`: TopologyPlacementGenerator and PodGroupPodsCount are in
    /// the default profile.
    pub topology_aware_workload_scheduling: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self {
            dra_device_binding_conditions: true,
            dra_resource_claim_device_status: true,
            dra_scheduler_filter_timeout: true,
            gang_scheduling: false,
            node_declared_features: true,
            storage_capacity_scoring: false,
            topology_aware_workload_scheduling: false,
        }
    }
}

/// A place in scheduling where plugins are called. Prints as configurations spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// May a pod enter the queue at all?
    PreEnqueue,
    /// Which of two pods is to be scheduled first?
    QueueSort,
    /// What is to be known of a pod before its filters run?
    PreFilter,
    /// Can a pod run on a node?
    Filter,
    /// What can be done for a pod that no node can run?
    PostFilter,
    /// What is to be known of a pod before nodes are scored?
    PreScore,
    /// How good is a node for a pod?
    Score,
    /// A node has been chosen, or has not after all.
    Reserve,
    /// May a pod be bound, now or later?
    Permit,
    /// What is to be done before a pod is bound?
    PreBind,
    /// Binds a pod.
    Bind,
    /// A pod has been bound.
    PostBind,
    /// Which sets of nodes could take a group of pods?
    PlacementGenerate,
    /// How good is a set of nodes for a group?
    PlacementScore,
}

impl Point {
    /// All points, in the order in which kube-scheduler builds them.
    pub const ALL: [Self; 14] = [
        PreFilter,
        Filter,
        PostFilter,
        Reserve,
        PreScore,
        Score,
        PreBind,
        Bind,
        Self::PostBind,
        Permit,
        PreEnqueue,
        QueueSort,
        PlacementGenerate,
        PlacementScore,
    ];

    /// Whether plugins have weights at this point.
    #[must_use]
    pub fn is_weighted(self) -> bool {
        matches!(self, Score | PlacementScore)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PreEnqueue => "preEnqueue",
            QueueSort => "queueSort",
            PreFilter => "preFilter",
            Filter => "filter",
            PostFilter => "postFilter",
            PreScore => "preScore",
            Score => "score",
            Reserve => "reserve",
            Permit => "permit",
            PreBind => "preBind",
            Bind => "bind",
            Self::PostBind => "postBind",
            PlacementGenerate => "placementGenerate",
            PlacementScore => "placementScore",
        })
    }
}
