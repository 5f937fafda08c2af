//! The other run: what came from outside, a scheduler, and what follows from its decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::sync::Arc;

use hashbrown::HashMap;
use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::{Notice, Object};
use roadstead_model::{Text, World};
use roadstead_queue::Time;
use roadstead_recording::{Header, ReadError, Reader, Recorded, Step};
use roadstead_scheduler::{Command, Condition, Scheduler, Setup};

use super::claims::ClaimHappened;
use super::learning::{Learned, Life};
use super::pods;

/// A run under another configuration.
pub(super) struct Course<'a> {
    learned: &'a Learned,
    scheduler: Scheduler<()>,
    world: World,
    now: Time,
    /// What will happen. At one time, what was recorded comes in the order of its steps, and what
    /// follows from decisions after it.
    agenda: BTreeMap<(Time, u64), Event>,
    planned: u64,
    /// Of what followed from writes, the first steps of what has been planned.
    followed: BTreeSet<u64>,
    /// Pods as they are in this run, by uid.
    pods: HashMap<String, Arc<Pod>>,
    /// Where and when pods were placed, by uid.
    pub(super) placed: HashMap<String, (Time, Text)>,
    pub(super) evicted: usize,
}

/// Something that will happen.
enum Event {
    Bound {
        uid: Text,
        node: Text,
    },
    Shown {
        uid: String,
        node: Text,
    },
    /// A claim or its volume changes, since something was written for it.
    Object(Object),
    Written {
        uid: Text,
    },
    Evicted {
        preemptor: Text,
    },
    Marked {
        uid: String,
    },
    Leaves {
        uid: String,
    },
    Gone {
        uid: String,
    },
    Patched {
        uid: String,
        condition: Option<Condition>,
        nominated_node: Option<Text>,
    },
    /// Something that a pod came to by itself after it was shown on its node: which.
    Happened {
        uid: String,
        index: usize,
        shown: Time,
    },
}

impl<'a> Course<'a> {
    pub(super) fn new(learned: &'a Learned, header: &Header, setup: Setup) -> Self {
        let Setup { world, profiles, queue } = setup;
        Self {
            learned,
            scheduler: Scheduler::new(queue, profiles, (), header.seed),
            world,
            now: header.start(),
            agenda: BTreeMap::new(),
            planned: 0,
            followed: BTreeSet::new(),
            pods: HashMap::new(),
            placed: HashMap::new(),
            evicted: 0,
        }
    }

    /// Runs to the end of the recording.
    pub(super) fn run<R: Read + Seek>(mut self, reader: &mut Reader<R>) -> Result<Self, ReadError> {
        let end = self.learned.end;
        let mut next = outside(reader)?;
        loop {
            let times = [
                next.as_ref().map(|recorded| recorded.at),
                self.agenda.first_key_value().map(|((at, _), _)| *at),
                self.scheduler.next_wakeup(),
            ];
            let due = times.into_iter().flatten().min().filter(|due| *due <= end);
            let Some(due) = due else { return Ok(self) };
            self.now = self.now.max(due);
            while self.is_next(next.as_ref()) {
                let Some(recorded) = next.take() else { break };
                self.outside(recorded);
                next = outside(reader)?;
            }
            self.settle();
            self.scheduler.on_time(self.now);
            self.settle();
            // Nobody is tried until everything is known that was there at the start.
            if self.learned.first_cycle.is_some_and(|first| first <= self.now) {
                while self.scheduler.schedule_one(self.now) {
                    self.settle();
                }
            }
        }
    }

    /// Whether that comes next at this time. What does not is done, if it is due.
    fn is_next(&mut self, recorded: Option<&Recorded>) -> bool {
        let due = recorded.filter(|recorded| recorded.at <= self.now);
        loop {
            self.take_commands();
            let Some(first) = self.agenda.first_entry() else { return due.is_some() };
            let key = *first.key();
            if key.0 > self.now || due.is_some_and(|due| (due.at, due.number) < key) {
                return due.is_some();
            }
            let event = first.remove();
            self.happen(event);
        }
    }

    /// Does all that is due and not from outside, and takes what the scheduler wants done.
    fn settle(&mut self) {
        let left = self.is_next(None);
        debug_assert!(!left, "nothing came from outside");
    }

    fn take_commands(&mut self) {
        let commands: Vec<Command> = self.scheduler.commands().collect();
        for command in commands {
            self.command(command);
        }
    }

    /// Plans what follows from a command.
    fn command(&mut self, command: Command) {
        let (now, delays) = (self.now, self.learned.delays);
        match command {
            Command::Bind { pod, node } => {
                let uid = pod.uid.clone();
                let shown = Event::Shown { uid: uid.to_string(), node: node.clone() };
                self.plan(now + delays.bound, Event::Bound { uid, node });
                self.plan(now + delays.shown, shown);
            }
            Command::Write { for_pod, write } => {
                self.plan(now + delays.written, Event::Written { uid: for_pod.uid.clone() });
                self.follow(self.learned.claims.course(&write));
            }
            Command::PatchStatus { pod, condition, nominated_node } => {
                let uid = pod.uid.to_string();
                self.plan(now + delays.shown, Event::Patched { uid, condition, nominated_node });
            }
            Command::Evict { victim, preemptor } => {
                self.evicted += 1;
                let uid = || victim.uid.to_string();
                let preemptor = preemptor.uid.clone();
                self.plan(now + delays.evicted, Event::Evicted { preemptor });
                self.plan(now + delays.leaving, Event::Marked { uid: uid() });
                self.plan(now + delays.leaving, Event::Leaves { uid: uid() });
                match self.life(&uid()).filter(|life| life.is_evicted) {
                    // As long as it took then; perhaps it never left.
                    Some(life) => {
                        if let Some((after, step)) = life.left {
                            self.agenda.insert((now + after, step), Event::Gone { uid: uid() });
                        }
                    }
                    None => {
                        let grace = self.pods.get(&uid()).map(|pod| pods::grace_of(pod));
                        let gone = delays.gone.or(grace).unwrap_or_default();
                        self.plan(now + gone, Event::Gone { uid: uid() });
                    }
                }
            }
            Command::RecordEvent(_) => {}
        }
    }

    /// What followed from the first write for a claim follows from the first one here.
    fn follow(&mut self, course: &[ClaimHappened]) {
        let Some(first) = course.first() else { return };
        if self.followed.insert(first.step) {
            for ClaimHappened { after, step, object } in course {
                self.agenda.insert((self.now + *after, *step), Event::Object(object.clone()));
            }
        }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.agenda.insert((at, AFTER_ALL_STEPS + self.planned), event);
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Bound { uid, node } => {
                let pod = self.pods.get(uid.as_str());
                let result = match pod {
                    Some(pod) if !pods::is_leaving(pod) => Ok(()),
                    _ => Err(format!("pod {uid} is gone or leaves")),
                };
                if result.is_ok() {
                    self.placed.entry(uid.to_string()).or_insert((now, node));
                }
                self.scheduler.bound(&uid, result, now);
            }
            Event::Shown { uid, node } => self.bind(uid, &node),
            Event::Object(object) => self.tell(&object, true),
            Event::Written { uid } => self.scheduler.written(&uid, Ok(()), now),
            Event::Evicted { preemptor } => self.scheduler.evicted(&preemptor, &Ok(()), now),
            Event::Marked { uid } => self.change(&uid, |pod| pods::marked(pod, now)),
            Event::Leaves { uid } => self.change(&uid, |pod| pods::leaving(pod, now)),
            Event::Gone { uid } => self.go(&uid),
            Event::Patched { uid, condition, nominated_node } => {
                let (condition, node) = (condition.as_ref(), nominated_node.as_deref());
                self.change(&uid, |pod| pods::patched(pod, condition, node, now));
            }
            Event::Happened { uid, index, shown } => self.happened(&uid, index, shown),
        }
    }

    /// The cluster shows a pod on its node, and what it came to by itself comes again.
    fn bind(&mut self, uid: String, node: &Text) {
        let now = self.now;
        let Some(pod) = self.pods.get(&uid) else { return };
        if pods::is_leaving(pod) || pods::node_of(pod).is_some() {
            return;
        }
        self.placed.entry(uid.clone()).or_insert((now, node.clone()));
        self.change(&uid, |pod| pods::bound(pod, node, now));
        let Some(life) = self.learned.lives.get(&uid).filter(|life| life.is_bound_by_us()) else {
            return;
        };
        for (index, happened) in life.course.iter().enumerate() {
            let event = Event::Happened { uid: uid.clone(), index, shown: now };
            self.agenda.insert((now + happened.after, happened.step), event);
        }
    }

    fn happened(&mut self, uid: &str, index: usize, shown: Time) {
        let Some(life) = self.learned.lives.get(uid) else { return };
        let (Some(recorded), Some(happened)) = (life.shown_bound, life.course.get(index)) else {
            return;
        };
        match &happened.pod {
            Some(pod) => {
                let (later, sooner) = (shown - recorded, recorded - shown);
                self.change(uid, |current| pods::moved(current, pod, later, sooner));
            }
            None => self.go(uid),
        }
    }

    /// Something came from outside, or followed from what the recorded scheduler did.
    fn outside(&mut self, recorded: Recorded) {
        let Recorded { step, number, .. } = recorded;
        match step {
            Step::Set(Object::Pod(pod)) => self.pod_set(pod),
            Step::Gone(Object::Pod(pod)) => {
                let uid = pod.metadata.uid.as_deref().unwrap_or_default();
                if !self.life(uid).is_some_and(Life::ends_by_itself) {
                    self.go(uid);
                }
            }
            Step::Set(object) if self.learned.claims.follows(&object, number) => {}
            Step::Set(object) => self.tell(&object, true),
            Step::Gone(object) => self.tell(&object, false),
            _ => {}
        }
    }

    fn pod_set(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let life = self.life(&uid);
        let is_evicted = life.is_some_and(|life| life.is_evicted);
        let is_ours = life.is_some_and(Life::is_bound_by_us);
        let Some(current) = self.pods.get(&uid) else {
            // One that is gone here does not come back.
            if !is_ours || pods::node_of(&pod).is_none() && !self.placed.contains_key(&uid) {
                self.show(uid, pod);
            }
            return;
        };
        if pods::is_leaving(&pod) {
            // Somebody else has deleted it, or changes it on its way out.
            if (!is_evicted || pods::is_leaving(current))
                && let Some(next) = pods::updated(current, &pod)
            {
                self.show(uid, next);
            }
            return;
        }
        match pods::node_of(&pod) {
            // What it came to on its node comes after its node.
            Some(_) if is_ours => {}
            Some(_) => self.show(uid, pod),
            None => {
                if let Some(next) = pods::updated(current, &pod) {
                    self.show(uid, next);
                }
            }
        }
    }

    fn life(&self, uid: &str) -> Option<&'a Life> {
        self.learned.lives.get(uid)
    }

    fn change(&mut self, uid: &str, change: impl FnOnce(&Arc<Pod>) -> Arc<Pod>) {
        if let Some(pod) = self.pods.get(uid) {
            let next = change(pod);
            // A write that changes nothing is not shown.
            if next != *pod {
                self.show(uid.to_owned(), next);
            }
        }
    }

    fn show(&mut self, uid: String, pod: Arc<Pod>) {
        self.pods.insert(uid, Arc::clone(&pod));
        self.tell(&Object::Pod(pod), true);
    }

    fn go(&mut self, uid: &str) {
        if let Some(pod) = self.pods.remove(uid) {
            self.tell(&Object::Pod(pod), false);
        }
    }

    fn tell(&mut self, object: &Object, is_there: bool) {
        // What makes no sense made none in the recorded run.
        let Ok(Some(notice)) = Notice::of(object, &mut self.world) else { return };
        match is_there {
            true => notice.tell(&mut self.scheduler, self.now),
            false => notice.tell_gone(&mut self.scheduler, self.now),
        }
    }
}

/// The next step that is an object shown or gone.
fn outside<R: Read + Seek>(reader: &mut Reader<R>) -> Result<Option<Recorded>, ReadError> {
    loop {
        match reader.next_step()? {
            Some(recorded) if matches!(recorded.step, Step::Set(_) | Step::Gone(_)) => {
                return Ok(Some(recorded));
            }
            Some(_) => {}
            None => return Ok(None),
        }
    }
}

/// More than there are steps in any recording.
const AFTER_ALL_STEPS: u64 = 1 << 62;
