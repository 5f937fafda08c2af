//! The other run: what came from outside, a scheduler, and what follows from its decisions.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};
use std::sync::Arc;
use std::time::Duration;

use hashbrown::{HashMap, HashSet};
use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::{Notice, Object};
use roadstead_model::{Text, World};
use roadstead_queue::Time;
use roadstead_recording::{Answer, ReadError, Reader, Recorded, Step};
use roadstead_scheduler::{Command, Condition, Scheduler, Setup};

use super::claims::ClaimHappened;
use super::learning::{Eviction, Learned, Life, Moment};
use super::lifespans::{Lifespan, kind_of};
use super::pods;
use super::sent::{Asked, Came};

/// A run under another configuration.
pub(super) struct Course<'a> {
    learned: &'a Learned,
    scheduler: Scheduler<()>,
    world: World,
    now: Time,
    /// What will happen, by time. At one time, what was recorded comes in the order of its steps,
    /// and what follows from decisions after it.
    agenda: BTreeMap<(Time, u64, u64), Event<'a>>,
    planned: u64,
    /// How many commands of a kind there were for a pod.
    sent: HashMap<(Asked, Text), usize>,
    /// Of what followed from writes, the first steps of what has been planned.
    followed: BTreeSet<u64>,
    /// Pods as they are in this run, by uid.
    pods: HashMap<String, Arc<Pod>>,
    /// Where and when pods were placed, by uid.
    pub(super) placed: HashMap<String, (Time, Text)>,
    /// Who was to make room before they had finished.
    pub(super) evicted: HashSet<Text>,
}

/// When something follows from a command.
enum When {
    /// As long after it as it did then.
    As(Came),
    /// As long after it as it usually did.
    Usually,
    /// Not at all, as it did not then.
    Never,
}

/// Something that will happen.
enum Event<'a> {
    Bound {
        uid: Text,
        node: Text,
        result: Answer,
    },
    Shown {
        uid: String,
        node: Text,
    },
    /// A claim or its volume changes, since something was written for it.
    Object(Object),
    Written {
        uid: Text,
        result: Answer,
    },
    Evicted {
        preemptor: Text,
        result: Answer,
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
    /// A pod does of which it was not recorded when.
    Finishes {
        uid: String,
        lifespan: &'a Lifespan,
    },
    /// Something that a pod came to by itself after it was shown on its node: which.
    Happened {
        uid: String,
        index: usize,
        shown: Time,
    },
}

impl<'a> Course<'a> {
    pub(super) fn new(learned: &'a Learned, start: Time, seed: u64, setup: Setup) -> Self {
        let Setup { world, profiles, queue } = setup;
        Self {
            learned,
            scheduler: Scheduler::new(queue, profiles, (), seed),
            world,
            now: start,
            agenda: BTreeMap::new(),
            planned: 0,
            sent: HashMap::new(),
            followed: BTreeSet::new(),
            pods: HashMap::new(),
            placed: HashMap::new(),
            evicted: HashSet::new(),
        }
    }

    /// Runs to the end of the recording, step by step.
    pub(super) fn run<R: Read + Seek>(mut self, reader: &mut Reader<R>) -> Result<Self, ReadError> {
        let end = self.learned.end;
        let mut moment = Moment::default();
        loop {
            let next = reader.next_step()?.filter(|next| next.at <= end);
            let all = (end + Duration::from_nanos(1), 0);
            let until = next.as_ref().map_or(all, |next| (next.at, next.number));
            self.pass(moment, until);
            let Some(next) = next else { return Ok(self) };
            self.now = self.now.max(next.at);
            let index = usize::try_from(next.number).unwrap_or(usize::MAX);
            moment = self.learned.moments.get(index).copied().unwrap_or_default();
            self.step(next);
            self.take_commands();
        }
    }

    /// Lets time pass up to the next step.
    fn pass(&mut self, moment: Moment, until: (Time, u64)) {
        loop {
            // What comes at one time comes before anybody is tried, as it did then.
            if until.0 > self.now && !moment.is_busy {
                self.try_pods();
            }
            let event = self.agenda.first_key_value().map(|(key, _)| *key);
            let event = event.filter(|(at, step, _)| (*at, *step) <= until);
            let is_due = self.scheduler.is_due(self.now).then_some(self.now);
            // What the recorded one had to do by then it did at a step that is still to come.
            let due = is_due
                .or_else(|| self.scheduler.next_wakeup())
                .filter(|due| *due < until.0 && moment.due.is_none_or(|recorded| *due < recorded));
            match (event, due) {
                (Some((at, ..)), due) if due.is_none_or(|due| at <= due) => {
                    self.now = self.now.max(at);
                    let first = self.agenda.pop_first();
                    first.into_iter().for_each(|(_, event)| self.happen(event));
                }
                (_, Some(due)) => {
                    self.now = self.now.max(due);
                    self.scheduler.on_time(self.now);
                }
                _ => return,
            }
            self.take_commands();
        }
    }

    /// Tries every pod that is to be tried. Nobody is until everything is known that was there at
    /// the start.
    fn try_pods(&mut self) {
        if self.learned.first_cycle.is_some_and(|first| first <= self.now) {
            while self.scheduler.schedule_one(self.now) {
                self.take_commands();
            }
        }
    }

    /// Does a step of the recorded run, as far as it is one of this run as well.
    fn step(&mut self, recorded: Recorded) {
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
            Step::OnTime => self.scheduler.on_time(self.now),
            Step::Cycle => {
                self.scheduler.schedule_one(self.now);
            }
            _ => {}
        }
    }

    fn take_commands(&mut self) {
        let commands: Vec<Command> = self.scheduler.commands().collect();
        for command in commands {
            self.command(command);
        }
    }

    /// Plans what follows from a command.
    fn command(&mut self, command: Command) {
        let delays = self.learned.delays;
        match command {
            Command::Bind { pod, node } => {
                let uid = pod.uid.clone();
                let (answer, shown) = self.came(Asked::Bind, &uid, Some(&node));
                let is_shown = Event::Shown { uid: uid.to_string(), node: node.clone() };
                self.plan_answer(answer, delays.bound, |result| Event::Bound { uid, node, result });
                self.plan(shown, delays.shown, is_shown);
            }
            Command::Write { for_pod, write } => {
                let uid = for_pod.uid.clone();
                let (answer, _) = self.came(Asked::Write, &uid, None);
                self.plan_answer(answer, delays.written, |result| Event::Written { uid, result });
                self.follow(self.learned.claims.course(&write));
            }
            Command::PatchStatus { pod, condition, nominated_node } => {
                let (_, shown) = self.came(Asked::Patch, &pod.uid, nominated_node.as_ref());
                let uid = pod.uid.to_string();
                let event = Event::Patched { uid, condition, nominated_node };
                self.plan(shown, delays.patched, event);
            }
            Command::Evict { victim, preemptor } => {
                if self.pods.get(victim.uid.as_str()).is_some_and(|pod| !pods::is_finished(pod)) {
                    self.evicted.insert(victim.uid.clone());
                }
                let preemptor = preemptor.uid.clone();
                let (answer, _) = self.came(Asked::Evict, &preemptor, None);
                self.plan_answer(answer, delays.evicted, |result| Event::Evicted {
                    preemptor,
                    result,
                });
                self.evict(&victim.uid);
            }
            Command::RecordEvent(_) => {}
        }
    }

    fn evict(&mut self, victim: &Text) {
        let (uid, delays) = (|| victim.to_string(), self.learned.delays);
        let eviction = self.life(victim).and_then(|life| life.eviction.as_ref());
        let is_same = eviction.is_some_and(|eviction| eviction.at == self.now);
        let when = |came: Option<Came>| match came {
            Some(came) => When::As(came),
            None if is_same => When::Never,
            None => When::Usually,
        };
        let of = |part: fn(&Eviction) -> Option<Came>| when(eviction.and_then(part));
        let [marked, leaving, gone] = [of(|it| it.marked), of(|it| it.leaving), of(|it| it.gone)];
        let grace = self.pods.get(&uid()).map(|pod| pods::grace_of(pod));
        let usually_gone = delays.gone.or(grace).unwrap_or_default();
        self.plan(marked, delays.leaving, Event::Marked { uid: uid() });
        self.plan(leaving, delays.leaving, Event::Leaves { uid: uid() });
        self.plan(gone, usually_gone, Event::Gone { uid: uid() });
    }

    /// When such a command of the recorded scheduler was answered, what the answer was, and when
    /// its effect was shown.
    fn came(&mut self, asked: Asked, uid: &Text, node: Option<&Text>) -> ((When, Answer), When) {
        let number = self.sent.entry((asked, uid.clone())).or_default();
        *number += 1;
        let Some(sent) = self.learned.sent.get(asked, uid, *number - 1) else {
            return ((When::Usually, Ok(())), When::Usually);
        };
        let is_same = sent.at == self.now && sent.node.as_ref() == node;
        let shown = match sent.shown {
            Some(came) => When::As(came),
            None if is_same => When::Never,
            None => When::Usually,
        };
        let answer = match &sent.answered {
            Some((came, answer)) if is_same => (When::As(*came), answer.clone()),
            Some((came, Ok(()))) => (When::As(*came), Ok(())),
            None if is_same => (When::Never, Ok(())),
            _ => (When::Usually, Ok(())),
        };
        (answer, shown)
    }

    /// What followed from the first write for a claim follows from the first one here.
    fn follow(&mut self, course: &[ClaimHappened]) {
        let Some(first) = course.first() else { return };
        if self.followed.insert(first.step) {
            for ClaimHappened { after, step, object } in course {
                let came = Came { after: *after, step: *step };
                self.plan(When::As(came), Duration::ZERO, Event::Object(object.clone()));
            }
        }
    }

    fn plan_answer(
        &mut self,
        (when, answer): (When, Answer),
        usually: Duration,
        event: impl FnOnce(Answer) -> Event<'a>,
    ) {
        self.plan(when, usually, event(answer));
    }

    fn plan(&mut self, when: When, usually: Duration, event: Event<'a>) {
        let (after, step) = match when {
            When::As(Came { after, step }) => (after, step),
            When::Usually => (usually, AFTER_ALL_STEPS),
            When::Never => return,
        };
        self.planned += 1;
        self.agenda.insert((self.now + after, step, self.planned), event);
    }

    fn happen(&mut self, event: Event<'a>) {
        let now = self.now;
        match event {
            Event::Bound { uid, node, result } => {
                let pod = self.pods.get(uid.as_str());
                let result = match pod {
                    Some(pod) if !pods::is_leaving(pod) => result,
                    _ => Err(format!("pod {uid} is gone or leaves")),
                };
                if result.is_ok() {
                    self.placed.entry(uid.to_string()).or_insert((now, node));
                }
                self.scheduler.bound(&uid, result, now);
            }
            Event::Shown { uid, node } => self.bind(uid, &node),
            Event::Object(object) => self.tell(&object, true),
            Event::Written { uid, result } => self.scheduler.written(&uid, result, now),
            Event::Evicted { preemptor, result } => {
                self.scheduler.evicted(&preemptor, &result, now);
            }
            Event::Marked { uid } => self.change(&uid, |pod| pods::marked(pod, now)),
            Event::Leaves { uid } => self.change(&uid, |pod| pods::leaving(pod, now)),
            Event::Gone { uid } => self.go(&uid),
            Event::Patched { uid, condition, nominated_node } => {
                let (condition, node) = (condition.as_ref(), nominated_node.as_deref());
                self.change(&uid, |pod| pods::patched(pod, condition, node, now));
            }
            Event::Finishes { uid, lifespan } => self.finish(uid, lifespan),
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
        let life = self.life(&uid).filter(|life| life.is_bound_by_us());
        for (index, happened) in life.into_iter().flat_map(|it| it.course.iter().enumerate()) {
            let event = Event::Happened { uid: uid.clone(), index, shown: now };
            self.plan(When::As(happened.came), Duration::ZERO, event);
        }
        let ran = life.map_or(Some(Duration::ZERO), |life| life.ran_at_least(self.learned.end));
        if let (Some(ran), Some(pod)) = (ran, self.pods.get(&uid)) {
            let expected = self.learned.lifespans.expected(&kind_of(pod), ran);
            if let Some(lifespan) = expected {
                self.plan(When::Usually, lifespan.finished, Event::Finishes { uid, lifespan });
            }
        }
    }

    /// A pod finishes of which nobody knows how long it would have run.
    fn finish(&mut self, uid: String, lifespan: &Lifespan) {
        if self.pods.get(&uid).is_none_or(|pod| pods::is_leaving(pod) || pods::is_finished(pod)) {
            return;
        }
        self.change(&uid, |pod| pods::finished(pod, &lifespan.phase));
        if let Some(cleared) = lifespan.cleared {
            self.plan(When::Usually, cleared, Event::Gone { uid });
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

    fn pod_set(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let life = self.life(&uid);
        let is_evicted = life.is_some_and(Life::is_evicted);
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

/// More than there are steps in any recording.
const AFTER_ALL_STEPS: u64 = 1 << 62;
