//! Why a pod fits nowhere, node by node, and the message that says so.

use std::collections::{BTreeMap, BTreeSet};

use crate::framework::{Code, PreFiltered, Reason, Status};

/// What is wrong with each node, for one pod.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// How many nodes there are.
    nodes: usize,
    /// What is wrong with the node at that place in the cluster's order.
    statuses: BTreeMap<usize, Status>,
    /// What is wrong with all that have no status of their own.
    absent: Status,
    pre_filter_message: Option<String>,
    rejectors: BTreeSet<&'static str>,
    pending: BTreeSet<&'static str>,
}

impl Diagnosis {
    /// Nothing is wrong yet with any node that PreFilter left.
    pub(crate) fn new(nodes: usize, filtered: &PreFiltered) -> Self {
        let mut names = filtered.narrowed_by.clone();
        names.sort_unstable();
        let reason = format!("node(s) didn't satisfy plugin(s) [{}]", names.join(" "));
        Self {
            nodes,
            statuses: BTreeMap::new(),
            absent: Status::unresolvable(reason),
            pre_filter_message: None,
            rejectors: names.into_iter().collect(),
            pending: BTreeSet::new(),
        }
    }

    /// PreFilter has ruled out every node.
    pub(crate) fn pre_filter(
        nodes: usize,
        status: Status,
        rejectors: BTreeSet<&'static str>,
    ) -> Self {
        Self {
            nodes,
            statuses: BTreeMap::new(),
            pre_filter_message: Some(status.message()),
            absent: status,
            rejectors,
            pending: BTreeSet::new(),
        }
    }

    /// Notes what is wrong with the node at that place.
    pub(crate) fn note(&mut self, node: usize, status: Status) {
        self.rejectors.insert(status.plugin());
        if status.code() == Code::Pending {
            self.pending.insert(status.plugin());
        }
        self.statuses.insert(node, status);
    }

    /// What is wrong with the node at that place in the cluster's order.
    #[must_use]
    pub fn status(&self, node: usize) -> &Status {
        self.statuses.get(&node).unwrap_or(&self.absent)
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
        self.nodes
    }

    /// kube-scheduler's words for it, up to what PostFilter adds.
    #[must_use]
    pub fn message(&self) -> String {
        if let Some(message) = &self.pre_filter_message {
            return format!("0/{} nodes are available: {message}.", self.nodes);
        }
        let absent = self.nodes - self.statuses.len();
        let explicit = self.statuses.values().flat_map(|status| status.reasons());
        let rest =
            self.absent.reasons().iter().flat_map(|reason| std::iter::repeat_n(reason, absent));
        no_nodes_available(self.nodes, explicit.chain(rest))
    }
}

/// How many nodes gave each reason, in kube-scheduler's words and order.
pub(crate) fn no_nodes_available<'a>(
    nodes: usize,
    reasons: impl Iterator<Item = &'a Reason>,
) -> String {
    let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    // Sorted as strings, numbers included: ten comes before two.
    let mut entries: Vec<String> =
        counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    entries.sort_unstable();
    let start = format!("0/{nodes} nodes are available:");
    if entries.is_empty() { start } else { format!("{start} {}.", entries.join(", ")) }
}
