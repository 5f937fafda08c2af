//! Scenarios: what happens to a cluster, written down.
//!
//! A [`Scenario`] is read from YAML, with everything that is wrong with it told at once, and
//! [played](Scenario::play) as a [`Timeline`](crate::Timeline). `docs/scenarios.md` has every field.

mod action;
mod checking;
mod drawing;
mod objects;
mod playing;
mod workload;
mod written;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use roadstead_scheduler::document::{self, DocumentError, Problems, decode, did_you_mean, nearest};

use self::action::Action;
pub use self::playing::Play;
use self::workload::Workload;

/// What happens to a cluster, and when.
///
/// ```
/// use roadstead_sim::Scenario;
///
/// let text = "
/// apiVersion: sim.roadstead.dev/v1
/// kind: Scenario
/// metadata: {name: morning}
/// spec:
///   fleets: [{name: pier, count: 3, capacity: {cpu: 4, memory: 16Gi}}]
///   workloads: [{name: boat, count: 9, arrivals: {poisson: {rate: 2/m}}}]
///   timeline: [{at: 90s, cordon: {node: pier-0}}]
/// ";
/// let scenario = Scenario::read("morning.yaml", text, &|_| Err(std::io::ErrorKind::NotFound.into()))?;
/// assert_eq!(scenario.name(), "morning");
/// # Ok::<(), roadstead_scheduler::document::DocumentError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    seed: Option<u64>,
    stop: Option<Duration>,
    fleets: Vec<Arc<Fleet>>,
    workloads: Vec<Arc<Workload>>,
    entries: Vec<Arc<Entry>>,
}

/// What is done once, or again and again.
#[derive(Clone, Debug)]
struct Entry {
    at: Duration,
    every: Option<Duration>,
    action: Action,
}

/// The only version that there is.
pub const API_VERSION: &str = "sim.roadstead.dev/v1";

/// The kind of object that a scenario is.
pub const KIND: &str = "Scenario";

/// Gives the text of a file that a scenario names.
pub type ReadFile<'a> = dyn Fn(&str) -> io::Result<String> + 'a;

impl Scenario {
    /// Reads a scenario from YAML or JSON. `file` is its name in messages; `read_file` gives the
    /// text of files that it names.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read(file: &str, text: &str, read_file: &ReadFile<'_>) -> Result<Self, DocumentError> {
        let problems = Problems::default();
        let (document, error) = document::Node::parse(text);
        if let Some(error) = error {
            problems.unreadable(error.spot, error.message);
        }
        let Some(document) = document else {
            return Err(DocumentError::new(file, text, problems.located(None)));
        };
        let written: written::Document = decode(&document, "", &problems);
        let is_known = check_type(&written, &problems);
        let scenario = is_known.then(|| checking::check(written, read_file, &problems));
        match scenario.filter(|_| problems.is_empty()) {
            Some(scenario) => Ok(scenario),
            None => Err(DocumentError::new(file, text, problems.located(Some(&document)))),
        }
    }

    /// Begins it, at the start of a run. Chance is drawn from `seed`, which need not be the
    /// [one that it asks for](Self::seed).
    #[must_use]
    pub fn play(&self, seed: u64) -> Play {
        Play::new(self, seed)
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What chance is drawn from, if the scenario says.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// When the run is to stop, if not when nothing happens any more.
    #[must_use]
    pub fn stop(&self) -> Option<Duration> {
        self.stop
    }
}

/// Another version or kind is not looked into further.
fn check_type(written: &written::Document, problems: &Problems) -> bool {
    for (field, value, expected) in
        [("apiVersion", &written.api_version, API_VERSION), ("kind", &written.kind, KIND)]
    {
        if value != expected {
            let hint = nearest(value, [expected]).map(did_you_mean);
            let reason = format!("Unsupported value: {value:?}: expected {expected:?}");
            problems.hinted(field, reason, hint);
        }
    }
    !problems.concern("apiVersion") && !problems.concern("kind")
}

/// Nodes of one kind.
#[derive(Clone, Debug)]
struct Fleet {
    name: String,
    count: u64,
    at: Duration,
    zones: Vec<String>,
    node: Node,
}

impl Fleet {
    /// The node of a number: called after it, and in the zone whose turn it is.
    fn node(&self, number: u64) -> Node {
        let mut node = self.node.clone();
        node.metadata.name = Some(format!("{}-{number}", self.name));
        let zones = self.zones.len() as u64;
        let turn = number.checked_rem(zones).and_then(|turn| usize::try_from(turn).ok());
        if let Some(zone) = turn.and_then(|turn| self.zones.get(turn)) {
            let labels = node.metadata.labels.get_or_insert_default();
            labels.insert(checking::ZONE.to_owned(), zone.clone());
        }
        node
    }
}
