//! What a plugin says of how it could be satisfied.

use std::collections::BTreeMap;
use std::sync::Arc;

use roadstead_model::{Labels, Pod, PodSpec, World};
use roadstead_queue::{Action, Resource};

use crate::framework::{Context, Status};
use crate::nodes::NodeInfo;

/// What a plugin refuses: a pod, on some nodes or, as a gate, altogether.
pub struct Refusal<'a> {
    /// The pod.
    pub pod: &'a Arc<Pod>,
    /// The cluster as it is now.
    pub context: &'a Context<'a>,
    /// The nodes that the plugin refuses now, being the first to do so, and why.
    pub nodes: Vec<(&'a NodeInfo, &'a Status)>,
}

impl<'a> Refusal<'a> {
    /// Whether some node is refused for this reason.
    #[must_use]
    pub fn has(&self, reason: &str) -> bool {
        self.because(reason).next().is_some()
    }

    /// The nodes that are refused for this reason.
    pub fn because(&self, reason: &str) -> impl Iterator<Item = &'a NodeInfo> {
        let has = move |status: &Status| status.reasons().iter().any(|own| own == reason);
        self.nodes.iter().filter(move |(_, status)| has(status)).map(|(node, _)| *node)
    }

    /// A change of the pod's spec, to be tried.
    pub fn change(
        &self,
        words: impl Into<String>,
        size: u32,
        change: impl FnOnce(&mut PodSpec),
    ) -> Change {
        let mut spec = self.pod.spec().clone();
        change(&mut spec);
        let words = words.into();
        Change { series: words.clone(), words, size, pod: Arc::new(self.pod.with_spec(spec)) }
    }
}

/// What may satisfy a plugin.
#[derive(Clone, Debug, Default)]
pub struct Remedies {
    /// Changes of the cluster, each of which would: `a node with 2 more cpu free`.
    pub of_cluster: Vec<String>,
    /// Changes of the pod that may, each on its own. They are tried out before they are told.
    pub of_pod: Vec<Change>,
    /// Events that the plugin has registered for, but which its hint will never find to help this
    /// pod. They are not told.
    pub in_vain: Vec<(Resource, Action)>,
}

impl Remedies {
    /// A change of the cluster would do.
    pub fn cluster(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.of_cluster.contains(&words) {
            self.of_cluster.push(words);
        }
    }

    /// These events will not help this pod, whatever they are about. Said of the pods on nodes, it
    /// leaves of a registration for all pods what the waiting pod hears of itself.
    pub fn never(&mut self, resource: Resource, actions: &[Action]) {
        self.in_vain.extend(actions.iter().map(|action| (resource.clone(), *action)));
    }
}

/// A single change of a pod.
#[derive(Clone, Debug)]
pub struct Change {
    /// What would be different: `it asked 300m less cpu`.
    pub words: String,
    /// How much it is, in thousandths of what it changes. Small ones are tried first.
    pub size: u32,
    /// Changes with one series differ only in how far they go: what goes further helps wherever
    /// the smaller one does. Only the smallest that works is told. By default each has its own.
    pub series: String,
    /// The pod as it would be.
    pub pod: Arc<Pod>,
}

impl Change {
    /// The same, as one of several that differ only in how far they go.
    #[must_use]
    pub fn in_series(self, series: impl Into<String>) -> Self {
        Self { series: series.into(), ..self }
    }
}

/// How much a toleration is: it asks for nothing less.
pub(crate) const TOLERATION: u32 = 400;
/// How much it is to do without a part of something.
pub(crate) const LESS: u32 = 750;
/// How much it is to do without something.
pub(crate) const WITHOUT: u32 = 1000;
/// How much it is to lose a label, by which others know the pod.
const RELABELLED: u32 = 1250;

/// The pod without one of its labels each, where that could matter.
pub(crate) fn without_labels(
    refusal: &Refusal<'_>,
    matters: impl Fn(&Labels) -> bool,
    remedies: &mut Remedies,
) {
    for (key, value) in refusal.pod.spec().labels.iter() {
        let left = without(&refusal.pod.spec().labels, key);
        if matters(&left) {
            let words = format!("it were not labelled {key}={value}");
            remedies.of_pod.push(refusal.change(words, RELABELLED, |spec| spec.labels = left));
        }
    }
}

/// The labels without one of them.
pub(crate) fn without(labels: &Labels, key: &str) -> Labels {
    let others = labels.iter().filter(|(other, _)| *other != key);
    let others: BTreeMap<String, String> =
        others.map(|(key, value)| (key.to_string(), value.to_string())).collect();
    World::new().labels(&others)
}

/// The most frequent of these, most frequent first, with how often they are there.
pub(crate) fn most_frequent<T: Ord>(all: impl IntoIterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_insert(0) += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(MOST_TOLD);
    counts
}

/// Of how many different remedies of one kind a plugin speaks.
const MOST_TOLD: usize = 4;
