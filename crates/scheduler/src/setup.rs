//! What a scheduler is made of.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use roadstead_model::{Text, World};

use crate::config::{ConfigError, SchedulerConfiguration};
use crate::framework::Framework;
use crate::{BuildError, Registry};

/// What a scheduler is made of: its profiles, its queue's settings, and the tables that its
/// plugins share with the objects it is shown.
pub struct Setup {
    /// The tables.
    pub world: World,
    /// The profiles, by scheduler name.
    pub profiles: Vec<(Text, Framework)>,
    /// How the queue behaves.
    pub queue: roadstead_queue::Config,
}

/// A scheduler that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The configuration does not hold together.
    Config(ConfigError),
    /// A plugin cannot work as it is configured.
    Build(BuildError),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Build(error) => error.fmt(f),
        }
    }
}

impl Error for SetupError {}

impl Setup {
    /// What a configuration asks for, with the plugins of a registry.
    ///
    /// # Errors
    /// The configuration does not hold together, or a plugin cannot work with its arguments.
    pub fn new(
        configuration: &SchedulerConfiguration,
        registry: &Registry,
    ) -> Result<Self, SetupError> {
        let mut world = World::new();
        let profiles = configuration.profiles(registry.known()).map_err(SetupError::Config)?;
        let profiles = registry.frameworks(&profiles, &mut world).map_err(SetupError::Build)?;
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let queue = roadstead_queue::Config {
            initial_backoff: seconds(configuration.pod_initial_backoff_seconds),
            max_backoff: seconds(configuration.pod_max_backoff_seconds),
            ..roadstead_queue::Config::default()
        };
        Ok(Self { world, profiles, queue })
    }
}

impl Default for Setup {
    /// kube-scheduler's, as it is without a configuration.
    fn default() -> Self {
        let registry = Registry::default();
        let configuration = SchedulerConfiguration::new(registry.known());
        Self::new(&configuration, &registry).expect("the defaults fit together")
    }
}
