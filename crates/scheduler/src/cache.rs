//! What the scheduler believes of nodes and of the pods on them, its own decisions included.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Node, Pod, Text};

use crate::nodes::{NodeInfo, Nodes, Slot};

/// Nodes with their pods: those that the cluster shows, and those that were assumed because the
/// scheduler has decided for a node and the cluster does not show it yet.
#[derive(Debug, Default)]
pub struct Cache {
    nodes: Nodes,
    /// Nodes zone by zone, in the order of arrival.
    zones: Vec<(Text, Vec<Slot>)>,
    /// Whether the nodes are no longer in the order of their zones.
    is_out_of_order: bool,
    /// Pods on nodes that the cluster has not shown.
    ghosts: BTreeMap<Text, Vec<Arc<Pod>>>,
    /// Every pod here by uid.
    pods: HashMap<Text, Placed>,
}

#[derive(Debug)]
struct Placed {
    pod: Arc<Pod>,
    node: Text,
    is_assumed: bool,
}

impl Cache {
    /// Nothing known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A node came, or changed.
    pub fn set_node(&mut self, node: Arc<Node>) {
        let name = node.name.clone();
        match self.nodes.get(&name) {
            Some(known) => {
                let (slot, moved) = (known.slot(), known.node().zone != node.zone);
                self.nodes.set_node(node.clone());
                if moved {
                    self.leave_zone(slot);
                    self.join_zone(slot, &node.zone);
                }
            }
            None => {
                let mut info = NodeInfo::new(node.clone());
                for pod in self.ghosts.remove(&name).unwrap_or_default() {
                    info.add_pod(&pod);
                }
                let slot = self.nodes.insert(info);
                self.join_zone(slot, &node.zone);
            }
        }
    }

    /// A node is gone. The pods on it are kept until they go themselves.
    pub fn remove_node(&mut self, name: &Text) {
        let Some(info) = self.nodes.remove(name) else { return };
        self.leave_zone(info.slot());
        if !info.pods().is_empty() {
            self.ghosts.insert(name.clone(), info.pods().to_vec());
        }
    }

    /// The scheduler has decided for a node.
    ///
    /// # Errors
    ///
    /// The pod is on a node already.
    pub fn assume(&mut self, pod: Arc<Pod>, node: Text) -> Result<(), String> {
        if self.pods.contains_key(&pod.uid) {
            return Err(format!("pod {} is in the cache, so can't be assumed", pod.uid));
        }
        self.place(pod, node, true);
        Ok(())
    }

    /// The cluster shows a pod on a node; what was assumed of it gives way.
    pub fn set_pod(&mut self, pod: Arc<Pod>) {
        let Some(node) = pod.node_name.clone() else { return };
        self.unplace(&pod.uid);
        self.place(pod, node, false);
    }

    /// The cluster shows that a pod is gone.
    pub fn remove_pod(&mut self, uid: &Text) -> Option<Arc<Pod>> {
        self.unplace(uid).map(|placed| placed.pod)
    }

    /// A decision came to nothing. Whether the pod was assumed.
    pub fn forget(&mut self, uid: &Text) -> Option<Arc<Pod>> {
        if !self.is_assumed(uid) {
            return None;
        }
        self.unplace(uid).map(|placed| placed.pod)
    }

    /// Whether the pod is on a node only because the scheduler decided so.
    #[must_use]
    pub fn is_assumed(&self, uid: &Text) -> bool {
        self.pods.get(uid).is_some_and(|placed| placed.is_assumed)
    }

    /// The pod of that uid, if it is on a node.
    #[must_use]
    pub fn pod(&self, uid: &Text) -> Option<&Arc<Pod>> {
        self.pods.get(uid).map(|placed| &placed.pod)
    }

    /// The node that the pod of that uid is on.
    #[must_use]
    pub fn node_of(&self, uid: &Text) -> Option<&Text> {
        self.pods.get(uid).map(|placed| &placed.node)
    }

    /// How many pods there are on nodes.
    #[must_use]
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// What is remembered of a node no longer holds, though neither it nor its pods changed.
    pub(crate) fn touch(&mut self, node: &Text) {
        self.nodes.touch(node);
    }

    /// The nodes, one of each zone in turn.
    pub fn nodes(&mut self) -> &Nodes {
        if std::mem::take(&mut self.is_out_of_order) {
            self.nodes.set_order(round_robin(&self.zones));
        }
        &self.nodes
    }

    /// The nodes, in whatever order they are.
    #[must_use]
    pub fn nodes_unordered(&self) -> &Nodes {
        &self.nodes
    }

    fn place(&mut self, pod: Arc<Pod>, node: Text, is_assumed: bool) {
        if !self.nodes.add_pod(&node, &pod) {
            self.ghosts.entry(node.clone()).or_default().push(pod.clone());
        }
        self.pods.insert(pod.uid.clone(), Placed { pod, node, is_assumed });
    }

    fn unplace(&mut self, uid: &Text) -> Option<Placed> {
        let placed = self.pods.remove(uid)?;
        if !self.nodes.remove_pod(&placed.node, uid)
            && let Some(pods) = self.ghosts.get_mut(&placed.node)
        {
            pods.retain(|pod| pod.uid != *uid);
            if pods.is_empty() {
                self.ghosts.remove(&placed.node);
            }
        }
        Some(placed)
    }

    fn join_zone(&mut self, node: Slot, zone: &Text) {
        self.is_out_of_order = true;
        match self.zones.iter_mut().find(|(known, _)| known == zone) {
            Some((_, nodes)) => nodes.push(node),
            None => self.zones.push((zone.clone(), vec![node])),
        }
    }

    fn leave_zone(&mut self, node: Slot) {
        self.is_out_of_order = true;
        for (_, nodes) in &mut self.zones {
            nodes.retain(|known| *known != node);
        }
        self.zones.retain(|(_, nodes)| !nodes.is_empty());
    }
}

/// One node of each zone in turn, until all have had theirs.
fn round_robin(zones: &[(Text, Vec<Slot>)]) -> Vec<Slot> {
    let longest = zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
    (0..longest)
        .flat_map(|turn| zones.iter().filter_map(move |(_, nodes)| nodes.get(turn).copied()))
        .collect()
}
