//! The scheduler: told what happens, it says what to do.

mod cycle;
mod failure;
mod nodes;
mod objects;
mod pods;
mod rules;
mod sort;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Config, Finished, Observer, PluginId, Queue, Rejection, Time};

use crate::cache::Cache;
use crate::command::Command;
use crate::events::Object;
use crate::framework::{Framework, Nominations};

pub use objects::Change;
pub use rules::{PodKey, QueuedPod, Rules};
pub use sort::Sort;

/// A Kubernetes scheduler as a state machine.
///
/// Notifications come in as method calls: what happened to pods ([`pod_set`](Self::pod_set),
/// [`pod_gone`](Self::pod_gone)), nodes and other objects, and what came of commands
/// ([`bound`](Self::bound), [`evicted`](Self::evicted)). [`schedule_one`](Self::schedule_one) runs
/// a scheduling cycle, [`commands`](Self::commands) tells what is to be done. It reads no clock
/// and does no I/O: the same calls give the same commands.
pub struct Scheduler<V = ()> {
    queue: Queue<Rules, Sort, V>,
    cache: Cache,
    commands: VecDeque<Command>,
    /// Pods whose binding was asked for, by uid.
    binding: BTreeMap<Text, Binding>,
    /// How many of its victims' evictions are not answered yet, by the preemptor's uid.
    evictions: BTreeMap<Text, Evictions>,
    /// Breaks ties between equally good nodes.
    tie_breaker: u64,
}

/// A binding under way.
struct Binding {
    pod: Arc<Pod>,
    node: Text,
    finished: Finished<QueuedPod>,
}

struct Evictions {
    preemptor: Arc<Pod>,
    open: usize,
    failed: bool,
}

impl<V: Observer<QueuedPod, Object>> Scheduler<V> {
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
        let (rules, plugins) = Rules::new(profiles);
        Self {
            queue: Queue::with(config, plugins, rules, sort, observer),
            cache: Cache::new(),
            commands: VecDeque::new(),
            binding: BTreeMap::new(),
            evictions: BTreeMap::new(),
            tie_breaker: seed,
        }
    }

    /// What is to be done, in order; each is told once.
    pub fn commands(&mut self) -> impl Iterator<Item = Command> {
        std::mem::take(&mut self.commands).into_iter()
    }

    /// A binding was answered. `Err` says why it failed.
    pub fn bound(&mut self, uid: &Text, result: Result<(), String>, now: Time) {
        let Some(Binding { pod, node, finished }) = self.binding.remove(uid) else { return };
        match result {
            Ok(()) => self.note_scheduled(&pod, &node),
            Err(message) => self.binding_failed(&pod, finished, &message, now),
        }
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
        let Some(Evictions { preemptor, failed, .. }) = self.evictions.remove(preemptor) else {
            return;
        };
        self.tell_preemption(|preempting| preempting.finish(&preemptor.uid));
        if failed {
            self.queue.activate([&PodKey::of(&preemptor)], now);
        }
    }

    /// Does what is due by time alone.
    pub fn on_time(&mut self, now: Time) {
        self.queue.on_time(now);
    }

    /// When [`on_time`](Self::on_time) next has something to do.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Time> {
        self.queue.next_wakeup()
    }

    /// The queue, to be looked at.
    #[must_use]
    pub fn queue(&self) -> &Queue<Rules, Sort, V> {
        &self.queue
    }

    /// The cache, to be looked at.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How many bindings are not answered yet.
    #[must_use]
    pub fn bindings(&self) -> usize {
        self.binding.len()
    }

    /// The queue's numbers for these plugins.
    fn plugin_ids<'a>(&self, names: impl IntoIterator<Item = &'a &'static str>) -> Vec<PluginId> {
        names.into_iter().filter_map(|name| self.queue.plugins().id(name)).collect()
    }

    /// A binding came to nothing: the pod is forgotten and tried again after a backoff.
    fn binding_failed(
        &mut self,
        pod: &Arc<Pod>,
        finished: Finished<QueuedPod>,
        message: &str,
        now: Time,
    ) {
        self.forget(pod, now);
        let text = format!("running Bind plugin \"DefaultBinder\": {message}");
        if let Some(current) = self.current(pod) {
            let newest = self.queue.policy_mut().queued(&current);
            let rejection = Rejection { newest, ..Rejection::error() };
            // It fails only if another pod of that name waits, which then goes first.
            let _ = self.queue.reject_finished(finished, rejection, now);
            self.report_failure(
                &current,
                crate::framework::Nomination::Clear,
                "SchedulerError",
                &text,
            );
        }
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
        let rules = self.0.policy();
        let Some(node) = rules.known_node(node) else { return Vec::new() };
        // Also those in flight, whom the queue does not list as waiting.
        let known = |key: &PodKey| rules.pods.get(key).map(|known| known.pod.clone());
        self.0.nominated_to(node).filter_map(|nominated| known(nominated.key)).collect()
    }
}

#[cfg(test)]
mod tests;
