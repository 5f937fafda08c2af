//! Finding out what would place a pod, by trying it.

use std::collections::BTreeSet;
use std::sync::Arc;

use roadstead_model::Pod;
use roadstead_queue::{Place, Profile, Time};

use super::{
    Change, ExplainLimits, Explanation, News, PlacingChange, ReasonCount, Refusal,
    RejectorExplanation, Whereabouts, most_frequent,
};
use crate::diagnosis::Diagnosis;
use crate::framework::{Candidates, Context, CycleState, Framework, Plugin, Status};
use crate::observer::Observer;
use crate::scheduler::{PodKey, Scheduler};

impl<V: Observer> Scheduler<V> {
    /// Where the pod is, what it waits for and what would place it now; `None` if there is no such
    /// pod.
    ///
    /// It costs a full look at every node for the pod and for each change that is tried.
    pub fn explain(&mut self, key: &PodKey, now: Time) -> Option<Explanation> {
        self.explain_within(key, now, ExplainLimits::default())
    }

    /// The same, with other limits.
    pub fn explain_within(
        &mut self,
        key: &PodKey,
        now: Time,
        limits: ExplainLimits,
    ) -> Option<Explanation> {
        let (pod, profile) = self.known_pod(key)?;
        let mut explanation = self.whereabouts(key, &pod, profile, now);
        let Some(profile) = profile.filter(|_| explanation.whereabouts.is_waiting()) else {
            return Some(explanation);
        };
        let rejected_by = self.rejected_by(key);
        self.with_context(profile, now, |framework, context| {
            let trial = Trial { framework, context, pod: &pod, rejected_by: &rejected_by };
            trial.run(&mut explanation, limits);
        });
        Some(explanation)
    }

    /// All but what must be tried.
    fn whereabouts(
        &self,
        key: &PodKey,
        pod: &Arc<Pod>,
        profile: Option<Profile>,
        now: Time,
    ) -> Explanation {
        let queue = self.queue();
        let waiting = queue.get(key);
        let name_of = |plugin| queue.plugins().name(plugin).to_owned();
        let on_node = self.cache().node_of(&pod.uid).map(|node| node.to_string());
        let whereabouts = match (&on_node, queue.place(key)) {
            (Some(node), _) if self.cache().is_assumed(&pod.uid) => {
                self.permit_wait(&pod.uid).map_or_else(
                    || Whereabouts::Binding { node: node.clone() },
                    |(plugins, until)| {
                        let plugins = plugins.into_iter().map(str::to_owned).collect();
                        Whereabouts::Permit { node: node.clone(), plugins, until }
                    },
                )
            }
            (Some(node), _) => Whereabouts::Bound { node: node.clone() },
            (None, Some(Place::Active)) => {
                Whereabouts::Active { before: queue.position(key).unwrap_or(0) }
            }
            (None, Some(Place::Backoff { until })) => Whereabouts::Backoff { until },
            (None, Some(Place::ErrorBackoff { until })) => Whereabouts::ErrorBackoff { until },
            (None, Some(Place::Unschedulable)) => Whereabouts::Unschedulable,
            (None, Some(Place::Gated { by })) => Whereabouts::Gated { by: name_of(by) },
            (None, None) if profile.is_none() => {
                Whereabouts::NotOurs { scheduler: pod.spec().scheduler_name.to_string() }
            }
            (None, Some(Place::InFlight) | None) => Whereabouts::InFlight,
        };
        Explanation {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            at: now,
            whereabouts,
            since: waiting.as_ref().map(|waiting| waiting.since()),
            retried_at: waiting
                .as_ref()
                .filter(|waiting| waiting.place() == Place::Unschedulable)
                .map(|waiting| waiting.queued_at() + queue.config().leftover_after),
            attempts: waiting.as_ref().map_or(0, |waiting| waiting.attempts()),
            nominated_node: self.nominated_node(key).map(|node| node.to_string()),
            nodes: self.cache().nodes_unordered().len(),
            fits: 0,
            message: None,
            rejectors: Vec::new(),
            changes: Vec::new(),
            tried: 0,
            untried: 0,
        }
    }

    /// Who rejected the pod when it was last tried, or holds it.
    fn rejected_by(&self, key: &PodKey) -> Vec<String> {
        let Some(waiting) = self.queue().get(key) else { return Vec::new() };
        let rejectors = waiting.rejectors();
        let all = rejectors.unschedulable().iter().chain(rejectors.pending());
        let mut names: Vec<String> = Vec::new();
        for plugin in all.copied().chain(waiting.gated_by()) {
            let name = self.queue().plugins().name(plugin);
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }
}

/// A pod that waits, and all that it takes to try it.
struct Trial<'a> {
    framework: &'a Framework,
    context: &'a Context<'a>,
    pod: &'a Arc<Pod>,
    rejected_by: &'a [String],
}

impl<'a> Trial<'a> {
    fn run(&self, explanation: &mut Explanation, limits: ExplainLimits) {
        let closed = self.closed_gate(self.pod);
        let candidates = match self.candidates(self.pod) {
            Ok(candidates) => candidates,
            // What went wrong is told, and who waits for what nevertheless.
            Err(error) => {
                explanation.message = Some(error.message());
                let diagnosis =
                    Diagnosis::pre_filter(self.context.nodes.len(), error, BTreeSet::new());
                Candidates { feasible: Vec::new(), diagnosis }
            }
        };
        explanation.fits = if closed.is_none() { candidates.feasible.len() } else { 0 };
        if self.context.nodes.is_empty() {
            explanation.message = Some("There are no nodes.".to_owned());
        } else if candidates.feasible.is_empty() && explanation.message.is_none() {
            explanation.message = Some(candidates.diagnosis.message());
        }
        // Others come back by themselves.
        let needs_event = matches!(
            explanation.whereabouts,
            Whereabouts::Unschedulable | Whereabouts::Gated { .. }
        );
        let mut changes: Vec<(&'static str, Change)> = Vec::new();
        for plugin in self.rejectors(&candidates, closed.as_ref().map(|(name, _)| *name)) {
            let refusal = self.refusal(plugin.name(), &candidates);
            let gate = closed.as_ref().filter(|(name, _)| *name == plugin.name());
            let remedies = plugin.explain(&refusal);
            explanation.rejectors.push(RejectorExplanation {
                plugin: plugin.name().to_owned(),
                is_waited_for: needs_event && self.rejected_by.iter().any(|by| by == plugin.name()),
                refuses: refusal.nodes.len(),
                reasons: reasons(&refusal),
                gate: gate.map(|(_, message)| message.clone()),
                retried_on: News::except(plugin, &remedies.in_vain),
                satisfied_by: remedies.of_cluster,
            });
            changes.extend(remedies.of_pod.into_iter().map(|change| (plugin.name(), change)));
        }
        if explanation.fits == 0 && !self.context.nodes.is_empty() {
            self.try_changes(changes, explanation, limits);
        }
    }

    fn candidates(&self, pod: &Arc<Pod>) -> Result<Candidates<'a>, Status> {
        self.framework.candidates(self.context, &mut CycleState::new(), pod)
    }

    /// The first gate that would hold the pod, and why.
    fn closed_gate(&self, pod: &Pod) -> Option<(&'static str, String)> {
        self.framework.gates_first().filter(|(_, is_gate)| *is_gate).find_map(|(plugin, _)| {
            let gate = self.framework.gate(plugin.name())?;
            let status = gate.pre_enqueue(self.context.listers, pod).err()?;
            Some((plugin.name(), status.message()))
        })
    }

    /// Those that rejected the pod, then those that would now.
    fn rejectors(
        &self,
        candidates: &Candidates<'_>,
        gate: Option<&'static str>,
    ) -> Vec<&'a dyn Plugin> {
        let mut names: Vec<&str> = self.rejected_by.iter().map(String::as_str).collect();
        let now: BTreeSet<_> = match candidates.feasible.is_empty() {
            true => candidates.diagnosis.rejectors().iter().copied().collect(),
            false => BTreeSet::new(),
        };
        names.extend(gate);
        names.extend(now);
        let mut plugins: Vec<&'a dyn Plugin> = Vec::new();
        for name in names {
            if plugins.iter().all(|known| known.name() != name) {
                plugins.extend(self.framework.plugin(name));
            }
        }
        plugins
    }

    fn refusal<'b>(&'b self, plugin: &str, candidates: &'b Candidates<'b>) -> Refusal<'b> {
        let diagnosis: &Diagnosis = &candidates.diagnosis;
        let is_its = |name: &str| {
            // Where several have narrowed the nodes to none, it is each one's doing.
            name == plugin || name.is_empty() && diagnosis.rejectors().contains(plugin)
        };
        let nodes = match candidates.feasible.is_empty() {
            true => {
                let all = self.context.nodes.iter().map(|node| (node, diagnosis.status(node)));
                all.filter(|(_, status)| is_its(status.plugin())).collect()
            }
            false => Vec::new(),
        };
        Refusal { pod: self.pod, context: self.context, nodes }
    }

    /// Tries the changes, smallest first, and keeps those that would place the pod.
    fn try_changes(
        &self,
        mut changes: Vec<(&'static str, Change)>,
        explanation: &mut Explanation,
        limits: ExplainLimits,
    ) {
        changes.sort_by_key(|(_, change)| change.size);
        let mut series: Vec<Vec<(&'static str, Change)>> = Vec::new();
        for (plugin, change) in changes {
            match series.iter_mut().find(|known| known[0].1.series == change.series) {
                Some(known) if known.iter().all(|(_, other)| other.words != change.words) => {
                    known.push((plugin, change));
                }
                Some(_) => {}
                None => series.push(vec![(plugin, change)]),
            }
        }
        let mut budget = limits.changes;
        let mut found = Vec::new();
        for series in &series {
            let before = budget;
            if let Some(Placing { at, nodes }) = self.smallest(series, &mut budget) {
                found.push((&series[at], nodes));
            }
            explanation.tried += before - budget;
            explanation.untried += usize::from(before == 0);
        }
        found.sort_by_key(|((_, change), _)| change.size);
        explanation.changes.extend(found.into_iter().map(|((plugin, change), nodes)| {
            PlacingChange { plugin: (*plugin).to_owned(), change: change.words.clone(), nodes }
        }));
    }

    /// The smallest change of a series that would place the pod. Since what goes further helps
    /// wherever the smaller one does, it is searched by halves.
    fn smallest(&self, series: &[(&'static str, Change)], budget: &mut usize) -> Option<Placing> {
        let mut tried = |at: usize| {
            *budget = budget.checked_sub(1)?;
            Some(Placing { at, nodes: self.nodes_for(&series[at].1) })
        };
        let mut best = tried(series.len() - 1).filter(|placing| placing.nodes > 0)?;
        let mut lowest = 0;
        while lowest < best.at {
            let at = lowest + (best.at - lowest) / 2;
            match tried(at) {
                Some(placing) if placing.nodes > 0 => best = placing,
                Some(_) => lowest = at + 1,
                // Not known to be the smallest, it is better not told.
                None => return None,
            }
        }
        Some(best)
    }

    fn nodes_for(&self, change: &Change) -> usize {
        match self.closed_gate(&change.pod) {
            Some(_) => 0,
            None => self.candidates(&change.pod).map_or(0, |found| found.feasible.len()),
        }
    }
}

/// A change of a series, and how many nodes would take the pod with it.
struct Placing {
    at: usize,
    nodes: usize,
}

/// Why nodes are refused, the most frequent reasons first.
fn reasons(refusal: &Refusal<'_>) -> Vec<ReasonCount> {
    let all = refusal.nodes.iter().flat_map(|(_, status)| status.reasons());
    let counted = most_frequent(all.map(ToString::to_string));
    counted.into_iter().map(|(reason, nodes)| ReasonCount { reason, nodes }).collect()
}
