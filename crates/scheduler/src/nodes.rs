//! Nodes with what runs on them.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use roadstead_model::{HostPort, Node, Pod, Resources, Text, Volume};

use crate::counts::{Counts, KeptCounts, Slot};

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
    /// Its place in what is counted over all nodes.
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
    /// By every name that a node gives them.
    images: HashMap<Text, HeldImage>,
    /// Slots of nodes that are gone.
    free_slots: Vec<Slot>,
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
        self.counts.follow(|counts| counts.on_node(&info));
        self.hold_images(info.node());
        self.by_name.insert(info.name().clone(), self.nodes.len());
        self.nodes.push(info);
    }

    /// A known node changed.
    pub(crate) fn set_node(&mut self, node: Arc<Node>) {
        let Some(&at) = self.by_name.get(&node.name) else { return };
        let old = self.nodes[at].node.clone();
        self.drop_images(&old);
        self.hold_images(&node);
        let info = &mut self.nodes[at];
        // Of all that may change, domains depend on these alone.
        if old.labels == node.labels && old.taints == node.taints {
            return info.set_node(node);
        }
        self.counts.follow(|counts| counts.on_node_gone(info));
        info.set_node(node);
        self.counts.follow(|counts| counts.on_node(info));
    }

    /// A pod came to a node. Whether the node is known.
    pub(crate) fn add_pod(&mut self, node: &Text, pod: &Arc<Pod>) -> bool {
        let Some(&at) = self.by_name.get(node) else { return false };
        self.nodes[at].add_pod(pod);
        self.counts.follow(|counts| counts.on_pod(pod, &self.nodes[at]));
        true
    }

    /// A pod left a node. Whether the node is known.
    pub(crate) fn remove_pod(&mut self, node: &Text, uid: &Text) -> bool {
        let Some(&at) = self.by_name.get(node) else { return false };
        if let Some(pod) = self.nodes[at].remove_pod(uid) {
            self.counts.follow(|counts| counts.on_pod_gone(&pod, &self.nodes[at]));
        }
        true
    }

    /// A node is gone. Another may take its place in the order.
    pub(crate) fn remove(&mut self, name: &Text) -> Option<NodeInfo> {
        let at = self.by_name.remove(name)?;
        let info = self.nodes.swap_remove(at);
        if let Some(moved) = self.nodes.get(at) {
            self.by_name.insert(moved.name().clone(), at);
        }
        self.drop_images(info.node());
        self.counts.follow(|counts| counts.on_node_gone(&info));
        self.free_slots.push(info.slot);
        Some(info)
    }

    /// Puts the nodes in this order; those that it does not name come last.
    pub(crate) fn sort_by(&mut self, order: &[Text]) {
        let rank: HashMap<&Text, usize> =
            order.iter().enumerate().map(|(rank, name)| (name, rank)).collect();
        self.nodes.sort_by_key(|node| rank.get(node.name()).copied().unwrap_or(usize::MAX));
        for (at, node) in self.nodes.iter().enumerate() {
            self.by_name.insert(node.name().clone(), at);
        }
    }

    fn hold_images(&mut self, node: &Node) {
        for image in &node.images {
            for name in &image.names {
                let held = self.images.entry(name.clone()).or_insert_with(|| HeldImage {
                    size_bytes: image.size_bytes,
                    nodes: HashSet::new(),
                });
                held.nodes.insert(node.name.clone());
            }
        }
    }

    fn drop_images(&mut self, node: &Node) {
        for name in node.images.iter().flat_map(|image| &image.names) {
            if let Some(held) = self.images.get_mut(name) {
                held.nodes.remove(&node.name);
                if held.nodes.is_empty() {
                    self.images.remove(name);
                }
            }
        }
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

    /// The node of that name, to change what runs there. What was counted over all nodes is
    /// counted anew when it is next asked for.
    pub fn get_mut(&mut self, name: &Text) -> Option<&mut NodeInfo> {
        self.counts.forget();
        self.by_name.get(name).map(|at| &mut self.nodes[*at])
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

    /// The image of that name, if a node holds it.
    pub(crate) fn image(&self, name: &Text) -> Option<&HeldImage> {
        self.images.get(name)
    }
}

/// An image, and who holds it.
#[derive(Clone, Debug)]
pub(crate) struct HeldImage {
    /// Its size, as the first node that holds it says.
    pub(crate) size_bytes: i64,
    nodes: HashSet<Text>,
}

impl HeldImage {
    pub(crate) fn is_on(&self, node: &Text) -> bool {
        self.nodes.contains(node)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }
}
