//! The binding cycle: what happens to a pod from its node being chosen to its being bound.
//!
//! ```text
//! reserve → permit ─┬────────────────→ pre-bind → bind → post-bind
//!                   └→ waits (permits)┘
//! ```
//!
//! Until it has all permissions its attempt is open, so that events are kept for it; from then on
//! it cannot be called unschedulable any more, and whatever fails sends it into backoff.

use std::sync::Arc;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Action, Attempt, Audience, Finished, Item, Rejection, Time};

use super::permit::{Permitting, Wait};
use super::rules::event;
use super::{PodKey, QueuedPod, Scheduler, Trial};
use crate::command::Command;
use crate::diagnosis::Diagnosis;
use crate::events::{self, Object};
use crate::framework::{
    BindAnswer, CycleState, Framework, Handle, Nomination, Permission, PreFlight, Progress, SKIP,
    SUCCESS, Status, WAIT, Waiting, Wishes, status_name,
};
use crate::observer::{AttemptResult, Happening, Observer};

/// A pod with the node that it is to have.
pub(super) struct Placed {
    pub(super) pod: Arc<Pod>,
    pub(super) node: Text,
    pub(super) framework: Arc<Framework>,
    pub(super) state: CycleState,
    /// When the attempt began, by the observer's clock.
    pub(super) began: u64,
}

/// A pod that has all permissions and is being bound.
pub(super) struct Binding {
    pub(super) placed: Placed,
    finished: Finished<QueuedPod>,
    stage: Stage,
}

enum Stage {
    /// PreBind plugins are at work, this one now; writes that are not answered yet are counted.
    PreBind { plugin: usize, open_writes: usize, failed: Option<String> },
    /// The binding itself was asked for by this plugin.
    Bind(&'static str),
}

impl<V: Observer> Scheduler<V> {
    /// The node is the pod's from now on, as far as the scheduler is concerned.
    pub(super) fn place(&mut self, attempt: Attempt, mut placed: Placed, now: Time) {
        placed.state.end_search();
        // As the cluster will show it: events about it must tell that it is on a node.
        let mut assumed = (*placed.pod).clone();
        assumed.node_name = Some(placed.node.clone());
        if let Err(message) = self.cache.assume(Arc::new(assumed), placed.node.clone()) {
            let trial = Trial { attempt, began: placed.began };
            return self.went_wrong(trial, &placed.pod, &Status::error(message), now);
        }
        let Some(item) = self.queue.item(&attempt) else { return };
        let (key, incarnation) = (PodKey::of(&placed.pod), item.incarnation());
        let kept = self.queue.nomination(&key, incarnation);
        self.queue.unnominate(&key, incarnation);
        let own = self.queue.policy().known_node(&placed.node);
        self.tell_if_given_up(
            &placed.pod,
            incarnation,
            kept.filter(|kept| own != Some(*kept)),
            now,
        );
        self.wakeups.expect(&placed.pod.uid);

        let waits =
            match self.reserve(&mut placed, now).and_then(|()| self.permit(&mut placed, now)) {
                Ok(waits) => waits,
                Err(status) => {
                    self.abandon(&mut placed, now);
                    let trial = Trial { attempt, began: placed.began };
                    return self.not_let(trial, &placed.pod, &status, now);
                }
            };
        let has_work = match self.pre_flight(&mut placed) {
            Ok(has_work) => has_work,
            Err(status) => {
                self.release(&mut placed, now);
                let trial = Trial { attempt, began: placed.began };
                return self.went_wrong(trial, &placed.pod, &status, now);
            }
        };
        if has_work || !waits.is_empty() {
            // It takes a while: everyone may see which node is kept for it.
            self.commands.push_back(Command::PatchStatus {
                pod: placed.pod.clone(),
                condition: None,
                nominated_node: Some(placed.node.clone()),
            });
        }
        if waits.is_empty() {
            self.start_binding(attempt, placed, now);
        } else {
            self.wait_for_permission(Permitting { placed, attempt, waits, since: now });
        }
    }

    /// The pod has all permissions. From here on it cannot be called unschedulable, and no events
    /// are kept for it.
    pub(super) fn start_binding(&mut self, attempt: Attempt, placed: Placed, now: Time) {
        let Some(finished) = self.queue.finish(attempt) else { return };
        let stage = Stage::PreBind { plugin: 0, open_writes: 0, failed: None };
        self.go_on_binding(Binding { placed, finished, stage }, now);
    }

    /// Something that a PreBind plugin wanted written for the pod of that uid was answered. `Err`
    /// says why it failed.
    pub fn written(&mut self, pod: &Text, result: Result<(), String>, now: Time) {
        let Some(binding) = self.binding.get_mut(pod) else { return };
        let Stage::PreBind { open_writes, failed, .. } = &mut binding.stage else { return };
        *open_writes = open_writes.saturating_sub(1);
        if let Err(message) = result {
            failed.get_or_insert(message);
        }
        if *open_writes == 0 {
            self.look_at_binding(pod, now);
            self.settle(now);
        }
    }

    /// A binding was answered. `Err` says why it failed.
    pub fn bound(&mut self, pod: &Text, result: Result<(), String>, now: Time) {
        let Some(binding) = self.binding.remove(pod) else { return };
        let Stage::Bind(plugin) = binding.stage else {
            self.binding.insert(pod.clone(), binding);
            return;
        };
        match result {
            Ok(()) => {
                let Binding { mut placed, finished, .. } = binding;
                self.note_scheduled(&placed.pod, &placed.node);
                self.attempted(&placed.pod, AttemptResult::Scheduled, placed.began);
                self.tell_observer(&Happening::Scheduled {
                    pod: &placed.pod,
                    incarnation: finished.item().incarnation(),
                    node: &placed.node,
                    attempts: finished.attempts(),
                    first_ready: finished.first_ready(),
                    at: now,
                });
                let framework = placed.framework.clone();
                let before = self.ticks();
                self.with_handle(now, |handle| {
                    let Placed { pod, node, state, .. } = &mut placed;
                    for plugin in &framework.post_bind {
                        let began = state.begin();
                        plugin.post_bind(handle, state, pod, node);
                        state.ran(began, "PostBind", plugin.name(), || SUCCESS);
                    }
                });
                self.passed(&placed, "PostBind", SUCCESS, before);
            }
            Err(message) => {
                let text = format!("running Bind plugin \"{plugin}\": {message}");
                self.binding_failed(binding, &Status::error(text), now);
            }
        }
        self.settle(now);
    }

    /// Lets a binding go on that waited for its writes, or for a time.
    pub(super) fn look_at_binding(&mut self, pod: &Text, now: Time) {
        let waits_for_writes = |binding: &Binding| matches!(binding.stage, Stage::PreBind { open_writes, .. } if open_writes > 0);
        if self.binding.get(pod).is_some_and(|binding| !waits_for_writes(binding))
            && let Some(binding) = self.binding.remove(pod)
        {
            self.go_on_binding(binding, now);
        }
    }

    /// The pod is gone, or makes room for another: whatever PreBind is doing for it ends. Whether
    /// it was doing anything.
    pub(super) fn cancel_pre_bind(&mut self, pod: &Text, why: &str, now: Time) -> bool {
        let is_cancellable = |binding: &Binding| matches!(binding.stage, Stage::PreBind { .. });
        if !self.binding.get(pod).is_some_and(is_cancellable) {
            return false;
        }
        if let Some(binding) = self.binding.remove(pod) {
            self.binding_failed(binding, &Status::error(why.to_owned()), now);
        }
        true
    }

    /// Calls PreBind plugins until one has to wait, then asks for the binding.
    fn go_on_binding(&mut self, mut binding: Binding, now: Time) {
        let framework = binding.placed.framework.clone();
        while let Stage::PreBind { plugin: at, failed, .. } = &mut binding.stage {
            let Some(plugin) = framework.pre_bind.get(*at) else { break };
            let name = plugin.name();
            if let Some(message) = failed.take() {
                self.tell_observer(&Happening::PluginFailed { plugin: name, point: "PreBind" });
                let text = format!("running PreBind plugin \"{name}\": {message}");
                return self.binding_failed(binding, &Status::error(text), now);
            }
            let Placed { pod, node, state, .. } = &mut binding.placed;
            if state.skip_pre_bind.contains(&name) {
                *at += 1;
                continue;
            }
            let before = self.ticks();
            let (result, writes) = self.with_handle(now, |handle| {
                let began = state.begin();
                let result = plugin.pre_bind(handle, state, pod, node);
                state.ran(began, "PreBind", name, || status_name(&result));
                (result, std::mem::take(&mut handle.wishes.writes))
            });
            self.tell_if_failed(name, "PreBind", &result);
            self.passed(&binding.placed, "PreBind", status_name(&result), before);
            let Stage::PreBind { plugin: at, .. } = &mut binding.stage else { break };
            match result {
                Ok(Progress::Done) => *at += 1,
                Ok(Progress::Written) if writes.is_empty() => *at += 1,
                Ok(progress) => return self.pause_binding(binding, progress, writes, now),
                Err(status) => {
                    let status =
                        status.with_context(|| format!("running PreBind plugin \"{name}\""));
                    return self.binding_failed(binding, &status, now);
                }
            }
        }
        self.bind(binding, now);
    }

    /// A PreBind plugin waits for its writes, or for a time.
    fn pause_binding(
        &mut self,
        mut binding: Binding,
        progress: Progress,
        writes: Vec<crate::framework::Write>,
        now: Time,
    ) {
        let Placed { pod, .. } = &binding.placed;
        if let Stage::PreBind { open_writes, .. } = &mut binding.stage {
            *open_writes = writes.len();
        }
        let for_pod = pod.clone();
        let again = match progress {
            Progress::LookAgain(at) => Some(at.max(now)),
            Progress::Written | Progress::Done => None,
        };
        if let Some(at) = again {
            self.timers.insert((at, pod.uid.clone()));
        }
        for write in writes {
            self.commands.push_back(Command::Write { for_pod: for_pod.clone(), write });
        }
        self.binding.insert(for_pod.uid.clone(), binding);
    }

    fn bind(&mut self, mut binding: Binding, now: Time) {
        let Placed { pod, node, framework, state, .. } = &binding.placed;
        let before = self.ticks();
        let mut plugins = framework.bind.iter();
        let answer = plugins.find_map(|plugin| {
            let (name, began) = (plugin.name(), state.begin());
            let answer = plugin.bind(state, pod, node);
            state.ran(began, "Bind", name, || match answer {
                Ok(BindAnswer::Skip) => SKIP,
                _ => status_name(&answer),
            });
            match answer {
                Ok(BindAnswer::Skip) => None,
                Ok(BindAnswer::Binding) => Some(Ok(name)),
                Err(status) => {
                    Some(Err(status.with_context(|| format!("running Bind plugin \"{name}\""))))
                }
            }
        });
        let answer = answer.unwrap_or_else(|| Err(Status::error(NO_BINDER)));
        self.passed(&binding.placed, "Bind", status_name(&answer), before);
        let Placed { pod, node, .. } = &binding.placed;
        match answer {
            Ok(plugin) => {
                let (pod, node) = (pod.clone(), node.clone());
                binding.stage = Stage::Bind(plugin);
                self.binding.insert(pod.uid.clone(), binding);
                self.commands.push_back(Command::Bind { pod, node });
            }
            Err(status) => self.binding_failed(binding, &status, now),
        }
    }

    /// A binding came to nothing: the pod is forgotten and tried again after a backoff.
    fn binding_failed(&mut self, binding: Binding, status: &Status, now: Time) {
        let Binding { mut placed, finished, .. } = binding;
        let is_rejection = status.code().is_rejection();
        let result = if is_rejection { AttemptResult::Unschedulable } else { AttemptResult::Error };
        self.attempted(&placed.pod, result, placed.began);
        let released = self.abandon(&mut placed, now);
        if let Some(released) = released.as_ref().filter(|_| !is_rejection) {
            self.tell_released(released, now);
        }
        if let Some(current) = self.current(&placed.pod) {
            let newest = self.queue.policy_mut().queued(&current);
            let rejection = Rejection { newest, ..Rejection::error() };
            let message = status.message();
            self.tell_observer(&Happening::Failed {
                pod: &current,
                incarnation: finished.item().incarnation(),
                message: &message,
                at: now,
            });
            // It fails only if another pod of that name waits, which then goes first.
            let _ = self.queue.reject_finished(finished, rejection, now);
            let reason = if is_rejection { "Unschedulable" } else { "SchedulerError" };
            self.report_failure(&current, Nomination::Clear, reason, &message, now);
        }
        if let Some(released) = released.filter(|_| is_rejection) {
            self.tell_released_to_others(&released, now);
        }
    }

    fn reserve(&mut self, placed: &mut Placed, now: Time) -> Result<(), Status> {
        let framework = placed.framework.clone();
        let before = self.ticks();
        let result: Result<(), Status> = self.with_handle(now, |handle| {
            let Placed { pod, node, state, .. } = &mut *placed;
            for plugin in &framework.reserve {
                let (name, began) = (plugin.name(), state.begin());
                let reserved = plugin.reserve(handle, state, pod, node);
                state.ran(began, "Reserve", name, || status_name(&reserved));
                reserved.map_err(|status| from(name, "Reserve", status))?;
            }
            Ok(())
        });
        if let Err(status) = &result {
            self.tell_if_failed(status.plugin(), "Reserve", &result);
        }
        self.passed(placed, "Reserve", status_name(&result), before);
        result
    }

    /// Asks for permissions. Those that have to be waited for are returned.
    fn permit(&mut self, placed: &mut Placed, now: Time) -> Result<Vec<Wait>, Status> {
        let framework = placed.framework.clone();
        let before = self.ticks();
        let result = self.with_handle(now, |handle| {
            let mut waits = Vec::new();
            let Placed { pod, node, state, .. } = &mut *placed;
            for plugin in &framework.permit {
                let (name, began) = (plugin.name(), state.begin());
                let permission = plugin.permit(handle, state, pod, node);
                state.ran(began, "Permit", name, || match permission {
                    Ok(Permission::Wait(_)) => WAIT,
                    _ => status_name(&permission),
                });
                let permission = permission.map_err(|status| from(name, "Permit", status))?;
                waits.extend(Wait::of(name, permission, now));
            }
            Ok(waits)
        });
        let waits = matches!(&result, Ok(waits) if !waits.is_empty());
        let status = if waits { WAIT } else { status_name(&result) };
        self.passed(placed, "Permit", status, before);
        result
    }

    /// Finds out which PreBind plugins have work; whether any has.
    fn pre_flight(&mut self, placed: &mut Placed) -> Result<bool, Status> {
        let before = self.ticks();
        let result = self.ask_pre_flight(placed);
        // Where nobody has work, the point is skipped.
        let status = if let Ok(false) = result { SKIP } else { status_name(&result) };
        self.passed(placed, "PreBindPreFlight", status, before);
        result
    }

    fn ask_pre_flight(&self, placed: &mut Placed) -> Result<bool, Status> {
        let Placed { pod, node, framework, state, .. } = placed;
        let listers = &self.queue.policy().listers;
        let mut has_work = false;
        for plugin in &framework.pre_bind {
            let (name, began) = (plugin.name(), state.begin());
            let answer = plugin.pre_flight(listers, state, pod, node);
            state.ran(began, "PreBindPreFlight", name, || match answer {
                Ok(PreFlight::Skip) => SKIP,
                _ => status_name(&answer),
            });
            match answer {
                Ok(PreFlight::Run) => has_work = true,
                Ok(PreFlight::Skip) => state.skip_pre_bind.push(name),
                Err(status) => {
                    let text = format!("running PreBindPreFlight \"{name}\": {status}");
                    return Err(Status::error(text).from_plugin(name));
                }
            }
        }
        Ok(has_work)
    }

    /// The pod does not get its node after all. What the cache had of it there.
    pub(super) fn abandon(&mut self, placed: &mut Placed, now: Time) -> Option<Arc<Pod>> {
        let framework = placed.framework.clone();
        let before = self.ticks();
        self.with_handle(now, |handle| {
            let Placed { pod, node, state, .. } = &mut *placed;
            for plugin in framework.reserve.iter().rev() {
                let began = state.begin();
                plugin.unreserve(handle, state, pod, node);
                state.ran(began, "Unreserve", plugin.name(), || SUCCESS);
            }
        });
        self.passed(placed, "Unreserve", SUCCESS, before);
        self.wakeups.expect_in_vain(&placed.pod.uid);
        self.cache.forget(&placed.pod.uid)
    }

    /// The same, and everyone hears that there is room again.
    pub(super) fn release(&mut self, placed: &mut Placed, now: Time) {
        if let Some(released) = self.abandon(placed, now) {
            self.tell_released(&released, now);
        }
    }

    fn tell_released(&mut self, pod: &Arc<Pod>, now: Time) {
        let old = Some(Object::Pod(pod.clone()));
        self.announce(event(events::ASSIGNED_POD, Action::DELETE, old, None), now);
    }

    /// Everyone but the pod itself hears that there is room again: it was rejected, and what it
    /// gave back is no news to it.
    pub(super) fn tell_released_to_others(&mut self, pod: &Arc<Pod>, now: Time) {
        let is_other = |item: &QueuedPod, _: &_| item.pod().uid != pod.uid;
        let old = Some(Object::Pod(pod.clone()));
        let event = event(events::ASSIGNED_POD, Action::DELETE, old, None);
        self.queue.on_event_for(event, &Audience::Items(&is_other), now);
    }

    /// A Reserve or Permit plugin has the last word on a pod whose attempt is open.
    pub(super) fn not_let(&mut self, trial: Trial, pod: &Arc<Pod>, status: &Status, now: Time) {
        if !status.code().is_rejection() {
            return self.went_wrong(trial, pod, status, now);
        }
        self.attempted(pod, AttemptResult::Unschedulable, trial.began);
        let diagnosis = Diagnosis::one(status.clone());
        self.tell_rejected(&trial, pod, &diagnosis, now);
        let unschedulable = self.plugin_ids(diagnosis.rejectors());
        let pending = self.plugin_ids(diagnosis.pending());
        let rejection = Rejection::by(&unschedulable).pending(&pending);
        self.come_back(trial.attempt, pod, rejection, now);
        self.report_failure(pod, Nomination::Clear, "Unschedulable", &diagnosis.message(), now);
    }

    /// Calls plugins that may ask for something, and keeps in mind what they asked for.
    pub(super) fn with_handle<R>(
        &mut self,
        now: Time,
        call: impl FnOnce(&mut Handle<'_>) -> R,
    ) -> R {
        let waiting: Vec<Waiting> = self.permits.values().map(Permitting::waiting).collect();
        let mut wishes = Wishes::default();
        let mut handle = Handle {
            nodes: self.cache.nodes_unordered(),
            listers: &mut self.queue.policy_mut().listers,
            now,
            waiting: &waiting,
            wishes: &mut wishes,
        };
        let result = call(&mut handle);
        self.answers.extend(wishes.answers);
        self.to_activate.extend(wishes.activate.iter().map(|pod| PodKey::of(pod)));
        result
    }

    /// Does what plugins asked for, and what follows from it.
    pub(super) fn settle(&mut self, now: Time) {
        while let Some((pod, plugin, verdict)) = self.answers.pop_front() {
            self.permission_answered(&pod, plugin, verdict, now);
        }
        if !self.to_activate.is_empty() {
            let keys = std::mem::take(&mut self.to_activate);
            self.queue.activate(&keys, now);
        }
    }

    /// The pod is deleted while it is assumed to be on a node.
    pub(super) fn assumed_pod_deleted(&mut self, pod: &Arc<Pod>, now: Time) {
        if self.permits.contains_key(&pod.uid) {
            self.removed_while_waiting(&pod.uid, now);
        } else if !self.cancel_pre_bind(&pod.uid, &gone(pod), now) {
            self.forget(pod, now);
        }
        self.settle(now);
    }
}

/// A status of a plugin at a point: its own words if it rejects, and where it went wrong if not.
fn from(plugin: &'static str, point: &str, status: Status) -> Status {
    status.with_context(|| format!("running {point} plugin \"{plugin}\"")).from_plugin(plugin)
}

fn gone(pod: &Pod) -> String {
    format!("pod does not exist any more: pod \"{}\" not found", pod.name)
}

const NO_BINDER: &str = "no Bind plugin took the pod";
