//! What the queue asks the scheduler.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use roadstead_model::{Pod, Text};
use roadstead_queue::{
    Event, Gate, Hint, HintError, Item, NodeId, PluginId, Plugins, Policy, Profile,
};

use super::laps::is_measured;
use crate::events::{ClusterEvent, Object};
use crate::framework::{Calls, Framework, Plugin, PreEnqueue, Run, Status, status_name};
use crate::listers::Listers;

/// A pod's name: what the queue is keyed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    /// Its namespace.
    pub namespace: Text,
    /// Its name there.
    pub name: Text,
}

impl PodKey {
    /// The name of this pod.
    #[must_use]
    pub fn of(pod: &Pod) -> Self {
        Self { namespace: pod.namespace().clone(), name: pod.name.clone() }
    }
}

/// A pod in the queue.
#[derive(Clone, Debug)]
pub struct QueuedPod {
    key: PodKey,
    pub(super) pod: Arc<Pod>,
    incarnation: u64,
    profile: Profile,
    nominated_node: Option<NodeId>,
}

impl QueuedPod {
    /// The pod.
    #[must_use]
    pub fn pod(&self) -> &Arc<Pod> {
        &self.pod
    }
}

impl Item for QueuedPod {
    type Key = PodKey;

    fn key(&self) -> &PodKey {
        &self.key
    }

    fn priority(&self) -> i32 {
        self.pod.spec().priority
    }

    fn incarnation(&self) -> u64 {
        self.incarnation
    }

    fn class(&self) -> Option<u64> {
        Some(self.pod.class.id().get())
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn nominated_node(&self) -> Option<NodeId> {
        self.nominated_node
    }
}

/// Hints and gates of all profiles, and what they look at.
pub struct Rules {
    pub(super) profiles: Vec<(Text, Arc<Framework>)>,
    pub(super) listers: Listers,
    pub(super) pods: HashMap<PodKey, Known>,
    /// Those that wait for a scheduler that is none of the profiles.
    pub(super) unclaimed: BTreeSet<PodKey>,
    plugins: HashMap<(Profile, PluginId), Asked>,
    nodes: HashMap<Text, NodeId>,
    node_names: Vec<Text>,
    incarnations: u64,
    gates: Measured,
}

/// Gates whose answers are measured now and then.
#[derive(Default)]
struct Measured {
    clock: Option<fn() -> u64>,
    /// By profile.
    calls: Vec<Arc<Calls>>,
    asked: Cell<u64>,
}

/// A pod that the cluster shows.
pub(super) struct Known {
    pub(super) pod: Arc<Pod>,
    pub(super) incarnation: u64,
}

struct Asked {
    plugin: Arc<dyn Plugin>,
    pre_enqueue: Option<Arc<dyn PreEnqueue>>,
}

impl Rules {
    /// The rules of these profiles, and the plugins as the queue knows them.
    pub(super) fn new(profiles: Vec<(Text, Framework)>) -> (Self, Plugins) {
        let mut registered = Plugins::new();
        let mut plugins = HashMap::new();
        for (number, (_, framework)) in profiles.iter().enumerate() {
            let profile = Profile(number as u16);
            for (own, is_gate) in framework.gates_first() {
                let mut plugin = roadstead_queue::Plugin::new(own.name());
                for event in Framework::registrations(&**own) {
                    plugin = plugin.on(event.resource, event.action, event.ask);
                }
                if is_gate {
                    plugin = plugin.gate();
                }
                let pre_enqueue = framework.gate(own.name()).cloned();
                let asked = Asked { plugin: own.clone(), pre_enqueue };
                plugins.insert((profile, registered.add_to(profile, plugin)), asked);
            }
        }
        let shared = |(name, framework)| (name, Arc::new(framework));
        let rules = Self {
            profiles: profiles.into_iter().map(shared).collect(),
            listers: Listers::default(),
            pods: HashMap::new(),
            unclaimed: BTreeSet::new(),
            plugins,
            nodes: HashMap::new(),
            node_names: Vec::new(),
            incarnations: 0,
            gates: Measured::default(),
        };
        (rules, registered)
    }

    /// From now on a tenth of the gates' answers are measured, if there is a clock.
    pub(super) fn measure_gates(&mut self, clock: Option<fn() -> u64>, calls: &[Arc<Calls>]) {
        self.gates = Measured { clock, calls: calls.to_vec(), asked: Cell::new(0) };
    }

    /// The profile that a pod asks for, if it is one of ours.
    pub(super) fn profile_of(&self, pod: &Pod) -> Option<Profile> {
        let wanted = &pod.spec().scheduler_name;
        let at = self.profiles.iter().position(|(name, _)| name == wanted)?;
        Some(Profile(at as u16))
    }

    /// Takes note of a pod that the cluster shows.
    pub(super) fn know(&mut self, pod: &Arc<Pod>) {
        let key = PodKey::of(pod);
        let same = self.pods.get(&key).filter(|known| known.pod.uid == pod.uid);
        let incarnation = same.map_or(self.incarnations, |known| known.incarnation);
        self.incarnations += u64::from(same.is_none());
        if pod.node_name.is_none() && self.profile_of(pod).is_none() {
            self.unclaimed.insert(key.clone());
        } else if !self.unclaimed.is_empty() {
            self.unclaimed.remove(&key);
        }
        self.pods.insert(key, Known { pod: pod.clone(), incarnation });
    }

    /// Forgets a pod that is gone.
    pub(super) fn forget_pod(&mut self, key: &PodKey) -> Option<Known> {
        self.unclaimed.remove(key);
        self.pods.remove(key)
    }

    /// A known pod as the queue takes it.
    pub(super) fn queued(&mut self, pod: &Arc<Pod>) -> Option<QueuedPod> {
        let key = PodKey::of(pod);
        let incarnation = self.pods.get(&key).filter(|known| known.pod.uid == pod.uid)?.incarnation;
        let profile = self.profile_of(pod)?;
        let nominated_node = pod.nominated_node.clone().map(|node| self.node(&node));
        Some(QueuedPod { key, pod: pod.clone(), incarnation, profile, nominated_node })
    }

    /// The number of a node, known to the cluster or not.
    pub(super) fn node(&mut self, name: &Text) -> NodeId {
        let next = NodeId(self.node_names.len() as u64);
        let id = *self.nodes.entry(name.clone()).or_insert(next);
        if id == next {
            self.node_names.push(name.clone());
        }
        id
    }

    /// The node of that number.
    pub(super) fn node_name(&self, node: NodeId) -> Option<&Text> {
        self.node_names.get(usize::try_from(node.0).ok()?)
    }

    /// The number of a node, if anybody was ever nominated to it.
    pub(super) fn known_node(&self, name: &Text) -> Option<NodeId> {
        self.nodes.get(name).copied()
    }
}

impl Measured {
    fn run(
        &self,
        profile: Profile,
        plugin: &'static str,
        ask: impl FnOnce() -> Result<(), Status>,
    ) -> Result<(), Status> {
        let Some(clock) = self.clock else { return ask() };
        self.asked.set(self.asked.get() + 1);
        let calls = self.calls.get(usize::from(profile.0));
        let Some(calls) = calls.filter(|_| is_measured(self.asked.get())) else { return ask() };
        let before = clock();
        let answer = ask();
        let cost = clock().saturating_sub(before);
        calls.note(Run { plugin, point: "PreEnqueue", status: status_name(&answer), cost });
        answer
    }
}

impl Policy for Rules {
    type Item = QueuedPod;
    type Object = Object;

    fn hint(
        &self,
        plugin: PluginId,
        item: &QueuedPod,
        event: &ClusterEvent,
    ) -> Result<Hint, HintError> {
        match self.plugins.get(&(item.profile, plugin)) {
            Some(asked) => asked.plugin.hint(&self.listers, &item.pod, event),
            None => Ok(Hint::Queue),
        }
    }

    fn gate(&self, plugin: PluginId, item: &QueuedPod) -> Gate {
        let asked = self.plugins.get(&(item.profile, plugin));
        let gate = asked.and_then(|asked| asked.pre_enqueue.as_ref());
        let ask = |gate: &Arc<dyn PreEnqueue>| gate.pre_enqueue(&self.listers, &item.pod);
        match gate.map(|gate| self.gates.run(item.profile, gate.name(), || ask(gate))) {
            Some(Err(_)) => Gate::Closed,
            Some(Ok(())) | None => Gate::Open,
        }
    }

    fn is_item(&self, object: &Object, item: &QueuedPod) -> bool {
        matches!(object, Object::Pod(pod) if pod.uid == item.pod.uid)
    }

    fn may_be_nominated(&self, key: &PodKey) -> bool {
        self.pods.get(key).is_some_and(|known| known.pod.node_name.is_none())
    }
}

/// An event about old and new versions of an object.
pub(super) fn event(
    resource: roadstead_queue::Resource,
    action: roadstead_queue::Action,
    old: Option<Object>,
    new: Option<Object>,
) -> ClusterEvent {
    Event { old, new, ..Event::new(resource, action) }
}
