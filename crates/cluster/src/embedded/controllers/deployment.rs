//! Deployments: a replica set for each template, and the way from one to the next.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::{
    Deployment, DeploymentCondition, DeploymentSpec, DeploymentStatus, ReplicaSet, ReplicaSetSpec,
};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::super::Cluster;
use super::super::names::hash;
use super::{count, label, managed_by, share, wanted};
use crate::{ApiError, Key, Object, Resource};

impl Cluster {
    pub(super) fn reconcile_deployment(
        &mut self,
        key: &Key,
        deployment: &Arc<Deployment>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &deployment.spec else { return Ok(()) };
        if spec.paused == Some(true) {
            return Ok(());
        }
        let (current, old): (Vec<_>, Vec<_>) = self
            .replica_sets(deployment)
            .into_iter()
            .partition(|set| is_of_template(set, &spec.template));
        let current = match current.into_iter().next() {
            Some(set) => set,
            None => self.make_replica_set(deployment)?,
        };
        let newest = old.iter().map(|set| revision(set)).max().unwrap_or(0);
        let current = self.renumber(current, newest);
        let (old, history): (Vec<_>, Vec<_>) = old
            .into_iter()
            .partition(|set| scale(set) > 0 || self.tally(&set.metadata).present > 0);
        self.prune_history(history, spec.revision_history_limit);
        let recreate = spec.strategy.as_ref().and_then(|s| s.type_.as_deref()) == Some("Recreate");
        if old.is_empty() {
            self.scale_to(&current, wanted(spec.replicas));
        } else if recreate {
            // The new ones come when the old ones, seen in a later round, are gone.
            old.iter().for_each(|set| self.scale_to(set, 0));
        } else {
            self.roll(deployment, &current, &old);
        }
        self.write_deployment_status(key);
        Ok(())
    }

    /// Makes a replica set the newest of its deployment, also one that is returned to.
    fn renumber(&mut self, set: Arc<ReplicaSet>, newest: u64) -> Arc<ReplicaSet> {
        if revision(&set) > newest {
            return set;
        }
        let mut set = set;
        let annotations = Arc::make_mut(&mut set).metadata.annotations.get_or_insert_default();
        annotations.insert(REVISION.to_owned(), (newest + 1).to_string());
        let written = self.commit(set.clone().into());
        ReplicaSet::of(&written).cloned().unwrap_or(set)
    }

    /// Deletes the oldest replica sets that have no pods, beyond those that can be returned to.
    fn prune_history(&mut self, mut history: Vec<Arc<ReplicaSet>>, limit: Option<i32>) {
        let kept = usize::try_from(limit.unwrap_or(10)).unwrap_or(0);
        history.sort_by_key(|set| revision(set));
        let surplus = history.len().saturating_sub(kept);
        for set in history.into_iter().take(surplus) {
            if set.metadata.deletion_timestamp.is_none() {
                self.remove(set.into(), None);
            }
        }
    }

    /// One step of a rolling update, within `maxSurge` and `maxUnavailable`.
    fn roll(&mut self, deployment: &Deployment, current: &ReplicaSet, old: &[Arc<ReplicaSet>]) {
        let Some(spec) = &deployment.spec else { return };
        let rolling = spec.strategy.as_ref().and_then(|s| s.rolling_update.as_ref());
        let wanted = wanted(spec.replicas);
        let surge = share(rolling.and_then(|r| r.max_surge.as_ref()), "25%", wanted, true);
        let missing = most_missing(spec, wanted);
        let total = scale(current) + old.iter().map(|set| scale(set)).sum::<usize>();
        let room = (wanted + surge).saturating_sub(total);
        let grown = wanted.min(scale(current) + room);
        self.scale_to(current, grown);

        let ready = |set: &ReplicaSet| self.tally(&set.metadata).ready;
        let unready_new = grown.saturating_sub(ready(current));
        let least = wanted.saturating_sub(missing);
        let after = total.max(grown + old.iter().map(|set| scale(set)).sum::<usize>());
        let mut spare = after.saturating_sub(least).saturating_sub(unready_new);
        let mut targets = Vec::new();
        for set in old {
            // Pods that are not ready are no loss.
            let unready = scale(set).saturating_sub(ready(set)).min(spare);
            spare -= unready;
            targets.push(scale(set) - unready);
        }
        let ready_total = ready(current) + old.iter().map(|set| ready(set)).sum::<usize>();
        let mut healthy_spare = spare.min(ready_total.saturating_sub(least));
        for (set, target) in old.iter().zip(targets) {
            let cut = target.min(healthy_spare);
            healthy_spare -= cut;
            self.scale_to(set, target - cut);
        }
    }

    fn replica_sets(&self, deployment: &Deployment) -> Vec<Arc<ReplicaSet>> {
        let members = self.store.members(deployment.metadata.uid.as_deref().unwrap_or_default());
        members.filter_map(ReplicaSet::of).cloned().collect()
    }

    fn make_replica_set(
        &mut self,
        deployment: &Arc<Deployment>,
    ) -> Result<Arc<ReplicaSet>, ApiError> {
        let owner = Object::from(Arc::clone(deployment));
        let Some(spec) = &deployment.spec else { return Err(ApiError::NotFound(owner.key())) };
        let text = serde_json::to_string(&spec.template).unwrap_or_default();
        let hash = hash(&text);
        let mut template = spec.template.clone();
        label(template.metadata.get_or_insert_default(), TEMPLATE_HASH, &hash);
        let mut selector = spec.selector.clone();
        let pairs = selector.match_labels.get_or_insert_default();
        pairs.insert(TEMPLATE_HASH.to_owned(), hash.clone());
        let set = ReplicaSet {
            metadata: ObjectMeta {
                name: Some(format!("{}-{hash}", owner.name())),
                namespace: deployment.metadata.namespace.clone(),
                labels: template.metadata.as_ref().and_then(|meta| meta.labels.clone()),
                owner_references: Some(vec![managed_by(&owner)]),
                ..ObjectMeta::default()
            },
            spec: Some(ReplicaSetSpec {
                replicas: Some(0),
                selector,
                template: Some(template),
                min_ready_seconds: spec.min_ready_seconds,
            }),
            status: None,
        };
        let made = self.admit_new(set.into())?;
        ReplicaSet::of(&made).cloned().ok_or_else(|| ApiError::NotFound(made.key()))
    }

    fn scale_to(&mut self, set: &ReplicaSet, replicas: usize) {
        if scale(set) == replicas {
            return;
        }
        let mut set = set.clone();
        set.spec.get_or_insert_default().replicas = Some(count(replicas));
        set.metadata.generation = Some(set.metadata.generation.unwrap_or(0) + 1);
        self.commit(set.into());
    }

    fn write_deployment_status(&mut self, key: &Key) {
        let Some(Object::Deployment(mut deployment)) = self.store.get(key).cloned() else { return };
        let Some(spec) = deployment.spec.clone() else { return };
        let mut status = deployment.status.clone().unwrap_or_else(DeploymentStatus::default);
        let (mut all, mut ready, mut updated, mut newest) = (0, 0, 0, None);
        for set in self.replica_sets(&deployment) {
            let tally = self.tally(&set.metadata);
            all += tally.alive;
            ready += tally.ready;
            if is_of_template(&set, &spec.template) {
                updated += tally.alive;
                newest = Some(set);
            }
        }
        let wanted = wanted(spec.replicas);
        let missing = wanted.saturating_sub(ready);
        status.replicas = Some(count(all));
        status.updated_replicas = Some(count(updated));
        status.ready_replicas = Some(count(ready));
        status.available_replicas = Some(count(ready));
        status.unavailable_replicas = Some(count(missing)).filter(|missing| *missing > 0);
        status.observed_generation = deployment.metadata.generation;
        let is_available = ready + most_missing(&spec, wanted) >= wanted;
        let is_done = (updated, all, ready) == (wanted, wanted, wanted);
        let name = newest.as_ref().and_then(|set| set.metadata.name.as_deref()).unwrap_or_default();
        self.set_deployment_conditions(&mut status, is_available, is_done, name);
        let deployment_mut = Arc::make_mut(&mut deployment);
        if let Some(set) = &newest {
            let annotations = deployment_mut.metadata.annotations.get_or_insert_default();
            annotations.insert(REVISION.to_owned(), revision(set).to_string());
        }
        deployment_mut.status = Some(status);
        self.commit(deployment.into());
    }

    /// Says whether enough pods are there, and whether all of them are of the newest template.
    /// Nobody looks at `progressDeadlineSeconds` here: a roll-out waits as long as it takes.
    fn set_deployment_conditions(
        &self,
        status: &mut DeploymentStatus,
        is_available: bool,
        is_done: bool,
        newest: &str,
    ) {
        let available = if is_available {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.".to_owned())
        } else {
            let message = "Deployment does not have minimum availability.".to_owned();
            ("False", "MinimumReplicasUnavailable", message)
        };
        let progressing = if is_done {
            let message = format!("ReplicaSet \"{newest}\" has successfully progressed.");
            ("True", "NewReplicaSetAvailable", message)
        } else {
            ("True", "ReplicaSetUpdated", format!("ReplicaSet \"{newest}\" is progressing."))
        };
        let conditions = status.conditions.get_or_insert_default();
        for (kind, (is, reason, message)) in
            [("Available", available), ("Progressing", progressing)]
        {
            let place = conditions.iter().position(|condition| condition.type_ == kind);
            let old = place.map(|place| &conditions[place]);
            if old.is_some_and(|old| old.status == is && old.message.as_ref() == Some(&message)) {
                continue;
            }
            let since = old.filter(|old| old.status == is);
            let since = since.and_then(|old| old.last_transition_time.clone());
            let now = self.timestamp();
            let condition = DeploymentCondition {
                type_: kind.to_owned(),
                status: is.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message),
                last_update_time: Some(now.clone()),
                last_transition_time: Some(since.unwrap_or(now)),
            };
            match place {
                Some(place) => conditions[place] = condition,
                None => conditions.push(condition),
            }
        }
    }
}

/// How many pods a deployment may miss and still be available.
fn most_missing(spec: &DeploymentSpec, wanted: usize) -> usize {
    let strategy = spec.strategy.as_ref();
    if strategy.and_then(|strategy| strategy.type_.as_deref()) == Some("Recreate") {
        return 0;
    }
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let surge = share(rolling.and_then(|r| r.max_surge.as_ref()), "25%", wanted, true);
    let missing = share(rolling.and_then(|r| r.max_unavailable.as_ref()), "25%", wanted, false);
    if surge == 0 && missing == 0 { 1 } else { missing }
}

fn scale(set: &ReplicaSet) -> usize {
    wanted(set.spec.as_ref().and_then(|spec| spec.replicas))
}

/// The place of a replica set in its deployment's history; 0 for one that has none yet.
fn revision(set: &ReplicaSet) -> u64 {
    let annotations = set.metadata.annotations.as_ref();
    annotations.and_then(|a| a.get(REVISION)?.parse().ok()).unwrap_or(0)
}

fn is_of_template(set: &ReplicaSet, template: &PodTemplateSpec) -> bool {
    let Some(mut own) = set.spec.as_ref().and_then(|spec| spec.template.clone()) else {
        return false;
    };
    let mut wanted = template.clone();
    for template in [&mut own, &mut wanted] {
        if let Some(labels) = template.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
            labels.remove(TEMPLATE_HASH);
        }
    }
    own == wanted
}

const REVISION: &str = "deployment.kubernetes.io/revision";
const TEMPLATE_HASH: &str = "pod-template-hash";
