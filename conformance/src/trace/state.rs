//! What a queue holds after an operation, and what is left at the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PodName;

/// A queue between two operations. All lists are sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Pods ready to be tried.
    pub active: Vec<PodName>,
    /// Pods backing off, after a rejection or an error, and when that ends (0: no backoff).
    pub backoff: Vec<(PodName, u64)>,
    /// Pods of the pool that no gate holds.
    pub unschedulable: Vec<PodName>,
    /// Pods of the pool that a gate held when the queue last asked.
    pub gated: Vec<PodName>,
    /// A name for each attempt under way.
    pub in_flight: Vec<PodName>,
    /// How many events are kept for them.
    pub in_flight_events: usize,
    /// How many pods were popped.
    pub cycle: i64,
    /// The cycle of the latest move request, -1 before the first.
    pub move_cycle: i64,
    /// The record of each pod that is in a queue.
    pub pods: BTreeMap<PodName, PodState>,
}

/// What a queue remembers of one pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodState {
    /// How often it was popped.
    pub attempts: u32,
    /// How often it was rejected.
    pub unschedulable_count: u32,
    /// How many errors in a row it had.
    pub errors: u32,
    /// When it was added or last came back.
    pub timestamp_ms: u64,
    /// Its unschedulable plugins, sorted.
    pub plugins: Vec<String>,
    /// Its pending plugins, sorted.
    pub pending: Vec<String>,
}

/// What is left when a trace is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The order in which pops empty what can be popped.
    pub drained: Vec<PodName>,
    /// `scheduler_queue_incoming_pods_total`, by `queue/event`; what never happened is absent.
    pub incoming: BTreeMap<String, u64>,
    /// `scheduler_pending_pods`, before the draining.
    pub pending: Pending,
}

/// `scheduler_pending_pods`: how many pods wait where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// In active.
    pub active: usize,
    /// In backoff, after a rejection or an error.
    pub backoff: usize,
    /// In the pool, not gated.
    pub unschedulable: usize,
    /// In the pool, gated.
    pub gated: usize,
}
