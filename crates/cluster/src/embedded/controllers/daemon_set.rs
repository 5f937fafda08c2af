//! DaemonSets: one pod for each node that it may run on.
//!
//! A set is looked at node by node: a pod or node that changes costs one node's worth of work, and
//! only a change of the set itself walks all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetStatus};
use k8s_openapi::api::core::v1::{
    Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec,
    PodTemplateSpec, Taint, Toleration,
};

use super::super::names::hash;
use super::super::store::{Change, ChangeKind, is_ready};
use super::super::{Cluster, is_finished, node_of};
use super::{count, label, share};
use crate::object::controller_of;
use crate::selector::selects_node;
use crate::{ApiError, Key, Kind, Object, Resource};

/// What is known of a daemon set and its pods.
#[derive(Clone, Debug)]
pub(in super::super) struct Fleet {
    /// The set's.
    uid: String,
    /// The set's, with what every such pod tolerates.
    template: Arc<PodTemplateSpec>,
    /// What the set's own template is called.
    revision: String,
    /// The nodes that it has pods for.
    nodes: BTreeSet<String>,
    /// Its pods by the node that they are on, or were made for.
    pods: BTreeMap<String, BTreeSet<Key>>,
    /// Those of an earlier template.
    outdated: BTreeSet<Key>,
}

/// What a daemon set has to look at. The whole comes when nothing else is left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum DaemonWork {
    Node(String),
    Whole,
}

impl Cluster {
    /// Looks at the set itself: what its pods are like, and which they are.
    pub(super) fn reconcile_daemon_set(&mut self, key: &Key, set: &Arc<DaemonSet>) {
        let Some(spec) = &set.spec else { return };
        let pods = self.managed_pods(&set.metadata);
        let text = hash(&serde_json::to_string(&spec.template).unwrap_or_default());
        let uid = set.metadata.uid.clone().unwrap_or_default();
        let revision = match self.revisions.get(&uid) {
            Some((known, revision)) if *known == text => revision.clone(),
            // Pods that another cluster made are of the template that they came with.
            None => newest_revision(&pods).unwrap_or_else(|| text.clone()),
            Some(_) => text.clone(),
        };
        self.revisions.insert(uid.clone(), (text, revision.clone()));
        let mut template = spec.template.clone();
        add_tolerations(template.spec.get_or_insert_default());
        let mut fleet = Fleet {
            uid,
            template: Arc::new(template),
            revision,
            nodes: BTreeSet::new(),
            pods: BTreeMap::new(),
            outdated: BTreeSet::new(),
        };
        for pod in &pods {
            fleet.add(pod, Object::from(Arc::clone(pod)).key());
        }
        let nodes = self.objects(Kind::Node).map(Object::name).map(str::to_owned);
        let nodes: BTreeSet<String> = nodes.chain(fleet.pods.keys().cloned()).collect();
        self.fleets.insert(key.clone(), fleet);
        self.daemon_work.extend(nodes.into_iter().map(|n| (key.clone(), DaemonWork::Node(n))));
        self.daemon_work.insert((key.clone(), DaemonWork::Whole));
    }

    /// Notes a pod of a daemon set that came, changed or went.
    pub(in super::super) fn on_daemon(&mut self, change: &Change, set: &Key) {
        let Some(fleet) = self.fleets.get_mut(set) else { return };
        let key = change.object.key();
        let is_member = |object: &&Object| {
            controller_of(object.metadata()).is_some_and(|owner| owner.uid == fleet.uid)
        };
        let old = change.old.as_ref().filter(is_member).and_then(Object::as_pod);
        let new = Some(&change.object).filter(|_| change.kind != ChangeKind::Deleted);
        let new = new.filter(is_member).and_then(Object::as_pod);
        if let Some(old) = old {
            fleet.remove(old, &key);
        }
        if let Some(new) = new {
            fleet.add(new, key);
        }
        let place = |pod: &Arc<Pod>| (target(pod).map(str::to_owned), is_finished(pod));
        let (was, is) = (old.map(place), new.map(place));
        if was != is {
            for (node, _) in was.into_iter().chain(is) {
                let work = DaemonWork::Node(node.unwrap_or_default());
                self.daemon_work.insert((set.clone(), work));
            }
        }
        self.daemon_work.insert((set.clone(), DaemonWork::Whole));
    }

    /// Notes a node that came, changed or went.
    pub(in super::super) fn on_node_for_daemons(&mut self, change: &Change) {
        let attracts = |node: &Arc<Node>| {
            let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
            (node.metadata.labels.clone(), taints)
        };
        let old = change.old.as_ref().and_then(Node::of);
        let new = Node::of(&change.object);
        if change.kind == ChangeKind::Modified && old.map(attracts) == new.map(attracts) {
            return;
        }
        let name = change.object.name();
        for set in self.fleets.keys() {
            self.daemon_work.insert((set.clone(), DaemonWork::Node(name.to_owned())));
            self.daemon_work.insert((set.clone(), DaemonWork::Whole));
        }
    }

    pub(super) fn tend_daemons(&mut self, set: &Key, work: &DaemonWork) {
        let Some(Object::DaemonSet(found)) = self.store.get(set).cloned() else { return };
        if found.metadata.deletion_timestamp.is_some() {
            return self.release_last(&found.into());
        }
        match work {
            DaemonWork::Node(node) => {
                if let Err(error) = self.tend_node(set, &found, node) {
                    self.troubles.insert(set.clone(), error);
                }
            }
            DaemonWork::Whole => {
                if let Some(spec) = &found.spec {
                    self.replace_outdated_daemons(set, spec);
                }
                self.write_daemon_set_status(set);
            }
        }
    }

    /// Gives a node its pod, and takes away what is too much.
    fn tend_node(&mut self, key: &Key, set: &Arc<DaemonSet>, name: &str) -> Result<(), ApiError> {
        let node = self.get::<Node>("", name).cloned();
        let Some(fleet) = self.fleets.get_mut(key) else { return Ok(()) };
        let template = Arc::clone(&fleet.template);
        let spec = template.spec.as_ref();
        let is_wanted = node.is_some_and(|node| spec.is_some_and(|spec| may_run(spec, &node)));
        if is_wanted {
            fleet.nodes.insert(name.to_owned());
        } else {
            fleet.nodes.remove(name);
        }
        let revision = fleet.revision.clone();
        let pods = fleet.pods.get(name).into_iter().flatten();
        let pods = pods.filter_map(|pod| self.store.get(pod)?.as_pod().cloned());
        let mut pods: Vec<Arc<Pod>> = pods.collect();
        let done: Vec<_> = pods.extract_if(.., |pod| is_finished(pod)).collect();
        done.into_iter().for_each(|pod| self.delete_pod(pod));
        if is_wanted && pods.is_empty() {
            let owner = Object::from(Arc::clone(set));
            return self.make_pod(&owner, &template, |pod| {
                label(&mut pod.metadata, REVISION, &revision);
                pin(pod, name);
            });
        }
        pods.sort_by_key(|pod| pod.metadata.deletion_timestamp.is_some());
        // One that is being deleted is waited for: two would fight for the same ports.
        for pod in pods.into_iter().skip(usize::from(is_wanted)) {
            if pod.metadata.deletion_timestamp.is_none() {
                self.delete_pod(pod);
            }
        }
        Ok(())
    }

    /// Deletes pods of an earlier template, as many as may be missing. Their nodes get new ones
    /// when they are gone; `maxSurge` is not known here.
    fn replace_outdated_daemons(&mut self, set: &Key, spec: &DaemonSetSpec) {
        let strategy = spec.update_strategy.as_ref();
        if strategy.and_then(|s| s.type_.as_deref()) == Some("OnDelete") {
            return;
        }
        let Some(fleet) = self.fleets.get(set).filter(|fleet| !fleet.outdated.is_empty()) else {
            return;
        };
        let most = strategy.and_then(|s| s.rolling_update.as_ref()?.max_unavailable.as_ref());
        let most = most.map_or(1, |most| share(Some(most), "0", fleet.nodes.len(), true)).max(1);
        let old: Vec<Arc<Pod>> = fleet
            .outdated
            .iter()
            .filter_map(|pod| self.store.get(pod)?.as_pod().cloned())
            .filter(|pod| pod.metadata.deletion_timestamp.is_none())
            .collect();
        let ready = self.store.tally(self.store.get(set).map_or("", Object::uid)).ready;
        let mut spare = most.saturating_sub(fleet.nodes.len().saturating_sub(ready));
        for pod in old {
            // One that is not ready is no loss.
            if !is_ready(&pod) {
                self.delete_pod(pod);
            } else if spare > 0 {
                spare -= 1;
                self.delete_pod(pod);
            }
        }
    }

    fn write_daemon_set_status(&mut self, key: &Key) {
        let Some(fleet) = self.fleets.get(key) else { return };
        let Some(Object::DaemonSet(mut set)) = self.store.get(key).cloned() else { return };
        let tally = self.tally(&set.metadata);
        let wanted = fleet.nodes.len();
        let current = tally.present.min(wanted);
        let updated = current.saturating_sub(fleet.outdated.len());
        let ready = tally.ready.min(wanted);
        let generation = set.metadata.generation;
        let status = Arc::make_mut(&mut set).status.get_or_insert_with(DaemonSetStatus::default);
        status.desired_number_scheduled = count(wanted);
        status.current_number_scheduled = count(current);
        status.updated_number_scheduled = Some(count(updated));
        status.number_ready = count(ready);
        status.number_available = Some(count(ready));
        status.number_unavailable = Some(count(wanted.saturating_sub(ready)));
        status.observed_generation = generation;
        self.commit(set.into());
    }

    /// Panics if a fleet is not what the pods say. For tests.
    pub(in super::super) fn check_fleets(&self) {
        for (key, fleet) in &self.fleets {
            let Some(Object::DaemonSet(set)) = self.store.get(key) else {
                panic!("{key} is gone, and its pods are counted");
            };
            let mut again =
                Fleet { pods: BTreeMap::new(), outdated: BTreeSet::new(), ..fleet.clone() };
            for pod in self.managed_pods(&set.metadata) {
                again.add(&pod, Object::from(Arc::clone(&pod)).key());
            }
            assert_eq!(fleet.pods, again.pods, "pods of {key} by node");
            assert_eq!(fleet.outdated, again.outdated, "outdated pods of {key}");
        }
    }
}

impl Fleet {
    fn add(&mut self, pod: &Pod, key: Key) {
        if revision_of(pod) != Some(&self.revision) && !is_finished(pod) {
            self.outdated.insert(key.clone());
        }
        let node = target(pod).unwrap_or_default().to_owned();
        self.pods.entry(node).or_default().insert(key);
    }

    fn remove(&mut self, pod: &Pod, key: &Key) {
        self.outdated.remove(key);
        let node = target(pod).unwrap_or_default();
        if let Some(pods) = self.pods.get_mut(node) {
            pods.remove(key);
            if pods.is_empty() {
                self.pods.remove(node);
            }
        }
    }
}

fn revision_of(pod: &Pod) -> Option<&String> {
    pod.metadata.labels.as_ref()?.get(REVISION)
}

fn newest_revision(pods: &[Arc<Pod>]) -> Option<String> {
    let newest = pods.iter().max_by_key(|pod| pod.metadata.creation_timestamp.clone())?;
    revision_of(newest).cloned()
}

/// The node that a pod runs on, or was made for.
fn target(pod: &Pod) -> Option<&str> {
    node_of(pod).or_else(|| {
        let affinity = pod.spec.as_ref()?.affinity.as_ref()?.node_affinity.as_ref()?;
        let required = affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
        let fields = required.node_selector_terms.first()?.match_fields.as_ref()?;
        fields.first()?.values.as_ref()?.first().map(String::as_str)
    })
}

/// Whether the set has a pod for this node.
fn may_run(spec: &PodSpec, node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let label = |key: &String| labels.and_then(|labels| labels.get(key));
    let required = spec
        .affinity
        .as_ref()
        .and_then(|a| a.node_affinity.as_ref())
        .and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
    let taints = node.spec.iter().flat_map(|spec| spec.taints.iter().flatten());
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    spec.node_selector.iter().flatten().all(|(key, value)| label(key) == Some(value))
        && required.is_none_or(|selector| selects_node(selector, node))
        && taints
            .into_iter()
            .filter(|taint| taint.effect != "PreferNoSchedule")
            .all(|taint| tolerations.iter().any(|toleration| tolerates(toleration, taint)))
}

/// Whether a toleration is about a taint.
pub(in crate::embedded) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let key = toleration.key.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let value = taint.value.as_deref().unwrap_or_default();
    (effect.is_empty() || effect == taint.effect)
        && (key.is_empty() || key == taint.key)
        && match toleration.operator.as_deref() {
            Some("Exists") => true,
            None | Some("" | "Equal") => toleration.value.as_deref().unwrap_or_default() == value,
            _ => false,
        }
}

/// Makes a pod for one node: its name replaces what the template asks of nodes by label, which
/// this node was found to satisfy.
fn pin(pod: &mut Pod, node: &str) {
    let requirement = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = || NodeSelectorTerm {
        match_fields: Some(vec![requirement.clone()]),
        ..NodeSelectorTerm::default()
    };
    let affinity = pod.spec.get_or_insert_default().affinity.get_or_insert_default();
    let affinity = affinity.node_affinity.get_or_insert_with(NodeAffinity::default);
    affinity.required_during_scheduling_ignored_during_execution =
        Some(NodeSelector { node_selector_terms: vec![term()] });
}

/// What every pod of a daemon set tolerates.
fn add_tolerations(spec: &mut PodSpec) {
    let always = [
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    let host = [("node.kubernetes.io/network-unavailable", "NoSchedule")];
    let host = host.iter().filter(|_| spec.host_network == Some(true));
    let missing: Vec<Toleration> = always
        .iter()
        .chain(host)
        .map(|(key, effect)| Toleration {
            key: Some((*key).to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some((*effect).to_owned()),
            ..Toleration::default()
        })
        .collect();
    let tolerations = spec.tolerations.get_or_insert_default();
    for toleration in missing {
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
}

const REVISION: &str = "controller-revision-hash";
