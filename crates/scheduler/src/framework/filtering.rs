//! PreFilter and Filter over the nodes of a cluster.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use roadstead_model::{Pod, Text};

use super::calls::{Asked, SKIP, status_name};
use super::{
    Code, Context, CycleState, Framework, PreFilterAnswer, PreFilterExtensions, Reaches, Status,
};
use crate::diagnosis::{Diagnosis, Refusal, Verdicts};
use crate::nodes::{NodeInfo, Nodes, Slot};

/// What PreFilter found, all plugins together.
#[derive(Clone, Debug, Default)]
pub struct PreFiltered {
    /// The only nodes that may do, where some plugin has narrowed them.
    pub nodes: Option<BTreeSet<Text>>,
    /// The plugins that narrowed them.
    pub narrowed_by: Vec<&'static str>,
}

/// PreFilter ended the cycle.
#[derive(Clone, Debug)]
pub struct PreFilterFailure {
    /// Why.
    pub status: Status,
    /// Whose events may bring the pod back.
    pub rejectors: BTreeSet<&'static str>,
}

/// The nodes that may take a pod, and what is wrong with the others.
pub struct Candidates<'a> {
    /// Nodes that passed, in the order of the cluster.
    pub feasible: Vec<&'a NodeInfo>,
    /// What is wrong with the others.
    pub diagnosis: Diagnosis,
}

impl Framework {
    /// Runs PreFilter and Filter on every node.
    ///
    /// # Errors
    ///
    /// Something went wrong; that no node fits is no error.
    pub fn candidates<'a>(
        &self,
        context: &Context<'a>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
    ) -> Result<Candidates<'a>, Status> {
        let nodes = context.nodes;
        let filtered = match self.pre_filter(context, state, pod) {
            Ok(filtered) => filtered,
            Err(failure) if failure.status.code() == Code::Error => return Err(failure.status),
            Err(failure) => {
                let diagnosis =
                    Diagnosis::pre_filter(nodes.len(), failure.status, failure.rejectors);
                return Ok(Candidates { feasible: Vec::new(), diagnosis });
            }
        };
        let left = filtered.left(nodes);
        self.filter_each(context, state, pod, &filtered, left.iter().copied(), left.len())
    }

    /// Runs Filter on these nodes, until more than enough have passed.
    ///
    /// # Errors
    ///
    /// Something went wrong; that no node fits is no error.
    pub(crate) fn filter_each<'a>(
        &self,
        context: &Context<'a>,
        state: &CycleState,
        pod: &Pod,
        filtered: &PreFiltered,
        slots: impl Iterator<Item = Slot>,
        enough: usize,
    ) -> Result<Candidates<'a>, Status> {
        let mut verdicts = Verdicts::new(context.nodes.len());
        let mut feasible = Vec::new();
        for node in slots.filter_map(|slot| context.nodes.in_slot(slot)) {
            match self.judge(self.active_filters(state), context, state, pod, node) {
                Ok(()) if feasible.len() == enough => break,
                Ok(()) => feasible.push(node),
                Err(refusal) if refusal.status.code() == Code::Error => return Err(refusal.status),
                Err(refusal) => verdicts.set(node.slot(), Some(refusal)),
            }
        }
        Ok(Candidates { feasible, diagnosis: Diagnosis::new(Arc::new(verdicts), filtered) })
    }

    /// Runs PreFilter.
    ///
    /// # Errors
    ///
    /// The pod fits nowhere, or something went wrong.
    pub fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFiltered, PreFilterFailure> {
        let mut found = PreFiltered::default();
        let mut rejected = None;
        for (at, plugin) in self.pre_filter.iter().enumerate() {
            let name = plugin.name();
            let began = state.begin();
            let answer = plugin.pre_filter(context, state, pod);
            let skips = matches!(answer, Ok(PreFilterAnswer::Skip));
            state.count(Asked::PreFilter, at, u64::from(!skips));
            state.ran(began, "PreFilter", name, || if skips { SKIP } else { status_name(&answer) });
            match answer {
                Ok(PreFilterAnswer::Skip) => state.skip_filter.push(name),
                Ok(PreFilterAnswer::AnyNode) => {}
                Ok(PreFilterAnswer::OnlyNodes(only)) => {
                    found.narrowed_by.push(name);
                    let nodes = match found.nodes.take() {
                        Some(nodes) => nodes.intersection(&only).cloned().collect(),
                        None => only,
                    };
                    if nodes.is_empty() {
                        return Err(found.no_node_left());
                    }
                    found.nodes = Some(nodes);
                }
                Err(status) => match status.code() {
                    // Remembered, while the others are still asked; the last one counts.
                    Code::Unschedulable => {
                        let mut rejectors: BTreeSet<_> =
                            found.narrowed_by.iter().copied().collect();
                        rejectors.insert(name);
                        let status = status.from_plugin(name);
                        rejected = Some(PreFilterFailure { status, rejectors });
                    }
                    Code::UnschedulableAndUnresolvable => {
                        let status = status.from_plugin(name);
                        let rejectors = BTreeSet::from([name]);
                        return Err(PreFilterFailure { status, rejectors });
                    }
                    Code::Error | Code::Pending => {
                        let text = format!("running PreFilter plugin \"{name}\": {status}");
                        let status = Status::error(text).from_plugin(name);
                        return Err(PreFilterFailure { status, rejectors: BTreeSet::new() });
                    }
                },
            }
        }
        rejected.map_or(Ok(found), Err)
    }

    /// Whether the pod may run on the node, with the pods of at least its priority that are
    /// nominated there, and without them.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn filter_with_nominated(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let judged = self.judge(self.active_filters(state), context, state, pod, node);
        judged.map_err(|refusal| refusal.status)
    }

    /// Whether the pod may run on the node as it is.
    ///
    /// # Errors
    ///
    /// Why not, from the first plugin that refuses.
    pub fn filter(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let asked = self.ask(self.active_filters(state), context, state, pod, node);
        asked.map_err(|refusal| refusal.status)
    }

    /// Whether the pod may run on the node, with nominated pods and without, as far as the filters
    /// at these places of the profile know.
    pub(crate) fn judge(
        &self,
        filters: impl Iterator<Item = usize> + Clone,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Refusal> {
        let nominated: Vec<_> = context
            .nominations
            .to(node.name())
            .into_iter()
            .filter(|other| other.spec().priority >= pod.spec().priority && other.uid != pod.uid)
            .collect();
        if !nominated.is_empty() {
            let mut node = node.clone();
            let mut state = state.clone();
            for other in nominated {
                node.add_pod(&other);
                self.add_pod(context, &mut state, pod, &other, &node)
                    .map_err(|status| Refusal { status, filter: 0 })?;
            }
            self.ask(filters.clone(), context, &state, pod, &node)?;
        }
        self.ask(filters, context, state, pod, node)
    }

    /// Whether the pod may run on the node as it is, as far as these filters know. The first that
    /// refuses is heard.
    pub(crate) fn ask(
        &self,
        filters: impl Iterator<Item = usize>,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Refusal> {
        for filter in filters {
            let plugin = &self.filter[filter];
            state.count(Asked::Filter, filter, 1);
            let began = state.begin();
            let answer = plugin.filter(context, state, pod, node);
            state.ran(began, "Filter", plugin.name(), || status_name(&answer));
            if let Err(status) = answer {
                let name = plugin.name();
                let status = match status.code() {
                    Code::Error => {
                        state.failed("Filter", name);
                        Status::error(format!("running \"{name}\" filter plugin: {status}"))
                    }
                    _ => status,
                };
                return Err(Refusal { status: status.from_plugin(name), filter });
            }
        }
        Ok(())
    }

    /// The places of the filters that are asked in this cycle.
    pub(crate) fn active_filters(&self, state: &CycleState) -> impl Iterator<Item = usize> + Clone {
        let names = self.filter.iter().map(|plugin| plugin.name()).enumerate();
        names.filter(|(_, name)| !state.skip_filter.has(name)).map(|(filter, _)| filter)
    }

    /// How far the filters reach that are asked in this cycle.
    pub(crate) fn filter_reaches(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
    ) -> Reaches {
        Reaches::of(self.active_filters(state), |at| self.filter[at].reach(context, state, pod))
    }

    /// Lets the plugins' states follow a pod that is taken to run on a node.
    ///
    /// # Errors
    ///
    /// A state could not follow.
    pub fn add_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let followers = self.followers(state);
        follow(&followers, ADD_POD, state, |extensions, state| {
            extensions.add_pod(context, state, pod, other, node)
        })
    }

    /// Lets the plugins' states follow a pod that is taken not to run on a node.
    ///
    /// # Errors
    ///
    /// A state could not follow.
    pub fn remove_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status> {
        let followers = self.followers(state);
        follow(&followers, REMOVE_POD, state, |extensions, state| {
            extensions.remove_pod(context, state, pod, other, node)
        })
    }

    /// The plugins whose state follows what-ifs in this cycle.
    pub(crate) fn followers(&self, state: &CycleState) -> Vec<Follower<'_>> {
        let asked = self.pre_filter.iter().filter(|plugin| !state.skip_filter.has(plugin.name()));
        asked.filter_map(|plugin| Some((plugin.name(), plugin.extensions()?))).collect()
    }
}

/// A plugin whose state follows what-ifs.
pub(crate) type Follower<'a> = (&'static str, &'a dyn PreFilterExtensions);

/// Has every plugin's state follow a step, which metrics call `point`.
pub(crate) fn follow(
    followers: &[Follower<'_>],
    point: &'static str,
    state: &mut CycleState,
    step: impl Fn(&dyn PreFilterExtensions, &mut CycleState) -> Result<(), Status>,
) -> Result<(), Status> {
    for (name, extensions) in followers {
        let began = state.begin();
        let followed = step(*extensions, state);
        state.ran(began, point, name, || status_name(&followed));
        followed.map_err(|status| status.from_plugin(name))?;
    }
    Ok(())
}

pub(crate) const ADD_POD: &str = "PreFilterExtensionAddPod";
pub(crate) const REMOVE_POD: &str = "PreFilterExtensionRemovePod";

impl PreFiltered {
    /// The nodes that are left: all in their order, or some in that of their names.
    pub(crate) fn left<'a>(&self, nodes: &'a Nodes) -> Cow<'a, [Slot]> {
        match &self.nodes {
            None => Cow::Borrowed(nodes.order()),
            Some(only) => only.iter().filter_map(|name| nodes.slot(name)).collect(),
        }
    }

    /// The plugins that narrowed the nodes left none.
    fn no_node_left(&self) -> PreFilterFailure {
        let mut names = self.narrowed_by.clone();
        names.sort_unstable();
        let reason = match names.as_slice() {
            [one] => format!("node(s) didn't satisfy plugin {one}"),
            several => {
                format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" "))
            }
        };
        let status = Status::unresolvable(reason);
        PreFilterFailure { status, rejectors: names.into_iter().collect() }
    }
}
