//! Which nodes hold which images.

use hashbrown::{HashMap, HashSet};
use roadstead_model::{Node, Text};

/// Images by every name that a node gives them, and who holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    held: HashMap<Text, HeldImage>,
    clock: u64,
    /// When some image was last given up by the last node that held it.
    gone: u64,
    /// When a node last came or went.
    nodes: u64,
}

/// An image, and who holds it.
#[derive(Clone, Debug)]
pub(crate) struct HeldImage {
    /// Its size, as the first node that holds it says.
    pub(crate) size_bytes: i64,
    nodes: HashSet<Text>,
    changed: u64,
}

impl Images {
    /// A node holds its images from now on.
    pub(super) fn hold(&mut self, node: &Node) {
        self.clock += 1;
        for image in &node.images {
            for name in &image.names {
                let held = self.held.entry(name.clone()).or_insert_with(|| HeldImage {
                    size_bytes: image.size_bytes,
                    nodes: HashSet::new(),
                    changed: 0,
                });
                held.nodes.insert(node.name.clone());
                held.changed = self.clock;
            }
        }
    }

    /// A node holds its images no longer.
    pub(super) fn release(&mut self, node: &Node) {
        self.clock += 1;
        for name in node.images.iter().flat_map(|image| &image.names) {
            if let Some(held) = self.held.get_mut(name) {
                held.nodes.remove(&node.name);
                held.changed = self.clock;
                if held.nodes.is_empty() {
                    self.held.remove(name);
                    self.gone = self.clock;
                }
            }
        }
    }

    /// A node came or went, with images or without.
    pub(super) fn nodes_changed(&mut self) {
        self.clock += 1;
        self.nodes = self.clock;
    }

    /// The image of that name, if a node holds it.
    pub(crate) fn get(&self, name: &Text) -> Option<&HeldImage> {
        self.held.get(name)
    }

    /// A number that changes whenever the share of nodes that hold one of these images does; 0
    /// where no node holds any.
    pub(crate) fn version<'a>(&self, names: impl Iterator<Item = &'a Text>) -> u64 {
        let held = names.filter_map(|name| self.get(name)).map(|image| image.changed);
        // Each change takes a higher number than any before, so that the highest tells of all.
        held.max().map_or(0, |changed| changed.max(self.gone).max(self.nodes))
    }
}

impl HeldImage {
    pub(crate) fn is_on(&self, node: &Text) -> bool {
        self.nodes.contains(node)
    }

    pub(crate) fn node_count(&self) -> usize {
        self.nodes.len()
    }
}
