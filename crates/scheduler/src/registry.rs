//! Which plugins there are, and how profiles are made of them.

use std::collections::BTreeMap;

use roadstead_model::{Text, World};

use crate::config::{Known, Point, Profile};
use crate::framework::Framework;
use crate::plugins::{self, Make};

/// The plugins that a scheduler has: kube-scheduler's, and those that were added.
///
/// ```
/// use roadstead_scheduler::Registry;
/// use roadstead_scheduler::config::SchedulerConfiguration;
/// use roadstead_scheduler::plugins::NodeName;
/// use roadstead_scheduler::config::Point;
///
/// let mut registry = Registry::default();
/// registry.add("Pinned", [Point::Filter], |_, _| Ok(NodeName::extensions()));
/// assert!(registry.known().plugin("Pinned").is_some());
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    known: Known,
    makes: BTreeMap<String, Make>,
}

impl Registry {
    /// Adds a plugin, which must have this name and join these points, or replaces the one of its
    /// name. Profiles must enable it by name.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        points: impl IntoIterator<Item = Point>,
        make: Make,
    ) {
        let name = name.into();
        self.known.add(name.clone(), points);
        self.makes.insert(name, make);
    }

    /// What configurations are checked against.
    #[must_use]
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Makes the plugins of a profile.
    ///
    /// # Errors
    ///
    /// A plugin that is not there, or that cannot work with its arguments.
    pub fn framework(&self, profile: &Profile, world: &mut World) -> Result<Framework, BuildError> {
        let mut made = Vec::new();
        for name in profile.plugins() {
            let wrong = |message: String| BuildError {
                profile: profile.scheduler_name().to_owned(),
                plugin: name.to_owned(),
                message,
            };
            let make = self.makes.get(name).ok_or_else(|| wrong(NOT_THERE.to_owned()))?;
            let extensions = make(profile.arguments(name), world).map_err(|error| {
                wrong(match error.path.as_str() {
                    "" => error.message,
                    path => format!("{path}: {}", error.message),
                })
            })?;
            made.push(extensions);
        }
        Ok(Framework::of_profile(profile, made))
    }

    /// Makes all profiles, by the names by which pods choose them.
    ///
    /// # Errors
    ///
    /// As for [`framework`](Self::framework), of the first profile that has one.
    pub fn frameworks(
        &self,
        profiles: &[Profile],
        world: &mut World,
    ) -> Result<Vec<(Text, Framework)>, BuildError> {
        let mut frameworks = Vec::new();
        for profile in profiles {
            frameworks
                .push((world.text(profile.scheduler_name()), self.framework(profile, world)?));
        }
        Ok(frameworks)
    }
}

impl Default for Registry {
    /// The plugins of kube-scheduler that Roadstead has.
    fn default() -> Self {
        let makes = plugins::DEFAULT.iter().map(|&(name, make, _)| (name.to_owned(), make));
        Self { known: Known::default(), makes: makes.collect() }
    }
}

/// A profile cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The profile's scheduler name.
    pub profile: String,
    /// The plugin that is to blame.
    pub plugin: String,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { profile, plugin, message } = self;
        write!(f, "profile `{profile}`: plugin `{plugin}`: {message}")
    }
}

impl std::error::Error for BuildError {}

const NOT_THERE: &str = "Roadstead does not have this plugin yet; remove it from the profile";
