//! Pods as an informer hands them over, and the queue items that are made of them.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};
use roadstead_queue::{
    Action, Ask, Config, Event, Hint, HintError, Item, Plugin, PluginId, Plugins, Policy, Queue,
    Resource,
};

/// The fields of a pod that a scheduler looks at.
pub(crate) struct Pod {
    pub(crate) name: PodName,
    uid: Box<str>,
    priority: i32,
    scheduler_name: Box<str>,
    labels: Vec<(Box<str>, Box<str>)>,
    containers: Vec<Container>,
    node_selector: Vec<(Box<str>, Box<str>)>,
    tolerations: Vec<Toleration>,
    affinity: Option<AffinityTerm>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct PodName {
    namespace: Box<str>,
    name: Box<str>,
}

#[derive(PartialEq, Eq, Hash)]
struct Container {
    image: Box<str>,
    milli_cpu: u64,
    memory: u64,
}

#[derive(PartialEq, Eq, Hash)]
struct Toleration {
    key: Box<str>,
    value: Box<str>,
    effect: Effect,
}

#[derive(PartialEq, Eq, Hash)]
enum Effect {
    NoSchedule,
}

#[derive(PartialEq, Eq, Hash)]
struct AffinityTerm {
    match_labels: Vec<(Box<str>, Box<str>)>,
    topology_key: Box<str>,
}

/// Pod number `number`, made from one of 100 templates.
pub(crate) fn pod(number: u64, with_affinity: bool) -> Arc<Pod> {
    let t = number % TEMPLATES;
    let pair = |key: &str, value: String| (key.into(), value.into());
    let container = |image: String, milli_cpu, mebibytes: u64| Container {
        image: image.into(),
        milli_cpu,
        memory: mebibytes << 20,
    };
    Arc::new(Pod {
        name: PodName {
            namespace: format!("ns-{}", t % 10).into(),
            name: format!("pod-{number}").into(),
        },
        uid: format!("00000000-0000-4000-8000-{number:012x}").into(),
        priority: (number * 7919 % 10) as i32,
        scheduler_name: "default-scheduler".into(),
        labels: vec![pair("app", format!("app-{t}")), pair("tier", format!("tier-{}", t % 3))],
        containers: vec![
            container(format!("registry.example/app-{t}:v1"), 100 + 10 * t, 128 + t),
            container("registry.example/sidecar:v1".to_owned(), 10, 16),
        ],
        node_selector: vec![pair("pool", format!("pool-{}", t % 5))],
        tolerations: vec![Toleration {
            key: "dedicated".into(),
            value: format!("team-{}", t % 7).into(),
            effect: Effect::NoSchedule,
        }],
        affinity: with_affinity.then(|| AffinityTerm {
            match_labels: vec![pair("app", format!("peer-{t}"))],
            topology_key: "kubernetes.io/hostname".into(),
        }),
    })
}

/// How many templates pods are made from.
pub(crate) const TEMPLATES: u64 = 100;

/// What a scheduler works out once for all pods with equal needs.
pub(crate) struct Class {
    number: u64,
    milli_cpu: u64,
    memory: u64,
    example: Arc<Pod>,
}

/// A pod in the queue.
#[derive(Clone)]
pub(crate) struct Waiter {
    pod: Arc<Pod>,
    class: Arc<Class>,
    uid: u64,
}

impl Item for Waiter {
    type Key = PodName;

    fn key(&self) -> &PodName {
        &self.pod.name
    }

    fn priority(&self) -> i32 {
        self.pod.priority
    }

    fn incarnation(&self) -> u64 {
        self.uid
    }

    fn class(&self) -> Option<u64> {
        Some(self.class.number)
    }
}

impl Waiter {
    /// As if no other pod had its needs.
    pub(crate) fn in_a_class_of_its_own(mut self) -> Self {
        let Class { milli_cpu, memory, ref example, .. } = *self.class;
        let number = self.uid + TEMPLATES;
        self.class = Arc::new(Class { number, milli_cpu, memory, example: Arc::clone(example) });
        self
    }
}

/// Every class there is, found by the fields that make one.
#[derive(Default)]
pub(crate) struct Classes {
    table: HashTable<(u64, Arc<Class>)>,
    hasher: DefaultHashBuilder,
}

impl Classes {
    /// Makes a queue item of a pod's fields, its class included.
    pub(crate) fn waiter(&mut self, pod: &Arc<Pod>) -> Waiter {
        let hash = self.hasher.hash_one(Needs(pod));
        let known = self.table.find(hash, |(_, class)| Needs(&class.example) == Needs(pod));
        let class = match known {
            Some((_, class)) => Arc::clone(class),
            None => self.make(hash, pod),
        };
        Waiter { pod: Arc::clone(pod), class, uid: number_of(&pod.uid) }
    }

    fn make(&mut self, hash: u64, pod: &Arc<Pod>) -> Arc<Class> {
        let class = Arc::new(Class {
            number: self.table.len() as u64,
            milli_cpu: pod.containers.iter().map(|container| container.milli_cpu).sum(),
            memory: pod.containers.iter().map(|container| container.memory).sum(),
            example: Arc::clone(pod),
        });
        self.table.insert_unique(hash, (hash, Arc::clone(&class)), |(hash, _)| *hash);
        class
    }
}

/// The fields of a pod that make its class: all but who it is.
#[derive(PartialEq, Eq)]
struct Needs<'a>(&'a Pod);

impl PartialEq for Pod {
    fn eq(&self, other: &Self) -> bool {
        self.priority == other.priority
            && self.name.namespace == other.name.namespace
            && self.scheduler_name == other.scheduler_name
            && self.labels == other.labels
            && self.containers == other.containers
            && self.node_selector == other.node_selector
            && self.tolerations == other.tolerations
            && self.affinity == other.affinity
    }
}

impl Eq for Pod {}

impl Hash for Needs<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let pod = self.0;
        pod.name.namespace.hash(state);
        pod.priority.hash(state);
        pod.labels.hash(state);
        pod.containers.hash(state);
        // Enough to tell classes apart; the rest is left to the comparison.
    }
}

/// A uid's hexadecimal digits as a number, folded to 64 bits.
fn number_of(uid: &str) -> u64 {
    let mut number = 0u128;
    for byte in uid.bytes() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => continue,
        };
        number = number << 4 | u128::from(digit);
    }
    number as u64 ^ (number >> 64) as u64
}

/// What events carry.
pub(crate) enum Object {
    Node { milli_cpu: u64, memory: u64 },
    Pod { namespace: Box<str>, labels: Vec<(Box<str>, Box<str>)> },
}

pub(crate) const NODE: Resource = Resource::new("Node");
pub(crate) const POD: Resource = Resource::new("Pod");
pub(crate) const ASSIGNED_POD: Resource = Resource::part("AssignedPod", "Pod");
pub(crate) const ALLOCATABLE: Action = Action::update(0, "UpdateNodeAllocatable");
pub(crate) const CONDITION: Action = Action::update(3, "UpdateNodeCondition");

/// Two of kube-scheduler's plugins, as far as the benchmarks ask them.
pub(crate) struct Rules {
    pub(crate) fit: PluginId,
    pub(crate) affinity: PluginId,
}

impl Policy for Rules {
    type Item = Waiter;
    type Object = Object;

    fn hint(
        &self,
        plugin: PluginId,
        waiter: &Waiter,
        event: &Event<Object>,
    ) -> Result<Hint, HintError> {
        let helps = if plugin == self.fit { has_room(waiter, event) } else { wants(waiter, event) };
        Ok(if helps { Hint::Queue } else { Hint::Skip })
    }
}

/// Whether the node now has room for the pod, and more of what it asks for than before.
fn has_room(waiter: &Waiter, event: &Event<Object>) -> bool {
    let class = &waiter.class;
    let Some(Object::Node { milli_cpu, memory }) = &event.new else { return true };
    if class.milli_cpu > *milli_cpu || class.memory > *memory {
        return false;
    }
    match &event.old {
        Some(Object::Node { milli_cpu: cpu_before, memory: memory_before }) => {
            milli_cpu > cpu_before || memory > memory_before
        }
        _ => true,
    }
}

/// Whether the pod that was bound is one that the waiting pod wants to be near.
fn wants(waiter: &Waiter, event: &Event<Object>) -> bool {
    let (Some(term), Some(Object::Pod { namespace, labels })) = (&waiter.pod.affinity, &event.new)
    else {
        return true;
    };
    waiter.pod.name.namespace == *namespace
        && term.match_labels.iter().all(|wanted| labels.contains(wanted))
}

/// An empty queue with the two plugins and their registrations.
pub(crate) fn queue() -> Queue<Rules> {
    let mut plugins = Plugins::new();
    let fit = plugins.add(
        Plugin::new("NodeResourcesFit").on(NODE, Action::ADD | ALLOCATABLE, Ask::Class).on(
            POD,
            Action::DELETE,
            Ask::Class,
        ),
    );
    let affinity = plugins.add(
        Plugin::new("InterPodAffinity").on(POD, Action::ADD | Action::DELETE, Ask::Class).on(
            NODE,
            Action::ADD,
            Ask::Class,
        ),
    );
    Queue::new(Config::default(), plugins, Rules { fit, affinity })
}
