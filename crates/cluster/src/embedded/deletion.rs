//! Deleting: at once, or gracefully; and what follows the owner.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use roadstead_queue::Time;

use super::kubelet::{Deed, Task};
use super::{Cluster, is_finished, node_of, timestamp};
use crate::object::owner_key;
use crate::{ApiError, Key, Kind, Object};

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// The uid, if only that object is meant.
    pub uid: Option<String>,
    /// The resource version, if only that one is meant.
    pub resource_version: Option<u64>,
    /// How long a pod may take to stop; its own grace period if absent, at once if zero.
    pub grace_period: Option<Duration>,
    /// What becomes of what the object manages.
    pub propagation: Propagation,
}

/// What becomes of what a deleted object manages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// It goes after its owner.
    #[default]
    Background,
    /// It goes before its owner, which waits for it.
    Foreground,
    /// It stays, and is nobody's.
    Orphan,
}

impl Cluster {
    /// Deletes an object.
    ///
    /// A pod on a node is first marked, and gone when its kubelet has stopped it or its grace
    /// period is over. Every other pod goes at once, and so does every other object without
    /// finalizers. What it managed follows, unless the options say otherwise; a namespace waits
    /// until it is empty.
    ///
    /// # Errors
    /// [`ApiError::NotFound`]; [`ApiError::Conflict`] for another uid or version.
    pub fn delete(
        &mut self,
        now: Time,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(), ApiError> {
        self.advance(now);
        let object = self.store.get(key).ok_or_else(|| ApiError::NotFound(key.clone()))?.clone();
        self.expect(key, &object, options.uid.as_deref())?;
        if key.kind == Kind::Namespace && IMMORTAL.contains(&key.name.as_str()) {
            return Err(ApiError::forbidden(key, "this namespace may not be deleted"));
        }
        if let Some(version) = options.resource_version
            && version != object.version()
        {
            let reason = format!(
                "Precondition failed: ResourceVersion in precondition: {version}, \
                 ResourceVersion in object meta: {}",
                object.version()
            );
            return Err(ApiError::conflict(key, reason));
        }
        match options.propagation {
            Propagation::Background => self.remove(object, options.grace_period),
            Propagation::Foreground => self.remove_last(object, options.grace_period),
            Propagation::Orphan => {
                self.release_brood(object.uid());
                self.remove(object, options.grace_period);
            }
        }
        Ok(())
    }

    /// Deletes what an object manages, and then the object.
    fn remove_last(&mut self, mut object: Object, grace: Option<Duration>) {
        let brood: Vec<Key> = self.store.members(object.uid()).map(Object::key).collect();
        if !brood.is_empty() {
            let finalizers = object.metadata_mut().finalizers.get_or_insert_default();
            if finalizers.iter().all(|finalizer| finalizer != FOREGROUND) {
                finalizers.push(FOREGROUND.to_owned());
            }
        }
        self.remove(object, grace);
        self.garbage.extend(brood);
    }

    /// Lets an object go that waited for what it managed, if that is gone.
    pub(super) fn release_last(&mut self, object: &Object) {
        if !leaves_last(object) || self.store.members(object.uid()).next().is_some() {
            return;
        }
        let mut object = object.clone();
        if let Some(finalizers) = &mut object.metadata_mut().finalizers {
            finalizers.retain(|finalizer| finalizer != FOREGROUND);
        }
        let object = self.commit(object);
        if self.is_released(&object) {
            self.erase(&object.key());
        }
    }

    /// Makes what an object manages nobody's.
    fn release_brood(&mut self, uid: &str) {
        let brood: Vec<Object> = self.store.members(uid).cloned().collect();
        for mut member in brood {
            if let Some(owners) = &mut member.metadata_mut().owner_references {
                owners.retain(|owner| owner.uid != uid);
            }
            self.commit(member);
        }
    }

    pub(super) fn remove(&mut self, mut object: Object, grace: Option<Duration>) {
        let key = object.key();
        let wait = match &object {
            Object::Pod(pod) => grace_of(pod, grace),
            _ => Duration::ZERO,
        };
        let must_wait =
            !wait.is_zero() || has_finalizers(&object) || matches!(object, Object::Namespace(_));
        if !must_wait {
            return self.erase(&key);
        }
        let until = timestamp(self.now + wait);
        let meta = object.metadata_mut();
        if meta.deletion_timestamp.as_ref().is_none_or(|set| until < *set) {
            meta.deletion_timestamp = Some(until);
            meta.deletion_grace_period_seconds = i64::try_from(wait.as_secs()).ok();
        }
        if let Object::Namespace(namespace) = &mut object {
            let status = &mut std::sync::Arc::make_mut(namespace).status;
            status.get_or_insert_default().phase = Some("Terminating".to_owned());
        }
        let at = self.now + wait.min(self.config.stop_delay);
        let uid = object.uid().to_owned();
        let is_pod = object.as_pod().is_some();
        self.commit(object);
        if is_pod {
            self.plan(at, Task { key, uid, deed: Deed::Stop });
        }
    }

    /// Whether nothing holds an object that is being deleted any more.
    pub(super) fn is_released(&self, object: &Object) -> bool {
        let waits = match object {
            Object::Pod(pod) => {
                node_of(pod).is_some() && object.metadata().deletion_grace_period_seconds != Some(0)
            }
            Object::Namespace(_) => true,
            _ => false,
        };
        object.is_being_deleted() && !waits && !has_finalizers(object)
    }

    /// Deletes an object whose owner is gone, unless it has another one.
    pub(super) fn collect(&mut self, key: &Key) {
        let Some(object) = self.store.get(key) else { return };
        let owners = object.metadata().owner_references.iter().flatten();
        let owned = owners.into_iter().any(|owner| {
            owner_key(owner, &key.namespace)
                .and_then(|key| self.store.get(&key))
                .is_some_and(|found| found.uid() == owner.uid && !leaves_last(found))
        });
        if !owned && !object.is_being_deleted() {
            self.remove(object.clone(), None);
        }
    }

    /// Empties a namespace that is being deleted, and lets it go when it is empty.
    pub(super) fn empty_namespace(&mut self, key: &Key) {
        if !self.store.get(key).is_some_and(Object::is_being_deleted) {
            return;
        }
        let inside: Vec<Object> = self.store.inside(&key.name).cloned().collect();
        for object in inside {
            if !object.is_being_deleted() {
                self.remove(object, None);
            }
        }
        if self.store.inside(&key.name).next().is_none() {
            self.erase(key);
        }
    }
}

pub(super) fn has_finalizers(object: &Object) -> bool {
    object.metadata().finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}

/// Whether an object waits for what it manages before it goes.
fn leaves_last(object: &Object) -> bool {
    object.is_being_deleted()
        && object.metadata().finalizers.iter().flatten().any(|finalizer| finalizer == FOREGROUND)
}

/// Namespaces without which a cluster is none.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

const FOREGROUND: &str = "foregroundDeletion";

/// How long a pod may take to stop. One that no kubelet runs takes no time.
fn grace_of(pod: &Pod, asked: Option<Duration>) -> Duration {
    if node_of(pod).is_none() || is_finished(pod) {
        return Duration::ZERO;
    }
    asked.unwrap_or_else(|| {
        let seconds = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds);
        Duration::from_secs(seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or(30))
    })
}
