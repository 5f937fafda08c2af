//! What a recorded run teaches: what became of each pod, how long things took, and when the
//! scheduler was free.

use std::io::{Read, Seek};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::Object;
use roadstead_model::Text;
use roadstead_queue::Time;
use roadstead_recording::{ReadError, Recorded, Step};
use roadstead_scheduler::Command;

use super::claims::Claims;
use super::lifespans::{Lifespan, Lifespans, kind_of};
use super::pods::{
    condition_of, is_finished, is_leaving, is_marked, node_of, nominated_node_of, phase_of,
};
use super::sent::{Asked, Came, Sent, SentCommands, median};
use crate::replay::Replay;
use crate::statistics::PodRecord;

/// What a recorded run teaches.
#[derive(Default)]
pub(super) struct Learned {
    /// Every pod, as it was placed.
    pub(super) pods: Vec<PodRecord>,
    /// What became of the pods that the recorded scheduler bound or evicted, by uid.
    pub(super) lives: HashMap<String, Life>,
    /// How long pods run.
    pub(super) lifespans: Lifespans,
    /// What became of claims whose volumes it chose.
    pub(super) claims: Claims,
    /// What it wanted done.
    pub(super) sent: SentCommands,
    pub(super) delays: Delays,
    /// How it was after each step.
    pub(super) moments: Vec<Moment>,
    /// When the first pod was tried: before that, not everything was known.
    pub(super) first_cycle: Option<Time>,
    /// When the recording ends.
    pub(super) end: Time,
}

/// The recorded scheduler between two steps.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    /// Whether it had a pod to try, and had not come to it.
    pub(super) is_busy: bool,
    /// From when on it had something to do by time alone.
    pub(super) due: Option<Time>,
}

/// What became of a pod.
#[derive(Default)]
pub(super) struct Life {
    kind: String,
    /// The node that the scheduler last wanted it on, if it did.
    wanted: Option<Text>,
    /// When it was first shown on that node.
    pub(super) shown_bound: Option<Time>,
    /// What happened to it there by itself.
    pub(super) course: Vec<Happened>,
    /// How the scheduler evicted it before it had finished, if it did.
    pub(super) eviction: Option<Eviction>,
    /// When and how it finished.
    finished: Option<(Time, String)>,
    gone: Option<Time>,
}

/// What came of a wish that a pod leaves.
pub(super) struct Eviction {
    pub(super) at: Time,
    pub(super) marked: Option<Came>,
    pub(super) leaving: Option<Came>,
    pub(super) gone: Option<Came>,
}

/// Something that happened to a pod on its node.
pub(super) struct Happened {
    /// When, from when it was shown there.
    pub(super) came: Came,
    /// What it was like, or nothing if it was gone.
    pub(super) pod: Option<Arc<Pod>>,
}

impl Life {
    /// Whether the recorded scheduler has put it where it is.
    pub(super) fn is_bound_by_us(&self) -> bool {
        self.shown_bound.is_some()
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.eviction.is_some()
    }

    /// Whether its end, if it was recorded, follows from where and when it was placed.
    pub(super) fn ends_by_itself(&self) -> bool {
        self.finished.is_some() || self.is_evicted()
    }

    /// For how long it ran at least, if it is not known how long it would have.
    pub(super) fn ran_at_least(&self, end: Time) -> Option<Duration> {
        let is_open = self.finished.is_none() && (self.is_evicted() || self.gone.is_none());
        is_open.then(|| self.gone.unwrap_or(end) - self.shown_bound.unwrap_or(end))
    }
}

/// How long things took: medians, from the command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    /// Until a binding was answered.
    pub(super) bound: Duration,
    /// Until the pod was shown on its node.
    pub(super) shown: Duration,
    /// Until a change of a status was shown.
    pub(super) patched: Duration,
    /// Until a write was answered.
    pub(super) written: Duration,
    /// Until an eviction was answered.
    pub(super) evicted: Duration,
    /// Until an evicted pod was shown to leave.
    pub(super) leaving: Duration,
    /// Until it was gone; nothing if none was.
    pub(super) gone: Option<Duration>,
}

impl Learned {
    /// Runs a replay, and looks on.
    pub(super) fn from<R: Read + Seek>(
        replay: &mut Replay<(), R>,
        until: Option<Time>,
    ) -> Result<Self, ReadError> {
        let mut learned = Self::default();
        while let Some((recorded, commands)) = replay.step_until(until)? {
            learned.see(&recorded);
            commands.iter().for_each(|command| learned.hear(command, recorded.at));
            let (scheduler, now) = (replay.scheduler(), recorded.at);
            let due = if scheduler.is_due(now) { Some(now) } else { scheduler.next_wakeup() };
            learned.moments.push(Moment { is_busy: scheduler.queue().has_next(), due });
        }
        learned.delays = learned.delays();
        learned.pods = replay.pod_records().to_vec();
        learned.end = until.unwrap_or_else(|| replay.now());
        learned.learn_lifespans();
        Ok(learned)
    }

    fn see(&mut self, recorded: &Recorded) {
        let Recorded { number, at, step } = recorded;
        let when = (*at, *number);
        match step {
            Step::Set(Object::Pod(pod)) => self.pod_shown(pod, when),
            Step::Gone(Object::Pod(pod)) => self.pod_gone(pod, when),
            Step::Set(object) => self.claims.shown(object, *number, *at),
            Step::Bound { uid, result } => self.sent.answer(Asked::Bind, uid, when, result),
            Step::Written { uid, result } => self.sent.answer(Asked::Write, uid, when, result),
            Step::Evicted { preemptor, result } => {
                self.sent.answer(Asked::Evict, preemptor, when, result);
            }
            Step::Cycle => {
                self.first_cycle.get_or_insert(*at);
            }
            _ => {}
        }
    }

    fn hear(&mut self, command: &Command, at: Time) {
        match command {
            Command::Bind { pod, node } => {
                self.life(&pod.uid).wanted = Some(node.clone());
                self.sent.send(Asked::Bind, &pod.uid, Sent::new(at, Some(node.clone()), None));
            }
            Command::Write { for_pod, write } => {
                self.claims.written(write, at);
                self.sent.send(Asked::Write, &for_pod.uid, Sent::new(at, None, None));
            }
            Command::PatchStatus { pod, condition, nominated_node } => {
                let sent = Sent::new(at, nominated_node.clone(), condition.as_ref());
                self.sent.send(Asked::Patch, &pod.uid, sent);
            }
            Command::Evict { victim, preemptor } => {
                self.sent.send(Asked::Evict, &preemptor.uid, Sent::new(at, None, None));
                let life = self.life(&victim.uid);
                if life.finished.is_none() {
                    let new = Eviction { at, marked: None, leaving: None, gone: None };
                    life.eviction.get_or_insert(new);
                }
            }
            Command::RecordEvent(_) => {}
        }
    }

    fn life(&mut self, uid: &Text) -> &mut Life {
        self.lives.entry_ref(uid.as_str()).or_default()
    }

    fn pod_shown(&mut self, pod: &Arc<Pod>, (at, step): (Time, u64)) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let Some(node) = node_of(pod) else {
            let nominated = nominated_node_of(pod);
            self.sent.show_status(uid, (at, step), nominated, condition_of(pod));
            return;
        };
        let Some(life) = self.lives.get_mut(uid) else { return };
        if let Some(eviction) = &mut life.eviction {
            let came = Some(Came { after: at - eviction.at, step });
            if is_leaving(pod) {
                eviction.leaving = eviction.leaving.or(came);
            } else if is_marked(pod) {
                eviction.marked = eviction.marked.or(came);
            }
        }
        match life.shown_bound {
            None if life.wanted.as_deref() == Some(node) => {
                life.shown_bound = Some(at);
                life.kind = kind_of(pod);
                self.sent.show_bound(uid, (at, step));
            }
            // By somebody else.
            None => {}
            Some(since) => {
                if is_finished(pod) {
                    life.finished.get_or_insert_with(|| (at, phase_of(pod).to_owned()));
                }
                // That it leaves is told at its own time, and an eviction follows from a decision.
                if !is_leaving(pod) && life.eviction.is_none() {
                    let came = Came { after: at - since, step };
                    life.course.push(Happened { came, pod: Some(Arc::clone(pod)) });
                }
            }
        }
    }

    fn pod_gone(&mut self, pod: &Arc<Pod>, (at, step): (Time, u64)) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let Some(life) = self.lives.get_mut(uid) else { return };
        life.gone = Some(at);
        if let Some(eviction) = &mut life.eviction {
            eviction.gone = Some(Came { after: at - eviction.at, step });
        }
        if let Some(since) = life.shown_bound
            && life.finished.is_some()
        {
            life.course.push(Happened { came: Came { after: at - since, step }, pod: None });
        }
    }

    fn learn_lifespans(&mut self) {
        for life in self.lives.values().filter(|life| !life.is_evicted()) {
            let Some((shown, (finished, phase))) = life.shown_bound.zip(life.finished.as_ref())
            else {
                continue;
            };
            let lifespan = Lifespan {
                finished: *finished - shown,
                cleared: life.gone.map(|gone| gone - *finished),
                phase: phase.clone(),
            };
            self.lifespans.add(&life.kind, lifespan);
        }
        self.lifespans.sort();
    }

    fn delays(&self) -> Delays {
        let evictions = || self.lives.values().filter_map(|life| life.eviction.as_ref());
        let usual = |came: fn(&Eviction) -> Option<Came>| {
            median(evictions().filter_map(came).map(|came| came.after).collect())
        };
        let answer = |asked| self.sent.usual_answer(asked).unwrap_or_default();
        let showing = |asked| self.sent.usual_showing(asked).unwrap_or_default();
        Delays {
            bound: answer(Asked::Bind),
            shown: showing(Asked::Bind),
            patched: showing(Asked::Patch),
            written: answer(Asked::Write),
            evicted: answer(Asked::Evict),
            leaving: usual(|eviction| eviction.leaving).unwrap_or_default(),
            gone: usual(|eviction| eviction.gone),
        }
    }
}
