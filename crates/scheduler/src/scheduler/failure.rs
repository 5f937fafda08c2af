//! Attempts that fail, and what becomes of their pods.

use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Attempt, Item, Rejection, Time};

use super::cycle::Nowhere;
use super::{Evictions, Nominated, PodKey, QueuedPod, Scheduler, Trial};
use crate::command::{Command, Condition, Record};
use crate::framework::{Context, Nomination, Preemption, Status};
use crate::observer::{AttemptResult, Happening, Observer};
use crate::plugins::{DefaultPreemption, Preempting};

impl<V: Observer> Scheduler<V> {
    /// No node fits: preemption may help, and the pod waits for what its rejectors named.
    pub(super) fn fits_nowhere(
        &mut self,
        trial: Trial,
        pod: &Arc<Pod>,
        nowhere: Nowhere,
        now: Time,
    ) {
        let Nowhere { diagnosis, state, profile } = nowhere;
        let rules = self.queue.policy();
        let nominated = Nominated(&self.queue);
        let context = Context {
            nodes: self.cache.nodes_unordered(),
            listers: &rules.listers,
            nominations: &nominated,
            now: i128::from(now.as_nanos()),
        };
        let framework = &rules.profiles[usize::from(profile.0)].1;
        let before = self.ticks();
        let answer = framework.post_filter(&context, &state, pod, &diagnosis);
        let preempts = framework.get::<DefaultPreemption>().is_some();
        let message = answer.failure(&diagnosis);
        self.point_ran(pod, "PostFilter", answer.status_name(), before);
        self.tell_calls(pod, profile);
        if preempts {
            self.tell_observer(&Happening::PreemptionTried);
        }
        let unschedulable = self.plugin_ids(diagnosis.rejectors());
        let pending = self.plugin_ids(diagnosis.pending());
        if let Some(preemption) = &answer.preemption {
            self.preempt(&trial, pod, preemption, now);
        }
        self.searched(trial.began);
        self.attempted(pod, AttemptResult::Unschedulable, trial.began);
        self.tell_rejected(&trial, pod, &diagnosis, now);
        let rejection = Rejection::by(&unschedulable).pending(&pending);
        self.come_back(trial.attempt, pod, rejection, now);
        self.report_failure(pod, answer.nomination, "Unschedulable", &message, now);
    }

    /// There is no node at all. That is nobody's rejection: the pod backs off.
    pub(super) fn has_no_nodes(&mut self, trial: Trial, pod: &Arc<Pod>, now: Time) {
        self.attempted(pod, AttemptResult::Unschedulable, trial.began);
        self.tell_failed(&trial, pod, NO_NODES, now);
        self.come_back(trial.attempt, pod, Rejection::error(), now);
        self.report_failure(pod, Nomination::Clear, "Unschedulable", NO_NODES, now);
    }

    /// Something went wrong: the pod backs off.
    pub(super) fn went_wrong(&mut self, trial: Trial, pod: &Arc<Pod>, status: &Status, now: Time) {
        self.attempted(pod, AttemptResult::Error, trial.began);
        let message = status.message();
        self.tell_failed(&trial, pod, &message, now);
        self.come_back(trial.attempt, pod, Rejection::error(), now);
        self.report_failure(pod, Nomination::Clear, "SchedulerError", &message, now);
    }

    /// Puts a pod back whose attempt failed, unless it is gone or was bound meanwhile.
    pub(super) fn come_back(
        &mut self,
        attempt: Attempt,
        pod: &Pod,
        rejection: Rejection<'_, QueuedPod>,
        now: Time,
    ) {
        let Some(current) = self.current(pod) else {
            self.queue.finish(attempt);
            return;
        };
        let newest = self.queue.policy_mut().queued(&current);
        // It fails only if another pod of that name waits, which then goes first.
        let _ = self.queue.reject(attempt, Rejection { newest, ..rejection }, now);
    }

    /// Tells the world why a pod waits, and keeps its nomination up to date.
    pub(super) fn report_failure(
        &mut self,
        pod: &Arc<Pod>,
        nomination: Nomination,
        reason: &'static str,
        message: &str,
        now: Time,
    ) {
        let key = PodKey::of(pod);
        let Some(queued) = self.queue.policy_mut().queued(pod) else { return };
        let nominated_node = match &nomination {
            Nomination::Keep => None,
            Nomination::Clear => Some(Text::unshared("")),
            Nomination::Set(node) => Some(node.clone()),
        };
        let kept = self.queue.nomination(&key, queued.incarnation());
        match nomination {
            Nomination::Keep => {}
            Nomination::Clear => self.queue.unnominate(&key, queued.incarnation()),
            Nomination::Set(name) => {
                let node = self.queue.policy_mut().node(&name);
                self.queue.nominate(&key, queued.incarnation(), node);
                let incarnation = queued.incarnation();
                self.tell_observer(&Happening::Nominated {
                    pod,
                    incarnation,
                    node: &name,
                    at: now,
                });
            }
        }
        self.tell_if_given_up(pod, queued.incarnation(), kept, now);
        self.record_failure_event(pod, message.to_owned());
        let observed_generation = pod.generation;
        let condition = Condition { reason, message: message.to_owned(), observed_generation };
        let shown = pod.nominated_node.as_ref().map_or("", Text::as_str);
        let nominated_node = nominated_node.filter(|node| node.as_str() != shown);
        self.commands.push_back(Command::PatchStatus {
            pod: pod.clone(),
            condition: Some(condition),
            nominated_node,
        });
    }

    pub(super) fn record_failure_event(&mut self, pod: &Arc<Pod>, note: String) {
        self.commands.push_back(Command::RecordEvent(Record {
            regarding: pod.clone(),
            related: None,
            is_warning: true,
            reason: "FailedScheduling",
            action: "Scheduling",
            note: Record::cut(note),
        }));
    }

    /// Keeps the gate of preemptors up to date, in whichever profile it is.
    pub(super) fn tell_preemption(&self, tell: impl Fn(&Preempting)) {
        for (_, framework) in &self.queue.policy().profiles {
            if let Some(plugin) = framework.get::<DefaultPreemption>() {
                tell(plugin.preempting());
            }
        }
    }

    /// Asks for the victims to go. Until that is answered the preemptor is held at its gate.
    fn preempt(&mut self, trial: &Trial, pod: &Arc<Pod>, preemption: &Preemption, now: Time) {
        for other in &preemption.unnominate {
            let nominated_node = Some(Text::unshared(""));
            self.commands.push_back(Command::PatchStatus {
                pod: other.clone(),
                condition: None,
                nominated_node,
            });
        }
        let mut victims = Vec::new();
        for victim in preemption.victims.iter().filter(|victim| !victim.is_terminating()) {
            // One that is not bound yet need not be deleted: it gives its node back here.
            let is_here = self.preempted_while_waiting(&victim.uid, now)
                || self.cancel_pre_bind(&victim.uid, PREEMPTED, now);
            self.record_preemption(victim, pod, &preemption.node, is_here);
            if !is_here {
                victims.push(victim);
            }
        }
        if victims.is_empty() {
            return;
        }
        self.tell_preempted(trial, pod, preemption, now);
        let open = victims.len();
        let evictions = Evictions { preemptor: pod.clone(), since: now, open, failed: false };
        self.evictions.insert(pod.uid.clone(), evictions);
        let last = victims.last().map(|victim| victim.uid.clone());
        self.tell_preemption(|preempting| {
            preempting.start(&pod.uid);
            // Evictions are sent in order: once the last victim leaves, all were sent.
            if let Some(last) = &last {
                preempting.last_victim(&pod.uid, last);
            }
        });
        for victim in victims {
            self.commands
                .push_back(Command::Evict { victim: victim.clone(), preemptor: pod.clone() });
        }
    }

    fn record_preemption(&mut self, victim: &Arc<Pod>, pod: &Arc<Pod>, node: &Text, is_here: bool) {
        let how = if is_here { " (in kube-scheduler memory)." } else { "" };
        self.commands.push_back(Command::RecordEvent(Record {
            regarding: victim.clone(),
            related: Some(pod.clone()),
            is_warning: false,
            reason: "Preempted",
            action: "Preempting",
            note: format!("Preempted by pod {} on node {node}{how}", pod.uid),
        }));
    }
}

const PREEMPTED: &str = "running PreBind plugin: preempted";
const NO_NODES: &str = "no nodes available to schedule pods";
