//! Nodes, and how full they are.

use roadstead_model::Taint;
use roadstead_queue::Time;
use serde::Serialize;

use super::order::{First, Key, Mark, Sorted, Value};
use crate::journal::seconds;
use crate::nodes::NodeInfo;
use crate::observer::Observer;
use crate::scheduler::Scheduler;

/// Which nodes to list.
#[derive(Clone, Debug)]
pub struct NodeQuery {
    /// Those in whose name this occurs.
    pub search: Option<String>,
    /// In this order.
    pub sorted: Sorted<NodeSort>,
    /// So many at most.
    pub limit: usize,
    /// From here on.
    pub after: Option<Mark>,
}

/// What nodes may be sorted by: their name, or the share of something that is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are called after the fields of a node")]
pub enum NodeSort {
    Name,
    Cpu,
    Memory,
    Pods,
}

/// Some of the nodes, and what all of them come to.
#[derive(Clone, Debug, Serialize)]
pub struct NodePage {
    /// When this was true.
    #[serde(serialize_with = "seconds")]
    pub now: Time,
    /// How many there are that were asked for, on all pages.
    pub total: usize,
    /// All nodes together, those included that were not asked for.
    pub summary: NodeSummary,
    /// Those of this page.
    pub items: Vec<NodeItem>,
    /// Where the next page begins, if there is one.
    #[serde(skip)]
    pub next: Option<Mark>,
}

/// All nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NodeSummary {
    /// In thousandths of a core.
    pub cpu: Amounts,
    /// In bytes.
    pub memory: Amounts,
    /// How many.
    pub pods: Amounts,
    /// How many nodes have how many tenths of their CPU requested: below one, below two, …, nine
    /// and more.
    pub histogram: [usize; 10],
}

/// How much there is of something, and how much of it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the words are Kubernetes'")]
pub struct Amounts {
    pub allocatable: i64,
    pub requested: i64,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeItem {
    /// Its name.
    pub name: String,
    /// Whether its kubelet says that it is ready, if it says anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Whether it is cordoned off.
    pub unschedulable: bool,
    /// Its taints, as kubectl writes them.
    pub taints: Vec<String>,
    /// Its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// In thousandths of a core.
    pub cpu: Amounts,
    /// In bytes.
    pub memory: Amounts,
    /// How many.
    pub pods: Amounts,
    /// For how many pods it is kept.
    pub nominated: usize,
}

/// A node with its pods.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetail {
    /// The node.
    #[serde(flatten)]
    pub node: NodeItem,
    /// Those that are on it, the most urgent first, up to a limit.
    pub pods_on_it: Vec<PodOnNode>,
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodOnNode {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// Its priority.
    pub priority: i32,
    /// What it asks for, in thousandths of a core.
    pub cpu: i64,
    /// What it asks for, in bytes.
    pub memory: i64,
}

impl<V: Observer> Scheduler<V> {
    /// A page of the nodes; `None` if the query goes on from a mark of another order.
    #[must_use]
    pub fn node_page(&self, query: &NodeQuery, now: Time) -> Option<NodePage> {
        let Sorted { by, reversed } = query.sorted;
        let after = match &query.after {
            Some(mark) => {
                Some(mark.key(reversed, |_, name| (by == NodeSort::Name).then_some(name))?)
            }
            None => None,
        };
        let (mut first, mut total) = (First::new(query.limit, after), 0);
        let mut summary = NodeSummary::default();
        for node in self.cache().nodes_unordered().iter() {
            summary.add(node);
            if query.search.as_ref().is_some_and(|text| !node.name().contains(text.as_str())) {
                continue;
            }
            total += 1;
            let value = match by {
                NodeSort::Name => Value::Text(node.name()),
                NodeSort::Cpu => Value::Number(cpu(node).millionths()),
                NodeSort::Memory => Value::Number(memory(node).millionths()),
                NodeSort::Pods => Value::Number(pods(node).millionths()),
            };
            first.offer(Key { value, reversed, namespace: "", name: node.name() }, node);
        }
        let (found, next) = first.finish();
        let items = found.into_iter().map(|node| self.node_item(node)).collect();
        Some(NodePage { now, total, summary, items, next })
    }

    /// A node with its pods, at most so many; `None` if there is no such node.
    #[must_use]
    pub fn node_detail(&self, name: &str, most_pods: usize) -> Option<NodeDetail> {
        let node = self.cache().nodes_unordered().get(&roadstead_model::Text::unshared(name))?;
        let mut pods: Vec<_> = node.pods().iter().collect();
        pods.sort_by(|a, b| {
            let urgency = b.spec().priority.cmp(&a.spec().priority);
            urgency.then_with(|| (a.namespace(), &a.name).cmp(&(b.namespace(), &b.name)))
        });
        let pods = pods.into_iter().take(most_pods).map(|pod| PodOnNode {
            namespace: pod.namespace().to_string(),
            name: pod.name.to_string(),
            priority: pod.spec().priority,
            cpu: pod.requests().total.milli_cpu,
            memory: pod.requests().total.memory,
        });
        Some(NodeDetail { node: self.node_item(node), pods_on_it: pods.collect() })
    }

    /// The names of all nodes, in no particular order.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.cache().nodes_unordered().iter().map(|node| node.name().as_str())
    }

    fn node_item(&self, info: &NodeInfo) -> NodeItem {
        let node = info.node();
        let ready = node.conditions.iter().find(|(kind, _)| *kind == "Ready");
        let zone = ZONE_LABELS.iter().find_map(|label| node.labels.get_str(label));
        NodeItem {
            name: node.name.to_string(),
            ready: ready.map(|(_, status)| *status == "True"),
            unschedulable: node.unschedulable,
            taints: node.taints.iter().map(written).collect(),
            zone: zone.map(|zone| zone.to_string()),
            cpu: cpu(info),
            memory: memory(info),
            pods: pods(info),
            nominated: self.nominated_count(info.name()),
        }
    }
}

impl NodeSummary {
    fn add(&mut self, node: &NodeInfo) {
        let cpu = cpu(node);
        let pairs =
            [(&mut self.cpu, cpu), (&mut self.memory, memory(node)), (&mut self.pods, pods(node))];
        for (sum, amounts) in pairs {
            sum.allocatable = sum.allocatable.saturating_add(amounts.allocatable);
            sum.requested = sum.requested.saturating_add(amounts.requested);
        }
        let tenth = cpu.millionths() / 100_000;
        self.histogram[usize::try_from(tenth).unwrap_or(0).min(9)] += 1;
    }
}

impl Amounts {
    /// How much of it is requested, in millionths. Where there is none, any request is too much.
    fn millionths(self) -> i128 {
        let requested = i128::from(self.requested) * 1_000_000;
        match i128::from(self.allocatable) {
            0 => requested,
            allocatable => requested / allocatable,
        }
    }
}

fn cpu(node: &NodeInfo) -> Amounts {
    let allocatable = node.node().allocatable.milli_cpu;
    Amounts { allocatable, requested: node.requested().milli_cpu }
}

fn memory(node: &NodeInfo) -> Amounts {
    Amounts { allocatable: node.node().allocatable.memory, requested: node.requested().memory }
}

fn pods(node: &NodeInfo) -> Amounts {
    let requested = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    Amounts { allocatable: node.node().allocatable.pods, requested }
}

fn written(taint: &Taint) -> String {
    let Taint { key, value, effect, .. } = taint;
    let equals = if value.is_empty() { "" } else { "=" };
    format!("{key}{equals}{value}:{}", effect.as_str())
}

const ZONE_LABELS: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];
