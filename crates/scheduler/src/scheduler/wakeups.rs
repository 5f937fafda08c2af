//! Looks for pods that sleep though they could be placed: wake-ups that were missed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Item, Place, Profile, Rejectors, Time};

use super::{PodKey, Scheduler};
use crate::events::ClusterEvent;
use crate::framework::{CycleState, Framework};
use crate::observer::{Happening, Observer};

/// A pod that waits for an event though it would be placed if it were tried: a defect of whoever
/// rejected it, whose events or hint have missed the news.
#[derive(Clone, Debug)]
pub struct MissedWakeup {
    /// The pod. It is tried again now.
    pub pod: Arc<Pod>,
    /// A node that would take it.
    pub node: Text,
    /// Who rejected it.
    pub rejectors: Vec<String>,
    /// What happened since it was last seen not to fit anywhere, oldest first: one of these
    /// should have woken it.
    pub events: Vec<String>,
}

/// What the search for missed wake-ups has seen.
#[derive(Default)]
pub(super) struct Wakeups {
    /// Whether anybody looks: only then is anything noted.
    is_on: bool,
    /// The last events, each with its number.
    recent: VecDeque<(u64, String)>,
    event: u64,
    /// Which event was the last when a class was seen not to fit anywhere.
    looked: BTreeMap<(u16, u64), u64>,
    /// Pods of which everyone will hear more: they are being bound, or leave. What they are about
    /// to change counts already, in part. By uid, numbered.
    expected: BTreeMap<Text, u64>,
    expectations: u64,
    /// Pods that would fit, but perhaps only because of pods that are expected to be heard of.
    suspects: BTreeMap<Text, Suspect>,
    /// Where the last search ended.
    cursor: u64,
}

/// A pod that would fit.
struct Suspect {
    /// The last of the pods that were expected to be heard of: once all of them were, their events
    /// have come.
    last: u64,
    attempts: u32,
}

/// How many events are kept to tell which was missed.
const EVENTS_KEPT: usize = 32;
/// Of how many classes it is known when they were looked at.
const CLASSES_KEPT: usize = 10_000;

impl<V: Observer> Scheduler<V> {
    /// Tries out parked pods, of at most `budget` classes, on every node and without anything
    /// remembered. Whoever would fit, with no news under way for it, is reported and tried again.
    ///
    /// It costs as much as a naive cycle for each class that it looks at. Call it again and again:
    /// it goes on where it ended.
    pub fn verify_wakeups(&mut self, budget: usize, now: Time) -> Vec<MissedWakeup> {
        self.wakeups.is_on = true;
        self.wakeups.bound_memory();
        let parked = self.parked_classes(budget);
        let mut missed = Vec::new();
        for (key, profile, pod) in parked {
            let class = (profile.0, pod.class.id().get());
            let Some(node) = self.node_for(&pod, profile, now) else {
                self.wakeups.looked.insert(class, self.wakeups.event);
                self.wakeups.suspects.remove(&pod.uid);
                continue;
            };
            if self.is_news_under_way(&pod, &key) {
                continue;
            }
            let seen = self.wakeups.looked.get(&class).copied().unwrap_or(0);
            let since = self.wakeups.recent.iter().filter(|(number, _)| *number > seen);
            let events = since.map(|(_, label)| label.clone()).collect();
            let rejectors = self.rejector_names(&key);
            let found = MissedWakeup { pod, node, rejectors, events };
            self.tell_observer(&Happening::WakeupMissed(&found));
            self.wakeups.suspects.remove(&found.pod.uid);
            missed.push(found);
            self.queue.activate([&key], now);
        }
        missed
    }

    /// Tells the queue that something happened.
    pub(super) fn announce(&mut self, event: ClusterEvent, now: Time) {
        self.wakeups.note(&event);
        let before = self.ticks();
        // Kept apart: the event itself goes into the queue's log.
        let label = self.clock.map(|_| event.label().to_string());
        self.queue.on_event(event, now);
        if let Some(label) = label {
            self.handled(&label, before);
        }
    }

    /// Something that the cluster told has been dealt with since then.
    pub(super) fn handled(&mut self, event: &str, before: u64) {
        let cost = self.ticks().saturating_sub(before);
        self.tell_observer(&Happening::EventHandled { event, cost });
    }

    /// A parked pod of each class, in order of arrival from where the last search ended.
    fn parked_classes(&mut self, budget: usize) -> Vec<(PodKey, Profile, Arc<Pod>)> {
        let rules = self.queue.policy();
        let is_filtered = |profile: Profile, rejectors: &Rejectors| {
            let framework = rules.profiles.get(usize::from(profile.0)).map(|(_, known)| &**known);
            let mut names =
                rejectors.unschedulable().iter().map(|id| self.queue.plugins().name(*id));
            framework.is_some_and(|framework| names.all(|name| framework.rejects_by_node(name)))
        };
        let mut classes = BTreeSet::new();
        let mut parked: Vec<_> = self
            .queue
            .pool()
            .filter(|waiting| waiting.place() == Place::Unschedulable)
            .filter(|waiting| is_filtered(waiting.item().profile(), waiting.rejectors()))
            .map(|waiting| waiting.item())
            .filter(|item| classes.insert((item.profile().0, item.pod().class.id().get())))
            .map(|item| (item.incarnation(), item))
            .collect();
        parked.sort_by_key(|(incarnation, _)| *incarnation);
        let from = parked.partition_point(|(incarnation, _)| *incarnation <= self.wakeups.cursor);
        parked.rotate_left(from);
        parked.truncate(budget);
        let cursor = parked.last().map_or(0, |(incarnation, _)| *incarnation);
        let found = parked
            .into_iter()
            .map(|(_, item)| (item.key().clone(), item.profile(), item.pod().clone()))
            .collect();
        self.wakeups.cursor = cursor;
        found
    }

    /// A node that would take the pod, by a full evaluation.
    fn node_for(&mut self, pod: &Arc<Pod>, profile: Profile, now: Time) -> Option<Text> {
        self.with_context(profile, now, |framework, context| {
            let candidates = framework.candidates(context, &mut CycleState::new(), pod).ok()?;
            candidates.feasible.first().map(|node| node.name().clone())
        })?
    }

    /// Whether the pod may fit only because of a pod of which everyone will hear more.
    fn is_news_under_way(&mut self, pod: &Pod, key: &PodKey) -> bool {
        let Some(oldest) = self.wakeups.expected.values().copied().min() else { return false };
        let attempts = self.queue.get(key).map_or(0, |waiting| waiting.attempts());
        let suspect = self.wakeups.suspects.get(&pod.uid);
        // One that was tried since has heard of what made it a suspect.
        let Some(suspect) = suspect.filter(|suspect| suspect.attempts == attempts) else {
            let suspect = Suspect { last: self.wakeups.expectations, attempts };
            self.wakeups.suspects.insert(pod.uid.clone(), suspect);
            return true;
        };
        oldest <= suspect.last
    }

    fn rejector_names(&self, key: &PodKey) -> Vec<String> {
        let Some(waiting) = self.queue.get(key) else { return Vec::new() };
        let rejectors = waiting.rejectors().unschedulable().iter();
        rejectors.map(|id| self.queue.plugins().name(*id).to_owned()).collect()
    }
}

impl Wakeups {
    /// Everyone will hear of the pod again.
    pub(super) fn expect(&mut self, pod: &Text) {
        if !self.expected.contains_key(pod) {
            self.expectations += 1;
            self.expected.insert(pod.clone(), self.expectations);
        }
    }

    /// Everyone has heard of it.
    pub(super) fn expect_no_more(&mut self, pod: &Text) {
        self.expected.remove(pod);
    }

    /// Nobody will: it is not bound after all. Whoever seemed to fit because of it did not, and
    /// if it seems so again, that is for another reason.
    pub(super) fn expect_in_vain(&mut self, pod: &Text) {
        if self.expected.remove(pod).is_some() {
            self.suspects.clear();
        }
    }

    fn note(&mut self, event: &ClusterEvent) {
        if !self.is_on {
            return;
        }
        self.event += 1;
        if self.recent.len() == EVENTS_KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back((self.event, event.label().to_string()));
    }

    /// Classes and pods come and go. What is forgotten only makes the next report less exact.
    fn bound_memory(&mut self) {
        if self.looked.len() > CLASSES_KEPT {
            self.looked.clear();
        }
        if self.suspects.len() > CLASSES_KEPT {
            self.suspects.clear();
        }
    }
}

impl Framework {
    /// Whether the plugin's rejections come from filtering nodes, and so show in a trial.
    fn rejects_by_node(&self, plugin: &str) -> bool {
        !self.permit.iter().any(|permit| permit.name() == plugin) && self.filters(plugin)
    }
}
