//! What the observer is told, and by its clock.

use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Item, Profile, Time};

use super::binding::Placed;
use super::{PodKey, Scheduler, Trial};
use crate::diagnosis::Diagnosis;
use crate::framework::{Calls, Evaluation, Failure, Preemption, Run, Status};
use crate::observer::{AttemptResult, Happening, Observer};

impl<V: Observer> Scheduler<V> {
    /// The observer's time; 0 where it has none.
    pub(super) fn ticks(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    pub(super) fn tell_observer(&mut self, happening: &Happening<'_>) {
        self.queue.observer_mut().happened(happening);
    }

    /// An attempt that began then is at its end.
    pub(super) fn attempted(&mut self, pod: &Arc<Pod>, result: AttemptResult, began: u64) {
        let cost = self.ticks().saturating_sub(began);
        let profile = &pod.spec().scheduler_name;
        self.tell_observer(&Happening::Attempted { pod, profile, result, cost });
    }

    /// A pod was rejected.
    pub(super) fn tell_rejected(
        &mut self,
        trial: &Trial,
        pod: &Arc<Pod>,
        diagnosis: &Diagnosis,
        at: Time,
    ) {
        let incarnation = self.incarnation(trial);
        self.tell_observer(&Happening::Rejected { pod, incarnation, diagnosis, at });
    }

    /// An attempt came to nothing though nobody rejected the pod.
    pub(super) fn tell_failed(&mut self, trial: &Trial, pod: &Arc<Pod>, message: &str, at: Time) {
        let incarnation = self.incarnation(trial);
        self.tell_observer(&Happening::Failed { pod, incarnation, message, at });
    }

    /// Others are to make room for a pod.
    pub(super) fn tell_preempted(
        &mut self,
        trial: &Trial,
        pod: &Arc<Pod>,
        preemption: &Preemption,
        at: Time,
    ) {
        let incarnation = self.incarnation(trial);
        let Preemption { node, victims, .. } = preemption;
        self.tell_observer(&Happening::Preempted { pod, incarnation, node, victims, at });
        for victim in victims.iter().filter(|victim| !victim.is_terminating()) {
            let known = self.queue.policy().pods.get(&PodKey::of(victim));
            if let Some(incarnation) = known.map(|known| known.incarnation) {
                let (pod, preemptor) = (victim, pod);
                self.tell_observer(&Happening::MadeVictim { pod, incarnation, preemptor, at });
            }
        }
    }

    fn incarnation(&self, trial: &Trial) -> u64 {
        self.queue.item(&trial.attempt).map_or(u64::MAX, Item::incarnation)
    }

    /// The plugins of a point were run for a pod since then.
    pub(super) fn point_ran(
        &mut self,
        pod: &Pod,
        point: &'static str,
        status: &'static str,
        began: u64,
    ) {
        if self.clock.is_none() {
            return;
        }
        let cost = self.ticks().saturating_sub(began);
        let profile = &pod.spec().scheduler_name;
        self.tell_observer(&Happening::PointRan { profile, point, status, cost });
    }

    /// The same, for a pod that was given a node.
    pub(super) fn passed(
        &mut self,
        placed: &Placed,
        point: &'static str,
        status: &'static str,
        began: u64,
    ) {
        self.point_ran(&placed.pod, point, status, began);
        if let Some(calls) = &placed.state.calls {
            self.tell_runs(calls);
        }
    }

    /// Whether a plugin failed at a point.
    pub(super) fn tell_if_failed<T>(
        &mut self,
        plugin: &'static str,
        point: &'static str,
        result: &Result<T, Status>,
    ) {
        if result.as_ref().is_err_and(|status| !status.code().is_rejection()) {
            self.tell_observer(&Happening::PluginFailed { plugin, point });
        }
    }

    /// What plugins were asked in a search for a node, or in PostFilter.
    pub(super) fn tell_calls(&mut self, pod: &Pod, profile: Profile) {
        let Some(calls) = self.calls.get(usize::from(profile.0)).cloned() else { return };
        let (profile, evaluations) = (&pod.spec().scheduler_name, calls.evaluations());
        self.tell_observer(&Happening::PluginsEvaluated { profile, evaluations });
        calls.forget_evaluations();
        self.tell_runs(&calls);
    }

    /// How long plugins took, and which of them failed.
    fn tell_runs(&mut self, calls: &Calls) {
        let (runs, failures) = calls.take();
        for Run { plugin, point, status, cost } in runs {
            self.tell_observer(&Happening::PluginRan { plugin, point, status, cost });
        }
        for Failure { plugin, point } in failures {
            self.tell_observer(&Happening::PluginFailed { plugin, point });
        }
    }

    /// The plugins and points whose calls are counted, by profile; none if nobody wants to know.
    pub(crate) fn evaluations(&self) -> impl Iterator<Item = (&Text, &[Evaluation])> {
        let names = self.queue.policy().profiles.iter().map(|(name, _)| name);
        names.zip(self.calls.iter().map(|calls| calls.evaluations()))
    }
}
