//! Nodes with what runs on them.

mod changes;
mod images;

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{HostPort, Node, Pod, Resources, Text, Volume};

use crate::counts::{Counts, KeptCounts};

pub(crate) use changes::Slot;

use changes::Changes;
use images::Images;

/// A node and the pods on it, with what follows from them summed up.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    node: Arc<Node>,
    pods: Vec<Arc<Pod>>,
    /// Those of them that say something of other pods.
    pods_with_affinity: Vec<Arc<Pod>>,
    /// What the pods ask for.
    requested: Resources,
    /// The same as spreading load counts it.
    non_zero_milli_cpu: i64,
    non_zero_memory: i64,
    used_ports: Vec<HostPort>,
    /// The lowest priority of any pod here.
    lowest_priority: Option<i32>,
    slot: Slot,
}

impl NodeInfo {
    /// A node with nothing on it.
    #[must_use]
    pub fn new(node: Arc<Node>) -> Self {
        Self {
            node,
            pods: Vec::new(),
            pods_with_affinity: Vec::new(),
            requested: Resources::default(),
            non_zero_milli_cpu: 0,
            non_zero_memory: 0,
            used_ports: Vec::new(),
            lowest_priority: None,
            slot: Slot::NOWHERE,
        }
    }

    /// Puts a pod on the node.
    pub fn add_pod(&mut self, pod: &Arc<Pod>) {
        let requests = pod.requests();
        self.requested.add(&requests.total);
        self.non_zero_milli_cpu = self.non_zero_milli_cpu.wrapping_add(requests.non_zero_milli_cpu);
        self.non_zero_memory = self.non_zero_memory.wrapping_add(requests.non_zero_memory);
        // A set, as upstream's HostPortInfo: of two pods with one port, either frees it.
        for port in &pod.spec().host_ports {
            if !self.used_ports.contains(port) {
                self.used_ports.push(port.clone());
            }
        }
        if pod.spec().pod_affinity.is_some() {
            self.pods_with_affinity.push(Arc::clone(pod));
        }
        let priority = pod.spec().priority;
        self.lowest_priority = Some(self.lowest_priority.map_or(priority, |p| p.min(priority)));
        self.pods.push(Arc::clone(pod));
    }

    /// Takes the pod of that uid off the node, and returns it.
    pub fn remove_pod(&mut self, uid: &Text) -> Option<Arc<Pod>> {
        let at = self.pods.iter().position(|pod| pod.uid == *uid)?;
        let pod = self.pods.remove(at);
        let requests = pod.requests();
        self.requested.sub(&requests.total);
        self.non_zero_milli_cpu = self.non_zero_milli_cpu.wrapping_sub(requests.non_zero_milli_cpu);
        self.non_zero_memory = self.non_zero_memory.wrapping_sub(requests.non_zero_memory);
        for port in &pod.spec().host_ports {
            if let Some(at) = self.used_ports.iter().position(|used| used == port) {
                self.used_ports.swap_remove(at);
            }
        }
        if let Some(at) = self.pods_with_affinity.iter().position(|other| other.uid == *uid) {
            self.pods_with_affinity.remove(at);
        }
        if self.lowest_priority == Some(pod.spec().priority) {
            self.lowest_priority = self.pods.iter().map(|pod| pod.spec().priority).min();
        }
        Some(pod)
    }

    /// The node object changed; what runs there stays.
    fn set_node(&mut self, node: Arc<Node>) {
        self.node = node;
    }

    /// The node itself.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The node's number among all nodes.
    pub(crate) fn slot(&self) -> Slot {
        self.slot
    }

    /// The node's name.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.node.name
    }

    /// What runs there, in order of arrival.
    #[must_use]
    pub fn pods(&self) -> &[Arc<Pod>] {
        &self.pods
    }

    /// Those of the pods there that have pod affinity or anti-affinity, in the same order.
    #[must_use]
    pub fn pods_with_affinity(&self) -> &[Arc<Pod>] {
        &self.pods_with_affinity
    }

    /// What the pods ask for, summed up.
    #[must_use]
    pub fn requested(&self) -> &Resources {
        &self.requested
    }

    /// CPU as spreading load counts it, in thousandths of a core.
    #[must_use]
    pub fn non_zero_milli_cpu(&self) -> i64 {
        self.non_zero_milli_cpu
    }

    /// Memory as spreading load counts it, in bytes.
    #[must_use]
    pub fn non_zero_memory(&self) -> i64 {
        self.non_zero_memory
    }

    /// The lowest priority of the pods there, if there are any.
    #[must_use]
    pub fn lowest_priority(&self) -> Option<i32> {
        self.lowest_priority
    }

    /// Ports that pods have taken.
    #[must_use]
    pub fn used_ports(&self) -> &[HostPort] {
        &self.used_ports
    }
}

/// The nodes of a cluster, in order.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    nodes: Vec<NodeInfo>,
    by_name: HashMap<Text, usize>,
    /// Where in the order the node of each slot is.
    positions: Vec<usize>,
    /// Slots of nodes that are gone.
    free_slots: Vec<Slot>,
    changes: Changes,
    /// Counts changes of the order.
    layout: u64,
    /// How many pods of each priority there are.
    priorities: BTreeMap<i32, usize>,
    /// By every name that a node gives them.
    images: Images,
    counts: KeptCounts,
}

impl Nodes {
    /// A cluster of these nodes, in this order.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = NodeInfo>) -> Self {
        let mut all = Self::default();
        for node in nodes {
            all.insert(node);
        }
        all
    }

    /// A node came.
    pub(crate) fn insert(&mut self, mut info: NodeInfo) {
        info.slot = self.free_slots.pop().unwrap_or_else(|| Slot::new(self.nodes.len()));
        self.positions.resize(self.positions.len().max(info.slot.index() + 1), 0);
        self.positions[info.slot.index()] = self.nodes.len();
        self.changes.note(info.slot);
        self.layout += 1;
        self.counts.follow(|counts| counts.on_node(&info));
        for pod in info.pods() {
            *self.priorities.entry(pod.spec().priority).or_default() += 1;
        }
        self.images.hold(info.node());
        self.images.nodes_changed();
        self.by_name.insert(info.name().clone(), self.nodes.len());
        self.nodes.push(info);
    }

    /// A known node changed.
    pub(crate) fn set_node(&mut self, node: Arc<Node>) {
        let Some(&at) = self.by_name.get(&node.name) else { return };
        let info = &mut self.nodes[at];
        if info.node.images != node.images {
            self.images.release(&info.node);
            self.images.hold(&node);
        }
        self.changes.note(info.slot);
        // Of all that may change, domains depend on these alone.
        if info.node.labels == node.labels && info.node.taints == node.taints {
            return info.set_node(node);
        }
        self.counts.follow(|counts| counts.on_node_gone(info));
        info.set_node(node);
        self.counts.follow(|counts| counts.on_node(info));
    }

    /// A pod came to a node. Whether the node is known.
    pub fn add_pod(&mut self, node: &Text, pod: &Arc<Pod>) -> bool {
        let Some(&at) = self.by_name.get(node) else { return false };
        let info = &mut self.nodes[at];
        info.add_pod(pod);
        self.changes.note(info.slot);
        *self.priorities.entry(pod.spec().priority).or_default() += 1;
        self.counts.follow(|counts| counts.on_pod(pod, info));
        true
    }

    /// A pod left a node. Whether the node is known.
    pub fn remove_pod(&mut self, node: &Text, uid: &Text) -> bool {
        let Some(&at) = self.by_name.get(node) else { return false };
        let info = &mut self.nodes[at];
        if let Some(pod) = info.remove_pod(uid) {
            self.changes.note(info.slot);
            uncount(&mut self.priorities, pod.spec().priority);
            self.counts.follow(|counts| counts.on_pod_gone(&pod, info));
        }
        true
    }

    /// Something else that matters for what runs on a node changed.
    pub(crate) fn touch(&mut self, name: &Text) {
        if let Some(&at) = self.by_name.get(name) {
            self.changes.note(self.nodes[at].slot);
        }
    }

    /// A node is gone. Another may take its place in the order.
    pub(crate) fn remove(&mut self, name: &Text) -> Option<NodeInfo> {
        let at = self.by_name.remove(name)?;
        let info = self.nodes.swap_remove(at);
        if let Some(moved) = self.nodes.get(at) {
            self.by_name.insert(moved.name().clone(), at);
            self.positions[moved.slot.index()] = at;
        }
        for pod in info.pods() {
            uncount(&mut self.priorities, pod.spec().priority);
        }
        self.images.release(info.node());
        self.images.nodes_changed();
        self.counts.follow(|counts| counts.on_node_gone(&info));
        self.changes.forget(info.slot);
        self.layout += 1;
        self.free_slots.push(info.slot);
        Some(info)
    }

    /// Puts the nodes in this order; those that it does not name come last.
    pub(crate) fn sort_by(&mut self, order: &[Text]) {
        let rank: HashMap<&Text, usize> =
            order.iter().enumerate().map(|(rank, name)| (name, rank)).collect();
        self.nodes.sort_by_cached_key(|node| rank.get(node.name()).copied().unwrap_or(usize::MAX));
        for (at, node) in self.nodes.iter().enumerate() {
            self.positions[node.slot.index()] = at;
            if let Some(known) = self.by_name.get_mut(node.name()) {
                *known = at;
            }
        }
        self.layout += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NodeInfo> {
        self.nodes.iter()
    }

    /// The node at that place.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&NodeInfo> {
        self.nodes.get(index)
    }

    /// The node of that name.
    #[must_use]
    pub fn get(&self, name: &Text) -> Option<&NodeInfo> {
        self.by_name.get(name).map(|at| &self.nodes[*at])
    }

    /// The place of the node of that name.
    #[must_use]
    pub fn position(&self, name: &Text) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Counts changes of nodes; never goes back.
    pub(crate) fn clock(&self) -> u64 {
        self.changes.clock()
    }

    /// Counts changes of the order; never goes back.
    pub(crate) fn layout(&self) -> u64 {
        self.layout
    }

    /// The places of nodes that changed after `clock`, latest first.
    pub(crate) fn changed_since(&self, clock: u64) -> impl Iterator<Item = usize> {
        self.changes.since(clock).map(|slot| self.positions[slot.index()])
    }

    /// The lowest priority of any pod on any node.
    #[must_use]
    pub fn lowest_priority(&self) -> Option<i32> {
        self.priorities.keys().next().copied()
    }

    /// Asks for numbers over all nodes, which are kept up to date from the first question on.
    pub(crate) fn count<R>(&self, ask: impl FnOnce(&mut Counts) -> R) -> R {
        self.counts.ask(&self.nodes, ask)
    }

    /// Whether some pod uses the claim, other than for an ephemeral volume.
    #[must_use]
    pub fn is_claim_used(&self, namespace: &Text, claim: &Text) -> bool {
        let is_it = |volume: &Volume| matches!(volume, Volume::Claim(name) if name == claim);
        self.nodes.iter().flat_map(NodeInfo::pods).any(|pod| {
            !pod.spec().volumes.is_empty()
                && pod.namespace() == namespace
                && pod.spec().volumes.iter().any(is_it)
        })
    }

    /// Who holds which images.
    pub(crate) fn images(&self) -> &Images {
        &self.images
    }
}

fn uncount(priorities: &mut BTreeMap<i32, usize>, priority: i32) {
    if let Some(count) = priorities.get_mut(&priority) {
        *count -= 1;
        if *count == 0 {
            priorities.remove(&priority);
        }
    }
}
