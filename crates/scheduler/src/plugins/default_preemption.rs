//! Makes room for a pod by evicting pods of lower priority.

mod choice;
mod dry_run;
mod memory;
mod preempting;
mod stretches;

use std::sync::{Arc, Mutex, PoisonError};

use roadstead_model::{Pod, PreemptionPolicy, World};
use roadstead_queue::{Action, Ask, Hint, HintError};
use serde::Deserialize;
use serde_json::Value;

use super::ArgumentError;
use crate::diagnosis::{Diagnosis, no_nodes_available};
use crate::events::{self, ClusterEvent};
use crate::explain::{Refusal, Remedies};
use crate::framework::{
    Code, Context, CycleState, Extensions, Framework, Joining, Nomination, Plugin, PostFilter,
    PostFilterAnswer, PreEnqueue, Preemption, Registration, Status,
};
use crate::listers::Listers;
use crate::nodes::Slot;

pub use dry_run::PreemptionCandidate;
pub use preempting::Preempting;

use dry_run::{DryRun, Found, Pass, Tried};
use memory::{Memory, Trials};

/// Makes room for a pod by evicting pods of lower priority, as few and as unimportant as can be,
/// and holds the pod back until they are on their way.
pub struct DefaultPreemption {
    arguments: Arguments,
    preempting: Preempting,
    /// Only a memory of what follows from the cluster: whether something was in it nobody can tell
    /// but by the time it takes.
    memory: Mutex<Memory>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    min_candidate_nodes_percentage: i32,
    min_candidate_nodes_absolute: i32,
}

impl DefaultPreemption {
    /// The plugin with its points.
    ///
    /// # Errors
    ///
    /// Arguments that are not `DefaultPreemptionArgs`, or of which too few candidates would come.
    pub fn extensions(arguments: &Value, _: &mut World) -> Result<Extensions, ArgumentError> {
        let arguments = Arguments::read(arguments)?;
        let plugin =
            Self { arguments, preempting: Preempting::default(), memory: Mutex::default() };
        Ok(Joining::new(plugin).pre_enqueue().post_filter().done())
    }

    /// The pods for which others are being evicted. Whoever evicts keeps it up to date.
    #[must_use]
    pub fn preempting(&self) -> &Preempting {
        &self.preempting
    }

    /// The nodes where evicting pods would make room, and whom it would cost. Where that is
    /// enough, not all nodes are tried: those without a violated budget come first.
    #[must_use]
    pub fn candidates(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        diagnosis: &Diagnosis,
    ) -> Vec<PreemptionCandidate> {
        let mut trials = Trials::default();
        let run = DryRun::new(framework, context, state, pod);
        let found = self.dry_run(&run, diagnosis, &mut trials, Pass::Listing);
        let found = found.candidates.iter().filter_map(|slot| candidate(&trials, *slot));
        found.map(|found| (*found).clone()).collect()
    }

    fn dry_run(
        &self,
        run: &DryRun<'_>,
        diagnosis: &Diagnosis,
        trials: &mut Trials,
        pass: Pass,
    ) -> Found {
        // Nodes where the pod might fit if others went.
        let potential = diagnosis.count(Code::Unschedulable);
        if potential == 0 || !run.has_victims() {
            return Found::no_victims(potential);
        }
        let is_potential = |slot: Slot| diagnosis.at(slot).code() == Code::Unschedulable;
        run.run(is_potential, self.arguments.candidates(potential), trials, pass)
    }

    /// What PostFilter does, in words that do not say yet that they are about preemption.
    fn preempt(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Pod,
        diagnosis: &Diagnosis,
    ) -> PostFilterAnswer {
        if let Err(reason) = eligible(context, pod, diagnosis) {
            return refused(Nomination::Keep, Status::unschedulable(reason));
        }
        if context.nodes.is_empty() {
            return refused(Nomination::Keep, Status::error("no nodes available"));
        }
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut afresh = Trials::default();
        let known = memory.of(framework, context, state, pod);
        // Where plugins have narrowed the nodes, what is wrong with the others is not theirs to
        // keep.
        let is_told_of_all = diagnosis.refused() == context.nodes.len();
        let pass = if known.is_some() && is_told_of_all { Pass::Quick } else { Pass::Careful };
        let trials = known.unwrap_or(&mut afresh);
        let run = DryRun::new(framework, context, state, pod);
        let found = self.dry_run(&run, diagnosis, trials, pass);
        if let Some(error) = found.error() {
            return refused(Nomination::Keep, error);
        }
        match found.cheapest.and_then(|slot| candidate(trials, slot)) {
            Some(chosen) => evict(context, pod, &chosen),
            None => {
                let nodes = context.nodes.len();
                let tried: usize = found.statuses.iter().map(|(_, count)| count).sum();
                let others = Status::unresolvable(NOT_HELPFUL);
                let statuses = found.statuses.iter().map(|(status, count)| (&**status, *count));
                let statuses = statuses.chain([(&others, nodes - tried)]);
                let text = no_nodes_available(nodes, statuses);
                refused(Nomination::Clear, Status::unschedulable(text))
            }
        }
    }
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        "DefaultPreemption"
    }

    /// Only so that a pod that is held back is looked at again once a victim is gone.
    fn events(&self) -> Vec<Registration> {
        vec![Registration::new(events::POD, Action::DELETE, Ask::Class)]
    }

    /// Whether the room is enough is for those to say who rejected the pod.
    fn hint(&self, _: &Listers, _: &Pod, _: &ClusterEvent) -> Result<Hint, HintError> {
        Ok(Hint::Skip)
    }

    fn explain(&self, refusal: &Refusal<'_>) -> Remedies {
        let mut remedies = Remedies::default();
        if self.preempting.holds(&refusal.pod.uid) {
            remedies.cluster("answers to the evictions that it has asked for");
        }
        remedies
    }
}

impl PreEnqueue for DefaultPreemption {
    fn pre_enqueue(&self, _: &Listers, pod: &Pod) -> Result<(), Status> {
        if self.preempting.holds(&pod.uid) {
            return Err(Status::unresolvable(UNFINISHED));
        }
        Ok(())
    }
}

impl PostFilter for DefaultPreemption {
    fn post_filter(
        &self,
        framework: &Framework,
        context: &Context<'_>,
        state: &CycleState,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
    ) -> PostFilterAnswer {
        let answer = self.preempt(framework, context, state, pod, diagnosis);
        let prefixed = |status: Status| {
            Status::new(status.code(), vec![format!("preemption: {status}").into()])
        };
        PostFilterAnswer { result: answer.result.map_err(prefixed), ..answer }
    }
}

/// Whether the pod may have others evicted, now.
fn eligible(context: &Context<'_>, pod: &Pod, diagnosis: &Diagnosis) -> Result<(), &'static str> {
    if pod.spec().preemption_policy == PreemptionPolicy::Never {
        return Err(NEVER);
    }
    let Some(nominated) = &pod.nominated_node else { return Ok(()) };
    let Some(node) = context.nodes.get(nominated) else { return Ok(()) };
    // Where the pod can no longer go anyway, there is nothing to wait for.
    if diagnosis.status(node).code() == Code::UnschedulableAndUnresolvable {
        return Ok(());
    }
    let leaves = |other: &Arc<Pod>| is_victim(pod, other) && other.is_terminating_by_preemption();
    if node.pods().iter().any(leaves) { Err(TERMINATING) } else { Ok(()) }
}

/// Whether `pod` is worth more than some of those of which this is the lowest priority.
fn has_victims(pod: &Pod, lowest_priority: Option<i32>) -> bool {
    lowest_priority.is_some_and(|lowest| lowest < pod.spec().priority)
}

/// Whether `pod` is worth more than `other`.
fn is_victim(pod: &Pod, other: &Pod) -> bool {
    other.spec().priority < pod.spec().priority
}

/// The candidate in that slot, if there is one.
fn candidate(trials: &Trials, slot: Slot) -> Option<Arc<PreemptionCandidate>> {
    match trials.get(slot)? {
        Tried::Candidate(_, candidate) => Some(candidate.clone()),
        Tried::Refused(_) | Tried::NoVictims => None,
    }
}

fn evict(context: &Context<'_>, pod: &Pod, chosen: &PreemptionCandidate) -> PostFilterAnswer {
    let PreemptionCandidate { node, victims, .. } = chosen.clone();
    // Upstream's executor does nothing at all where all victims are on their way already.
    let has_work = victims.iter().any(|victim| !victim.is_terminating());
    let mut unnominate = if has_work { context.nominations.to(&node) } else { Vec::new() };
    unnominate.retain(|other| is_victim(pod, other));
    PostFilterAnswer {
        nomination: Nomination::Set(node.clone()),
        result: Ok(()),
        preemption: Some(Preemption { node, victims, unnominate }),
    }
}

fn refused(nomination: Nomination, status: Status) -> PostFilterAnswer {
    PostFilterAnswer { nomination, result: Err(status), preemption: None }
}

impl Arguments {
    fn read(arguments: &Value) -> Result<Self, ArgumentError> {
        if arguments.is_null() {
            return Ok(Self::default());
        }
        let read = Self::deserialize(arguments)
            .map_err(|error| ArgumentError { path: String::new(), message: error.to_string() })?;
        let Self {
            min_candidate_nodes_percentage: percentage,
            min_candidate_nodes_absolute: least,
        } = read;
        let invalid = |field: &str, value: i32, why: &str| {
            Err(ArgumentError {
                path: field.to_owned(),
                message: format!("Invalid value: {value}: {why}"),
            })
        };
        if !(0..=100).contains(&percentage) {
            return invalid(PERCENTAGE, percentage, "not in valid range [0, 100]");
        }
        if least < 0 {
            return invalid(ABSOLUTE, least, "not in valid range [0, inf)");
        }
        if percentage == 0 && least == 0 {
            let why = format!("cannot be zero at the same time as {ABSOLUTE}");
            return invalid(PERCENTAGE, percentage, &why);
        }
        Ok(read)
    }

    /// How many candidates are enough, of so many nodes.
    fn candidates(&self, potential: usize) -> usize {
        let [percentage, least] =
            [self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute]
                .map(|number| usize::try_from(number).unwrap_or(0));
        potential.saturating_mul(percentage).div_euclid(100).max(least).min(potential)
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

const PERCENTAGE: &str = "minCandidateNodesPercentage";
const ABSOLUTE: &str = "minCandidateNodesAbsolute";

const NEVER: &str = "not eligible due to preemptionPolicy=Never.";
const TERMINATING: &str = "not eligible due to a terminating pod on the nominated node.";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const UNFINISHED: &str = "waiting for the preemption for this pod to be finished";

#[cfg(test)]
mod tests;
