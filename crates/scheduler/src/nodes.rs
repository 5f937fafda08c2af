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
        self.uncount(&pod);
        Some(pod)
    }

    /// Takes the pod off again that came last.
    pub(crate) fn take_back(&mut self) {
        if let Some(pod) = self.pods.pop() {
            self.uncount(&pod);
        }
    }

    /// The node as it would be without some pods, and these, in order.
    pub(crate) fn without(&self, goes: impl Fn(&Pod) -> bool) -> (Self, Vec<Arc<Pod>>) {
        let (gone, stay) = self.pods.iter().cloned().partition(|pod| goes(pod));
        let mut node = Self {
            node: Arc::clone(&self.node),
            pods: stay,
            pods_with_affinity: self.pods_with_affinity.clone(),
            requested: self.requested.clone(),
            used_ports: self.used_ports.clone(),
            // Otherwise each that goes would have the others looked at.
            lowest_priority: None,
            ..*self
        };
        let gone: Vec<Arc<Pod>> = gone;
        gone.iter().for_each(|pod| node.uncount(pod));
        node.lowest_priority = node.pods.iter().map(|pod| pod.spec().priority).min();
        (node, gone)
    }

    /// A pod that was counted is gone.
    fn uncount(&mut self, pod: &Pod) {
        let requests = pod.requests();
        self.requested.sub(&requests.total);
        self.non_zero_milli_cpu = self.non_zero_milli_cpu.wrapping_sub(requests.non_zero_milli_cpu);
        self.non_zero_memory = self.non_zero_memory.wrapping_sub(requests.non_zero_memory);
        for port in &pod.spec().host_ports {
            if let Some(at) = self.used_ports.iter().position(|used| used == port) {
                self.used_ports.swap_remove(at);
            }
        }
        let has_affinity = pod.spec().pod_affinity.is_some();
        let mut known = self.pods_with_affinity.iter();
        if has_affinity && let Some(at) = known.position(|other| other.uid == pod.uid) {
            self.pods_with_affinity.remove(at);
        }
        if self.lowest_priority == Some(pod.spec().priority) {
            self.lowest_priority = self.pods.iter().map(|pod| pod.spec().priority).min();
        }
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
    /// In the order of nodes.
    order: Vec<Slot>,
    /// Counts the orders that there were.
    order_number: u64,
    by_name: HashMap<Text, Slot>,
    by_slot: Vec<Option<NodeInfo>>,
    /// Slots of nodes that are gone.
    free_slots: Vec<Slot>,
    changes: Changes,
    /// How many pods of each priority there are.
    priorities: BTreeMap<i32, usize>,
    /// How many pods say something of other pods.
    with_affinity: usize,
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

    /// A node came; its slot is returned.
    pub(crate) fn insert(&mut self, mut info: NodeInfo) -> Slot {
        info.slot = self.free_slots.pop().unwrap_or_else(|| {
            self.by_slot.push(None);
            Slot::new(self.by_slot.len() - 1)
        });
        self.changes.note(info.slot);
        self.counts.follow(|counts| counts.on_node(&info));
        for pod in info.pods() {
            *self.priorities.entry(pod.spec().priority).or_default() += 1;
        }
        self.with_affinity += info.pods_with_affinity().len();
        self.images.hold(info.node());
        self.images.nodes_changed();
        self.by_name.insert(info.name().clone(), info.slot);
        self.order.push(info.slot);
        self.order_number += 1;
        let slot = info.slot;
        self.by_slot[slot.index()] = Some(info);
        slot
    }

    /// A known node changed.
    pub(crate) fn set_node(&mut self, node: Arc<Node>) {
        let Some(info) = known(&self.by_name, &mut self.by_slot, &node.name) else { return };
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
        let Some(info) = known(&self.by_name, &mut self.by_slot, node) else { return false };
        info.add_pod(pod);
        self.changes.note(info.slot);
        *self.priorities.entry(pod.spec().priority).or_default() += 1;
        self.with_affinity += usize::from(pod.spec().pod_affinity.is_some());
        self.counts.follow(|counts| counts.on_pod(pod, info));
        true
    }

    /// A pod left a node. Whether the node is known.
    pub fn remove_pod(&mut self, node: &Text, uid: &Text) -> bool {
        let Some(info) = known(&self.by_name, &mut self.by_slot, node) else { return false };
        if let Some(pod) = info.remove_pod(uid) {
            self.changes.note(info.slot);
            uncount(&mut self.priorities, pod.spec().priority);
            self.with_affinity -= usize::from(pod.spec().pod_affinity.is_some());
            self.counts.follow(|counts| counts.on_pod_gone(&pod, info));
        }
        true
    }

    /// Something else that matters for what runs on a node changed.
    pub(crate) fn touch(&mut self, name: &Text) {
        if let Some(&slot) = self.by_name.get(name) {
            self.changes.note(slot);
        }
    }

    /// A node is gone.
    pub(crate) fn remove(&mut self, name: &Text) -> Option<NodeInfo> {
        let slot = self.by_name.remove(name)?;
        let info = self.by_slot[slot.index()].take()?;
        self.order.retain(|other| *other != slot);
        self.order_number += 1;
        for pod in info.pods() {
            uncount(&mut self.priorities, pod.spec().priority);
        }
        self.with_affinity -= info.pods_with_affinity().len();
        self.images.release(info.node());
        self.images.nodes_changed();
        self.counts.follow(|counts| counts.on_node_gone(&info));
        self.changes.note(slot);
        self.free_slots.push(slot);
        Some(info)
    }

    /// Puts the nodes in this order, which names each of them once.
    pub(crate) fn set_order(&mut self, order: Vec<Slot>) {
        debug_assert_eq!(order.len(), self.order.len(), "each node has its place");
        self.order = order;
        self.order_number += 1;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NodeInfo> {
        let node = |slot: &Slot| self.by_slot[slot.index()].as_ref();
        self.order.iter().map(move |slot| node(slot).expect("a place in the order has a node"))
    }

    /// The node at that place in the order.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&NodeInfo> {
        self.in_slot(*self.order.get(index)?)
    }

    /// The node of that name.
    #[must_use]
    pub fn get(&self, name: &Text) -> Option<&NodeInfo> {
        self.in_slot(*self.by_name.get(name)?)
    }

    /// The node in that slot, if there is one.
    pub(crate) fn in_slot(&self, slot: Slot) -> Option<&NodeInfo> {
        self.by_slot.get(slot.index())?.as_ref()
    }

    /// The slot of the node of that name.
    pub(crate) fn slot(&self, name: &Text) -> Option<Slot> {
        self.by_name.get(name).copied()
    }

    /// All slots that have a node, in the order of nodes.
    pub(crate) fn order(&self) -> &[Slot] {
        &self.order
    }

    /// Whether any pod on them says something of other pods.
    pub(crate) fn have_pods_with_affinity(&self) -> bool {
        self.with_affinity > 0
    }

    /// A number of the order: another order has another.
    pub(crate) fn order_number(&self) -> u64 {
        self.order_number
    }

    /// How many slots there are, those that have no node included.
    pub(crate) fn slots(&self) -> usize {
        self.by_slot.len()
    }

    /// Counts changes of nodes; never goes back.
    pub(crate) fn clock(&self) -> u64 {
        self.changes.clock()
    }

    /// The slots whose nodes changed, came or went after `clock`, latest first.
    pub(crate) fn changed_since(&self, clock: u64) -> impl Iterator<Item = Slot> {
        self.changes.since(clock)
    }

    /// The lowest priority of any pod on any node.
    #[must_use]
    pub fn lowest_priority(&self) -> Option<i32> {
        self.priorities.keys().next().copied()
    }

    /// Asks for numbers over all nodes, which are kept up to date from the first question on.
    pub(crate) fn count<R>(&self, ask: impl FnOnce(&mut Counts) -> R) -> R {
        self.counts.ask(|| self.iter(), ask)
    }

    /// Whether some pod uses the claim, other than for an ephemeral volume.
    #[must_use]
    pub fn is_claim_used(&self, namespace: &Text, claim: &Text) -> bool {
        let is_it = |volume: &Volume| matches!(volume, Volume::Claim(name) if name == claim);
        self.iter().flat_map(NodeInfo::pods).any(|pod| {
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

/// The node of that name.
fn known<'a>(
    by_name: &HashMap<Text, Slot>,
    by_slot: &'a mut [Option<NodeInfo>],
    name: &Text,
) -> Option<&'a mut NodeInfo> {
    by_slot.get_mut(by_name.get(name)?.index())?.as_mut()
}

fn uncount(priorities: &mut BTreeMap<i32, usize>, priority: i32) {
    if let Some(count) = priorities.get_mut(&priority) {
        *count -= 1;
        if *count == 0 {
            priorities.remove(&priority);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use serde_json::json;

    #[test]
    fn the_lowest_priority_is_that_of_pods_that_are_there() {
        let pod = |node: &str, priority: i32| json!({"spec": {"nodeName": node, "priority": priority, "containers": []}});
        let pods = json!([pod("node-1", 5), pod("node-1", 7), pod("node-2", 6), pod("node-2", 5)]);
        let mut cluster = testing::cluster(json!({"nodes": [{}, {}], "pods": pods}));
        let [one, two] = ["node-1", "node-2"].map(|name| cluster.world.text(name));
        let [first, second, last] =
            ["pod-1", "pod-2", "pod-4"].map(|name| cluster.world.text(name));
        let nodes = &mut cluster.nodes;
        assert_eq!(nodes.lowest_priority(), Some(5));
        nodes.remove_pod(&one, &first);
        assert_eq!(nodes.lowest_priority(), Some(5), "on the other node");
        assert_eq!(nodes.get(&one).and_then(|node| node.lowest_priority()), Some(7));
        nodes.remove_pod(&two, &last);
        assert_eq!(nodes.lowest_priority(), Some(6));
        nodes.remove(&two);
        assert_eq!(nodes.lowest_priority(), Some(7));
        nodes.remove_pod(&one, &second);
        assert_eq!(nodes.lowest_priority(), None);
    }
}
