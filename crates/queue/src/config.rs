//! How a queue behaves.

use std::time::Duration;

use crate::event::Resource;

/// How a queue behaves. The default is kube-scheduler's.
#[derive(Clone, Debug)]
pub struct Config {
    /// How long an item waits after its first failure. Each further one doubles it.
    pub initial_backoff: Duration,
    /// The longest backoff. Zero switches backoff off.
    pub max_backoff: Duration,
    /// Spreads the ends of backoffs; off by default, as in kube-scheduler.
    pub jitter: Option<Jitter>,
    /// After how long in the unschedulable pool an item is tried again although nothing
    /// happened. Kubernetes: five minutes; sixty seconds up to v1.23.
    pub leftover_after: Duration,
    /// What brings a rejected item back.
    pub requeueing: Requeueing,
    /// Whether [`pop`](crate::Queue::pop) takes from backoff while nothing is active, which
    /// also orders backoffs in windows of a second.
    pub pop_from_backoff: bool,
    /// How many events are kept for attempts under way. Past it the oldest are forgotten, and
    /// attempts older than those come back as if something relevant had happened.
    pub max_in_flight_events: usize,
    /// What the items themselves are called in events: labels read `ItemAdd`, `ItemUpdate`.
    pub item_resource: Resource,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10),
            jitter: None,
            leftover_after: Duration::from_secs(300),
            requeueing: Requeueing::QueueingHints,
            pop_from_backoff: true,
            max_in_flight_events: 16_384,
            item_resource: Resource::new("Item"),
        }
    }
}

/// The two generations of requeueing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeueing {
    /// Hints decide, and events that happen during an attempt are kept and asked about when it
    /// fails.
    QueueingHints,
    /// The older way: an item comes back if a move request arrived since its scheduling cycle;
    /// registration alone decides, hints are not asked.
    MoveRequestCycle,
}

/// A seeded spread of backoffs, so that items that failed together do not return together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// How much of a backoff may be cut off: 0.0 none, 1.0 all of it. A backoff never gets
    /// longer than without jitter.
    pub fraction: f64,
    /// Equal seeds give equal backoffs to equal items.
    pub seed: u64,
}
