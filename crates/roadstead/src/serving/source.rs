//! Where the answers come from that only the scheduler has.

use std::future::Future;
use std::pin::Pin;

/// What handlers ask of the scheduler behind them.
///
/// The scheduler runs on a thread of its own: answers are futures, and whoever waits for one waits
/// for a bounded time. An implementation hands the question over and does no work itself.
pub(crate) trait Source: Send + Sync + 'static {
    /// The scheduler's metrics in Prometheus' text format.
    fn metrics(&self) -> Answer<String>;

    /// Sets counters and histograms back to nothing observed.
    fn reset_metrics(&self) -> Answer<()>;

    /// What every pod requests, in Prometheus' text format; empty when another instance leads.
    fn resource_metrics(&self) -> Answer<String>;

    /// The `KubeSchedulerConfiguration` in force.
    fn configuration(&self) -> serde_json::Value;
}

/// An answer that is on its way.
pub(crate) type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Unavailable>> + Send>>;

/// The scheduler cannot say: it has stopped, or is too busy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unavailable(pub(crate) String);
