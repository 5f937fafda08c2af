//! One scheduling cycle.

use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Profile, Time};

use super::binding::Placed;
use super::{Nominated, PodKey, Scheduler, Trial};
use crate::command::{Command, Record};
use crate::diagnosis::Diagnosis;
use crate::framework::{Code, Context, CycleState, Framework, Status};
use crate::nodes::NodeInfo;
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
                    let placed = Placed { pod, node, framework, state, number: 0, began };
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
        let mut state = CycleState::new();
        let filtered = match framework.pre_filter(&context, &mut state, pod) {
            Ok(filtered) => filtered,
            Err(failure) if failure.status.code() == Code::Error => return Err(failure.status),
            Err(failure) => {
                let nodes = context.nodes.len();
                let diagnosis = Diagnosis::pre_filter(nodes, failure.status, failure.rejectors);
                return Ok(Found::Nowhere(Box::new(Nowhere { diagnosis, state, profile })));
            }
        };
        if let Some(node) = self.nominated_node_fits(framework, &context, &state, pod) {
            return Ok(Found::node(node, state, framework));
        }
        let candidates = framework.filter_all(&context, &state, pod, &filtered)?;
        let best = match candidates.feasible.as_slice() {
            [] => {
                let diagnosis = candidates.diagnosis;
                return Ok(Found::Nowhere(Box::new(Nowhere { diagnosis, state, profile })));
            }
            [only] => only.name().clone(),
            several => self.best(framework, &context, &mut state, pod, several)?,
        };
        // Every choice moves on, so that equal nodes take turns; a run repeats with its seed.
        self.tie_breaker = self.tie_breaker.wrapping_add(1);
        Ok(Found::node(best, state, framework))
    }

    /// The node that the pod was promised comes first; its score does not matter.
    fn nominated_node_fits(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
    ) -> Option<Text> {
        let name = pod.nominated_node.as_ref()?;
        let node = context.nodes.get(name)?;
        framework.filter_with_nominated(context, state, pod, node).ok()?;
        Some(name.clone())
    }

    fn best(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &mut CycleState,
        pod: &Pod,
        nodes: &[&NodeInfo],
    ) -> Result<Text, Status> {
        let scores = framework.score(context, state, pod, nodes)?;
        let best = scores.iter().map(|score| score.total).max().unwrap_or(0);
        let equal: Vec<_> =
            nodes.iter().zip(&scores).filter(|(_, score)| score.total == best).collect();
        let choice = mixed(self.tie_breaker) % equal.len().max(1) as u64;
        let chosen = equal.get(choice as usize).map(|(node, _)| node.name().clone());
        chosen.ok_or_else(|| Status::error("no node was scored"))
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

/// The splitmix64 of a number: neighbours become unlike.
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
