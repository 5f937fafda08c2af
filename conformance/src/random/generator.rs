//! Made-up operations, in about the proportions of the recorded traces.

use super::header::PLUGINS;
use super::{Source, pods};
use crate::caller::Caller;
use crate::reference::Reference;
use crate::subject::Subject;
use crate::trace::{Action, Event, Header, Labels, Op, Pod, PodName, State};

pub(super) fn operations(source: &mut dyn Source, header: &Header, count: usize) -> Vec<Op> {
    let mut generator = Generator {
        max_pods: source.between(3, 18) as usize,
        source,
        header,
        caller: Caller::open(header),
        ops: Vec::with_capacity(count + 8),
        unscheduled: Vec::new(),
        assigned: Vec::new(),
        deleted: Vec::new(),
        made: 0,
        stamped_ms: None,
    };
    while generator.ops.len() < count && !generator.source.is_spent() {
        generator.step();
    }
    generator.ops
}

struct Generator<'a> {
    source: &'a mut dyn Source,
    header: &'a Header,
    /// A queue that goes through it all, so that the next operation can be chosen to matter.
    caller: Caller<Reference>,
    ops: Vec<Op>,
    max_pods: usize,
    /// Newest versions of pods that were not deleted, waiting, in flight or lost.
    unscheduled: Vec<Pod>,
    /// Newest versions of pods on nodes.
    assigned: Vec<Pod>,
    /// Names that may be made anew.
    deleted: Vec<PodName>,
    /// How many pods were made; each has the number as its uid.
    made: usize,
    /// When a pod last got its timestamp.
    stamped_ms: Option<u64>,
}

impl<'a> Generator<'a> {
    fn step(&mut self) {
        match self.source.below(100) {
            0..=11 => self.advance(),
            12..=15 => self.advance_to_a_deadline(),
            16..=26 => self.emit(Op::Pop {}),
            27..=34 => self.event(),
            35..=40 => self.event_for_someone(),
            41..=48 => self.update(),
            49..=53 => self.update_for_someone(),
            54..=67 => self.reject(),
            68..=75 => self.add(),
            76..=78 => self.nominated(),
            79..=81 => self.emit(Op::FlushBackoff {}),
            82..=83 => self.emit(Op::FlushUnschedulable {}),
            84..=86 => self.delete(),
            87..=89 => self.activate(),
            90..=92 => self.nominate(),
            93..=94 => self.done(),
            95 => self.bind(),
            96..=97 => self.assigned_add(),
            98 => self.assigned_update(),
            _ => self.update_of_nobody(),
        }
    }

    /// Does an operation here too. One that stamps a pod is put off by a moment if it must be.
    fn emit(&mut self, op: Op) {
        let stamps = match &op {
            Op::Add { .. } | Op::Reject { .. } => true,
            Op::Update { pod } => self.caller.subject().is_new_by(&self.caller.update_to(pod)),
            _ => false,
        };
        if stamps {
            if self.stamped_ms == Some(self.caller.now_ms()) {
                let ms = u64::from(self.source.between(1, 3));
                self.emit(Op::Advance { ms });
            }
            self.stamped_ms = Some(self.caller.now_ms());
        }
        self.caller.apply(&op);
        self.ops.push(op);
    }

    fn advance(&mut self) {
        let ms = match self.source.below(10) {
            0..=2 => self.source.between(1, 40),
            3..=6 => self.source.between(1, 1500),
            7..=8 => self.source.between(1000, 12_000),
            _ => 1000 - (self.caller.now_ms() % 1000) as u32,
        };
        self.emit(Op::Advance { ms: u64::from(ms) });
    }

    /// Moves to the moment when something is due for a pod that waits, or right beside it, and
    /// mostly lets it happen.
    fn advance_to_a_deadline(&mut self) {
        let waiting: Vec<_> = self.caller.state().pods.into_keys().collect();
        let Some(name) = self.source.pick(&waiting) else {
            return self.advance();
        };
        let Some(deadline_ms) = self.caller.subject().deadline_ms(name) else {
            return self.advance();
        };
        // With windows, what is due in a second is free at the next.
        let at_ms = match self.source.below(3) {
            0 => deadline_ms - deadline_ms % 1000 + 1000,
            _ => deadline_ms,
        };
        let at_ms = (at_ms + u64::from(self.source.below(3))).saturating_sub(1);
        self.emit(Op::Advance { ms: at_ms.saturating_sub(self.caller.now_ms()).max(1) });
        match self.source.below(4) {
            0 => self.emit(Op::FlushBackoff {}),
            1 => self.emit(Op::FlushUnschedulable {}),
            2 => self.event(),
            _ => {}
        }
    }

    fn add(&mut self) {
        if self.unscheduled.len() >= self.max_pods {
            return self.update();
        }
        let is_anew = self.deleted.len() > 4 || self.source.chance(40);
        let pod = match self.deleted_index() {
            Some(index) if is_anew => {
                let name = self.deleted.swap_remove(index);
                let (namespace, name) = name.parts();
                self.made += 1;
                pods::pod(self.source, namespace, name, self.made)
            }
            _ => self.new_pod(),
        };
        self.unscheduled.push(pod.clone());
        self.emit(Op::Add { pod });
    }

    /// A name to be used again: that is when queues and attempts can be mixed up. It may be in
    /// flight, but it must not wait: that can be after a pod was deleted and then rejected, and
    /// an arrival is of a pod that is new to the queue.
    fn deleted_index(&mut self) -> Option<usize> {
        let index = self.source.index(&self.deleted)?;
        let is_free = self.caller.subject().waiting(&self.deleted[index]).is_none();
        is_free.then_some(index)
    }

    /// An update of a pod never heard of before, which adds it.
    fn update_of_nobody(&mut self) {
        if self.unscheduled.len() >= self.max_pods {
            return self.update();
        }
        let pod = self.new_pod();
        self.unscheduled.push(pod.clone());
        self.emit(Op::Update { pod });
    }

    fn new_pod(&mut self) -> Pod {
        self.made += 1;
        let namespace = self.source.one_of(pods::NAMESPACES);
        let name = format!("p{}", self.made);
        pods::pod(self.source, namespace, &name, self.made)
    }

    fn reject(&mut self) {
        let Some(pod) = self.attempt() else {
            return self.emit(Op::Pop {});
        };
        let mut unschedulable = Vec::new();
        let mut pending = Vec::new();
        let (many, few) = self.source.one_of([(0, 0), (1, 0), (1, 0), (2, 0), (0, 1), (1, 1)]);
        for _ in 0..many {
            unschedulable.push(self.plugin());
        }
        for _ in 0..few {
            pending.push(self.plugin());
        }
        unschedulable.sort();
        unschedulable.dedup();
        let cycle = if !self.header.queueing_hints && self.source.chance(50) {
            let now = self.caller.state().cycle;
            Some((now - i64::from(self.source.one_of([0, 0, 1, 2, 5]))).max(1))
        } else {
            None
        };
        self.emit(Op::Reject { pod, unschedulable, pending, cycle });
    }

    /// A plugin that registered for something, for the most part.
    fn plugin(&mut self) -> String {
        let registered = self.source.chance(85);
        match self.source.pick(&self.header.hints) {
            Some(hint) if registered => hint.plugin.clone(),
            _ => self.source.one_of(PLUGINS).0.to_owned(),
        }
    }

    /// Again and again, maybe.
    fn done(&mut self) {
        match self.attempt() {
            Some(pod) => self.emit(Op::Done { pod }),
            None => self.emit(Op::Pop {}),
        }
    }

    /// A pod that was popped gets its node.
    fn bind(&mut self) {
        let Some(name) = self.attempt() else {
            return self.emit(Op::Pop {});
        };
        let Some(index) = self.position(&name) else {
            return self.emit(Op::Done { pod: name });
        };
        if self.assigned.len() >= MAX_ASSIGNED {
            return self.emit(Op::Done { pod: name });
        }
        let mut pod = self.unscheduled.swap_remove(index);
        pod.node = pods::node(self.source).to_owned();
        self.assigned.push(pod.clone());
        self.emit(Op::Done { pod: name });
        self.emit(Op::AssignedAdd { pod });
    }

    /// The name of an attempt that may still fail. One that got its node does not.
    fn attempt(&mut self) -> Option<PodName> {
        let is_bound = |name: &PodName| self.assigned.iter().any(|pod| pod.full_name() == *name);
        let names: Vec<_> = self.caller.attempts().filter(|name| !is_bound(name)).collect();
        self.source.pick(&names).map(|name| (*name).clone())
    }

    fn update(&mut self) {
        let Some(index) = self.source.index(&self.unscheduled) else {
            return self.advance();
        };
        let mut pod = self.unscheduled[index].clone();
        pods::change(self.source, &mut pod);
        self.update_to(index, pod);
    }

    /// An update of a pod of the pool that those who rejected it want to hear of, maybe for
    /// several reasons at once.
    fn update_for_someone(&mut self) {
        let state = self.caller.state();
        let name = self.source.pick(&state.unschedulable);
        let Some(index) = name.and_then(|name| self.position(name)) else {
            return self.update();
        };
        let mut pod = self.unscheduled[index].clone();
        for rejector in rejectors(&state, &pod.full_name()) {
            for registered in self.registered(rejector) {
                if registered.resource == "Pod" && self.source.chance(80) {
                    pods::bring_about(self.source, &mut pod, registered.action);
                }
            }
        }
        if self.source.chance(30) {
            pods::change(self.source, &mut pod);
        }
        self.update_to(index, pod);
    }

    fn update_to(&mut self, index: usize, pod: Pod) {
        let update = self.caller.update_to(&pod);
        if self.caller.subject().is_in_two_places_by(self.caller.now_ms(), &update) {
            return;
        }
        self.unscheduled[index] = pod.clone();
        self.emit(Op::Update { pod });
    }

    fn position(&self, name: &PodName) -> Option<usize> {
        self.unscheduled.iter().position(|pod| pod.full_name() == *name)
    }

    fn delete(&mut self) {
        if let Some(index) = self.source.index(&self.unscheduled) {
            let pod = self.unscheduled.swap_remove(index).full_name();
            self.deleted.push(pod.clone());
            self.emit(Op::Delete { pod });
        }
    }

    fn activate(&mut self) {
        let mut pods = Vec::new();
        for _ in 0..self.source.one_of([1, 1, 2, 3]) {
            let name = if self.source.chance(8) { nobody() } else { self.known() };
            pods.extend(name.filter(|name| !pods.contains(name)));
        }
        self.emit(Op::Activate { pods });
    }

    fn nominate(&mut self) {
        let Some(pod) = self.known() else {
            return self.advance();
        };
        let node = self.source.one_of([Some("node-1"), Some("node-2"), Some(""), None]);
        if self.source.chance(20) {
            return self.emit(Op::Unnominate { pod });
        }
        self.emit(Op::Nominate { pod, node: node.map(str::to_owned) });
    }

    fn nominated(&mut self) {
        let node = self.source.one_of(["node-1", "node-1", "node-2", "node-2", ""]);
        self.emit(Op::Nominated { node: node.to_owned() });
    }

    /// A pod that there is or was, mostly one that is still to be scheduled.
    fn known(&mut self) -> Option<PodName> {
        match self.source.below(10) {
            0 => self.source.pick(&self.deleted).cloned(),
            1 => self.source.pick(&self.assigned).map(Pod::full_name),
            _ => self.source.pick(&self.unscheduled).map(Pod::full_name),
        }
    }

    fn event(&mut self) {
        let (mut resource, mut action) = self.kind_of_event();
        if self.source.chance(5) {
            // Several things at once, which may have no name.
            resource = "Node";
            action = action.or(self.kind_of_event().1);
        }
        let percent_new = if resource == "*" { 10 } else { 80 };
        let labels = self.source.chance(percent_new).then(|| pods::labels(self.source));
        self.emit_event(Event::new(resource, action), labels);
    }

    fn kind_of_event(&mut self) -> (&'static str, Action) {
        let mut left = self.source.below(EVENTS.iter().map(|(often, ..)| often).sum());
        for (often, resource, action) in EVENTS {
            match left.checked_sub(often) {
                Some(rest) => left = rest,
                None => return (resource, action),
            }
        }
        unreachable!("a number below a sum is in one of its parts")
    }

    /// An event that one of those who rejected a pod of the pool wants to hear.
    fn event_for_someone(&mut self) {
        let state = self.caller.state();
        let Some(name) = self.source.pick(&state.unschedulable) else {
            return self.event();
        };
        let Some(&rejector) = self.source.pick(&rejectors(&state, name)) else {
            return self.event();
        };
        let Some(registered) = self.source.pick(self.registered(rejector)) else {
            return self.event();
        };
        let resource = match registered.resource.as_str() {
            "Pod" => self.source.one_of(["AssignedPod", "UnschedulablePod"]),
            "*" => "Node",
            other => other,
        };
        let bits: Vec<_> = registered.action.bits().collect();
        let Some(&action) = self.source.pick(&bits) else {
            return self.event();
        };
        let labels = match self.position(name) {
            Some(index) if self.source.chance(50) => self.unscheduled[index].labels.clone(),
            _ => pods::labels(self.source),
        };
        self.emit_event(Event::new(resource, action), Some(labels));
    }

    /// What a plugin registered for.
    fn registered(&self, plugin: &str) -> &'a [Event] {
        let hint = self.header.hints.iter().find(|it| it.plugin == *plugin);
        hint.map_or(&[], |hint| &hint.events)
    }

    fn emit_event(&mut self, event: Event, labels: Option<Labels>) {
        let old_labels = self.source.chance(40).then(|| pods::labels(self.source));
        let max_priority = self.source.chance(10).then(|| self.source.one_of([-1, 0, 5, 10]));
        self.emit(Op::Event { event, labels, old_labels, max_priority });
    }

    fn assigned_add(&mut self) {
        if self.assigned.len() >= MAX_ASSIGNED {
            return self.assigned_update();
        }
        self.made += 1;
        let name = format!("b{}", self.made);
        let pod = pods::assigned(self.source, &name, self.made);
        self.assigned.push(pod.clone());
        self.emit(Op::AssignedAdd { pod });
    }

    fn assigned_update(&mut self) {
        let Some(index) = self.source.index(&self.assigned) else {
            return self.assigned_add();
        };
        let pod = &mut self.assigned[index];
        pods::change(self.source, pod);
        let pod = pod.clone();
        self.emit(Op::AssignedUpdate { pod });
    }
}

/// The plugins that a pod waits for, of either kind.
fn rejectors<'s>(state: &'s State, name: &PodName) -> Vec<&'s String> {
    let pod = state.pods.get(name);
    pod.map_or_else(Vec::new, |pod| pod.plugins.iter().chain(&pod.pending).collect())
}

/// Someone whom nobody ever heard of.
fn nobody() -> Option<PodName> {
    PodName::try_from("ns/nobody".to_owned()).ok()
}

/// More pods on nodes than this show nothing new, and a long sequence would collect them.
const MAX_ASSIGNED: usize = 8;

/// What happens to whom, and how often in comparison.
#[rustfmt::skip]
const EVENTS: [(u32, &str, Action); 28] = [
    (5, "Node",                          Action::ADD),
    (2, "Node",                          Action::DELETE),
    (2, "Node",                          Action::UPDATE_NODE_ALLOCATABLE),
    (3, "Node",                          Action::UPDATE_NODE_LABEL),
    (1, "Node",                          Action::UPDATE_NODE_TAINT),
    (1, "Node",                          Action::UPDATE_NODE_CONDITION),
    (1, "Node",                          Action::UPDATE_NODE_ANNOTATION),
    (1, "Node",                          Action::UPDATE),
    (1, "AssignedPod",                   Action::ADD),
    (2, "AssignedPod",                   Action::DELETE),
    (3, "AssignedPod",                   Action::UPDATE_POD_LABEL),
    (1, "AssignedPod",                   Action::UPDATE_POD_SCALE_DOWN),
    (2, "AssignedPod",                   Action::UPDATE_POD_TOLERATION),
    (1, "AssignedPod",                   Action::UPDATE_POD_GENERATED_RESOURCE_CLAIM),
    (1, "AssignedPod",                   Action::UPDATE),
    (1, "UnschedulablePod",              Action::ADD),
    (1, "UnschedulablePod",              Action::DELETE),
    (1, "UnschedulablePod",              Action::UPDATE_POD_LABEL),
    (1, "UnschedulablePod",              Action::UPDATE_POD_SCALE_DOWN),
    (1, "UnschedulablePod",              Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED),
    (1, "UnschedulablePod",              Action::UPDATE),
    (1, "PersistentVolumeClaim",         Action::ADD),
    (1, "PersistentVolumeClaim",         Action::UPDATE),
    (1, "resource.k8s.io/ResourceClaim", Action::UPDATE),
    (1, "storage.k8s.io/CSINode",        Action::UPDATE),
    (2, "*",                             Action::ALL),
    (1, "*",                             Action::ADD),
    (1, "*",                             Action::UPDATE),
];
