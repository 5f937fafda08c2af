//! From what stands on the command line to a cluster and what will happen to it.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use roadstead_sim::{Timeline, Uneventful};

use crate::error::{Error, Listed};

/// What a simulation starts from.
pub(crate) struct Input {
    pub(crate) cluster: Cluster,
    pub(crate) timeline: Box<dyn Timeline>,
}

/// Reads files, folders and standard input.
pub(crate) fn read(paths: &[PathBuf], seed: u64) -> Result<Input, Error> {
    let start = Instant::now();
    let found = manifests::read(paths, &mut io::stdin());
    let mut cluster = Cluster::new(embedded::Config { seed, ..embedded::Config::default() });
    let report = cluster.load(Time::ZERO, found);
    if !report.problems.is_empty() {
        return Err(Error::Manifests(Listed(report.problems)));
    }
    for kind in &report.unknown_kinds {
        tracing::warn!(kind, "objects of a kind that is not simulated are left out");
    }
    for field in &report.ignored_fields {
        tracing::warn!(field, "a field that is not known is ignored");
    }
    if report.loaded == 0 {
        let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        return Err(Error::NoObjects(names.join(", ")));
    }
    let took_ms = start.elapsed().as_millis();
    tracing::info!(objects = report.loaded, took_ms, "loaded");
    Ok(Input { cluster, timeline: Box::new(Uneventful) })
}
