//! Filling a cluster from manifests, file by file: all of a file, or nothing of it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use roadstead_queue::Time;

use super::Cluster;
use super::admission::Origin;
use crate::manifests::{Document, Manifests, Problem};
use crate::validation::SYSTEM_CLASSES;
use crate::{ApiError, Kind, Object};

/// What became of manifests.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// How many objects the cluster took.
    pub loaded: usize,
    /// Everything that was wrong, by file and document. Nothing of these files was taken.
    pub problems: Vec<Problem>,
    /// What was left out, as `apiVersion kind`, each once.
    pub unknown_kinds: Vec<String>,
    /// Fields of objects printed by another cluster that this release does not know, each once.
    pub ignored_fields: Vec<String>,
}

impl Cluster {
    /// Takes the objects of manifests, in the order in which they need each other.
    ///
    /// A file is taken whole or not at all. An object that a cluster printed (one with a uid) keeps
    /// its uid, its times, its status and what was decided about it; namespaces that nobody
    /// declares are made.
    #[must_use]
    pub fn load(&mut self, now: Time, manifests: Manifests) -> LoadReport {
        self.advance(now);
        let Manifests { mut documents, mut problems, unknown_kinds, ignored_fields, .. } =
            manifests;
        documents.retain(|d| !problems.iter().any(|problem| problem.file == d.file));
        // Stable: objects of a kind stay in the order of the files.
        documents.sort_by_key(|document| document.object.kind());
        let loaded = loop {
            let mut attempt = self.clone();
            let wrong = attempt.take(&documents);
            if wrong.is_empty() {
                *self = attempt;
                break documents.len();
            }
            // Without a bad file, another one that needs it may be wrong, too. Each round has
            // fewer files.
            documents.retain(|d| !wrong.iter().any(|problem| problem.file == d.file));
            problems.extend(wrong);
        };
        problems.sort_by(|a, b| (&a.file, a.document).cmp(&(&b.file, b.document)));
        LoadReport { loaded, problems, unknown_kinds, ignored_fields }
    }

    fn take(&mut self, documents: &[Document]) -> Vec<Problem> {
        self.declare_namespaces(documents);
        let mut problems = Vec::new();
        for document in documents {
            if let Err(error) = self.take_object(document.object.clone()) {
                problems.extend(Problem::refused(document, error));
            }
        }
        problems
    }

    /// Makes the namespaces that documents are in and none of them declares.
    pub(super) fn declare_namespaces(&mut self, documents: &[Document]) {
        let declared: BTreeMap<&str, ()> = documents
            .iter()
            .filter(|document| document.object.kind() == Kind::Namespace)
            .map(|document| (document.object.name(), ()))
            .collect();
        for document in documents {
            let key = document.object.key();
            if key.kind.is_namespaced() && !declared.contains_key(&*key.namespace) {
                self.make_namespace(&key.namespace);
            }
        }
    }

    fn take_object(&mut self, mut object: Object) -> Result<(), ApiError> {
        let key = object.key();
        if self.is_built_in(&object) {
            object.metadata_mut().resource_version = None;
            object.metadata_mut().uid = None;
            return self.update(self.now, object).map(drop);
        }
        if object.uid().is_empty() {
            // A node says what it has in its status, and a volume where it stands.
            return self.admit_new(object).map(drop);
        }
        let meta = object.metadata_mut();
        if key.kind.is_namespaced() {
            meta.namespace = Some(key.namespace);
        }
        // Whoever would take them off is not here.
        meta.finalizers = None;
        self.admit(&mut object, Origin::Printed)?;
        self.insert(object).map(drop)
    }

    fn make_namespace(&mut self, name: &str) {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        // One that is there stays; one with an impossible name is reported for what is in it.
        let _ = self.admit_new(Namespace { metadata, ..Namespace::default() }.into());
    }

    /// Whether this is one of the objects that a cluster starts with.
    pub(super) fn is_built_in(&self, object: &Object) -> bool {
        let name = object.name();
        let known = match object.kind() {
            Kind::Namespace => name == "default" || name.starts_with("kube-"),
            Kind::PriorityClass => SYSTEM_CLASSES.iter().any(|(system, _)| *system == name),
            _ => false,
        };
        known && self.store.get(&object.key()).is_some()
    }
}
