//! The manifests that people have: YAML of several documents, JSON, `List`s as
//! `kubectl get -o yaml` prints them; files, folders, and `-` for standard input.
//!
//! Reading collects: every problem of every file, each unknown kind once. Whether an object may be
//! in a cluster is the cluster's to say, in [`Cluster::load`](crate::embedded::Cluster::load).

mod parsing;
mod reading;

use std::fmt;

pub use self::parsing::parse;
pub use self::reading::read;
use crate::{ApiError, Object};

/// What manifests say.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// The objects, in the order of the files.
    pub documents: Vec<Document>,
    /// What could not be understood.
    pub problems: Vec<Problem>,
    /// Kinds that no cluster here keeps, as `apiVersion kind`, each once.
    pub unknown_kinds: Vec<String>,
    /// Where in each file the first object of each of these kinds stands.
    pub left_out: Vec<Problem>,
    /// Fields of printed objects that this release does not know, as `kind field`, each once.
    pub ignored_fields: Vec<String>,
    /// Documents of Roadstead's own API groups. No cluster keeps them; they stay text for whoever
    /// understands them.
    pub own: Vec<OwnDocument>,
}

impl Manifests {
    /// Adds what other manifests say.
    pub fn extend(&mut self, more: Manifests) {
        self.documents.extend(more.documents);
        self.problems.extend(more.problems);
        self.own.extend(more.own);
        self.left_out.extend(more.left_out);
        for (known, new) in [
            (&mut self.unknown_kinds, more.unknown_kinds),
            (&mut self.ignored_fields, more.ignored_fields),
        ] {
            for name in new {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
    }
}

/// An object, and where it stands.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file.
    pub file: String,
    /// The number of the document in the file, from 1.
    pub document: usize,
    /// The number of the object in the document's list, from 1, if it is one.
    pub item: Option<usize>,
    /// The object.
    pub object: Object,
}

/// A document whose API group ends in `roadstead.dev`, such as a scenario of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnDocument {
    /// The file.
    pub file: String,
    /// The number of the document in the file, from 1.
    pub document: usize,
    /// As `apiVersion:` says it.
    pub api_version: String,
    /// As `kind:` says it.
    pub kind: String,
    /// The text. Blanks stand for what is before it in the file, so lines and columns are the
    /// file's.
    pub text: String,
}

/// What is wrong with a manifest, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The number of the document in the file, from 1; 0 if it is the file itself.
    pub document: usize,
    /// The number of the object in the document's list, from 1, if it is one.
    pub item: Option<usize>,
    /// The line in the file, from 1, where the parser knows it.
    pub line: Option<usize>,
    /// The object, as `Pod web`, as far as it is known.
    pub object: Option<String>,
    /// The path of the field.
    pub field: Option<String>,
    /// What is wrong.
    pub reason: String,
}

impl Problem {
    /// What a cluster says about a document that it refuses.
    pub(crate) fn refused(document: &Document, error: ApiError) -> Vec<Self> {
        let object = &document.object;
        let problem = |field, reason| Self {
            file: document.file.clone(),
            document: document.document,
            item: document.item,
            line: None,
            object: Some(
                format!("{} {}", object.kind().name(), object.name()).trim_end().to_owned(),
            ),
            field,
            reason,
        };
        match error {
            ApiError::Invalid { errors, .. } => {
                errors.into_iter().map(|error| problem(Some(error.field), error.reason)).collect()
            }
            ApiError::Forbidden { reason, .. } => vec![problem(None, reason)],
            other => vec![problem(None, other.to_string())],
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if self.document > 0 {
            write!(f, ": document {}", self.document)?;
        }
        if let Some(item) = self.item {
            write!(f, ", item {item}")?;
        }
        if let Some(object) = &self.object {
            write!(f, " ({object})")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": {field}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Problem {}
