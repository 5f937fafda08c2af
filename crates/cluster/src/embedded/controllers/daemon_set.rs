//! DaemonSets: one pod for each node that it may run on.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetStatus};
use k8s_openapi::api::core::v1::{
    Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSpec,
    Taint, Toleration,
};

use super::super::store::is_ready;
use super::super::{Cluster, is_finished, node_of};
use super::count;
use crate::selector::selects_node;
use crate::{ApiError, Key, Object};

impl Cluster {
    pub(super) fn reconcile_daemon_set(
        &mut self,
        key: &Key,
        set: &Arc<DaemonSet>,
    ) -> Result<(), ApiError> {
        let Some(spec) = &set.spec else { return Ok(()) };
        let mut template = spec.template.clone();
        let pod_spec = template.spec.get_or_insert_default();
        add_tolerations(pod_spec);
        let nodes = self.list::<Node>().filter(|node| may_run(pod_spec, node));
        let nodes: Vec<String> = nodes.filter_map(|node| node.metadata.name.clone()).collect();

        let mut by_node: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
        for pod in self.managed_pods(&set.metadata) {
            by_node.entry(target(&pod).unwrap_or_default().to_owned()).or_default().push(pod);
        }
        let owner = Object::from(Arc::clone(set));
        let (mut ready, mut current) = (0, 0);
        let mut outcome = Ok(());
        for node in &nodes {
            let mut pods = by_node.remove(node).unwrap_or_default();
            let done: Vec<_> = pods.extract_if(.., |pod| is_finished(pod)).collect();
            done.into_iter().for_each(|pod| self.delete_pod(pod));
            match pods.first() {
                // One that is being deleted is waited for: two would fight for the same ports.
                Some(pod) => {
                    current += 1;
                    ready += usize::from(is_ready(pod));
                }
                None => {
                    let made = self.make_pod(&owner, &template, |pod| pin(pod, node));
                    current += usize::from(made.is_ok());
                    outcome = outcome.and(made);
                }
            }
            pods.into_iter().skip(1).for_each(|pod| self.delete_pod(pod));
        }
        for pod in by_node.into_values().flatten() {
            if pod.metadata.deletion_timestamp.is_none() {
                self.delete_pod(pod);
            }
        }
        self.write_daemon_set_status(key, nodes.len(), current, ready);
        outcome
    }

    /// Writes how many pods are ready, without looking at the nodes.
    pub(in super::super) fn count_ready_daemons(&mut self, key: &Key) {
        let Some(Object::DaemonSet(set)) = self.store.get(key) else { return };
        let Some(status) = &set.status else { return };
        let ready = self.tally(&set.metadata).ready;
        let [wanted, current] = [status.desired_number_scheduled, status.current_number_scheduled]
            .map(|number| usize::try_from(number).unwrap_or(0));
        self.write_daemon_set_status(key, wanted, current, ready);
    }

    fn write_daemon_set_status(&mut self, key: &Key, wanted: usize, current: usize, ready: usize) {
        let Some(Object::DaemonSet(mut set)) = self.store.get(key).cloned() else { return };
        let generation = set.metadata.generation;
        let status = Arc::make_mut(&mut set).status.get_or_insert_with(DaemonSetStatus::default);
        status.desired_number_scheduled = count(wanted);
        status.current_number_scheduled = count(current);
        status.updated_number_scheduled = Some(count(current));
        status.number_ready = count(ready);
        status.number_available = Some(count(ready));
        status.number_unavailable = Some(count(wanted.saturating_sub(ready)));
        status.observed_generation = generation;
        self.commit(set.into());
    }
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
