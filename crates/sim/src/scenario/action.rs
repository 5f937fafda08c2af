//! What a timeline does to a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::Resource as _;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Node, NodeCondition, Pod, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time as ApiTime};
use k8s_openapi::jiff::Timestamp;
use roadstead_cluster::embedded::{Cluster, DeleteOptions};
use roadstead_cluster::{ApiError, Key, Kind, Object};
use roadstead_queue::Time;

/// Something that is done to a cluster.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Apply(Vec<Object>),
    Delete(Key),
    Scale { key: Key, replicas: i32 },
    Cordon(Nodes),
    Uncordon(Nodes),
    Drain { nodes: Nodes, timeout: Duration },
    FailNode { nodes: Nodes, recover_after: Option<Duration> },
    Recover(Nodes),
    Label { nodes: Nodes, set: BTreeMap<String, String> },
    Unlabel { nodes: Nodes, keys: Vec<String> },
    Taint { nodes: Nodes, taints: Vec<Taint> },
    Untaint { nodes: Nodes, keys: Vec<String> },
}

/// Which nodes are meant.
#[derive(Clone, Debug)]
pub(super) enum Nodes {
    Named(Vec<String>),
    /// Those that have these labels when the time has come.
    Labelled(BTreeMap<String, String>),
}

/// What is left to do after an action.
pub(super) struct Later {
    pub(super) at: Time,
    pub(super) action: Action,
}

/// An action at work: what it is called, what went wrong, what is left.
pub(super) struct Stage<'a> {
    pub(super) now: Time,
    pub(super) cluster: &'a mut Cluster,
    pub(super) troubles: Vec<String>,
    pub(super) later: Vec<Later>,
}

impl Stage<'_> {
    pub(super) fn perform(&mut self, action: &Action) {
        match action {
            Action::Apply(objects) => self.apply(objects),
            Action::Delete(key) => {
                let outcome = self.cluster.delete(self.now, key, &DeleteOptions::default());
                self.note("delete", outcome);
            }
            Action::Scale { key, replicas } => {
                let outcome = self.scale(key, *replicas);
                self.note("scale", outcome);
            }
            Action::Cordon(nodes) => {
                let _ = self.change("cordon", nodes, cordon);
            }
            Action::Uncordon(nodes) => {
                let _ = self.change("uncordon", nodes, uncordon);
            }
            Action::Drain { nodes, timeout } => {
                let names = self.change("drain", nodes, cordon);
                self.drain(names, *timeout);
            }
            Action::FailNode { nodes, recover_after } => {
                let now = self.timestamp();
                let names = self.change("failNode", nodes, |node| fail(node, &now));
                if let (Some(after), false) = (recover_after, names.is_empty()) {
                    let action = Action::Recover(Nodes::Named(names));
                    self.later.push(Later { at: self.now + *after, action });
                }
            }
            Action::Recover(nodes) => {
                let now = self.timestamp();
                let _ = self.change("failNode.recoverAfter", nodes, |node| recover(node, &now));
            }
            Action::Label { nodes, set } => {
                let _ = self.change("label", nodes, |node| {
                    node.metadata.labels.get_or_insert_default().extend(set.clone());
                });
            }
            Action::Unlabel { nodes, keys } => {
                let _ = self.change("unlabel", nodes, |node| {
                    node.metadata.labels.get_or_insert_default().retain(|k, _| !keys.contains(k));
                });
            }
            Action::Taint { nodes, taints } => {
                let now = self.timestamp();
                let _ = self.change("taint", nodes, |node| {
                    taints.iter().for_each(|taint| set_taint(node, taint.clone(), &now));
                });
            }
            Action::Untaint { nodes, keys } => {
                let _ = self.change("untaint", nodes, |node| {
                    remove_taints(node, |taint| {
                        keys.iter().any(|key| match key.split_once(':') {
                            Some((key, effect)) => key == taint.key && effect == taint.effect,
                            None => *key == taint.key,
                        })
                    });
                });
            }
        }
    }

    /// Makes each object, or replaces the one that is there. A namespace that is missing is made.
    fn apply(&mut self, objects: &[Object]) {
        for object in objects {
            let key = object.key();
            self.make_namespace("apply", &key);
            let mut object = object.clone();
            let meta = object.metadata_mut();
            (meta.uid, meta.resource_version) = (None, None);
            let outcome = match self.cluster.object(&key) {
                Some(_) => self.cluster.update(self.now, object).map(drop),
                None => self.cluster.create(self.now, object).map(drop),
            };
            self.note("apply", outcome);
        }
    }

    /// Makes the namespace of an object that is to come, if it is missing.
    pub(super) fn make_namespace(&mut self, what: &str, key: &Key) {
        let namespace = Kind::Namespace.key("", &key.namespace);
        if key.kind.is_namespaced() && self.cluster.object(&namespace).is_none() {
            let name = Some(key.namespace.clone());
            let metadata = ObjectMeta { name, ..ObjectMeta::default() };
            let namespace = Namespace { metadata, ..Namespace::default() };
            let outcome = self.cluster.create(self.now, namespace).map(drop);
            self.note(what, outcome);
        }
    }

    fn scale(&mut self, key: &Key, replicas: i32) -> Result<(), ApiError> {
        let object = self.cluster.object(key).ok_or_else(|| ApiError::NotFound(key.clone()))?;
        let mut object = object.clone();
        match &mut object {
            Object::Deployment(it) => {
                Arc::make_mut(it).spec.get_or_insert_default().replicas = Some(replicas);
            }
            Object::ReplicaSet(it) => {
                Arc::make_mut(it).spec.get_or_insert_default().replicas = Some(replicas);
            }
            Object::StatefulSet(it) => {
                Arc::make_mut(it).spec.get_or_insert_default().replicas = Some(replicas);
            }
            Object::Job(it) => {
                Arc::make_mut(it).spec.get_or_insert_default().parallelism = Some(replicas);
            }
            _ => {}
        }
        self.cluster.update(self.now, object).map(drop)
    }

    /// Evicts what can be evicted now, and comes back for the rest.
    fn drain(&mut self, names: Vec<String>, timeout: Duration) {
        let leaving: Vec<(String, String)> = self
            .cluster
            .list::<Pod>()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none() && !is_daemon(pod))
            .filter(|pod| {
                let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
                node.is_some_and(|node| names.contains(node))
            })
            .map(|pod| {
                let meta = &pod.metadata;
                (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
            })
            .collect();
        let mut refused = Vec::new();
        for (namespace, name) in &leaving {
            if let Err(error) =
                self.cluster.evict(self.now, namespace, name, &DeleteOptions::default())
                && !error.is_not_found()
            {
                refused.push(error);
            }
        }
        if refused.is_empty() {
            return;
        }
        if timeout < RETRY {
            for error in refused {
                self.trouble("drain", format!("given up: {error}"));
            }
        } else {
            let action = Action::Drain { nodes: Nodes::Named(names), timeout: timeout - RETRY };
            self.later.push(Later { at: self.now + RETRY, action });
        }
    }

    /// Changes each of the nodes, and says which there were.
    fn change(&mut self, what: &str, nodes: &Nodes, change: impl Fn(&mut Node)) -> Vec<String> {
        let names = match nodes {
            Nodes::Named(names) => names.clone(),
            Nodes::Labelled(wanted) => self.labelled(wanted),
        };
        if names.is_empty() {
            self.trouble(what, "no node has these labels".to_owned());
        }
        let mut changed = Vec::new();
        for name in names {
            let outcome = match self.cluster.get::<Node>("", &name) {
                None => Err(ApiError::NotFound(Kind::Node.key("", &name))),
                Some(node) => {
                    let mut node = (**node).clone();
                    change(&mut node);
                    self.cluster.update(self.now, node).map(drop)
                }
            };
            if outcome.is_ok() {
                changed.push(name);
            }
            self.note(what, outcome);
        }
        changed
    }

    fn labelled(&self, wanted: &BTreeMap<String, String>) -> Vec<String> {
        let fits = |node: &&Arc<Node>| {
            let labels = node.metadata.labels.as_ref();
            wanted.iter().all(|(key, value)| labels.and_then(|l| l.get(key)) == Some(value))
        };
        let fitting = self.cluster.list::<Node>().filter(fits);
        fitting.filter_map(|node| node.metadata.name.clone()).collect()
    }

    fn note(&mut self, what: &str, outcome: Result<(), ApiError>) {
        if let Err(error) = outcome {
            self.trouble(what, error.to_string());
        }
    }

    pub(super) fn trouble(&mut self, what: &str, reason: String) {
        let at = Duration::from_millis(self.now.as_millis());
        self.troubles.push(format!("at {at:?}: {what}: {reason}"));
    }

    fn timestamp(&self) -> ApiTime {
        // Objects have the cluster's time, which need not be counted from the start of the run.
        let now = self.now.max(self.cluster.now());
        let seconds = i64::try_from(now.as_millis() / 1000).unwrap_or(i64::MAX);
        ApiTime(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
    }
}

/// As `kubectl cordon` and the node lifecycle controller together leave a node.
fn cordon(node: &mut Node) {
    let spec = node.spec.get_or_insert_default();
    spec.unschedulable = Some(true);
    let taints = spec.taints.get_or_insert_default();
    if !taints.iter().any(|taint| taint.key == UNSCHEDULABLE) {
        taints.push(taint(UNSCHEDULABLE, "NoSchedule"));
    }
}

fn uncordon(node: &mut Node) {
    node.spec.get_or_insert_default().unschedulable = None;
    remove_taints(node, |taint| taint.key == UNSCHEDULABLE);
}

/// As the node lifecycle controller leaves a node whose kubelet it does not hear.
fn fail(node: &mut Node, now: &ApiTime) {
    set_readiness(node, "Unknown", "NodeStatusUnknown", now);
    for effect in ["NoSchedule", "NoExecute"] {
        set_taint(node, taint(UNREACHABLE, effect), now);
    }
}

fn recover(node: &mut Node, now: &ApiTime) {
    set_readiness(node, "True", "KubeletReady", now);
    remove_taints(node, |taint| taint.key == UNREACHABLE);
}

fn set_readiness(node: &mut Node, status: &str, reason: &str, now: &ApiTime) {
    let conditions = node.status.get_or_insert_default().conditions.get_or_insert_default();
    conditions.retain(|condition| condition.type_ != "Ready");
    conditions.push(NodeCondition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        last_transition_time: Some(now.clone()),
        ..NodeCondition::default()
    });
}

/// A taint is known by its key and effect: one that is there takes the new value.
fn set_taint(node: &mut Node, mut taint: Taint, now: &ApiTime) {
    let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
    if taint.effect == "NoExecute" && taint.time_added.is_none() {
        taint.time_added = Some(now.clone());
    }
    match taints.iter_mut().find(|old| old.key == taint.key && old.effect == taint.effect) {
        Some(old) => old.value = taint.value,
        None => taints.push(taint),
    }
}

fn remove_taints(node: &mut Node, is_meant: impl Fn(&Taint) -> bool) {
    if let Some(taints) = &mut node.spec.get_or_insert_default().taints {
        taints.retain(|taint| !is_meant(taint));
    }
}

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), effect: effect.to_owned(), ..Taint::default() }
}

fn is_daemon(pod: &Pod) -> bool {
    let owners = pod.metadata.owner_references.iter().flatten();
    owners.into_iter().any(|owner| owner.controller == Some(true) && owner.kind == DaemonSet::KIND)
}

/// The kinds that have a size.
pub(super) const SCALABLE: [&str; 4] =
    [Deployment::KIND, ReplicaSet::KIND, StatefulSet::KIND, Job::KIND];

/// How soon a drain asks again for what a budget could not spare, as `kubectl drain`.
const RETRY: Duration = Duration::from_secs(5);
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
