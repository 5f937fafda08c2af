//! Workload traces in the columns of the Alibaba GPU cluster trace of 2023 ("openb").
//!
//! `nodes.csv` has `sn, cpu_milli, memory_mib, gpu, model`; `pods.csv` has `name, cpu_milli,
//! memory_mib, num_gpu, gpu_milli, gpu_spec, qos, pod_phase, creation_time, deletion_time,
//! scheduled_time`, with times in seconds. Columns may come in any order, and others are ignored.
//!
//! # GPUs
//! A node has two resources for its GPUs. [`GPU`] counts whole ones; [`GPU_MILLI`] counts
//! thousandths. A pod that takes `n` whole GPUs asks for `n` and `1000 n`; one that shares a GPU
//! asks for its thousandths alone, and for one of the whole as well if it takes more than half. So
//! a node never gives away more than it has, a whole GPU is never shared, and no two pods get more
//! than half of the same one. What extended resources cannot say is that a share must come from one
//! GPU: a share of 500 fits a node of two GPUs with 600 taken from each.
//!
//! The model of a node's GPUs is its label [`GPU_MODEL`]; the models that a pod takes (`gpu_spec`,
//! `A|B`) are a required node affinity.
//!
//! # Time
//! Nodes are there from the start, and pods come at their `creation_time`. A pod that ran in the
//! trace runs for as long as it ran there (`deletion_time` less `scheduled_time`) once it is
//! started here: what it asks of the cluster is its work, and a scheduler that lets it wait does not
//! make it shorter. A pod that the trace never saw scheduled is deleted at its `deletion_time`.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{
    Affinity, Container, Node, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, NodeStatus, Pod, PodSpec, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use roadstead_cluster::Kind;
use roadstead_cluster::embedded::{Cluster, DeleteOptions, RUN_SECONDS};
use roadstead_queue::Time;

use self::table::Table;
use crate::Timeline;

/// The resource of which a node has one for each of its GPUs.
pub const GPU: &str = "nvidia.com/gpu";

/// The resource of which a node has a thousand for each of its GPUs.
pub const GPU_MILLI: &str = "openb.roadstead.dev/gpu-milli";

/// The label that says of which model a node's GPUs are.
pub const GPU_MODEL: &str = "nvidia.com/gpu.product";

/// The annotation with a pod's class of service in the trace.
pub const QOS: &str = "openb.roadstead.dev/qos";

/// A text and what it is called in messages.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its name.
    pub file: &'a str,
    /// All of it.
    pub text: &'a str,
}

/// A trace: nodes, and pods by the time at which they come.
///
/// ```
/// use roadstead_sim::openb::{Source, Trace};
///
/// let nodes = "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,T4\n";
/// let pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n\
///             p-0,4000,8192,1,500,0,60\n";
/// let trace = Trace::read(
///     Source { file: "nodes.csv", text: nodes },
///     Source { file: "pods.csv", text: pods },
/// )?;
/// assert_eq!((trace.nodes(), trace.pods()), (1, 1));
/// # Ok::<(), roadstead_sim::openb::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    nodes: Arc<[NodeRow]>,
    /// By the time at which they come; those of one time in the order of the file.
    pods: Arc<[PodRow]>,
}

#[derive(Clone, Debug)]
struct NodeRow {
    name: String,
    cpu_milli: u64,
    memory_mib: u64,
    gpus: u64,
    model: String,
}

#[derive(Clone, Debug)]
struct PodRow {
    name: String,
    cpu_milli: u64,
    memory_mib: u64,
    gpus: u64,
    /// Of one GPU, where it is one.
    gpu_milli: u64,
    models: Vec<String>,
    qos: String,
    created: u64,
    end: PodEnd,
}

/// How a pod's time ends.
#[derive(Clone, Copy, Debug)]
enum PodEnd {
    Never,
    AfterRunning { seconds: u64 },
    Deleted { at: u64 },
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Errors
    /// Everything that is wrong with either table.
    pub fn read(nodes: Source<'_>, pods: Source<'_>) -> Result<Self, TraceError> {
        let mut problems = Vec::new();
        let nodes = read_nodes(nodes, &mut problems);
        let mut pods = read_pods(pods, &mut problems);
        if !problems.is_empty() {
            return Err(TraceError { problems });
        }
        pods.sort_by_key(|pod| pod.created);
        Ok(Self { nodes: nodes.into(), pods: pods.into() })
    }

    /// How many nodes it has.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How many pods it has.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.pods.len()
    }

    /// Begins it, at the start of a run.
    #[must_use]
    pub fn play(&self) -> Replay {
        Replay { trace: self.clone(), has_nodes: false, next: 0, leaving: BTreeSet::new() }
    }
}

/// A [`Trace`] under way. Objects are made when they are due and not before.
#[derive(Clone, Debug)]
pub struct Replay {
    trace: Trace,
    has_nodes: bool,
    /// The pod that comes next.
    next: usize,
    /// Pods to delete, by time.
    leaving: BTreeSet<(u64, usize)>,
}

impl Timeline for Replay {
    fn next(&self) -> Option<Time> {
        if !self.has_nodes {
            return Some(Time::ZERO);
        }
        let coming = self.trace.pods.get(self.next).map(|pod| pod.created);
        let leaving = self.leaving.first().map(|(at, _)| *at);
        [coming, leaving].into_iter().flatten().min().map(Time::from_secs)
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        let mut troubles = Vec::new();
        if !std::mem::replace(&mut self.has_nodes, true) {
            for node in &*self.trace.nodes {
                let outcome = cluster.create(now, node.object()).map(drop);
                troubles.extend(outcome.err().map(|error| error.to_string()));
            }
        }
        while let Some(pod) = self.trace.pods.get(self.next)
            && Time::from_secs(pod.created) <= now
        {
            let outcome = cluster.create(now, pod.object()).map(drop);
            troubles.extend(outcome.err().map(|error| error.to_string()));
            if let PodEnd::Deleted { at } = pod.end {
                self.leaving.insert((at, self.next));
            }
            self.next += 1;
        }
        while let Some(&(at, index)) = self.leaving.first()
            && Time::from_secs(at) <= now
        {
            self.leaving.pop_first();
            let key = Kind::Pod.key("default", &self.trace.pods[index].name);
            // One that had to make room for another is gone already.
            if let Err(error) = cluster.delete(now, &key, &DeleteOptions::default())
                && !error.is_not_found()
            {
                troubles.push(error.to_string());
            }
        }
        troubles
    }
}

impl NodeRow {
    fn object(&self) -> Node {
        let mut capacity = resources(self.cpu_milli, self.memory_mib);
        capacity.insert("pods".to_owned(), Quantity(MOST_PODS.to_string()));
        if self.gpus > 0 {
            capacity.insert(GPU.to_owned(), Quantity(self.gpus.to_string()));
            capacity.insert(GPU_MILLI.to_owned(), Quantity((self.gpus * 1000).to_string()));
        }
        let model = (!self.model.is_empty()).then(|| (GPU_MODEL.to_owned(), self.model.clone()));
        Node {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(model.into_iter().collect()),
                ..ObjectMeta::default()
            },
            status: Some(NodeStatus { capacity: Some(capacity), ..NodeStatus::default() }),
            ..Node::default()
        }
    }
}

impl PodRow {
    fn object(&self) -> Pod {
        let mut annotations = BTreeMap::new();
        if !self.qos.is_empty() {
            annotations.insert(QOS.to_owned(), self.qos.clone());
        }
        if let PodEnd::AfterRunning { seconds } = self.end {
            annotations.insert(RUN_SECONDS.to_owned(), seconds.to_string());
        }
        let gpus = self.gpu_requests();
        let mut requests = resources(self.cpu_milli, self.memory_mib);
        requests.extend(gpus.clone());
        let container = Container {
            name: "main".to_owned(),
            resources: Some(ResourceRequirements {
                requests: Some(requests),
                limits: (!gpus.is_empty()).then_some(gpus),
                ..ResourceRequirements::default()
            }),
            ..Container::default()
        };
        Pod {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                annotations: Some(annotations),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: vec![container],
                affinity: (!self.models.is_empty()).then(|| one_of(&self.models)),
                ..PodSpec::default()
            }),
            ..Pod::default()
        }
    }

    fn gpu_requests(&self) -> BTreeMap<String, Quantity> {
        let is_share = self.gpus == 1 && self.gpu_milli < 1000;
        let (whole, milli) = match self.gpus {
            0 => return BTreeMap::new(),
            _ if is_share => (u64::from(self.gpu_milli > 500), self.gpu_milli),
            gpus => (gpus, gpus * 1000),
        };
        let mut requests = BTreeMap::from([(GPU_MILLI.to_owned(), Quantity(milli.to_string()))]);
        if whole > 0 {
            requests.insert(GPU.to_owned(), Quantity(whole.to_string()));
        }
        requests
    }
}

fn resources(cpu_milli: u64, memory_mib: u64) -> BTreeMap<String, Quantity> {
    let cpu = Quantity(format!("{cpu_milli}m"));
    let memory = Quantity(format!("{memory_mib}Mi"));
    BTreeMap::from([("cpu".to_owned(), cpu), ("memory".to_owned(), memory)])
}

fn one_of(models: &[String]) -> Affinity {
    let requirement = NodeSelectorRequirement {
        key: GPU_MODEL.to_owned(),
        operator: "In".to_owned(),
        values: Some(models.to_vec()),
    };
    let term = NodeSelectorTerm {
        match_expressions: Some(vec![requirement]),
        ..NodeSelectorTerm::default()
    };
    let required = NodeSelector { node_selector_terms: vec![term] };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(required),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

fn read_nodes(source: Source<'_>, problems: &mut Vec<Problem>) -> Vec<NodeRow> {
    let table = Table::read(source.file, source.text, &NODE_COLUMNS, problems);
    let mut names = BTreeMap::new();
    let mut nodes = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let name = table.name(row, "sn", problems);
        check_name(source.file, row.line, "sn", name, &mut names, problems);
        nodes.push(NodeRow {
            name: name.to_owned(),
            cpu_milli: table.required(row, "cpu_milli", problems),
            memory_mib: table.required(row, "memory_mib", problems),
            gpus: table.number(row, "gpu", problems).unwrap_or(0),
            model: table.text(row, "model").to_owned(),
        });
    }
    nodes
}

fn read_pods(source: Source<'_>, problems: &mut Vec<Problem>) -> Vec<PodRow> {
    let table = Table::read(source.file, source.text, &POD_COLUMNS, problems);
    let mut names = BTreeMap::new();
    let mut pods = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let name = table.name(row, "name", problems);
        check_name(source.file, row.line, "name", name, &mut names, problems);
        let gpu_milli = table.number(row, "gpu_milli", problems).filter(|milli| *milli > 0);
        if let Some(milli) = gpu_milli.filter(|milli| *milli > 1000) {
            let reason = format!("`{milli}` is more than one GPU, expected at most 1000");
            problems.push(Problem::new(source.file, row.line, "gpu_milli", reason));
        }
        let created = table.required(row, "creation_time", problems);
        let scheduled = table.number(row, "scheduled_time", problems);
        let deleted = table.number(row, "deletion_time", problems);
        if let Some(deleted) = deleted.filter(|deleted| *deleted < scheduled.unwrap_or(created)) {
            let before = if scheduled.is_some() { "scheduled_time" } else { "creation_time" };
            let reason = format!("`{deleted}` is before the {before}");
            problems.push(Problem::new(source.file, row.line, "deletion_time", reason));
        }
        let end = match (scheduled, deleted) {
            (_, None) => PodEnd::Never,
            (Some(from), Some(to)) => PodEnd::AfterRunning { seconds: to.saturating_sub(from) },
            (None, Some(at)) => PodEnd::Deleted { at },
        };
        let models = table.text(row, "gpu_spec").split('|').map(str::trim);
        pods.push(PodRow {
            name: name.to_owned(),
            cpu_milli: table.required(row, "cpu_milli", problems),
            memory_mib: table.required(row, "memory_mib", problems),
            gpus: table.number(row, "num_gpu", problems).unwrap_or(0),
            gpu_milli: gpu_milli.unwrap_or(1000),
            models: models.filter(|model| !model.is_empty()).map(str::to_owned).collect(),
            qos: table.text(row, "qos").to_owned(),
            created,
            end,
        });
    }
    pods
}

fn check_name<'r>(
    file: &str,
    line: usize,
    column: &str,
    name: &'r str,
    names: &mut BTreeMap<&'r str, usize>,
    problems: &mut Vec<Problem>,
) {
    if let Some(first) = names.insert(name, line).filter(|_| !name.is_empty()) {
        let reason = format!("`{name}` is the name on line {first} already");
        problems.push(Problem::new(file, line, column, reason));
    }
}

/// A trace that cannot be used, and everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    problems: Vec<Problem>,
}

impl TraceError {
    /// What is wrong, table by table.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl std::error::Error for TraceError {}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for problem in self.problems.iter().take(MOST_TOLD) {
            write!(f, "{separator}error: {problem}")?;
            separator = "\n";
        }
        match self.problems.len().saturating_sub(MOST_TOLD) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// One thing that is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, by name; empty for the whole row.
    pub column: String,
    /// What is wrong.
    pub reason: String,
}

impl Problem {
    fn new(file: &str, line: usize, column: &str, reason: String) -> Self {
        Self { file: file.to_owned(), line, column: column.to_owned(), reason }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.column.is_empty() {
            write!(f, "column `{}`: ", self.column)?;
        }
        f.write_str(&self.reason)
    }
}

const NODE_COLUMNS: [&str; 3] = ["sn", "cpu_milli", "memory_mib"];
const POD_COLUMNS: [&str; 4] = ["name", "cpu_milli", "memory_mib", "creation_time"];

/// A trace does not say how many pods a node takes: as good as any number.
const MOST_PODS: u64 = 1000;

/// A table of another kind is wrong in every row.
const MOST_TOLD: usize = 20;
