//! What a recorded run teaches: what became of each pod, and how long things took.

use std::collections::VecDeque;
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
use super::pods::{is_finished, is_leaving, node_of};
use crate::replay::Replay;
use crate::statistics::PodRecord;

/// What a recorded run teaches.
#[derive(Default)]
pub(super) struct Learned {
    /// Every pod, as it was placed.
    pub(super) pods: Vec<PodRecord>,
    /// What became of the pods that the recorded scheduler bound or evicted, by uid.
    pub(super) lives: HashMap<String, Life>,
    /// What became of claims whose volumes it chose.
    pub(super) claims: Claims,
    pub(super) delays: Delays,
    /// When the first pod was tried: before that, not everything was known.
    pub(super) first_cycle: Option<Time>,
    /// When the recording ends.
    pub(super) end: Time,
}

/// What became of a pod.
#[derive(Default)]
pub(super) struct Life {
    /// The node that the scheduler last wanted it on, if it did.
    wanted: Option<Text>,
    /// When it was first shown on that node.
    pub(super) shown_bound: Option<Time>,
    /// What happened to it there by itself.
    pub(super) course: Vec<Happened>,
    /// Whether the scheduler evicted it before it had finished.
    pub(super) is_evicted: bool,
    /// If so, how long after that it was gone, and the number of the step.
    pub(super) left: Option<(Duration, u64)>,
    is_finished: bool,
}

/// Something that happened to a pod on its node.
pub(super) struct Happened {
    /// How long after it was shown there.
    pub(super) after: Duration,
    /// The number of the step, which decides what comes first at one time.
    pub(super) step: u64,
    /// What it was like, or nothing if it was gone.
    pub(super) pod: Option<Arc<Pod>>,
}

impl Life {
    /// Whether the recorded scheduler has put it where it is.
    pub(super) fn is_bound_by_us(&self) -> bool {
        self.shown_bound.is_some()
    }

    /// Whether its end, if it was recorded, follows from where and when it was placed.
    pub(super) fn ends_by_itself(&self) -> bool {
        self.is_finished || self.is_evicted
    }
}

/// How long things took: medians, from the command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    /// Until a binding was answered.
    pub(super) bound: Duration,
    /// Until the pod was shown on its node.
    pub(super) shown: Duration,
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
        let mut student = Student::default();
        while let Some((recorded, commands)) = replay.step_until(until)? {
            student.see(&recorded);
            commands.iter().for_each(|command| student.hear(command, recorded.at));
        }
        let Student { mut learned, samples, .. } = student;
        learned.delays = samples.medians();
        learned.pods = replay.pod_records().to_vec();
        learned.end = until.unwrap_or_else(|| replay.now());
        Ok(learned)
    }
}

/// Looks at a run step by step.
#[derive(Default)]
struct Student {
    learned: Learned,
    samples: Samples,
    /// Commands that were not answered, or whose effect was not shown.
    binds: HashMap<String, Time>,
    shows: HashMap<String, Time>,
    writes: HashMap<String, VecDeque<Time>>,
    evictions: HashMap<String, VecDeque<Time>>,
    leaving: HashMap<String, Time>,
    going: HashMap<String, Time>,
}

#[derive(Default)]
struct Samples {
    bound: Vec<Duration>,
    shown: Vec<Duration>,
    written: Vec<Duration>,
    evicted: Vec<Duration>,
    leaving: Vec<Duration>,
    gone: Vec<Duration>,
}

impl Student {
    fn see(&mut self, recorded: &Recorded) {
        let Recorded { number, at, step } = recorded;
        match step {
            Step::Set(Object::Pod(pod)) => self.pod_shown(pod, *number, *at),
            Step::Gone(Object::Pod(pod)) => self.pod_gone(pod, *number, *at),
            Step::Set(object) => self.learned.claims.shown(object, *number, *at),
            Step::Bound { uid, result: Ok(()) } => {
                sample(&mut self.samples.bound, self.binds.remove(uid.as_str()), *at);
            }
            Step::Written { uid, .. } => {
                let since = self.writes.get_mut(uid.as_str()).and_then(VecDeque::pop_front);
                sample(&mut self.samples.written, since, *at);
            }
            Step::Evicted { preemptor, .. } => {
                let since = self.evictions.get_mut(preemptor.as_str());
                sample(&mut self.samples.evicted, since.and_then(VecDeque::pop_front), *at);
            }
            Step::Cycle => {
                self.learned.first_cycle.get_or_insert(*at);
            }
            _ => {}
        }
    }

    fn hear(&mut self, command: &Command, at: Time) {
        match command {
            Command::Bind { pod, node } => {
                let uid = pod.uid.to_string();
                self.learned.lives.entry(uid.clone()).or_default().wanted = Some(node.clone());
                self.binds.insert(uid.clone(), at);
                self.shows.insert(uid, at);
            }
            Command::Write { for_pod, write } => {
                self.learned.claims.written(write, at);
                self.writes.entry(for_pod.uid.to_string()).or_default().push_back(at);
            }
            Command::Evict { victim, preemptor } => {
                let life = self.learned.lives.entry(victim.uid.to_string()).or_default();
                life.is_evicted |= !life.is_finished;
                self.evictions.entry(preemptor.uid.to_string()).or_default().push_back(at);
                self.leaving.entry(victim.uid.to_string()).or_insert(at);
                self.going.entry(victim.uid.to_string()).or_insert(at);
            }
            Command::PatchStatus { .. } | Command::RecordEvent(_) => {}
        }
    }

    fn pod_shown(&mut self, pod: &Arc<Pod>, step: u64, at: Time) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        if is_leaving(pod) {
            sample(&mut self.samples.leaving, self.leaving.remove(uid), at);
        }
        let Some(life) = self.learned.lives.get_mut(uid) else { return };
        let Some(node) = node_of(pod) else { return };
        match life.shown_bound {
            None if life.wanted.as_deref() == Some(node) => {
                life.shown_bound = Some(at);
                sample(&mut self.samples.shown, self.shows.remove(uid), at);
            }
            // By somebody else.
            None => {}
            Some(since) => {
                life.is_finished |= is_finished(pod);
                // That it leaves is told at its own time, and an eviction follows from a decision.
                if !is_leaving(pod) && !life.is_evicted {
                    let pod = Some(Arc::clone(pod));
                    life.course.push(Happened { after: at - since, step, pod });
                }
            }
        }
    }

    fn pod_gone(&mut self, pod: &Arc<Pod>, step: u64, at: Time) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let evicted = self.going.remove(uid);
        sample(&mut self.samples.gone, evicted, at);
        let Some(life) = self.learned.lives.get_mut(uid) else { return };
        life.left = evicted.map(|evicted| (at - evicted, step));
        if let Some(since) = life.shown_bound
            && life.is_finished
        {
            life.course.push(Happened { after: at - since, step, pod: None });
        }
    }
}

impl Samples {
    fn medians(self) -> Delays {
        Delays {
            bound: median(self.bound).unwrap_or_default(),
            shown: median(self.shown).unwrap_or_default(),
            written: median(self.written).unwrap_or_default(),
            evicted: median(self.evicted).unwrap_or_default(),
            leaving: median(self.leaving).unwrap_or_default(),
            gone: median(self.gone),
        }
    }
}

fn sample(samples: &mut Vec<Duration>, since: Option<Time>, now: Time) {
    samples.extend(since.map(|since| now - since));
}

fn median(mut samples: Vec<Duration>) -> Option<Duration> {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}
