//! One scheduling cycle.

use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Profile, Time};

use super::binding::Placed;
use super::laps::{self, Lap, Laps, is_measured};
use super::search::{Outcome, Search};
use super::{Nominated, PodKey, Scheduler, Trial};
use crate::command::{Command, Record};
use crate::diagnosis::Diagnosis;
use crate::framework::{Code, Context, CycleState, Framework, Status};
use crate::observer::{Happening, Observer};

impl<V: Observer> Scheduler<V> {
    /// Takes the most urgent pod and tries to place it; `false` if there is none to be tried.
    pub fn schedule_one(&mut self, now: Time) -> bool {
        let Some(attempt) = self.queue.pop(now) else { return false };
        let Some(item) = self.queue.item(&attempt) else { return false };
        let (pod, profile) = (item.pod.clone(), roadstead_queue::Item::profile(item));
        if pod.is_terminating() {
            let key = PodKey::of(&pod);
            let note = format!("skip schedule deleting pod: {}/{}", key.namespace, key.name);
            self.record_failure_event(&pod, note);
            self.queue.finish(attempt);
        } else if self.cache.pod(&pod.uid).is_some() {
            self.queue.finish(attempt);
        } else {
            let began = self.ticks();
            let trial = Trial { attempt, began };
            match self.find_node(&pod, profile, now) {
                Ok(Found::Node(found)) => {
                    let FoundNode { node, state, framework } = *found;
                    self.searched(began);
                    let placed = Placed { pod, node, framework, state, began };
                    self.place(trial.attempt, placed, now);
                    self.settle(now);
                }
                Ok(Found::Nowhere(nowhere)) => self.fits_nowhere(trial, &pod, *nowhere, now),
                Ok(Found::NoNodes) => {
                    self.searched(began);
                    self.has_no_nodes(trial, &pod, now);
                }
                Err(status) => {
                    self.searched(began);
                    self.went_wrong(trial, &pod, &status, now);
                }
            }
        }
        true
    }

    /// The search for a node that began then is at its end.
    pub(super) fn searched(&mut self, began: u64) {
        let cost = self.ticks().saturating_sub(began);
        self.tell_observer(&Happening::Searched { cost });
    }

    /// Runs cycles until nothing is left to be tried at this time.
    pub fn schedule_all(&mut self, now: Time) -> usize {
        let mut cycles = 0;
        while self.schedule_one(now) {
            cycles += 1;
        }
        cycles
    }

    pub(super) fn note_scheduled(&mut self, pod: &Arc<Pod>, node: &Text) {
        let key = PodKey::of(pod);
        self.commands.push_back(Command::RecordEvent(Record {
            regarding: pod.clone(),
            related: None,
            is_warning: false,
            reason: "Scheduled",
            action: "Binding",
            note: format!("Successfully assigned {}/{} to {node}", key.namespace, key.name),
        }));
    }

    fn find_node(&mut self, pod: &Arc<Pod>, profile: Profile, now: Time) -> Result<Found, Status> {
        // Puts the nodes in order, if they are not.
        if self.cache.nodes().is_empty() {
            return Ok(Found::NoNodes);
        }
        self.touch_renominated();
        // Its own nomination does not count for a pod, but for all others of its class it does.
        let key = PodKey::of(pod);
        self.touch_nominated(&key);
        let laps = Laps::new(self.clock);
        let found = self.search(pod, profile, &laps, now);
        for Lap { point, status, cost } in laps.into_laps() {
            let profile = &pod.spec().scheduler_name;
            self.tell_observer(&Happening::PointRan { profile, point, status, cost });
        }
        self.tell_calls(pod, profile);
        self.touch_nominated(&key);
        found
    }

    fn search(
        &mut self,
        pod: &Arc<Pod>,
        profile: Profile,
        laps: &Laps,
        now: Time,
    ) -> Result<Found, Status> {
        let rules = self.queue.policy();
        let Some((_, framework)) = rules.profiles.get(usize::from(profile.0)) else {
            return Err(Status::error("no profile of that name"));
        };
        let nominated = Nominated(&self.queue);
        let context = Context {
            nodes: self.cache.nodes_unordered(),
            listers: &rules.listers,
            nominations: &nominated,
            now: i128::from(now.as_nanos()),
        };
        self.cycles += 1;
        let mut state = CycleState::new();
        state.may_remember = self.memory.is_some();
        state.calls = self.calls.get(usize::from(profile.0)).cloned();
        state.sampling = self.clock.filter(|_| is_measured(self.cycles));
        let pre_filtered = laps.run(
            "PreFilter",
            || framework.pre_filter(&context, &mut state, pod),
            |failure| laps::name(&failure.status),
        );
        let filtered = match pre_filtered {
            Ok(filtered) => filtered,
            Err(failure) if failure.status.code() == Code::Error => return Err(failure.status),
            Err(failure) => {
                let nodes = context.nodes.len();
                let diagnosis = Diagnosis::pre_filter(nodes, failure.status, failure.rejectors);
                return Ok(Found::Nowhere(Box::new(Nowhere { diagnosis, state, profile })));
            }
        };
        let search = Search {
            framework,
            context: &context,
            pod,
            filtered: &filtered,
            tie_breaker: self.tie_breaker,
            start: self.start,
            laps,
        };
        if let Some(node) = search.promised_node(&state) {
            return Ok(Found::node(node, state, framework));
        }
        let remembered = self.memory.as_mut().map(|memory| memory.of(profile, pod.class.id()));
        let searched = search.run(&mut state, remembered)?;
        self.start = (self.start + searched.visited) % context.nodes.len();
        match searched.outcome {
            Outcome::Nowhere(diagnosis) => {
                Ok(Found::Nowhere(Box::new(Nowhere { diagnosis, state, profile })))
            }
            Outcome::Node(node) => {
                // Every choice moves on, so that equal nodes take turns; a run repeats with its
                // seed.
                self.tie_breaker = self.tie_breaker.wrapping_add(1);
                Ok(Found::node(node, state, framework))
            }
        }
    }

    /// What is remembered of the node that the pod is nominated to does not hold, if it is.
    fn touch_nominated(&mut self, key: &PodKey) {
        let Some(known) = self.queue.policy().pods.get(key) else { return };
        let node = self.queue.nomination(key, known.incarnation);
        if let Some(name) = node.and_then(|node| self.queue.policy().node_name(node)) {
            self.cache.touch(name);
        }
    }

    /// What is remembered of a node includes who is nominated to it.
    fn touch_renominated(&mut self) {
        for node in self.queue.take_renominated() {
            if let Some(name) = self.queue.policy().node_name(node) {
                self.cache.touch(name);
            }
        }
    }
}

/// What the search for a node came to.
enum Found {
    Node(Box<FoundNode>),
    Nowhere(Box<Nowhere>),
    NoNodes,
}

impl Found {
    fn node(node: Text, state: CycleState, framework: &Arc<Framework>) -> Self {
        Self::Node(Box::new(FoundNode { node, state, framework: framework.clone() }))
    }
}

/// The node for a pod, and what is needed to go on.
struct FoundNode {
    node: Text,
    state: CycleState,
    framework: Arc<Framework>,
}

/// Why a pod fits nowhere, and what is needed to try preemption.
pub(super) struct Nowhere {
    pub(super) diagnosis: Diagnosis,
    pub(super) state: CycleState,
    pub(super) profile: Profile,
}
