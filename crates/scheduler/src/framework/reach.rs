//! How far a plugin looks when it judges a node: what may be remembered of its answers.

use roadstead_model::Text;

/// What a plugin's answer about a node depends on.
///
/// Answers that depend on the node alone are remembered for all pods of a class, until the node
/// changes. A plugin says so at each cycle, and may say otherwise at the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// On the pod's class, the plugin's arguments, and the node with its pods; not on the pod's
    /// name, uid or status. What PreFilter or PreScore have prepared may be used if it depends on
    /// nothing else either, and nothing may be left in the cycle's state. Whatever else the answer
    /// depends on has a version: when that is another than before, all nodes are asked again.
    Node {
        /// 0 where there is nothing else.
        version: u64,
    },
    /// On other nodes and their pods too, but of the node itself only on the values of these labels:
    /// in one cycle, nodes that agree in them get the same answer. Otherwise as `Cluster`.
    Labels(Vec<Text>),
    /// On other nodes and their pods too. It never fails and leaves nothing in the cycle's state,
    /// so that where a good node is found the others need not be asked about.
    Cluster,
    /// On anything. Every node is asked about.
    Unknown,
}

impl Reach {
    /// The node alone.
    pub const NODE: Self = Self::Node { version: 0 };
}

/// How the scores of all nodes that passed the filters are brought into the range from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// They are there already.
    Unscaled,
    /// The highest becomes 100 and 0 stays 0; reversed, the highest becomes 0 and 0 becomes 100.
    ByHighest {
        /// Whether low scores are good.
        reverse: bool,
    },
    /// As the plugin's `normalize` does it, which looks at nothing but which scores there are: how
    /// many nodes have each, and which, is the same to it.
    BySet,
    /// As the plugin's `normalize` does it, which must see all nodes with their scores. Then none
    /// is remembered.
    Own,
}

/// The plugins that a point asks in a cycle, by how far they reach.
pub(crate) struct Reaches {
    /// No further than the node.
    pub(crate) local: Vec<Local>,
    /// The places of the others.
    pub(crate) wide: Vec<usize>,
    /// The labels of a node that the others look at, where they say so.
    pub(crate) labels: Option<Vec<Text>>,
    /// Whether every node must be asked about.
    pub(crate) must_ask_all: bool,
}

impl Reaches {
    /// Nobody is asked.
    pub(crate) fn none() -> Self {
        let (local, wide) = (Vec::new(), Vec::new());
        Self { local, wide, labels: Some(Vec::new()), must_ask_all: false }
    }

    pub(super) fn of(plugins: impl Iterator<Item = usize>, reach: impl Fn(usize) -> Reach) -> Self {
        let mut all = Self::none();
        for at in plugins {
            match reach(at) {
                Reach::Node { version } => {
                    all.local.push(Local { at, version });
                    continue;
                }
                Reach::Labels(labels) => all.labels.iter_mut().for_each(|all| add(all, &labels)),
                Reach::Cluster => all.labels = None,
                Reach::Unknown => {
                    all.labels = None;
                    all.must_ask_all = true;
                }
            }
            all.wide.push(at);
        }
        all
    }

    /// The labels of a node that these or other plugins look at, where all of them say so.
    pub(crate) fn labels_with(&self, others: &Self) -> Option<Vec<Text>> {
        let mut labels = self.labels.clone()?;
        add(&mut labels, others.labels.as_deref()?);
        Some(labels)
    }
}

fn add(labels: &mut Vec<Text>, more: &[Text]) {
    for label in more {
        if !labels.contains(label) {
            labels.push(label.clone());
        }
    }
}

/// A plugin whose answers reach no further than the node: its place among those of its point, and
/// the version of what else they depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) at: usize,
    pub(crate) version: u64,
}
