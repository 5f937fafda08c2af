//! The points that a pod passes once its node is chosen: Reserve, Permit, PreBind, Bind, PostBind.

use std::sync::Arc;
use std::time::Duration;

use roadstead_model::{PersistentVolume, PersistentVolumeClaim, Pod, Text};
use roadstead_queue::Time;

use super::{CycleState, Plugin, Status};
use crate::listers::Listers;
use crate::nodes::Nodes;

/// What plugins may look at once a node is chosen, and what they may ask for.
pub struct Handle<'a> {
    /// The nodes with what runs on them, the pod itself included.
    pub nodes: &'a Nodes,
    /// Everything else. Plugins may put assumed versions of objects there.
    pub listers: &'a mut Listers,
    /// The time.
    pub now: Time,
    pub(crate) waiting: &'a [Waiting],
    pub(crate) wishes: &'a mut Wishes,
}

impl Handle<'_> {
    /// The pods that wait for a permission, whoever's, in the order of their uids.
    #[must_use]
    pub fn waiting(&self) -> &[Waiting] {
        self.waiting
    }

    /// Answers for a plugin what becomes of a pod that waits for its permission. A pod that does
    /// not is left alone.
    pub fn answer(&mut self, plugin: &'static str, pod: &Text, verdict: Verdict) {
        self.wishes.answers.push((pod.clone(), plugin, verdict));
    }

    /// Wants pods to be tried soon, wherever they wait: gated ones stay where they are.
    pub fn activate(&mut self, pod: &Arc<Pod>) {
        self.wishes.activate.push(pod.clone());
    }

    /// Wants something written for the pod that is being bound. It is asked again in PreBind once
    /// that is answered; if it fails, the pod is not bound.
    pub fn write(&mut self, write: Write) {
        self.wishes.writes.push(write);
    }
}

/// What plugins asked for through a [`Handle`].
#[derive(Default)]
pub(crate) struct Wishes {
    pub(crate) answers: Vec<(Text, &'static str, Verdict)>,
    pub(crate) activate: Vec<Arc<Pod>>,
    pub(crate) writes: Vec<Write>,
}

/// Something that must be written before a pod is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Keep the volume for the claim, as this version of the volume says: its `claimRef`, and
    /// whether that was the scheduler's own choice.
    BindVolume(Arc<PersistentVolume>),
    /// Let a volume be made for the claim where this version of it says: its annotation
    /// `volume.kubernetes.io/selected-node`.
    SelectNode(Arc<PersistentVolumeClaim>),
}

/// A pod that has a node and waits for permission to be bound to it.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its node.
    pub node: Text,
    /// Whose permission is still missing.
    pub plugins: Vec<&'static str>,
}

/// What a plugin says of a pod that waits for its permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be bound, as far as the plugin is concerned.
    Allow,
    /// It may not, and why.
    Reject(String),
}

/// Takes note of the node that a pod is to have, before others are placed.
pub trait Reserve: Plugin {
    /// The node is the pod's.
    ///
    /// # Errors
    ///
    /// It cannot be, and why.
    fn reserve(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    ) -> Result<(), Status>;

    /// The pod does not get the node after all. It may be told so though it was never asked.
    fn unreserve(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    );
}

/// Decides whether a pod may be bound now, later or not at all.
pub trait Permit: Plugin {
    /// Whether it may.
    ///
    /// # Errors
    ///
    /// It may not, and why.
    fn permit(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    ) -> Result<Permission, Status>;
}

/// When a pod may be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Now.
    Allow,
    /// Once the plugin [answers](Handle::answer). After this time, of 15 minutes at most, the
    /// pod is rejected.
    Wait(Duration),
}

/// Does what must be done before a pod is bound.
pub trait PreBind: Plugin {
    /// Whether there will be anything to do.
    ///
    /// # Errors
    ///
    /// Something went wrong; a rejection has no meaning here.
    fn pre_flight(
        &self,
        listers: &Listers,
        state: &CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    ) -> Result<PreFlight, Status>;

    /// Goes as far as it can. It is called again until it is done.
    ///
    /// # Errors
    ///
    /// The pod cannot be bound, and why.
    fn pre_bind(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    ) -> Result<Progress, Status>;
}

/// Whether PreBind has anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreFlight {
    /// It has.
    Run,
    /// It need not be asked.
    Skip,
}

/// How far PreBind has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The pod may be bound.
    Done,
    /// It waits for its [writes](Handle::write) to be answered.
    Written,
    /// It wants to look again then.
    LookAgain(Time),
}

/// Binds a pod to its node.
pub trait Bind: Plugin {
    /// How it is bound.
    ///
    /// # Errors
    ///
    /// The pod cannot be bound, and why.
    fn bind(&self, state: &CycleState, pod: &Arc<Pod>, node: &Text) -> Result<BindAnswer, Status>;
}

/// How a pod is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindAnswer {
    /// By a Binding, which the API server is given.
    Binding,
    /// Another plugin is to bind it.
    Skip,
}

/// Is told of pods that were bound.
pub trait PostBind: Plugin {
    /// The pod is bound to the node.
    fn post_bind(
        &self,
        handle: &mut Handle<'_>,
        state: &mut CycleState,
        pod: &Arc<Pod>,
        node: &Text,
    );
}
