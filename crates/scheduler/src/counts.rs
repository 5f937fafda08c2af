//! How many pods there are where, over the whole cluster, as plugins ask for it.
//!
//! InterPodAffinity and PodTopologySpread decide by numbers: how many pods that a term speaks of
//! are in a zone, on how many nodes a pod keeps others away. To count anew for every pod would
//! take a walk over all nodes and pods. So what was counted once is kept here, and follows every
//! pod and node that comes or goes.
//!
//! Nodes are divided into domains by a label ([`Division`]), pods are grouped by what a term or
//! constraint says of them ([`GroupRule`]), and a [`Table`] says how many of a group each domain
//! has. All are made when somebody first asks, shared by all who ask the same, and dropped when
//! nobody has asked for long. Terms that pods on nodes carry are known in advance: for a waiting
//! pod it is remembered which of them speak of it.
//!
//! Plugins look at the cluster through a shared reference, and whether a number is wanted depends
//! on how far a cycle gets. So [`KeptCounts`] puts a lock around the counts: they are a memory of
//! what follows from the nodes, and whether they were there before nobody can tell but by the time
//! it takes.

mod carried;
mod groups;
mod tally;
#[cfg(test)]
mod tests;
mod topology;

use std::fmt;
use std::sync::{Arc, Mutex};

use roadstead_model::{Labels, Pod, PodSpec, Text};

use crate::nodes::NodeInfo;

use carried::Carried;
use groups::Groups;
use topology::Topology;

pub(crate) use carried::Role;
pub(crate) use groups::{GroupRule, Matcher, Namespaces};
pub(crate) use tally::Tally;
pub(crate) use topology::{Division, DivisionRule, Domain};

/// How many of a group there are in each domain.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// Which domain each node is in.
    pub(crate) division: Arc<Division>,
    /// How many there are, by domain.
    pub(crate) tally: Arc<Tally>,
}

impl Table {
    /// How many there are in the node's domain; `None` if it is in none.
    pub(crate) fn at(&self, node: &NodeInfo) -> Option<u32> {
        self.division.domain_of(node).map(|domain| self.of(domain))
    }

    /// The domains that have any, in order, and how many each has.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Domain, u32)> {
        self.tally.iter().map(|(domain, number)| (Domain(domain), number))
    }

    /// How many there are in the domain.
    pub(crate) fn of(&self, domain: Domain) -> u32 {
        self.tally.at(domain.0)
    }
}

/// A term of pods on nodes that speaks of a waiting pod, and how many carry it in each domain.
pub(crate) struct Said {
    pub(crate) role: Role,
    pub(crate) topology_key: Text,
    pub(crate) carriers: Table,
}

/// What was counted of a cluster, kept up to date.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    topology: Topology,
    groups: Groups,
    carried: Carried,
    /// Goes on with every question, so that what nobody asks for is known.
    now: u64,
}

impl Counts {
    /// The counts of a cluster of these nodes.
    pub(crate) fn over<'a>(nodes: impl IntoIterator<Item = &'a NodeInfo>) -> Self {
        let mut counts = Self {
            topology: Topology::new(),
            groups: Groups::default(),
            carried: Carried::default(),
            now: 0,
        };
        nodes.into_iter().for_each(|node| counts.on_node(node));
        counts
    }

    /// A node came, with the pods on it.
    pub(crate) fn on_node(&mut self, node: &NodeInfo) {
        self.topology.join(node.slot(), node.node());
        node.pods().iter().for_each(|pod| self.on_pod(pod, node));
    }

    /// A node is going, with the pods on it.
    pub(crate) fn on_node_gone(&mut self, node: &NodeInfo) {
        node.pods().iter().for_each(|pod| self.on_pod_gone(pod, node));
        self.topology.leave(node.slot());
    }

    /// A pod came to a known node.
    pub(crate) fn on_pod(&mut self, pod: &Pod, node: &NodeInfo) {
        self.groups.join(&self.topology, node.slot(), pod);
        self.carried.join(&mut self.topology, node.slot(), pod, self.now);
    }

    /// A pod left a known node.
    pub(crate) fn on_pod_gone(&mut self, pod: &Pod, node: &NodeInfo) {
        self.groups.leave(&self.topology, node.slot(), pod);
        self.carried.leave(&self.topology, node.slot(), pod);
    }

    /// How nodes are divided by that rule.
    pub(crate) fn division(&mut self, rule: &DivisionRule) -> Arc<Division> {
        let id = self.topology.division(rule, self.now);
        self.topology.get(id).clone()
    }

    /// How many of a group there are in each domain.
    pub(crate) fn table(&mut self, group: &GroupRule, division: &DivisionRule) -> Table {
        let id = self.topology.division(division, self.now);
        let group = self.groups.group(group, self.now);
        let tally = self.groups.by_domain(&self.topology, group, id).clone();
        Table { division: self.topology.get(id).clone(), tally }
    }

    /// How many of a group there are on each node.
    pub(crate) fn by_node(&mut self, group: &GroupRule) -> NodeTally {
        let group = self.groups.group(group, self.now);
        NodeTally(self.groups.by_slot(group).clone())
    }

    /// What pods on nodes say of a pod in a namespace with these labels, in these roles and in a
    /// settled order.
    pub(crate) fn said_of(
        &mut self,
        pod: &PodSpec,
        namespace_labels: &Labels,
        is_wanted: impl Fn(Role) -> bool,
    ) -> Vec<Said> {
        let Self { topology, carried, .. } = self;
        let about = carried.about(pod, namespace_labels);
        let said = about.filter(|carried| is_wanted(carried.role)).map(|carried| Said {
            role: carried.role,
            topology_key: carried.term.topology_key.clone(),
            carriers: Table {
                division: topology.get(carried.division).clone(),
                tally: carried.by_domain.clone(),
            },
        });
        said.collect()
    }

    /// A question begins: what nobody has asked for in long makes room.
    fn begin(&mut self) {
        self.now += 1;
        if self.groups.len() > MOST_GROUPS {
            let since = median(self.groups.uses());
            self.groups.drop_unused(since);
        }
        if self.topology.len() > MOST_DIVISIONS {
            let since = median(self.topology.uses());
            // Those of carried terms are as few as the labels that pods on nodes speak of.
            let carried = self.carried.divisions();
            self.topology.drop_unused(since, |id| carried.contains(&id));
            self.groups.drop_divisions(&self.topology);
        }
    }
}

/// How many pods there are on each node.
#[derive(Clone, Debug)]
pub(crate) struct NodeTally(Arc<Tally>);

impl NodeTally {
    /// How many there are on a node of the cluster.
    pub(crate) fn on(&self, node: &NodeInfo) -> u32 {
        self.0.at(node.slot().number())
    }
}

/// The counts of a cluster, if somebody has asked for any.
#[derive(Default)]
pub(crate) struct KeptCounts(Mutex<Option<Box<Counts>>>);

impl KeptCounts {
    /// Asks for counts of these nodes, which they are made of if there are none yet.
    pub(crate) fn ask<'a, N, R>(
        &self,
        nodes: impl FnOnce() -> N,
        ask: impl FnOnce(&mut Counts) -> R,
    ) -> R
    where
        N: IntoIterator<Item = &'a NodeInfo>,
    {
        let mut kept = self.0.lock().unwrap_or_else(|poisoned| {
            // Whoever panicked while asking may have left a table half made: better none.
            self.0.clear_poison();
            let mut kept = poisoned.into_inner();
            *kept = None;
            kept
        });
        let counts = kept.get_or_insert_with(|| Box::new(Counts::over(nodes())));
        counts.begin();
        ask(counts)
    }

    /// Lets the counts follow a change, if there are any.
    pub(crate) fn follow(&mut self, change: impl FnOnce(&mut Counts)) {
        match self.0.get_mut() {
            Ok(Some(counts)) => change(counts),
            Ok(None) => {}
            Err(_) => self.forget(),
        }
    }

    /// The nodes are about to change in ways that the counts cannot follow.
    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// A copy counts for itself when it is asked.
impl Clone for KeptCounts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for KeptCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptCounts")
    }
}

fn median(times: impl Iterator<Item = u64>) -> u64 {
    let mut times: Vec<u64> = times.collect();
    let middle = times.len() / 2;
    *times.select_nth_unstable(middle).1
}

/// A group costs as much as it has pods.
const MOST_GROUPS: usize = 8_192;

/// A division costs a word for each node.
const MOST_DIVISIONS: usize = 512;
