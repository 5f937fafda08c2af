//! The wake-up contract: where a pod is, what it waits for, and what would place it.
//!
//! Everything that is said to place a pod was tried: the pod was changed so, and every plugin asked
//! about every node. What a plugin says would satisfy it is its own word.

mod news;
mod remedies;
mod text;
mod trying;
pub(crate) mod words;

use roadstead_queue::Time;
use serde::Serialize;

use crate::journal::{optional_seconds, seconds};
pub use news::News;
pub use remedies::{Change, Refusal, Remedies};
pub(crate) use remedies::{LESS, TOLERATION, WITHOUT, most_frequent, without, without_labels};

/// How much is tried to explain one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainLimits {
    /// How many changes of the pod are tried, each on every node. Default 64.
    pub changes: usize,
}

impl Default for ExplainLimits {
    fn default() -> Self {
        Self { changes: 64 }
    }
}

/// Where a pod is, why, and what would place it. As text it is for people.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The pod's namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// When this was true.
    #[serde(serialize_with = "seconds")]
    pub at: Time,
    /// Where it is.
    #[serde(flatten)]
    pub whereabouts: Whereabouts,
    /// Since when, if it waits.
    #[serde(serialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// If it waits for an event: when it is tried again though none came. That is looked for every
    /// thirty seconds, so it may be a little later.
    #[serde(serialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
    pub retried_at: Option<Time>,
    /// How often it was tried.
    pub attempts: u32,
    /// The node that is kept for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them would take it now, as it is.
    pub fits: usize,
    /// Why none would, in kube-scheduler's words; or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Who rejected it or holds it, and who would now.
    pub rejectors: Vec<RejectorExplanation>,
    /// Single changes of the pod that would place it now, smallest first. Each was tried.
    pub changes: Vec<PlacingChange>,
    /// How many changes were tried.
    pub tried: usize,
    /// How many more there were, beyond the limit.
    pub untried: usize,
}

/// Where a pod is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "place")]
#[non_exhaustive]
pub enum Whereabouts {
    /// Ready to be tried.
    Active {
        /// So many are tried before it.
        before: usize,
    },
    /// Waiting after a rejection.
    Backoff {
        /// The end of its backoff.
        #[serde(serialize_with = "optional_seconds")]
        until: Option<Time>,
    },
    /// Waiting after an error.
    ErrorBackoff {
        /// The end of its backoff.
        #[serde(serialize_with = "optional_seconds")]
        until: Option<Time>,
    },
    /// Waiting for an event.
    Unschedulable,
    /// Held by a gate.
    Gated {
        /// The gate's plugin.
        by: String,
    },
    /// Being tried.
    InFlight,
    /// It has a node, and waits for permission to be bound to it.
    Permit {
        /// The node.
        node: String,
        /// The plugins that have not permitted it yet.
        plugins: Vec<String>,
        /// When it is rejected if one of them still has not.
        #[serde(serialize_with = "seconds")]
        until: Time,
    },
    /// It has a node, and is not bound yet.
    Binding {
        /// The node.
        node: String,
    },
    /// It is on a node.
    Bound {
        /// The node.
        node: String,
    },
    /// No profile here has the scheduler name that it asks for.
    NotOurs {
        /// That name.
        scheduler: String,
    },
}

impl Whereabouts {
    /// Whether it is in the queue.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !matches!(
            self,
            Self::InFlight
                | Self::Permit { .. }
                | Self::Binding { .. }
                | Self::Bound { .. }
                | Self::NotOurs { .. }
        )
    }
}

/// A plugin that keeps a pod waiting.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectorExplanation {
    /// Its name.
    pub plugin: String,
    /// Whether its events bring the pod back: it was among the rejectors of the last attempt, or
    /// holds the pod, and the pod does not come back by itself.
    pub is_waited_for: bool,
    /// How many nodes it refuses now, being the first to do so.
    pub refuses: usize,
    /// Why, the most frequent reasons first. A node may be refused for several.
    pub reasons: Vec<ReasonCount>,
    /// Why it holds the pod, if it is a gate that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// What would bring the pod back.
    pub retried_on: Vec<News>,
    /// Changes of the cluster, each of which would satisfy it.
    pub satisfied_by: Vec<String>,
}

/// A reason, and how many nodes are refused for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonCount {
    /// The reason.
    pub reason: String,
    /// How many nodes.
    pub nodes: usize,
}

/// A single change of a pod that would place it now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacingChange {
    /// The plugin that thought of it.
    pub plugin: String,
    /// What would be different: `it asked 300m less cpu`.
    pub change: String,
    /// How many nodes would take it then.
    pub nodes: usize,
}
