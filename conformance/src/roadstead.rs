//! Roadstead's own queue as a subject.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roadstead_queue::{
    Action, Ask, Attempt, Audience, Config, Event, Finished, Gate, Incoming, Item, Name, NodeId,
    Place, Plugin, PluginId, Plugins, Policy, PrioritySort, Profile, Queue, RejectError, Rejection,
    Requeueing, Resource, Time, Waiting,
};

use crate::subject::{Change, Failure, Object, PodUpdate, Popped, Reach, Subject};
use crate::trace;
use crate::trace::{
    AlreadyQueued, Event as TraceEvent, Header, HintResult, Labels, Pending, Pod, PodName,
    PodState, Rule, State, Uid,
};

/// Roadstead's queue, driven as the real one was.
pub struct Roadstead {
    queue: Queue<Rules, PrioritySort, Incoming>,
    numbers: Numbers,
}

/// An attempt, until nobody will speak of it again.
pub enum Under {
    /// The queue still keeps events for it.
    Way(Attempt),
    /// It was done; it may still fail.
    Done(Finished<Waiter>),
    /// Neither: it is being handed over.
    Nothing,
}

impl Subject for Roadstead {
    type Attempt = Under;

    const NAME: &'static str = "roadstead-queue";

    fn open(header: &Header) -> Self {
        let mut plugins = Plugins::new();
        let mut rules: BTreeMap<PluginId, Vec<(Vec<TraceEvent>, Rule)>> = BTreeMap::new();
        for hint in &header.hints {
            let mut plugin = Plugin::new(hint.plugin.as_str());
            for event in &hint.events {
                plugin = plugin.on(resource(&event.resource), action(event), Ask::Class);
            }
            let id = plugins.add(plugin);
            rules.entry(id).or_default().push((hint.events.clone(), hint.rule.clone()));
        }
        let mut gate = Plugin::new("SchedulingGates").gate();
        if header.queueing_hints {
            let opened = Action::update(9, "UpdatePodSchedulingGatesEliminated");
            gate = gate.on(Resource::new("Pod"), opened, Ask::Item);
        }
        let gates = plugins.add(gate);
        let config = Config {
            initial_backoff: Duration::from_millis(header.initial_backoff_ms),
            max_backoff: Duration::from_millis(header.max_backoff_ms),
            leftover_after: Duration::from_millis(header.max_in_unschedulable_ms),
            requeueing: if header.queueing_hints {
                Requeueing::QueueingHints
            } else {
                Requeueing::MoveRequestCycle
            },
            pop_from_backoff: header.pop_from_backoff,
            item_resource: resource("UnschedulablePod"),
            ..Config::default()
        };
        let policy = Rules { rules, gates, lister: BTreeMap::new() };
        Self {
            queue: Queue::with(config, plugins, policy, PrioritySort, Incoming::new()),
            numbers: Numbers::default(),
        }
    }

    fn lister_has(&mut self, pod: &Arc<Pod>) {
        let runs = !pod.node.is_empty();
        self.queue.policy_mut().lister.insert(pod.full_name(), runs);
    }

    fn lister_lost(&mut self, name: &PodName) {
        self.queue.policy_mut().lister.remove(name);
    }

    fn add(&mut self, now_ms: u64, pod: &Arc<Pod>) {
        let waiter = self.numbers.waiter(pod);
        self.queue.add(waiter, Time::from_millis(now_ms));
    }

    fn pop(&mut self, now_ms: u64) -> Option<Popped<Under>> {
        let attempt = self.queue.pop(Time::from_millis(now_ms))?;
        let waiter = self.queue.item(&attempt)?;
        let (name, uid) = (waiter.name.clone(), waiter.pod.uid.clone());
        Some(Popped { name, uid, attempt: Under::Way(attempt) })
    }

    fn reject(
        &mut self,
        now_ms: u64,
        attempt: Under,
        failure: &Failure<'_>,
    ) -> Result<(), AlreadyQueued> {
        let now = Time::from_millis(now_ms);
        let unschedulable = self.plugins(failure.unschedulable);
        let pending = self.plugins(failure.pending);
        let rejection = Rejection {
            cycle: failure.cycle.map(|cycle| u64::try_from(cycle).unwrap_or(0)),
            ..Rejection::by(&unschedulable)
                .pending(&pending)
                .newest(self.numbers.waiter(failure.pod))
        };
        let result = match attempt {
            Under::Way(attempt) => self.queue.reject(attempt, rejection, now),
            Under::Done(finished) => self.queue.reject_finished(finished, rejection, now),
            Under::Nothing => return Ok(()),
        };
        match result {
            Err(RejectError::AlreadyWaiting(Place::Active)) => Err(AlreadyQueued::Active),
            Err(RejectError::AlreadyWaiting(place)) if place.is_backoff() => {
                Err(AlreadyQueued::Backoff)
            }
            Err(RejectError::AlreadyWaiting(_)) => Err(AlreadyQueued::Unschedulable),
            _ => Ok(()),
        }
    }

    fn done(&mut self, _: u64, attempt: &mut Under) {
        *attempt = match std::mem::replace(attempt, Under::Nothing) {
            Under::Way(attempt) => self.queue.finish(attempt).map_or(Under::Nothing, Under::Done),
            done => done,
        };
    }

    fn discard(&mut self, attempt: Under) {
        if let Under::Way(attempt) = attempt {
            self.queue.finish(attempt);
        }
    }

    fn update(&mut self, now_ms: u64, update: &PodUpdate) {
        let now = Time::from_millis(now_ms);
        let waiter = self.numbers.waiter(&update.new);
        let hints = self.queue.config().requeueing == Requeueing::QueueingHints;
        let changed = hints || update.is_more_than_status;
        let changes = update.changes().map(event).filter(|_| changed);
        self.queue.update(waiter, changes, now);
    }

    fn delete(&mut self, now_ms: u64, pod: &Arc<Pod>) {
        let waiter = self.numbers.waiter(pod);
        let name = Name::new(waiter.key(), waiter.incarnation());
        self.queue.delete(name, Time::from_millis(now_ms));
    }

    fn happened(&mut self, now_ms: u64, change: &Change, reach: Reach<'_>) {
        let now = Time::from_millis(now_ms);
        let spread = self.queue.plugins().id("PodTopologySpread");
        let is_for = |waiter: &Waiter, rejectors: &roadstead_queue::Rejectors| {
            reach.includes(&waiter.pod, |_| {
                spread.is_some_and(|spread| rejectors.unschedulable().contains(&spread))
            })
        };
        let audience = match reach {
            Reach::Everyone => Audience::Everyone,
            Reach::UpToPriority(_) | Reach::RelatedTo(_) => Audience::Classes(&is_for),
        };
        self.queue.on_event_for(event(change.clone()), &audience, now);
    }

    fn activate(&mut self, now_ms: u64, pods: &[Arc<Pod>]) {
        let waiters: Vec<_> = pods.iter().map(|pod| self.numbers.waiter(pod)).collect();
        let names = waiters.iter().map(|waiter| Name::new(waiter.key(), waiter.incarnation()));
        self.queue.activate(names, Time::from_millis(now_ms));
    }

    fn nominate(&mut self, pod: &Arc<Pod>, node: Option<&str>) {
        let waiter = self.numbers.waiter(pod);
        let node = match node {
            Some(node) => Some(self.numbers.node(node)),
            None => waiter.nominated_node(),
        };
        match node {
            Some(node) => self.queue.nominate(waiter.key(), waiter.incarnation(), node),
            None => self.queue.unnominate(waiter.key(), waiter.incarnation()),
        }
    }

    fn unnominate(&mut self, pod: &Arc<Pod>) {
        let waiter = self.numbers.waiter(pod);
        self.queue.unnominate(waiter.key(), waiter.incarnation());
    }

    fn flush_backoff(&mut self, now_ms: u64) {
        self.queue.flush_backoff(Time::from_millis(now_ms));
    }

    fn flush_unschedulable(&mut self, now_ms: u64) {
        self.queue.flush_leftover(Time::from_millis(now_ms));
    }

    fn nominated(&self, node: &str) -> Vec<PodName> {
        let node = self.numbers.node(node);
        let mut names: Vec<PodName> =
            self.queue.nominated_to(node).map(|nominated| nominated.key.clone()).collect();
        names.sort();
        names
    }

    fn waiting(&self, name: &PodName) -> Option<Uid> {
        self.queue.get(name).map(|waiting| waiting.item().pod.uid.clone())
    }

    fn state(&self) -> State {
        let broken = self.queue.check_invariants().err();
        assert_eq!(broken, None, "the queue broke a promise of its own");
        let queue = &self.queue;
        let mut state = State {
            in_flight: queue.in_flight().map(|waiter| waiter.name.clone()).collect(),
            in_flight_events: queue.in_flight_events().len(),
            cycle: queue.scheduling_cycle() as i64,
            move_cycle: queue.move_request_cycle().map_or(-1, |cycle| cycle as i64),
            ..State::default()
        };
        for waiting in queue.active().chain(queue.backoff()).chain(queue.pool()) {
            let name = waiting.item().name.clone();
            match waiting.place() {
                Place::Active => state.active.push(name.clone()),
                Place::Backoff { until } | Place::ErrorBackoff { until } => {
                    state.backoff.push((name.clone(), until.map_or(0, Time::as_millis)));
                }
                Place::Unschedulable => state.unschedulable.push(name.clone()),
                Place::Gated { .. } => state.gated.push(name.clone()),
                Place::InFlight => {}
            }
            state.pods.insert(name, self.record(&waiting));
        }
        state.active.sort();
        state.backoff.sort();
        state.unschedulable.sort();
        state.gated.sort();
        state.in_flight.sort();
        state
    }

    fn incoming(&self) -> BTreeMap<String, u64> {
        self.queue
            .observer()
            .iter()
            .map(|(entrance, label, count)| (format!("{}/{label}", entrance.name()), count))
            .collect()
    }

    fn pending(&self) -> Pending {
        let counts = self.queue.counts();
        Pending {
            active: counts.active,
            backoff: counts.backoff + counts.error_backoff,
            unschedulable: counts.unschedulable,
            gated: counts.gated,
        }
    }
}

impl Roadstead {
    fn plugins(&mut self, names: &[String]) -> Vec<PluginId> {
        names
            .iter()
            .map(|name| match self.queue.plugins().id(name) {
                Some(known) => known,
                None => self.queue.add_plugin(Profile::DEFAULT, Plugin::new(name.as_str())),
            })
            .collect()
    }

    fn record(&self, waiting: &Waiting<'_, Waiter>) -> PodState {
        let names = |plugins: &[PluginId]| {
            let mut names: Vec<String> = plugins
                .iter()
                .map(|plugin| self.queue.plugins().name(*plugin).to_owned())
                .collect();
            names.sort();
            names
        };
        PodState {
            attempts: waiting.attempts(),
            unschedulable_count: waiting.unschedulable_count(),
            errors: waiting.consecutive_errors(),
            timestamp_ms: waiting.queued_at().as_millis(),
            plugins: names(waiting.rejectors().unschedulable()),
            pending: names(waiting.rejectors().pending()),
        }
    }
}

/// A pod that waits, with its numbers.
pub struct Waiter {
    name: PodName,
    pod: Arc<Pod>,
    uid: u64,
    class: u64,
    nominated: Option<NodeId>,
}

impl Item for Waiter {
    type Key = PodName;

    fn key(&self) -> &PodName {
        &self.name
    }

    fn priority(&self) -> i32 {
        self.pod.priority
    }

    fn incarnation(&self) -> u64 {
        self.uid
    }

    fn class(&self) -> Option<u64> {
        Some(self.class)
    }

    fn nominated_node(&self) -> Option<NodeId> {
        self.nominated
    }
}

/// The hint rules of a trace's header, its one gate, and the pod lister.
struct Rules {
    rules: BTreeMap<PluginId, Vec<(Vec<TraceEvent>, Rule)>>,
    gates: PluginId,
    /// Every pod that exists, and whether it runs somewhere.
    lister: BTreeMap<PodName, bool>,
}

impl Policy for Rules {
    type Item = Waiter;
    type Object = Object;

    fn hint(
        &self,
        plugin: PluginId,
        waiter: &Waiter,
        event: &Event<Object>,
    ) -> Result<roadstead_queue::Hint, roadstead_queue::HintError> {
        use roadstead_queue::Hint::{Queue, Skip};
        if plugin == self.gates {
            let own = event.new.as_ref().is_some_and(|object| self.is_item(object, waiter));
            return Ok(if own { Queue } else { Skip });
        }
        for (events, rule) in self.rules.get(&plugin).into_iter().flatten() {
            let registered =
                |known: &TraceEvent| event.is_heard_by(&resource(&known.resource), action(known));
            if !events.iter().any(registered) {
                continue;
            }
            let helps = match rule {
                Rule::Always { result } => *result == HintResult::Queue,
                Rule::Label { key } => {
                    let label = |labels: &Labels| labels.get(key).cloned();
                    let theirs = event.new.as_ref().and_then(|object| label(&object.labels));
                    theirs.is_some() && theirs == label(&waiter.pod.labels)
                }
                Rule::Error {} => return Err("the rule of this plugin is to fail".into()),
            };
            if helps {
                return Ok(Queue);
            }
        }
        Ok(Skip)
    }

    fn gate(&self, _: PluginId, waiter: &Waiter) -> Gate {
        if waiter.pod.gates.is_empty() { Gate::Open } else { Gate::Closed }
    }

    fn is_item(&self, object: &Object, waiter: &Waiter) -> bool {
        object.uid.as_ref() == Some(&waiter.pod.uid)
    }

    fn may_be_nominated(&self, name: &PodName) -> bool {
        self.lister.get(name).is_some_and(|runs| !runs)
    }
}

/// Numbers for what a trace has names for.
#[derive(Default)]
struct Numbers {
    uids: BTreeMap<Uid, u64>,
    classes: Vec<Pod>,
    nodes: RefCell<BTreeMap<String, u64>>,
}

impl Numbers {
    fn waiter(&mut self, pod: &Arc<Pod>) -> Waiter {
        let next = self.uids.len() as u64;
        let uid = *self.uids.entry(pod.uid.clone()).or_insert(next);
        let nominated = (!pod.nominated.is_empty()).then(|| self.node(&pod.nominated));
        Waiter { name: pod.full_name(), uid, class: self.class(pod), nominated, pod: pod.clone() }
    }

    /// Pods that differ only in who they are, or where they are nominated, are of one class.
    fn class(&mut self, pod: &Pod) -> u64 {
        let anyone = Pod {
            name: String::new(),
            uid: Uid("".into()),
            nominated: String::new(),
            ..pod.clone()
        };
        let known = self.classes.iter().position(|class| *class == anyone);
        let number = known.unwrap_or_else(|| {
            self.classes.push(anyone);
            self.classes.len() - 1
        });
        number as u64
    }

    fn node(&self, name: &str) -> NodeId {
        let mut nodes = self.nodes.borrow_mut();
        let next = nodes.len() as u64;
        NodeId(*nodes.entry(name.to_owned()).or_insert(next))
    }
}

fn event(change: Change) -> Event<Object> {
    let Change { event, old, new } = change;
    Event { old, new, ..Event::new(resource(&event.resource), action(&event)) }
}

fn resource(name: &str) -> Resource {
    match name {
        "AssignedPod" => Resource::part("AssignedPod", "Pod"),
        "UnschedulablePod" => Resource::part("UnschedulablePod", "Pod"),
        other => Resource::named(other),
    }
}

/// The same action in Roadstead's numbers, where there is room for more kinds of update.
fn action(event: &TraceEvent) -> Action {
    let mut action = Action::NONE;
    let mut updates = 0;
    for bit in event.action.bits() {
        let kind = trace::Action::UPDATE.bits().position(|kind| kind == bit);
        let name = bit.name().unwrap_or_default();
        action = action
            | match kind.and_then(|kind| u8::try_from(kind).ok()) {
                Some(kind) => Action::update(kind, name),
                None if bit == trace::Action::ADD => Action::ADD,
                None => Action::DELETE,
            };
        updates += usize::from(kind.is_some());
    }
    if updates == trace::Action::UPDATE.bits().count() { action | Action::UPDATE } else { action }
}
