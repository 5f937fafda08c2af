//! The extension points, under their Kubernetes names.

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Action, Ask, Hint, HintError, Resource, Time};

use super::binding::{Bind, Permit, PostBind, PreBind, Reserve};
use super::scoring::{Feasible, scale_by_highest};
use super::{Context, CycleState, Framework, Reach, Scaling, Status};
use crate::diagnosis::Diagnosis;
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::listers::Listers;
use crate::nodes::NodeInfo;

/// What every plugin has: a name, the events that may cure its rejections, and its hint.
pub trait Plugin: Any + Send + Sync {
    /// The plugin's name in configuration, metrics and messages.
    fn name(&self) -> &'static str;

    /// What brings back the pods that the plugin rejected. By default everything does.
    fn events(&self) -> Vec<Registration> {
        events::everything()
    }

    /// Whether an event is worth a retry of a pod that the plugin rejected. Asked only for
    /// events that were [registered](Self::events) with a question.
    ///
    /// # Errors
    ///
    /// An object that is not of the expected kind, or a pod that cannot be read. It counts as
    /// [`Hint::Queue`].
    fn hint(&self, listers: &Listers, pod: &Pod, event: &ClusterEvent) -> Result<Hint, HintError> {
        let _ = (listers, pod, event);
        Ok(Hint::Queue)
    }

    /// What would satisfy the plugin, which refuses a pod, and which single changes of the pod
    /// might. By default it does not say; why it refuses is told anyway.
    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let _ = refusal;
        Remedies::default()
    }
}

/// An event that a plugin wants to hear of, and whom it must then convince.
#[derive(Clone, Debug)]
pub struct Registration {
    /// What it happens to.
    pub resource: Resource,
    /// What happens to it.
    pub action: Action,
    /// Who is asked: nobody, the hint once for a class of pods, or the hint for each pod.
    pub ask: Ask,
}

impl Registration {
    /// A registration.
    #[must_use]
    pub const fn new(resource: Resource, action: Action, ask: Ask) -> Self {
        Self { resource, action, ask }
    }
}

/// Decides which pod is tried first. All profiles share one queue, and so one such plugin.
pub trait QueueSort: Plugin {
    /// Where the pod stands that was queued at that time: the least rank goes first. It is asked
    /// again when the pod changes.
    fn rank(&self, pod: &Pod, queued_at: Time) -> Rank;
}

/// A pod's place in the order of the queue. Of two with one rank, who came first goes first.
// In pieces, for an alignment of four: a rank is kept for every waiting pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank([u32; 4]);

impl Rank {
    /// By the first number, then by the second.
    #[must_use]
    pub fn by(first: u64, second: u64) -> Self {
        let halves = |number: u64| [(number >> 32) as u32, number as u32];
        let ([a, b], [c, d]) = (halves(first), halves(second));
        Self([a, b, c, d])
    }
}

/// Decides whether a pod may be tried at all.
pub trait PreEnqueue: Plugin {
    /// `Err` holds the pod back.
    ///
    /// # Errors
    ///
    /// Why the pod is held.
    fn pre_enqueue(&self, listers: &Listers, pod: &Pod) -> Result<(), Status>;
}

/// Prepares a cycle, and follows what-ifs.
pub trait PreFilter: Plugin {
    /// Looks at the pod and the cluster once, before any node is filtered.
    ///
    /// # Errors
    ///
    /// The pod fits nowhere, and why.
    fn pre_filter(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
    ) -> Result<PreFilterAnswer, Status>;

    /// How its state follows pods that are taken to be somewhere, or not to be. `None` if what it
    /// remembers does not depend on the pods of nodes.
    fn extensions(&self) -> Option<&dyn PreFilterExtensions> {
        None
    }
}

/// What PreFilter remembered follows a what-if: a preemption tried out, pods that are nominated.
pub trait PreFilterExtensions {
    /// `other` is taken to run on `node` too.
    ///
    /// # Errors
    ///
    /// The state could not follow.
    fn add_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status>;

    /// `other` is taken not to run on `node`.
    ///
    /// # Errors
    ///
    /// The state could not follow.
    fn remove_pod(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        other: &Arc<Pod>,
        node: &NodeInfo,
    ) -> Result<(), Status>;
}

/// What PreFilter found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreFilterAnswer {
    /// The plugin's Filter need not be asked in this cycle.
    Skip,
    /// Any node may do.
    AnyNode,
    /// Only these nodes may do.
    OnlyNodes(BTreeSet<Text>),
}

/// Decides whether a pod may run on a node.
pub trait Filter: Plugin {
    /// `Ok` if it may.
    ///
    /// # Errors
    ///
    /// Why not.
    fn filter(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<(), Status>;

    /// What the answers depend on in this cycle. By default on anything, which is always right
    /// and never fast.
    fn reach(&self, context: &Context<'_>, state: &CycleState, pod: &Pod) -> Reach {
        let _ = (context, state, pod);
        Reach::Unknown
    }
}

/// Tries to make a pod schedulable that fits nowhere.
pub trait PostFilter: Plugin {
    /// What came of it.
    fn post_filter(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
    ) -> PostFilterAnswer;
}

/// What PostFilter achieved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostFilterAnswer {
    /// What becomes of the pod's nomination.
    pub nomination: Nomination,
    /// `Ok` if the pod can be placed once what was asked for is done; otherwise why not.
    pub result: Result<(), Status>,
    /// Whom to evict, and where.
    pub preemption: Option<Preemption>,
}

/// What becomes of a pod's nominated node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    Keep,
    /// It ends.
    Clear,
    /// This is the node from now on.
    Set(Text),
}

/// A choice of victims.
#[derive(Clone, Debug)]
pub struct Preemption {
    /// The node that the pod is to have.
    pub node: Text,
    /// Who must go, most important first. Those already terminating are listed too.
    pub victims: Vec<Arc<Pod>>,
    /// Waiting pods of lower priority that lose their nomination to the node.
    pub unnominate: Vec<Arc<Pod>>,
}

impl PartialEq for Preemption {
    fn eq(&self, other: &Self) -> bool {
        let uids = |pods: &[Arc<Pod>]| pods.iter().map(|pod| pod.uid.clone()).collect::<Vec<_>>();
        self.node == other.node
            && uids(&self.victims) == uids(&other.victims)
            && uids(&self.unnominate) == uids(&other.unnominate)
    }
}

impl Eq for Preemption {}

/// Prepares scoring.
pub trait PreScore: Plugin {
    /// Looks at the pod and the nodes that passed the filters, once.
    ///
    /// # Errors
    ///
    /// Something went wrong; a rejection has no meaning here.
    fn pre_score(
        &self,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        nodes: &Feasible<'_>,
    ) -> Result<PreScoreAnswer, Status>;
}

/// What PreScore found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreScoreAnswer {
    /// The plugin's Score need not be asked in this cycle.
    Skip,
    /// It must.
    Proceed,
}

/// Says how good a node is for a pod.
pub trait Score: Plugin {
    /// The node's score, in the plugin's own scale.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    fn score(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        node: &NodeInfo,
    ) -> Result<i64, Status>;

    /// What the answers depend on in this cycle. By default on anything, which is always right
    /// and never fast.
    fn reach(&self, context: &Context<'_>, state: &CycleState, pod: &Pod) -> Reach {
        let _ = (context, state, pod);
        Reach::Unknown
    }

    /// How the scores are brought into the range from 0 to 100.
    fn scaling(&self) -> Scaling {
        Scaling::Own
    }

    /// Brings the scores of all nodes into the range from 0 to 100; `scores[i]` is that of
    /// `nodes[i]`. By default as [`scaling`](Self::scaling) says. A plugin with a scale of its own
    /// does it here; without, its scores are taken to be in the range already.
    ///
    /// # Errors
    ///
    /// Something went wrong.
    fn normalize(
        &self,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
        scores: &mut [i64],
    ) -> Result<(), Status> {
        let _ = (context, state, pod, nodes);
        if let Scaling::ByHighest { reverse } = self.scaling() {
            scale_by_highest(scores, reverse);
        }
        Ok(())
    }
}

/// A plugin with the extension points that it joins.
#[derive(Clone)]
pub struct Extensions {
    pub(crate) plugin: Arc<dyn Plugin>,
    pub(crate) queue_sort: Option<Arc<dyn QueueSort>>,
    pub(crate) pre_enqueue: Option<Arc<dyn PreEnqueue>>,
    pub(crate) pre_filter: Option<Arc<dyn PreFilter>>,
    pub(crate) filter: Option<Arc<dyn Filter>>,
    pub(crate) post_filter: Option<Arc<dyn PostFilter>>,
    pub(crate) pre_score: Option<Arc<dyn PreScore>>,
    pub(crate) score: Option<Arc<dyn Score>>,
    pub(crate) reserve: Option<Arc<dyn Reserve>>,
    pub(crate) permit: Option<Arc<dyn Permit>>,
    pub(crate) pre_bind: Option<Arc<dyn PreBind>>,
    pub(crate) bind: Option<Arc<dyn Bind>>,
    pub(crate) post_bind: Option<Arc<dyn PostBind>>,
}

/// Names the points that a plugin joins: `Joining::new(NodeName).filter().done()`.
pub struct Joining<P> {
    plugin: Arc<P>,
    extensions: Extensions,
}

impl<P: Plugin + 'static> Joining<P> {
    /// A plugin that joins none yet.
    pub fn new(plugin: P) -> Self {
        let plugin = Arc::new(plugin);
        let extensions = Extensions {
            plugin: plugin.clone(),
            queue_sort: None,
            pre_enqueue: None,
            pre_filter: None,
            filter: None,
            post_filter: None,
            pre_score: None,
            score: None,
            reserve: None,
            permit: None,
            pre_bind: None,
            bind: None,
            post_bind: None,
        };
        Self { plugin, extensions }
    }

    /// It joins QueueSort.
    pub fn queue_sort(mut self) -> Self
    where
        P: QueueSort,
    {
        self.extensions.queue_sort = Some(self.plugin.clone());
        self
    }

    /// It joins PreEnqueue.
    pub fn pre_enqueue(mut self) -> Self
    where
        P: PreEnqueue,
    {
        self.extensions.pre_enqueue = Some(self.plugin.clone());
        self
    }

    /// It joins PreFilter.
    pub fn pre_filter(mut self) -> Self
    where
        P: PreFilter,
    {
        self.extensions.pre_filter = Some(self.plugin.clone());
        self
    }

    /// It joins Filter.
    pub fn filter(mut self) -> Self
    where
        P: Filter,
    {
        self.extensions.filter = Some(self.plugin.clone());
        self
    }

    /// It joins PostFilter.
    pub fn post_filter(mut self) -> Self
    where
        P: PostFilter,
    {
        self.extensions.post_filter = Some(self.plugin.clone());
        self
    }

    /// It joins PreScore.
    pub fn pre_score(mut self) -> Self
    where
        P: PreScore,
    {
        self.extensions.pre_score = Some(self.plugin.clone());
        self
    }

    /// It joins Score.
    pub fn score(mut self) -> Self
    where
        P: Score,
    {
        self.extensions.score = Some(self.plugin.clone());
        self
    }

    /// It joins Reserve.
    pub fn reserve(mut self) -> Self
    where
        P: Reserve,
    {
        self.extensions.reserve = Some(self.plugin.clone());
        self
    }

    /// It joins Permit.
    pub fn permit(mut self) -> Self
    where
        P: Permit,
    {
        self.extensions.permit = Some(self.plugin.clone());
        self
    }

    /// It joins PreBind.
    pub fn pre_bind(mut self) -> Self
    where
        P: PreBind,
    {
        self.extensions.pre_bind = Some(self.plugin.clone());
        self
    }

    /// It joins Bind.
    pub fn bind(mut self) -> Self
    where
        P: Bind,
    {
        self.extensions.bind = Some(self.plugin.clone());
        self
    }

    /// It joins PostBind.
    pub fn post_bind(mut self) -> Self
    where
        P: PostBind,
    {
        self.extensions.post_bind = Some(self.plugin.clone());
        self
    }

    /// The plugin with its points.
    pub fn done(self) -> Extensions {
        self.extensions
    }
}
