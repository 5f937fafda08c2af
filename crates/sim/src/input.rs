//! What a run is given: manifests, and scenarios among them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use roadstead_cluster::manifests::{self, Manifests, OwnDocument};
use roadstead_queue::Time;
use roadstead_scheduler::document::{DocumentError, Node, Problems, did_you_mean, nearest};

use crate::scenario::{API_VERSION, KIND};
use crate::{Scenario, Timeline};

/// Manifests and scenarios.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// What is in the cluster at the start. What is wrong with it is in here, and told by
    /// [`Cluster::load`](roadstead_cluster::embedded::Cluster::load) with the rest.
    pub manifests: Manifests,
    /// What happens to it.
    pub scenarios: Vec<Scenario>,
}

impl Input {
    /// Reads files, folders and `-` for `stdin`: manifests, with scenarios anywhere among them.
    ///
    /// # Errors
    /// Everything that is wrong with the scenarios, and all problems of the manifests beside it.
    pub fn read(paths: &[PathBuf], stdin: &mut dyn Read) -> Result<Self, InputError> {
        Self::sort_out(manifests::read(paths, stdin))
    }

    /// Takes the scenarios out of manifests that were read.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn sort_out(mut manifests: Manifests) -> Result<Self, InputError> {
        let mut scenarios = Vec::new();
        let mut wrong = Vec::new();
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for own in std::mem::take(&mut manifests.own) {
            match read_scenario(&own) {
                Err(error) => wrong.push(error),
                Ok(scenario) => {
                    let name = scenario.name().to_owned();
                    if let Some(first) = names.insert(name.clone(), own.file.clone()) {
                        wrong.push(twice(&own, &name, &first));
                    }
                    scenarios.push(scenario);
                }
            }
        }
        if wrong.is_empty() {
            return Ok(Self { manifests, scenarios });
        }
        Err(InputError { scenarios: wrong, manifests: manifests.problems })
    }

    /// All scenarios, side by side. A seed that is given counts instead of their own.
    #[must_use]
    pub fn play(&self, seed: Option<u64>) -> Box<dyn Timeline> {
        let mut all: Box<dyn Timeline> = Box::new(crate::Uneventful);
        for scenario in &self.scenarios {
            let seed = seed.or(scenario.seed()).unwrap_or_default();
            all = Box::new((all, scenario.play(seed)));
        }
        all
    }

    /// When the run is to stop: the earliest time that a scenario names, if one does.
    #[must_use]
    pub fn until(&self) -> Option<Time> {
        let stops = self.scenarios.iter().filter_map(Scenario::stop);
        stops.min().map(|after| Time::ZERO + after)
    }

    /// The seed that the first scenario with one names.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.scenarios.iter().find_map(Scenario::seed)
    }
}

/// What is wrong with the scenarios of a run, and with its manifests.
#[derive(Clone, Debug)]
pub struct InputError {
    /// Scenarios, in the order of the files.
    pub scenarios: Vec<DocumentError>,
    /// Manifests, as far as they could not be read.
    pub manifests: Vec<manifests::Problem>,
}

impl std::error::Error for InputError {}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.scenarios {
            write!(f, "{separator}{error}")?;
            separator = "\n\n";
        }
        for problem in &self.manifests {
            write!(f, "{separator}error: {problem}")?;
            separator = "\n";
        }
        Ok(())
    }
}

fn read_scenario(own: &OwnDocument) -> Result<Scenario, DocumentError> {
    let folder = Path::new(&own.file).parent().unwrap_or(Path::new(""));
    let read_file = |name: &str| fs::read_to_string(folder.join(name));
    if own.api_version == API_VERSION && own.kind != KIND {
        let reason = format!("Unsupported value: {:?}: expected {KIND:?}", own.kind);
        return Err(one_problem(
            own,
            "kind",
            &reason,
            nearest(&own.kind, [KIND]).map(did_you_mean),
        ));
    }
    Scenario::read(&own.file, &own.text, &read_file)
}

fn twice(own: &OwnDocument, name: &str, first: &str) -> DocumentError {
    let reason = format!("`{name}` is the name of a scenario in {first} already");
    one_problem(own, "metadata.name", &reason, None)
}

fn one_problem(own: &OwnDocument, path: &str, reason: &str, hint: Option<String>) -> DocumentError {
    let problems = Problems::default();
    problems.hinted(path, reason, hint);
    let (document, _) = Node::parse(&own.text);
    DocumentError::new(&own.file, &own.text, problems.located(document.as_ref()))
}
