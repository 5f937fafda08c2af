//! Bringing a cluster to what manifests say, as `kubectl apply` does: all of them, or nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use roadstead_queue::Time;
use serde_json::{Map, Value};

use super::Cluster;
use super::admission::Origin;
use crate::manifests::{Document, Manifests, Problem};
use crate::{ApiError, Key, Kind, Object};

/// What applying manifests did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What is new.
    pub created: Vec<Key>,
    /// What is different.
    pub updated: Vec<Key>,
    /// What could not be changed to what they say, and was deleted and made anew.
    pub replaced: Vec<Key>,
    /// What was as they say already.
    pub unchanged: usize,
}

impl Cluster {
    /// Makes what manifests name and is not there, and changes what is there to what they say.
    ///
    /// What an object has and its manifest does not mention stays, unless the manifest that was
    /// applied before did mention it: `previous` has those. What is in there and may not be changed
    /// to what its manifest says now, as a pod's requests, is replaced. A namespace that is missing
    /// is made.
    ///
    /// # Errors
    /// Everything that is wrong with them. Then nothing has changed.
    pub fn apply(
        &mut self,
        now: Time,
        manifests: Manifests,
        previous: &[Document],
    ) -> Result<Applied, Vec<Problem>> {
        self.advance(now);
        let Manifests { mut documents, mut problems, .. } = manifests;
        documents.sort_by_key(|document| document.object.kind());
        let previous: BTreeMap<Key, &Object> =
            previous.iter().map(|document| (document.object.key(), &document.object)).collect();
        let mut attempt = self.clone();
        attempt.declare_namespaces(&documents);
        let mut applied = Applied::default();
        for document in &documents {
            let before = previous.get(&document.object.key()).copied();
            if let Err(error) = attempt.apply_object(&document.object, before, &mut applied) {
                problems.extend(Problem::refused(document, error));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        *self = attempt;
        Ok(applied)
    }

    /// Takes everything away at once that was not there at the start.
    pub fn clear(&mut self, now: Time) {
        self.advance(now);
        for &kind in Kind::ALL {
            let objects = self.store.list(kind).filter(|object| !self.is_built_in(object));
            let keys: Vec<Key> = objects.map(Object::key).collect();
            keys.iter().for_each(|key| self.erase(key));
        }
    }

    fn apply_object(
        &mut self,
        wanted: &Object,
        before: Option<&Object>,
        applied: &mut Applied,
    ) -> Result<(), ApiError> {
        let key = wanted.key();
        let Some(live) = self.store.get(&key).cloned() else {
            self.apply_new(wanted)?;
            applied.created.push(key);
            return Ok(());
        };
        let is_ours = before.is_some();
        let whole = wanted;
        let unreadable =
            |error: &dyn std::fmt::Display| ApiError::conflict(&key, error.to_string());
        let (mut merged, wanted) = (
            live.to_json().map_err(|error| unreadable(&error))?,
            wanted.to_json().map_err(|error| unreadable(&error))?,
        );
        let before = before.and_then(|before| before.to_json().ok()).unwrap_or_default();
        merge(&mut merged, &before, &wanted);
        let mut object =
            Object::from_json(key.kind, &merged).map_err(|error| unreadable(&error))?;
        let meta = object.metadata_mut();
        // A manifest that a cluster printed does not know what has happened since.
        meta.uid.clone_from(&live.metadata().uid);
        meta.resource_version = None;
        let now = self.now;
        match self.update(now, object) {
            Ok(updated) if updated.version() == live.version() => applied.unchanged += 1,
            Ok(_) => applied.updated.push(key),
            Err(error @ ApiError::Invalid { .. }) if is_ours => {
                self.remove(live, Some(Duration::ZERO));
                // What somebody holds with a finalizer cannot be replaced now.
                if self.store.get(&key).is_some() {
                    return Err(error);
                }
                self.apply_new(whole)?;
                applied.replaced.push(key);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn apply_new(&mut self, wanted: &Object) -> Result<(), ApiError> {
        let mut object = wanted.clone();
        if object.uid().is_empty() {
            self.admit_new(object)?;
        } else {
            self.admit(&mut object, Origin::Printed)?;
            self.insert(object)?;
        }
        Ok(())
    }
}

/// Sets what is wanted, and removes what was wanted before and is not any more. Lists are replaced.
fn merge(live: &mut Value, before: &Value, wanted: &Value) {
    let (Value::Object(live), Value::Object(wanted)) = (&mut *live, wanted) else {
        live.clone_from(wanted);
        return;
    };
    let none = Map::new();
    let before = before.as_object().unwrap_or(&none);
    live.retain(|field, _| wanted.contains_key(field) || !before.contains_key(field));
    for (field, value) in wanted {
        match live.get_mut(field) {
            Some(own) => merge(own, before.get(field).unwrap_or(&Value::Null), value),
            None => drop(live.insert(field.clone(), value.clone())),
        }
    }
}
