//! Why a pod fits nowhere, node by node, and the message that says so.

mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::framework::{Code, PreFiltered, Reason, Status};
use crate::nodes::{NodeInfo, Slot};

pub(crate) use verdicts::{Refusal, Verdicts};

/// What is wrong with each node, for one pod.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// What is wrong with each node; shared with whoever remembers it.
    verdicts: Arc<Verdicts>,
    /// What is wrong with all that have no status of their own.
    absent: Status,
    pre_filter_message: Option<String>,
    rejectors: BTreeSet<&'static str>,
    pending: BTreeSet<&'static str>,
}

impl Diagnosis {
    /// This is wrong with the nodes that PreFilter left.
    pub(crate) fn new(verdicts: Arc<Verdicts>, filtered: &PreFiltered) -> Self {
        let mut names = filtered.narrowed_by.clone();
        names.sort_unstable();
        let reason = format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" "));
        let statuses = || verdicts.rows().map(|row| &row.refusal.status);
        let waits = |status: &&Status| status.code() == Code::Pending;
        Self {
            rejectors: names.into_iter().chain(statuses().map(Status::plugin)).collect(),
            pending: statuses().filter(waits).map(Status::plugin).collect(),
            absent: Status::unresolvable(reason),
            pre_filter_message: None,
            verdicts,
        }
    }

    /// This is wrong with the one node that there is to speak of.
    pub(crate) fn one(status: Status) -> Self {
        let mut verdicts = Verdicts::new(1);
        verdicts.set(Slot::new(0), Some(Refusal { status, filter: 0 }));
        Self::new(Arc::new(verdicts), &PreFiltered::default())
    }

    /// PreFilter has ruled out every node.
    pub(crate) fn pre_filter(
        nodes: usize,
        status: Status,
        rejectors: BTreeSet<&'static str>,
    ) -> Self {
        Self {
            verdicts: Arc::new(Verdicts::new(nodes)),
            pre_filter_message: Some(status.message()),
            absent: status,
            rejectors,
            pending: BTreeSet::new(),
        }
    }

    /// What is wrong with the node, which is one of the cluster's.
    #[must_use]
    pub fn status(&self, node: &NodeInfo) -> &Status {
        self.at(node.slot())
    }

    /// What is wrong with the node in that slot.
    pub(crate) fn at(&self, slot: Slot) -> &Status {
        self.verdicts.get(slot).map_or(&self.absent, |refusal| &refusal.status)
    }

    /// How many nodes have a status of that kind.
    #[must_use]
    pub fn count(&self, code: Code) -> usize {
        let rows = self.verdicts.rows().filter(|row| row.refusal.status.code() == code);
        let absent = if self.absent.code() == code { self.verdicts.fine() } else { 0 };
        rows.map(|row| row.nodes).sum::<usize>() + absent
    }

    /// Every status that some node has, and how many nodes have it.
    pub fn statuses(&self) -> impl Iterator<Item = (&Status, usize)> {
        let own = self.verdicts.rows().map(|row| (&row.refusal.status, row.nodes));
        own.chain([(&self.absent, self.verdicts.fine())]).filter(|(_, nodes)| *nodes > 0)
    }

    /// How many nodes have a status of their own.
    pub(crate) fn refused(&self) -> usize {
        self.verdicts.nodes() - self.verdicts.fine()
    }

    /// What PreFilter said, where it ended the cycle.
    #[must_use]
    pub fn pre_filter_status(&self) -> Option<&Status> {
        self.pre_filter_message.as_ref().map(|_| &self.absent)
    }

    /// The plugins whose events may bring the pod back.
    #[must_use]
    pub fn rejectors(&self) -> &BTreeSet<&'static str> {
        &self.rejectors
    }

    /// Those of them that wait for something in particular.
    #[must_use]
    pub fn pending(&self) -> &BTreeSet<&'static str> {
        &self.pending
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.verdicts.nodes()
    }

    /// kube-scheduler's words for it, up to what PostFilter adds.
    #[must_use]
    pub fn message(&self) -> String {
        let nodes = self.nodes();
        if let Some(message) = &self.pre_filter_message {
            return format!("0/{nodes} nodes are available: {message}.");
        }
        no_nodes_available(nodes, self.statuses())
    }
}

/// How many nodes gave each reason, in kube-scheduler's words and order.
pub(crate) fn no_nodes_available<'a>(
    nodes: usize,
    statuses: impl Iterator<Item = (&'a Status, usize)>,
) -> String {
    let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
    for (status, nodes) in statuses.filter(|(_, nodes)| *nodes > 0) {
        for reason in status.reasons() {
            *counts.entry(reason).or_default() += nodes;
        }
    }
    // Sorted as strings, numbers included: ten comes before two.
    let mut entries: Vec<String> =
        counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    entries.sort_unstable();
    let start = format!("0/{nodes} nodes are available:");
    if entries.is_empty() { start } else { format!("{start} {}.", entries.join(", ")) }
}
