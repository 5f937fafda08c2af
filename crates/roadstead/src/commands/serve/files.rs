//! The files that a cluster is made of, and what becomes of it when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use roadstead_cluster::Key;
use roadstead_cluster::embedded::{Cluster, DeleteOptions};
use roadstead_cluster::manifests::{self, Document, Manifests};
use roadstead_queue::Time;
use roadstead_sim::{Input, StartingAt, Timeline};

use crate::error::{Error, Listed};

/// Files with manifests and scenarios, as they were last read.
pub(super) struct Files {
    paths: Vec<PathBuf>,
    given_seed: Option<u64>,
    input: Input,
    /// What the scenarios said, to see whether they have changed.
    scenarios: Vec<String>,
    /// What the cluster has of them.
    applied: Vec<Document>,
    stamps: Stamps,
    /// What was said of what is left out.
    told: BTreeSet<String>,
}

/// When each file was written last, and how long it is.
type Stamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// What a new look at the files came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reloaded {
    pub(super) created: usize,
    pub(super) updated: usize,
    pub(super) replaced: usize,
    pub(super) deleted: usize,
    /// Whether everything starts over.
    pub(super) starts_over: bool,
}

impl Files {
    /// Reads files and folders; without any, the harbour.
    pub(super) fn read(paths: &[PathBuf], given_seed: Option<u64>) -> Result<Self, Error> {
        let stamps = stamps(paths);
        let mut told = BTreeSet::new();
        let (input, scenarios) = read(paths, &mut told)?;
        if input.manifests.documents.is_empty() && input.scenarios.is_empty() {
            let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            return Err(Error::NoObjects(names.join(", ")));
        }
        let paths = paths.to_vec();
        let applied = Vec::new();
        let files = Self { paths, given_seed, input, scenarios, applied, stamps, told };
        // What the cluster would refuse is told before anything starts.
        let mut cluster = Cluster::new(super::behaviour(files.seed()));
        let manifests = files.input.manifests.clone();
        match cluster.apply(Time::ZERO, manifests, &[]) {
            Ok(_) => Ok(files),
            Err(problems) => Err(Error::Manifests(Listed(problems))),
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.given_seed.or(self.input.seed()).unwrap_or_default()
    }

    /// Fills a cluster, and begins what happens to it.
    pub(super) fn begin(&mut self, now: Time, cluster: &mut Cluster) -> Box<dyn Timeline> {
        if let Err(problems) = cluster.apply(now, self.input.manifests.clone(), &[]) {
            // An empty cluster of the same kind took them.
            tracing::error!("{}", Listed(problems));
        }
        self.applied.clone_from(&self.input.manifests.documents);
        Box::new(StartingAt::new(now, self.input.play(self.given_seed)))
    }

    /// Whether any of them has changed since they were last looked at.
    pub(super) fn have_changed(&mut self) -> bool {
        let stamps = stamps(&self.paths);
        let have_changed = stamps != self.stamps;
        self.stamps = stamps;
        have_changed
    }

    /// Reads them again and brings the cluster to what they say now. If something is wrong with
    /// them, nothing changes. A scenario that is another one starts over: then there is a new
    /// timeline.
    pub(super) fn reload(
        &mut self,
        now: Time,
        cluster: &mut Cluster,
    ) -> Result<(Reloaded, Option<Box<dyn Timeline>>), Error> {
        let (input, scenarios) = read(&self.paths, &mut self.told)?;
        if scenarios != self.scenarios {
            let mut trial = Cluster::new(super::behaviour(self.seed()));
            if let Err(problems) = trial.apply(now, input.manifests.clone(), &[]) {
                return Err(Error::Manifests(Listed(problems)));
            }
            (self.input, self.scenarios) = (input, scenarios);
            cluster.clear(now);
            let timeline = self.begin(now, cluster);
            let reloaded = Reloaded { starts_over: true, ..Reloaded::default() };
            return Ok((reloaded, Some(timeline)));
        }
        let documents = input.manifests.documents.clone();
        let applied = cluster
            .apply(now, input.manifests.clone(), &self.applied)
            .map_err(|problems| Error::Manifests(Listed(problems)))?;
        let keys = |documents: &[Document]| -> BTreeSet<Key> {
            documents.iter().map(|document| document.object.key()).collect()
        };
        let gone: Vec<Key> = keys(&self.applied).difference(&keys(&documents)).cloned().collect();
        let mut deleted = 0;
        for key in &gone {
            // Somebody may have deleted it before.
            deleted += usize::from(cluster.delete(now, key, &DeleteOptions::default()).is_ok());
        }
        self.input = input;
        self.applied = documents;
        let reloaded = Reloaded {
            created: applied.created.len(),
            updated: applied.updated.len(),
            replaced: applied.replaced.len(),
            deleted,
            starts_over: false,
        };
        Ok((reloaded, None))
    }
}

/// Manifests and scenarios, and the text of the latter.
///
/// What is left out is told once: `told` has what was.
fn read(paths: &[PathBuf], told: &mut BTreeSet<String>) -> Result<(Input, Vec<String>), Error> {
    let found = match paths {
        [] => manifests::parse("harbour.yaml", HARBOUR),
        paths => manifests::read(paths, &mut io::stdin()),
    };
    let scenarios = found.own.iter().map(|own| own.text.clone()).collect();
    let input = Input::sort_out(found).map_err(Error::Scenarios)?;
    let Manifests { problems, left_out, ignored_fields, .. } = &input.manifests;
    if !problems.is_empty() {
        return Err(Error::Manifests(Listed(problems.clone())));
    }
    let left_out = left_out.iter().map(|left_out| format!("{left_out}: they are left out"));
    let ignored = ignored_fields.iter().map(|field| format!("{field}: not known, and ignored"));
    for warning in left_out.chain(ignored) {
        if told.insert(warning.clone()) {
            tracing::warn!("{warning}");
        }
    }
    Ok((input, scenarios))
}

/// Of every file that there is. One that cannot be looked at counts as not there.
fn stamps(paths: &[PathBuf]) -> Stamps {
    let mut stamps = Stamps::new();
    paths.iter().for_each(|path| stamp(path, 0, &mut stamps));
    stamps
}

fn stamp(path: &Path, depth: usize, stamps: &mut Stamps) {
    let Ok(found) = std::fs::metadata(path) else { return };
    if !found.is_dir() {
        stamps.insert(path.to_owned(), (found.modified().ok(), found.len()));
    } else if depth < DEEPEST
        && let Ok(entries) = std::fs::read_dir(path)
    {
        entries.flatten().for_each(|entry| stamp(&entry.path(), depth + 1, stamps));
    }
}

/// As deep as manifests are looked for.
const DEEPEST: usize = 32;

/// What happens where nobody says what is to happen.
const HARBOUR: &str = include_str!("harbour.yaml");
