//! What a scheduler is made of.

use std::time::Duration;

use roadstead_model::{Text, World};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::framework::Framework;
use roadstead_scheduler::plugins::{self, ArgumentError};

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

impl Default for Setup {
    /// kube-scheduler's, as it is without a configuration.
    fn default() -> Self {
        let mut world = World::new();
        let framework = plugins::default_framework(|_| None, &mut world)
            .expect("plugins take it when they are told nothing");
        let name = world.text("default-scheduler");
        Self { world, profiles: vec![(name, framework)], queue: roadstead_queue::Config::default() }
    }
}

/// A plugin that cannot work as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("profile `{profile}`: plugin `{plugin}`: {}{message}", at(path))]
pub struct SetupError {
    /// The profile.
    pub profile: String,
    /// The plugin.
    pub plugin: String,
    /// Where in its arguments; empty for the whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}: ") }
}

impl Setup {
    /// What a configuration asks for.
    ///
    /// # Errors
    /// Arguments that a plugin cannot work with.
    pub fn configured(configuration: &SchedulerConfiguration) -> Result<Self, SetupError> {
        let mut world = World::new();
        let mut profiles = Vec::with_capacity(configuration.profiles.len());
        for profile in &configuration.profiles {
            let arguments = |plugin: &str| {
                let config = profile.plugin_config.iter().find(|config| config.name == plugin);
                config.map(|config| config.args.clone())
            };
            let framework = plugins::default_framework(arguments, &mut world).map_err(
                |(plugin, ArgumentError { path, message })| SetupError {
                    profile: profile.scheduler_name.clone(),
                    plugin: plugin.to_owned(),
                    path,
                    message,
                },
            )?;
            profiles.push((world.text(&profile.scheduler_name), framework));
        }
        let seconds = |seconds: i64| Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
        let queue = roadstead_queue::Config {
            initial_backoff: seconds(configuration.pod_initial_backoff_seconds),
            max_backoff: seconds(configuration.pod_max_backoff_seconds),
            ..roadstead_queue::Config::default()
        };
        Ok(Self { world, profiles, queue })
    }
}
