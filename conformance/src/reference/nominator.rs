//! Which pod is promised which node (section 13).

use std::sync::Arc;

use crate::trace::{Pod, PodName, Uid};

/// The nominations, and the pod lister that they are checked against.
#[derive(Clone, Default)]
pub(super) struct Nominator {
    nominations: Vec<Nomination>,
    lister: Vec<Arc<Pod>>,
}

#[derive(Clone)]
struct Nomination {
    pod: Arc<Pod>,
    /// `""` is a node like any other.
    node: String,
}

impl Nominator {
    pub(super) fn lister_has(&mut self, pod: &Arc<Pod>) {
        self.lister_lost(&pod.full_name());
        self.lister.push(pod.clone());
    }

    pub(super) fn lister_lost(&mut self, name: &PodName) {
        self.lister.retain(|pod| pod.full_name() != *name);
    }

    /// Nominates a pod to `node`, or to the one that its status names. What was before ends in
    /// any case, also where the new nomination is refused.
    pub(super) fn add(&mut self, pod: &Arc<Pod>, node: Option<&str>) {
        self.remove(&pod.uid);
        let node = match node {
            Some(node) => node,
            None if pod.nominated.is_empty() => return,
            None => &pod.nominated,
        };
        let name = pod.full_name();
        let listed = self.lister.iter().find(|listed| listed.full_name() == name);
        if listed.is_some_and(|listed| listed.node.is_empty()) {
            self.nominations.push(Nomination { pod: pod.clone(), node: node.to_owned() });
        }
    }

    /// Follows a pod to its new version. A nomination made in memory survives if neither version
    /// speaks of a node.
    pub(super) fn update(&mut self, old: &Pod, new: &Arc<Pod>) {
        let both_silent = old.nominated.is_empty() && new.nominated.is_empty();
        let in_memory = self.nominations.iter().find(|it| both_silent && it.pod.uid == old.uid);
        let node = in_memory.map(|it| it.node.clone());
        self.remove(&old.uid);
        self.add(new, node.as_deref());
    }

    pub(super) fn remove(&mut self, uid: &Uid) {
        self.nominations.retain(|it| it.pod.uid != *uid);
    }

    /// Sorted by name.
    pub(super) fn nominated(&self, node: &str) -> Vec<PodName> {
        let there = self.nominations.iter().filter(|it| it.node == node);
        let mut names: Vec<_> = there.map(|it| it.pod.full_name()).collect();
        names.sort();
        names
    }

    pub(super) fn check_invariants(&self) {
        let mut uids: Vec<_> = self.nominations.iter().map(|it| &it.pod.uid).collect();
        uids.sort();
        assert!(uids.is_sorted_by(|a, b| a < b), "a pod is nominated twice: {uids:?}");
    }
}
