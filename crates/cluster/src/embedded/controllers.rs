//! The controllers: each looks at one object and does what is missing.
//!
//! They do not watch. A change marks the objects that it concerns, and `settle` lets the
//! controller of each marked object look at it, until nothing is marked.

mod belonging;
mod budget;
pub(super) mod daemon_set;
mod deployment;
mod indexes;
mod job;
mod replica_set;
mod stateful_set;
mod volumes;

pub(super) use self::daemon_set::tolerates;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Cluster;
use super::store::Tally;
use crate::{ApiError, Key, Kind, Object};

impl Cluster {
    pub(super) fn settle(&mut self) {
        loop {
            // Each removes what it took, and a controller marks others only by changing something.
            if let Some(key) = self.garbage.pop_first() {
                self.collect(&key);
            } else if let Some(key) = self.expired.pop_first() {
                if let Some(pod) = self.store.get(&key).cloned() {
                    self.remove(pod, None);
                }
            } else if let Some(key) = self.strays.pop_first() {
                // Before their sets count what they have.
                self.settle_stray(&key);
            } else if let Some(key) = self.dirty.pop_first() {
                self.reconcile(&key);
            } else if let Some((set, work)) = self.daemon_work.pop_first() {
                self.tend_daemons(&set, &work);
            } else {
                return;
            }
        }
    }

    fn reconcile(&mut self, key: &Key) {
        let Some(object) = self.store.get(key).cloned() else { return };
        if object.is_being_deleted() && key.kind != Kind::Namespace {
            return self.release_last(&object);
        }
        self.troubles.remove(key);
        let outcome = match &object {
            Object::Namespace(_) => {
                self.empty_namespace(key);
                Ok(())
            }
            Object::Deployment(deployment) => self.reconcile_deployment(key, deployment),
            Object::ReplicaSet(set) => self.reconcile_replica_set(key, set),
            Object::ReplicationController(it) => self.reconcile_replication_controller(key, it),
            Object::StatefulSet(set) => self.reconcile_stateful_set(key, set),
            Object::DaemonSet(set) => {
                self.reconcile_daemon_set(key, set);
                Ok(())
            }
            Object::Job(job) => self.reconcile_job(key, job),
            Object::PodDisruptionBudget(budget) => {
                self.reconcile_budget(key, budget);
                Ok(())
            }
            Object::PersistentVolumeClaim(claim) => self.reconcile_claim(key, claim),
            Object::PersistentVolume(volume) => {
                self.reconcile_volume(volume);
                Ok(())
            }
            Object::Pod(pod) => self.make_ephemeral_claims(pod),
            _ => Ok(()),
        };
        if let Err(error) = outcome {
            self.troubles.insert(key.clone(), error);
        }
    }

    /// How many pods an object manages.
    fn tally(&self, owner: &ObjectMeta) -> Tally {
        self.store.tally(owner.uid.as_deref().unwrap_or_default())
    }

    /// The pods that an object manages.
    fn managed_pods(&self, owner: &ObjectMeta) -> Vec<Arc<Pod>> {
        let members = self.store.members(owner.uid.as_deref().unwrap_or_default());
        members.filter_map(|member| member.as_pod().cloned()).collect()
    }

    /// Creates a pod from a template, managed by `owner`.
    fn make_pod(
        &mut self,
        owner: &Object,
        template: &PodTemplateSpec,
        adjust: impl FnOnce(&mut Pod),
    ) -> Result<(), ApiError> {
        let from = template.metadata.clone().unwrap_or_default();
        let mut pod = Pod {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", owner.name())),
                namespace: owner.metadata().namespace.clone(),
                labels: from.labels,
                annotations: from.annotations,
                finalizers: from.finalizers,
                owner_references: Some(vec![managed_by(owner)]),
                ..ObjectMeta::default()
            },
            spec: template.spec.clone(),
            status: None,
        };
        adjust(&mut pod);
        self.admit_new(pod.into()).map(drop)
    }

    fn delete_pod(&mut self, pod: Arc<Pod>) {
        self.remove(pod.into(), None);
    }
}

/// The reference of a managed object to what manages it.
fn managed_by(owner: &Object) -> OwnerReference {
    OwnerReference {
        api_version: owner.kind().api_version().to_owned(),
        kind: owner.kind().name().to_owned(),
        name: owner.name().to_owned(),
        uid: owner.uid().to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn label(meta: &mut ObjectMeta, key: &str, value: &str) {
    meta.labels.get_or_insert_with(BTreeMap::new).insert(key.to_owned(), value.to_owned());
}

fn count(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn wanted(replicas: Option<i32>) -> usize {
    usize::try_from(replicas.unwrap_or(1)).unwrap_or(0)
}

/// A count, or a percentage of `total`.
fn share(value: Option<&IntOrString>, default: &str, total: usize, round_up: bool) -> usize {
    let text = match value {
        Some(IntOrString::Int(count)) => return usize::try_from(*count).unwrap_or(0),
        Some(IntOrString::String(text)) => text,
        None => default,
    };
    let percent: usize = text.strip_suffix('%').and_then(|p| p.parse().ok()).unwrap_or(0);
    let parts = total.saturating_mul(percent);
    if round_up { parts.div_ceil(100) } else { parts / 100 }
}
