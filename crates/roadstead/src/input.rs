//! From what stands on the command line to a cluster and what will happen to it.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_queue::Time;
use roadstead_sim::Timeline;
use roadstead_sim::openb::{Source, Trace};

use crate::error::{Error, Listed};

/// What a simulation starts from.
pub(crate) struct Input {
    pub(crate) cluster: Cluster,
    pub(crate) timeline: Box<dyn Timeline>,
    /// When a scenario wants the run to stop.
    pub(crate) until: Option<Time>,
    /// What chance is drawn from: as it was given, else as a scenario says.
    pub(crate) seed: u64,
}

/// Reads files, folders and standard input: manifests and scenarios.
pub(crate) fn read(paths: &[PathBuf], given_seed: Option<u64>) -> Result<Input, Error> {
    let start = Instant::now();
    let found = roadstead_sim::Input::read(paths, &mut io::stdin()).map_err(Error::Scenarios)?;
    let timeline = found.play(given_seed);
    let until = found.until();
    let seed = given_seed.or(found.seed()).unwrap_or_default();
    let mut cluster = Cluster::new(embedded::Config { seed, ..embedded::Config::default() });
    let report = cluster.load(Time::ZERO, found.manifests);
    if !report.problems.is_empty() {
        return Err(Error::Manifests(Listed(report.problems)));
    }
    for kind in &report.unknown_kinds {
        tracing::warn!(kind, "objects of a kind that is not simulated are left out");
    }
    for field in &report.ignored_fields {
        tracing::warn!(field, "a field that is not known is ignored");
    }
    if report.loaded == 0 && found.scenarios.is_empty() {
        let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        return Err(Error::NoObjects(names.join(", ")));
    }
    let took_ms = start.elapsed().as_millis();
    let scenarios = found.scenarios.len();
    tracing::info!(objects = report.loaded, scenarios, took_ms, "loaded");
    Ok(Input { cluster, timeline, until, seed })
}

/// Reads a trace: its nodes, and its pods.
pub(crate) fn read_openb(nodes: &Path, pods: &Path, seed: u64) -> Result<Input, Error> {
    let text = |path: &Path| {
        fs::read_to_string(path)
            .map_err(|error| Error::Unreadable { file: path.to_string_lossy().into_owned(), error })
    };
    let (node_text, pod_text) = (text(nodes)?, text(pods)?);
    let (nodes, pods) = (nodes.to_string_lossy(), pods.to_string_lossy());
    let trace = Trace::read(
        Source { file: &nodes, text: &node_text },
        Source { file: &pods, text: &pod_text },
    );
    let trace = trace.map_err(Error::Trace)?;
    tracing::info!(nodes = trace.nodes(), pods = trace.pods(), "loaded a trace");
    let cluster = Cluster::new(embedded::Config { seed, ..embedded::Config::default() });
    Ok(Input { cluster, timeline: Box::new(trace.play()), until: None, seed })
}
