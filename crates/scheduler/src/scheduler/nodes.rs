//! What happens to nodes.

use std::sync::Arc;

use roadstead_model::{Node, NodeChange, Text};
use roadstead_queue::{Action, Time};

use super::Scheduler;
use super::rules::event;
use crate::events::{self, Object};
use crate::observer::Observer;

impl<V: Observer> Scheduler<V> {
    /// The cluster shows a node, new or changed.
    pub fn node_set(&mut self, node: Arc<Node>, now: Time) {
        let known = self.cache.nodes_unordered().get(&node.name);
        let old = known.map(|known| known.node().clone());
        self.cache.set_node(node.clone());
        let new = Some(Object::Node(node.clone()));
        let Some(old) = old else {
            return self.announce(event(events::NODE, Action::ADD, None, new), now);
        };
        for change in Node::changes(&old, &node) {
            let action = match change {
                NodeChange::Uncordoned | NodeChange::Taints => events::UPDATE_NODE_TAINT,
                NodeChange::Allocatable => events::UPDATE_NODE_ALLOCATABLE,
                NodeChange::Labels => events::UPDATE_NODE_LABEL,
                NodeChange::Conditions => events::UPDATE_NODE_CONDITION,
                NodeChange::Annotations => events::UPDATE_NODE_ANNOTATION,
                NodeChange::DeclaredFeatures => events::UPDATE_NODE_DECLARED_FEATURE,
            };
            let old = Some(Object::Node(old.clone()));
            self.announce(event(events::NODE, action, old, new.clone()), now);
        }
    }

    /// The cluster shows that a node is gone.
    pub fn node_gone(&mut self, name: &Text, now: Time) {
        let Some(known) = self.cache.nodes_unordered().get(name) else { return };
        let old = Some(Object::Node(known.node().clone()));
        self.announce(event(events::NODE, Action::DELETE, old, None), now);
        self.cache.remove_node(name);
    }
}
