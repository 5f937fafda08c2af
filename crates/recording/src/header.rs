//! How a recording begins.

use std::time::Duration;

use roadstead_queue::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the format that is written, and the only one that is read.
pub const FORMAT: u32 = 1;

/// What the scheduler of a recording was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of the program that recorded.
    pub program: String,
    /// What kind of run it was.
    pub source: Source,
    /// What decided between equally good nodes.
    pub seed: u64,
    /// When it began, in nanoseconds of the scheduler's clock.
    start: u64,
    /// After how many nanoseconds a rejected pod was tried again although nothing happened: the one
    /// setting of the queue that a configuration does not have.
    leftover_after: Option<u64>,
    /// The `KubeSchedulerConfiguration` in force.
    pub configuration: Value,
}

/// What kind of run a recording is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// `roadstead run`: a Kubernetes cluster.
    Run,
    /// `roadstead serve`: a cluster in memory, live.
    Serve,
    /// `roadstead sim`: a cluster in memory, in virtual time.
    Sim,
}

impl Source {
    /// As the command is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Serve => "serve",
            Self::Sim => "sim",
        }
    }
}

impl Header {
    /// Of a run that begins at time zero.
    #[must_use]
    pub fn new(source: Source, configuration: Value, seed: u64) -> Self {
        let program = env!("CARGO_PKG_VERSION").to_owned();
        Self { program, source, seed, start: 0, leftover_after: None, configuration }
    }

    /// Of a run that begins then.
    #[must_use]
    pub fn starting(self, start: Time) -> Self {
        Self { start: start.as_nanos(), ..self }
    }

    /// Of a run whose queue tries a rejected pod again after so long.
    #[must_use]
    pub fn with_leftover_after(self, leftover_after: Duration) -> Self {
        let nanos = u64::try_from(leftover_after.as_nanos()).unwrap_or(u64::MAX);
        Self { leftover_after: Some(nanos), ..self }
    }

    /// When the run began, by the scheduler's clock.
    #[must_use]
    pub fn start(&self) -> Time {
        Time::from_nanos(self.start)
    }

    /// After how long the queue tried a rejected pod again, if it was not the default.
    #[must_use]
    pub fn leftover_after(&self) -> Option<Duration> {
        self.leftover_after.map(Duration::from_nanos)
    }
}
