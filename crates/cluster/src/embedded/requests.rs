//! Creating and updating.

use roadstead_queue::Time;

use super::{Cluster, admission, updates};
use crate::validation::validate;
use crate::{ApiError, FieldError, Key, Kind, Object};

impl Cluster {
    /// Takes a new object, as the API server would: with a uid, a version and the time, its
    /// defaults filled in, and a pod's status at its beginning.
    ///
    /// # Errors
    /// [`ApiError::AlreadyExists`], [`ApiError::Invalid`], [`ApiError::Forbidden`], and
    /// [`ApiError::NotFound`] for a namespace that is not there.
    pub fn create(&mut self, now: Time, object: impl Into<Object>) -> Result<Object, ApiError> {
        self.advance(now);
        self.admit_new(object.into())
    }

    /// Replaces an object.
    ///
    /// An object with a resource version replaces only that version; one without replaces any.
    /// Status is written too; an absent one is left as it is. What Kubernetes does not let change
    /// does not change.
    ///
    /// # Errors
    /// [`ApiError::NotFound`], [`ApiError::Conflict`] for another version or uid,
    /// [`ApiError::Invalid`].
    pub fn update(&mut self, now: Time, object: impl Into<Object>) -> Result<Object, ApiError> {
        self.advance(now);
        self.replace(object.into(), updates::forbidden_changes)
    }

    /// Changes how much a running pod may use: `pods/resize` of the API. The kubelet follows at
    /// once.
    ///
    /// # Errors
    /// As [`update`](Self::update); [`ApiError::Invalid`] if something else changes.
    pub fn resize(&mut self, now: Time, pod: impl Into<Object>) -> Result<Object, ApiError> {
        self.advance(now);
        self.replace(pod.into(), updates::forbidden_resizes)
    }

    fn replace(
        &mut self,
        mut object: Object,
        forbidden: fn(&Object, &Object) -> Vec<FieldError>,
    ) -> Result<Object, ApiError> {
        let key = object.key();
        let old = self.store.get(&key).ok_or_else(|| ApiError::NotFound(key.clone()))?.clone();
        self.expect(&key, &old, object.metadata().uid.as_deref())?;
        let meta = object.metadata();
        if meta
            .resource_version
            .as_ref()
            .is_some_and(|v| !v.is_empty() && object.version() != old.version())
        {
            return Err(ApiError::conflict(&key, STALE));
        }
        updates::carry_over(&mut object, &old);
        self.set_defaults(&mut object);
        let mut errors = validate(&object);
        errors.extend(forbidden(&old, &object));
        if !errors.is_empty() {
            return Err(ApiError::Invalid { key, errors });
        }
        if updates::is_spec_changed(&old, &object) {
            object.metadata_mut().generation = Some(old.metadata().generation.unwrap_or(0) + 1);
        }
        let new = self.commit(object);
        if self.is_released(&new) {
            self.erase(&key);
        }
        Ok(new)
    }

    /// The way of every new object, whoever makes it.
    pub(super) fn admit_new(&mut self, mut object: Object) -> Result<Object, ApiError> {
        self.name(&mut object);
        updates::forget_history(&mut object);
        self.admit(&mut object, admission::Origin::Request)?;
        self.insert(object)
    }

    /// Stores an admitted object.
    pub(super) fn insert(&mut self, mut object: Object) -> Result<Object, ApiError> {
        let uid = self.names.uid();
        let created = self.timestamp();
        let meta = object.metadata_mut();
        meta.uid.get_or_insert(uid);
        meta.creation_timestamp.get_or_insert(created);
        meta.generation.get_or_insert(1);
        meta.managed_fields = None;
        Ok(self.commit(object))
    }

    /// Whether the object is the one that the request means.
    pub(super) fn expect(
        &self,
        key: &Key,
        old: &Object,
        uid: Option<&str>,
    ) -> Result<(), ApiError> {
        match uid {
            Some(uid) if !uid.is_empty() && uid != old.uid() => Err(ApiError::conflict(
                key,
                format!(
                    "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                    old.uid()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Gives an object the name that `generateName` asks for, and its namespace.
    fn name(&mut self, object: &mut Object) {
        let namespaced = object.kind().is_namespaced();
        let key = object.key();
        let meta = object.metadata_mut();
        if namespaced {
            meta.namespace = Some(key.namespace);
        }
        let prefix = meta.generate_name.clone().filter(|prefix| !prefix.is_empty());
        if let (Some(prefix), true) = (prefix, key.name.is_empty()) {
            let name = self.fresh_name(object.kind(), &object.key().namespace, &prefix);
            object.metadata_mut().name = Some(name);
        }
    }

    /// A name that is not taken, as far as a few draws find one: ten thousand names with one prefix
    /// meet by chance.
    fn fresh_name(&mut self, kind: Kind, namespace: &str, prefix: &str) -> String {
        // What is left of 63 letters after the suffix, as upstream.
        let prefix: String = prefix.chars().take(58).collect();
        let mut name = String::new();
        for _ in 0..8 {
            name = format!("{prefix}{}", self.names.suffix());
            if self.store.get(&kind.key(namespace, &name)).is_none() {
                break;
            }
        }
        name
    }

    /// Whether a namespace takes new objects.
    pub(super) fn check_namespace(&self, key: &Key) -> Result<(), ApiError> {
        if !key.kind.is_namespaced() {
            return Ok(());
        }
        let namespace = Kind::Namespace.key("", &key.namespace);
        match self.store.get(&namespace) {
            None => Err(ApiError::NotFound(namespace)),
            Some(found) if found.is_being_deleted() => Err(ApiError::forbidden(
                key,
                format!(
                    "unable to create new content in namespace {} because it is being terminated",
                    key.namespace
                ),
            )),
            Some(_) => Ok(()),
        }
    }
}

const STALE: &str = "the object has been modified; please apply your changes to the latest \
                     version and try again";
