//! What ends the program early, as people read it.

use std::fmt;
use std::io;
use std::time::Duration;

use roadstead_cluster::api::listening::ListenError;
use roadstead_cluster::kubernetes::ConnectError;
use roadstead_cluster::kubernetes::election::ElectionError;
use roadstead_cluster::manifests;
use roadstead_recording::{ReadError, RecordError};
use roadstead_scheduler::config::ConfigError;
use roadstead_sim::openb::TraceError;
use roadstead_sim::{InputError, ReplayError, RunError, SetupError};

use crate::commands::asking::AskError;
use crate::print;
use crate::serving::ServingError;

/// Why the program did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{0}")]
    Manifests(Listed<manifests::Problem>),
    #[error("{0}")]
    Scenarios(InputError),
    #[error("{0}")]
    Trace(TraceError),
    #[error("error: --trace openb: {0} files, expected two: the nodes, then the pods")]
    TraceFiles(usize),
    #[error("error: nothing to schedule: {0} holds no objects and no scenario")]
    NoObjects(String),
    #[error("{0}")]
    UnknownPods(Listed<UnknownPod>),
    #[error(
        "error: --explain: manifests (-o yaml) have no place for explanations; use -o human or \
         -o json"
    )]
    ExplainedManifests,
    #[error("{0}")]
    Config(ConfigError),
    #[error("error: {0}")]
    Setup(SetupError),
    #[error("error: {0}")]
    Run(RunError),
    #[error("error: --record {0}")]
    Record(RecordError),
    #[error("error: {0}")]
    Recording(ReadError),
    #[error(
        "error: {0}: the recording is empty: whoever recorded was ended before anything was written"
    )]
    EmptyRecording(String),
    #[error("error: {0}")]
    Replay(ReplayError),
    #[error(
        "error: the comparison cannot be relied on: the recorded run itself is not reproduced from \
         step {0} on; replay it without --config"
    )]
    NotReproduced(u64),
    #[error("error: {file}: cannot read: {error}")]
    Unreadable { file: String, error: io::Error },
    #[error("error: {file}: cannot write: {error}")]
    Unwritable { file: String, error: io::Error },
    #[error(
        "error: extenders: there are some, and Roadstead calls none; remove them from the \
         configuration, or make each a plugin (see examples/gpu-keeper)"
    )]
    Extenders,
    #[error("error: {0}")]
    Ask(AskError),
    #[error("error: --watch: a document (-o yaml) has no end then; use -o table, wide or json")]
    WatchedDocument,
    #[error("error: {0}")]
    Connect(ConnectError),
    #[error("error: {0}")]
    Election(ElectionError),
    #[error("error: {0}")]
    Serving(ServingError),
    #[error("error: --api-port: {0}")]
    Api(ListenError),
    #[error("error: cannot start threads: {0}")]
    Threads(io::Error),
    #[error("error: cannot listen for signals: {0}")]
    Signals(io::Error),
    #[error("error: the scheduler's thread has panicked: the log says where")]
    Panicked,
    #[error("error: cannot print: {0}")]
    Output(io::Error),
    #[error("error: cannot print: {0}")]
    Json(serde_json::Error),
}

/// A pod that was to be explained, and that there was not.
#[derive(Debug)]
pub(crate) struct UnknownPod {
    pub(crate) name: String,
    /// Names that may have been meant.
    pub(crate) near: Vec<String>,
    /// When it comes, if that is later than the time that was asked about.
    pub(crate) comes: Option<Duration>,
}

impl UnknownPod {
    /// An error, if there are some.
    pub(crate) fn tell(all: Vec<Self>) -> Result<(), Error> {
        if all.is_empty() { Ok(()) } else { Err(Error::UnknownPods(Listed(all))) }
    }
}

impl fmt::Display for UnknownPod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, near, comes } = self;
        match comes {
            Some(at) => {
                let at = print::duration(*at);
                write!(f, "--explain {name}: it is not there yet; it comes at {at}")
            }
            None => write!(f, "--explain {name}: there was no such pod{}", did_you_mean(near)),
        }
    }
}

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => "; --pods lists all that there were".to_owned(),
        some => format!("; did you mean {}?", some.join(" or ")),
    }
}

/// Several problems, each on a line.
#[derive(Debug)]
pub(crate) struct Listed<T>(pub(crate) Vec<T>);

impl<T: fmt::Display> fmt::Display for Listed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            let end_of_last = if i > 0 { "\n" } else { "" };
            write!(f, "{end_of_last}error: {problem}")?;
        }
        Ok(())
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<serde_json::Error> for Error {
    /// An error in writing is one of the output, not of what was to be written.
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(_) => Self::Output(error.into()),
            None => Self::Json(error),
        }
    }
}
