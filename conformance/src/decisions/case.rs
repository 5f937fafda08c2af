//! Cases as they stand in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use k8s_openapi::api::core::v1::Pod;
use serde::Deserialize;
use serde_json::Value;

use super::outcome::Outcome;
use super::scene::Cluster;
use crate::TraceError;

/// The cases of one file, read one at a time, each with its place in the file.
///
/// After an error there is nothing more: what follows a broken line cannot be trusted.
pub struct Cases {
    at: At,
    lines: Box<dyn BufRead>,
    is_broken: bool,
}

impl Cases {
    /// Opens a file; one whose name ends in `.gz` is unpacked while it is read.
    ///
    /// # Errors
    ///
    /// There is no such file, or it may not be read.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let at = At { file: path.display().to_string(), line: 0 };
        let file = BufReader::new(File::open(path).map_err(|error| at.error(error.to_string()))?);
        let lines: Box<dyn BufRead> = if path.extension().is_some_and(|it| it == "gz") {
            Box::new(BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { at, lines, is_broken: false })
    }

    fn read(&mut self) -> Result<Option<Case>, String> {
        let mut text = String::new();
        loop {
            text.clear();
            self.at.line += 1;
            match self.lines.read_line(&mut text) {
                Ok(0) => return Ok(None),
                Ok(_) if text.trim().is_empty() => {}
                Ok(_) => return serde_json::from_str(&text).map(Some).map_err(|e| e.to_string()),
                Err(error) => return Err(format!("cannot be read: {error}")),
            }
        }
    }
}

impl Iterator for Cases {
    type Item = Result<(Case, At), TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        let read = self.read().transpose()?;
        self.is_broken = read.is_err();
        Some(read.map(|case| (case, self.at.clone())).map_err(|what| self.at.error(what)))
    }
}

/// A line of a file.
#[derive(Clone, Debug)]
pub struct At {
    file: String,
    line: usize,
}

impl At {
    pub(super) fn error(&self, what: String) -> TraceError {
        TraceError { file: self.file.clone(), line: self.line, what }
    }
}

/// One decision of the real scheduler.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Case {
    /// Filter and score.
    Place(Box<Place>),
    /// Whether an event is worth a retry.
    Hint(Box<Hint>),
    /// Who must go.
    Preempt(Box<Preempt>),
}

impl Case {
    /// The case's name in its file.
    pub fn name(&self) -> &str {
        match self {
            Self::Place(case) => &case.name,
            Self::Hint(case) => &case.name,
            Self::Preempt(case) => &case.name,
        }
    }

    /// The plugins without which the case cannot come out as expected.
    pub(super) fn plugins(&self) -> BTreeSet<String> {
        match self {
            Self::Place(case) => case.expect.plugins(),
            Self::Hint(case) => BTreeSet::from([case.plugin.clone()]),
            Self::Preempt(_) => super::preempt::PLUGINS.iter().map(|&name| name.into()).collect(),
        }
    }

    /// Whether the plugin, all by itself, has something to say about the case.
    pub(super) fn may_concern(&self, plugin: &str) -> bool {
        match self {
            Self::Place(_) => true,
            Self::Hint(case) => case.plugin == plugin,
            Self::Preempt(_) => plugin == "DefaultPreemption",
        }
    }
}

/// Plugin arguments by plugin.
pub(super) type Arguments = BTreeMap<String, Value>;

/// Filter and score.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    pub(super) name: String,
    pub(super) cluster: Cluster,
    #[serde(default)]
    pub(super) args: Arguments,
    pub(super) pod: Pod,
    pub(super) expect: Outcome,
}

/// Whether an event is worth a retry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    pub(super) name: String,
    pub(super) plugin: String,
    pub(super) event: Event,
    pub(super) registered: bool,
    pub(super) cluster: Cluster,
    #[serde(default)]
    pub(super) args: Arguments,
    pub(super) pod: Pod,
    pub(super) old: Value,
    pub(super) new: Value,
    pub(super) expect: Answer,
}

/// What happened.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Event {
    pub(super) resource: String,
    pub(super) action: Vec<String>,
}

/// What a hint says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum Answer {
    /// The event may help.
    Queue,
    /// It cannot.
    Skip,
    /// Something is wrong, which counts as `Queue`.
    Error,
}

/// Who must go.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preempt {
    pub(super) name: String,
    pub(super) cluster: Cluster,
    #[serde(default)]
    pub(super) args: Arguments,
    pub(super) pod: Pod,
    pub(super) expect: PreemptOutcome,
}

/// What PostFilter does.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreemptOutcome {
    pub(super) node: String,
    pub(super) victims: Vec<String>,
    pub(super) message: String,
    pub(super) nomination: String,
    #[serde(default)]
    pub(super) unnominate: Vec<String>,
    #[serde(default)]
    pub(super) candidates: BTreeMap<String, Cost>,
    pub(super) failure: String,
}

/// What a node costs.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    pub(super) victims: Vec<String>,
    pub(super) pdb_violations: usize,
}
