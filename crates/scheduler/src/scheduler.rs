//! The scheduler: told what happens, it says what to do.

mod binding;
mod cycle;
mod failure;
mod laps;
mod nodes;
mod objects;
mod permit;
mod pods;
mod rules;
mod search;
mod sort;
mod telling;
mod wakeups;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Attempt, Config, Place, PluginId, Profile, Queue, Time};

use crate::cache::Cache;
use crate::command::Command;
use crate::framework::{Calls, Context, Framework, Nominations, Verdict};
use crate::memory::Memory;
use crate::observer::{Happening, Observer};
use binding::Binding;
use permit::Permitting;
use wakeups::Wakeups;

pub use objects::Change;
pub use rules::{PodKey, QueuedPod, Rules};
pub use sort::Sort;
pub use wakeups::MissedWakeup;

/// A Kubernetes scheduler as a state machine.
///
/// Notifications come in as method calls: what happened to pods ([`pod_set`](Self::pod_set),
/// [`pod_gone`](Self::pod_gone)), nodes and other objects, and what came of commands
/// ([`bound`](Self::bound), [`written`](Self::written), [`evicted`](Self::evicted)). [`schedule_one`](Self::schedule_one) runs
/// a scheduling cycle, [`commands`](Self::commands) tells what is to be done. It reads no clock
/// and does no I/O: the same calls give the same commands.
pub struct Scheduler<V = ()> {
    queue: Queue<Rules, Sort, V>,
    cache: Cache,
    commands: VecDeque<Command>,
    /// Pods that wait for permission to be bound, by uid.
    permits: BTreeMap<Text, Permitting>,
    /// Pods that are being bound, by uid.
    binding: BTreeMap<Text, Binding>,
    /// When to look at one of these again.
    timers: BTreeSet<(Time, Text)>,
    /// What plugins said of pods that wait for permission, until it is acted upon.
    answers: VecDeque<(Text, &'static str, Verdict)>,
    /// Pods that plugins want to be tried soon.
    to_activate: Vec<PodKey>,
    /// How many of its victims' evictions are not answered yet, by the preemptor's uid.
    evictions: BTreeMap<Text, Evictions>,
    wakeups: Wakeups,
    /// The observer's.
    clock: Option<fn() -> u64>,
    /// Breaks ties between equally good nodes.
    tie_breaker: u64,
    /// Where to start looking for nodes, where not all are looked at.
    start: usize,
    /// What node-local plugins have said; `None` if they are to be asked each time.
    memory: Option<Memory>,
    /// The calls of each profile's plugins; none if nobody wants to know.
    calls: Vec<Arc<Calls>>,
    /// How many cycles there were: decides which are measured, and nothing else.
    cycles: u64,
}

/// An attempt on a pod, and when it began by the observer's clock.
struct Trial {
    attempt: Attempt,
    began: u64,
}

struct Evictions {
    preemptor: Arc<Pod>,
    since: Time,
    open: usize,
    failed: bool,
}

impl<V: Observer> Scheduler<V> {
    /// A scheduler with these profiles, by scheduler name. `seed` decides between equally good
    /// nodes.
    pub fn new(
        mut config: Config,
        profiles: Vec<(Text, Framework)>,
        observer: V,
        seed: u64,
    ) -> Self {
        config.item_resource = crate::events::UNSCHEDULABLE_POD;
        let sort = Sort::of(&profiles);
        let (mut rules, plugins) = Rules::new(profiles);
        let mut observer = observer;
        observer.start(&plugins);
        let clock = observer.clock();
        let calls = match observer.follows_plugins() {
            true => rules.profiles.iter().map(|(_, own)| Arc::new(Calls::new(own))).collect(),
            false => Vec::new(),
        };
        rules.measure_gates(clock, &calls);
        Self {
            queue: Queue::with(config, plugins, rules, sort, observer),
            cache: Cache::new(),
            commands: VecDeque::new(),
            permits: BTreeMap::new(),
            binding: BTreeMap::new(),
            timers: BTreeSet::new(),
            answers: VecDeque::new(),
            to_activate: Vec::new(),
            evictions: BTreeMap::new(),
            wakeups: Wakeups::default(),
            clock,
            tie_breaker: seed,
            start: 0,
            memory: Some(Memory::new()),
            calls,
            cycles: 0,
        }
    }

    /// Whether to remember what plugins said of nodes, as is done from the start. It changes how
    /// long a cycle takes, and never its outcome.
    pub fn remember(&mut self, remember: bool) {
        self.memory = remember.then(Memory::new);
    }

    /// What is to be done, in order; each is told once.
    pub fn commands(&mut self) -> impl Iterator<Item = Command> {
        std::mem::take(&mut self.commands).into_iter()
    }

    /// An eviction that a preemptor had asked for was answered. `Err` says why it failed; that the
    /// victim is gone already is no failure.
    pub fn evicted(&mut self, preemptor: &Text, result: &Result<(), String>, now: Time) {
        let Some(evictions) = self.evictions.get_mut(preemptor) else { return };
        evictions.open = evictions.open.saturating_sub(1);
        evictions.failed |= result.is_err();
        if evictions.open > 0 {
            return;
        }
        let Some(Evictions { preemptor, failed, since, .. }) = self.evictions.remove(preemptor)
        else {
            return;
        };
        let (is_success, took) = (!failed, now - since);
        self.tell_observer(&Happening::PreemptionEnded { is_success, took });
        self.tell_preemption(|preempting| preempting.finish(&preemptor.uid));
        let key = PodKey::of(&preemptor);
        // At its gate it may have slept through its victims' deletion.
        let is_gated = matches!(self.queue.place(&key), Some(Place::Gated { .. }));
        if failed || is_gated {
            self.queue.activate([&key], now);
        }
    }

    /// Does what is due by time alone.
    pub fn on_time(&mut self, now: Time) {
        self.queue.on_time(now);
        while self.timers.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, pod)) = self.timers.pop_first()
        {
            if !self.permission_due(&pod, now) {
                self.look_at_binding(&pod, now);
            }
        }
        self.settle(now);
    }

    /// Whether [`on_time`](Self::on_time) does anything at `now`, if only to move on the timers of
    /// the queue. Where it does not, leaving the call out changes nothing.
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.queue.is_due(now)
            || self.timers.first().is_some_and(|(at, _)| *at <= now)
            || !self.answers.is_empty()
            || !self.to_activate.is_empty()
    }

    /// When [`on_time`](Self::on_time) next has something to do.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        let timer = self.timers.first().map(|(at, _)| *at);
        self.queue.next_wakeup().into_iter().chain(timer).min()
    }

    /// Pods that wait for a scheduler that is none of our profiles, by namespace and name.
    pub fn unclaimed_pods(&self) -> impl ExactSizeIterator<Item = &PodKey> {
        self.queue.policy().unclaimed.iter()
    }

    /// The scheduler that a known pod asks for.
    #[must_use]
    pub fn scheduler_of(&self, pod: &PodKey) -> Option<&str> {
        let known = self.queue.policy().pods.get(pod)?;
        Some(&known.pod.spec().scheduler_name)
    }

    /// The queue, to be looked at.
    #[must_use]
    pub fn queue(&self) -> &Queue<Rules, Sort, V> {
        &self.queue
    }

    /// Who is told of everything.
    pub fn observer_mut(&mut self) -> &mut V {
        self.queue.observer_mut()
    }

    /// The cache, to be looked at.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How many pods have a node and are not bound yet.
    #[must_use]
    pub fn bindings(&self) -> usize {
        self.permits.len() + self.binding.len()
    }

    /// The scheduler name of a profile.
    #[must_use]
    pub fn profile_name(&self, profile: Profile) -> &str {
        let profiles = &self.queue.policy().profiles;
        profiles.get(usize::from(profile.0)).map_or("", |(name, _)| name.as_str())
    }

    /// The scheduler names of all profiles, in their order.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.queue.policy().profiles.iter().map(|(name, _)| name.as_str())
    }

    /// The pod that the cluster shows under that name, and its profile if it is one of ours.
    pub(crate) fn known_pod(&self, key: &PodKey) -> Option<(Arc<Pod>, Option<Profile>)> {
        let rules = self.queue.policy();
        let pod = rules.pods.get(key)?.pod.clone();
        let profile = rules.profile_of(&pod);
        Some((pod, profile))
    }

    /// The names of all pods that the cluster shows, in no particular order.
    pub fn known_pods(&self) -> impl ExactSizeIterator<Item = &PodKey> {
        self.queue.policy().pods.keys()
    }

    /// All pods that the cluster shows, in no particular order.
    pub(crate) fn shown_pods(&self) -> impl Iterator<Item = &Pod> {
        self.queue.policy().pods.values().map(|known| &*known.pod)
    }

    /// Whether the cluster shows a pod of that name.
    pub(crate) fn is_known(&self, key: &PodKey) -> bool {
        self.queue.policy().pods.contains_key(key)
    }

    /// For how many pods a node is kept.
    pub(crate) fn nominated_count(&self, node: &Text) -> usize {
        let node = self.queue.policy().known_node(node);
        node.map_or(0, |node| self.queue.nominated_to(node).count())
    }

    /// The node that is kept for a pod.
    pub(crate) fn nominated_node(&self, key: &PodKey) -> Option<&Text> {
        let rules = self.queue.policy();
        let node = self.queue.nomination(key, rules.pods.get(key)?.incarnation)?;
        rules.node_name(node)
    }

    /// Lets somebody look at the cluster as plugins of that profile see it.
    pub(crate) fn with_context<R>(
        &mut self,
        profile: Profile,
        now: Time,
        look: impl FnOnce(&Framework, &Context<'_>) -> R,
    ) -> Option<R> {
        // Puts the nodes in order, if they are not.
        self.cache.nodes();
        let rules = self.queue.policy();
        let (_, framework) = rules.profiles.get(usize::from(profile.0))?;
        let nominated = Nominated(&self.queue);
        let context = Context {
            nodes: self.cache.nodes_unordered(),
            listers: &rules.listers,
            nominations: &nominated,
            now: i128::from(now.as_nanos()),
        };
        Some(look(framework, &context))
    }

    /// The queue's numbers for these plugins.
    fn plugin_ids<'a>(&self, names: impl IntoIterator<Item = &'a &'static str>) -> Vec<PluginId> {
        names.into_iter().filter_map(|name| self.queue.plugins().id(name)).collect()
    }

    /// What the cluster shows of a pod, if it is still the same and on no node.
    fn current(&self, pod: &Pod) -> Option<Arc<Pod>> {
        let known = self.queue.policy().pods.get(&PodKey::of(pod))?;
        let same = known.pod.uid == pod.uid && known.pod.node_name.is_none();
        same.then(|| known.pod.clone())
    }
}

/// Who is nominated where, as the queue knows it.
struct Nominated<'a, V>(&'a Queue<Rules, Sort, V>);

impl<V> Nominations for Nominated<'_, V> {
    fn to(&self, node: &Text) -> Vec<Arc<Pod>> {
        // Mostly nobody is nominated to any node, and this is asked about each of them.
        if self.0.nominated_nodes().next().is_none() {
            return Vec::new();
        }
        let rules = self.0.policy();
        let Some(node) = rules.known_node(node) else { return Vec::new() };
        // Also those in flight, whom the queue does not list as waiting.
        let known = |key: &PodKey| rules.pods.get(key).map(|known| known.pod.clone());
        self.0.nominated_to(node).filter_map(|nominated| known(nominated.key)).collect()
    }

    fn nodes(&self) -> Vec<Text> {
        let rules = self.0.policy();
        self.0.nominated_nodes().filter_map(|node| rules.node_name(node).cloned()).collect()
    }
}

#[cfg(test)]
mod tests;
