//! Which constraints a pod has: its own, or else those of the cluster.

use std::collections::BTreeMap;

use roadstead_model::{
    ControllerKind, Labels, Pod, Requirement, Selector, SpreadConstraint, Text, WhenUnsatisfiable,
};

use crate::listers::Listers;

/// The constraints of pods that have none of their own.
pub(super) struct Defaults {
    /// Their selectors are those of each pod's services and controller.
    pub(super) constraints: Vec<SpreadConstraint>,
    /// Whether they are those of every cluster, which nodes need not have the labels for.
    pub(super) are_systems: bool,
}

impl Defaults {
    /// The pod's constraints that say `action`. A pod with constraints of any kind has no others.
    pub(super) fn constraints<'a>(
        &self,
        listers: &Listers,
        pod: &'a Pod,
        action: WhenUnsatisfiable,
    ) -> Result<Vec<SpreadConstraint>, &'a str> {
        let is_meant = |c: &&SpreadConstraint| c.when_unsatisfiable == action;
        let own = &pod.spec().spread_constraints;
        if own.is_empty() {
            let defaults: Vec<_> = self.constraints.iter().filter(is_meant).collect();
            return Ok(with_selector(defaults, listers, pod));
        }
        let checked = |constraint: &'a SpreadConstraint| match constraint.selector.error() {
            Some(error) => Err(error),
            None => Ok(constraint.clone()),
        };
        own.iter().filter(is_meant).map(checked).collect()
    }

    /// Whether nodes without one of the labels count for nothing when nodes are scored for the pod.
    pub(super) fn need_all_labels(&self, pod: &Pod) -> bool {
        !self.are_systems || !pod.spec().spread_constraints.is_empty()
    }
}

/// The constraints about the pods that belong together with this one; none where none do.
fn with_selector(
    defaults: Vec<&SpreadConstraint>,
    listers: &Listers,
    pod: &Pod,
) -> Vec<SpreadConstraint> {
    if defaults.is_empty() {
        return Vec::new();
    }
    let selector = deduced_selector(listers, pod);
    if selector.is_empty() {
        return Vec::new();
    }
    let with_selector = |constraint: &SpreadConstraint| SpreadConstraint {
        selector: selector.clone(),
        ..constraint.clone()
    };
    defaults.into_iter().map(with_selector).collect()
}

/// The selectors of all services that the pod belongs to and that of its controller, in one.
fn deduced_selector(listers: &Listers, pod: &Pod) -> Selector {
    let namespace = pod.namespace();
    let mut pairs = BTreeMap::new();
    let from = (namespace.clone(), Text::unshared(""));
    let services = listers.services.range(from..).map(|(_, service)| service);
    for service in services.take_while(|service| service.namespace == *namespace) {
        if service.selects(&pod.spec().labels) {
            merge(&mut pairs, &service.selector);
        }
    }
    let mut more: &[Requirement] = &[];
    if let Some(controller) = &pod.spec().controller {
        let name = (namespace.clone(), controller.name.clone());
        let selector = match controller.kind {
            ControllerKind::ReplicationController => {
                if let Some(known) = listers.replication_controllers.get(&name) {
                    merge(&mut pairs, &known.selector);
                }
                None
            }
            ControllerKind::ReplicaSet => listers.replica_sets.get(&name).map(|set| &set.selector),
            ControllerKind::StatefulSet => {
                listers.stateful_sets.get(&name).map(|set| &set.selector)
            }
        };
        more = selector.and_then(Selector::requirements).unwrap_or(&[]);
    }
    let pairs =
        pairs.into_iter().map(|(key, value)| Requirement::equal(key.clone(), value.clone()));
    Selector::everything().and(pairs.chain(more.iter().cloned()))
}

/// Of two values for one key the later counts.
fn merge<'a>(pairs: &mut BTreeMap<&'a Text, &'a Text>, more: &'a Labels) {
    pairs.extend(more.iter());
}
