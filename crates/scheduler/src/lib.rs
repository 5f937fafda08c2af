//! A Kubernetes scheduler as a pure state machine: framework, plugins, cache, cycles.
//!
//! [`Scheduler`] is told what happens in a cluster and says what is to be done there. It reads no
//! clock and does no I/O.
//!
//! Extension points carry their Kubernetes names. A plugin is a plain struct in one file that
//! implements the traits of the points it joins, with its events and hints beside its filter.

mod activity;
mod cache;
mod command;
pub mod config;
mod counts;
mod diagnosis;
pub mod document;
pub mod events;
pub mod explain;
pub mod framework;
mod journal;
mod listers;
pub mod listing;
mod memory;
mod metrics;
mod nodes;
mod observer;
pub mod plugins;
mod registry;
mod scheduler;
mod setup;
#[cfg(test)]
mod testing;

pub use activity::{
    Activity, ActivityDocument, Depths, EventActivity, Flow, HeldPods, HintActivity, RecentMove,
    Sample, Series, Totals,
};
pub use cache::Cache;
pub use command::{Command, Condition, Record};
pub use diagnosis::Diagnosis;
pub use journal::{Destination, Entry, HintWord, History, Journal, JournalLimits, What};
pub use listers::{Assumptions, Listers};
pub use metrics::{Exposition, Metrics, expose_pod_resources};
pub use nodes::{NodeInfo, Nodes};
pub use observer::{AttemptResult, Happening, Observer};
pub use registry::{BuildError, Registry};
pub use scheduler::{Change, MissedWakeup, PodKey, QueuedPod, Rules, Scheduler, Sort};
pub use setup::{Setup, SetupError};
