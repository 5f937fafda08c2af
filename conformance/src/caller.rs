//! What happens around a queue: the clock, the versions of pods, the attempts under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::subject::{Change, Failure, Object, PodUpdate, Reach, Subject};
use crate::trace::{Action, End, Event, Header, Labels, Op, Outcome, Pod, PodName, State, Uid};

/// Drives a [`Subject`] with the operations of a trace, as `TRACES.md` says that the real queue
/// was driven.
pub struct Caller<S: Subject> {
    subject: S,
    now_ms: u64,
    newest_by_name: BTreeMap<PodName, Arc<Pod>>,
    newest_by_uid: BTreeMap<Uid, Arc<Pod>>,
    /// The affinity term of each uid as the queue parsed it last; see [`Caller::as_parsed`].
    parsed: BTreeMap<Uid, Labels>,
    /// Oldest first.
    attempts: Vec<Attempt<S::Attempt>>,
}

struct Attempt<A> {
    name: PodName,
    uid: Uid,
    is_done: bool,
    handle: A,
}

impl<S: Subject> Caller<S> {
    /// Opens a subject and starts its clock.
    pub fn open(header: &Header) -> Self {
        Self {
            subject: S::open(header),
            now_ms: header.start_ms,
            newest_by_name: BTreeMap::new(),
            newest_by_uid: BTreeMap::new(),
            parsed: BTreeMap::new(),
            attempts: Vec::new(),
        }
    }

    /// Does one operation.
    pub fn apply(&mut self, op: &Op) -> Outcome {
        let now_ms = self.now_ms;
        match op {
            Op::Add { pod } => self.add(pod),
            Op::Pop {} => {
                return self.pop().map_or(Outcome::Nothing, Outcome::Popped);
            }
            Op::Reject { pod, unschedulable, pending, cycle } => {
                return self.reject(pod, unschedulable, pending, *cycle);
            }
            Op::Done { pod } => self.done(pod),
            Op::Update { pod } => self.update(pod),
            Op::Delete { pod } => {
                self.subject.lister_lost(pod);
                self.subject.delete(now_ms, &self.newest(pod));
            }
            Op::Event { event, labels, old_labels, max_priority } => {
                let object = |labels: &Labels| Object { labels: labels.clone(), uid: None };
                let change = Change {
                    event: event.clone(),
                    old: old_labels.as_ref().map(object),
                    new: labels.as_ref().map(object),
                };
                let reach = max_priority.map_or(Reach::Everyone, Reach::UpToPriority);
                self.subject.happened(now_ms, &change, reach);
            }
            Op::AssignedAdd { pod } => self.assigned_add(pod),
            Op::AssignedUpdate { pod } => self.assigned_update(pod),
            Op::Activate { pods } => {
                let pods: Vec<_> = pods.iter().map(|name| self.newest(name)).collect();
                self.subject.activate(now_ms, &pods);
            }
            Op::Nominate { pod, node } => {
                self.subject.nominate(&self.newest(pod), node.as_deref());
            }
            Op::Unnominate { pod } => self.subject.unnominate(&self.newest(pod)),
            Op::Nominated { node } => return Outcome::Nominated(self.subject.nominated(node)),
            // The longest time there is, rather than an overflow: traces come from outside.
            Op::Advance { ms } => self.now_ms = now_ms.saturating_add(*ms),
            Op::FlushBackoff {} => self.subject.flush_backoff(now_ms),
            Op::FlushUnschedulable {} => self.subject.flush_unschedulable(now_ms),
        }
        Outcome::Nothing
    }

    /// Ends the run: reads the metrics, then pops what can be popped.
    pub fn end(&mut self) -> End {
        let incoming = self.subject.incoming();
        let pending = self.subject.pending();
        let mut drained = Vec::new();
        while let Some(name) = self.pop() {
            drained.push(name);
        }
        for attempt in self.attempts.drain(..) {
            self.subject.discard(attempt.handle);
        }
        End { drained, incoming, pending }
    }

    /// The subject's state.
    pub fn state(&self) -> State {
        self.subject.state()
    }

    /// The subject.
    pub fn subject(&self) -> &S {
        &self.subject
    }

    /// The time.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// The names of attempts that can still be rejected, oldest first.
    pub fn attempts(&self) -> impl Iterator<Item = &PodName> {
        self.attempts.iter().map(|attempt| &attempt.name)
    }

    /// What [`Op::Update`] to this version will tell the subject.
    pub fn update_to(&self, pod: &Pod) -> PodUpdate {
        let old = self.newest_by_name.get(&pod.full_name()).cloned();
        let old = old.unwrap_or_else(|| Arc::new(pod.clone()));
        let kinds = kinds(&old, pod).map(|action| Event::new("UnschedulablePod", action));
        PodUpdate {
            kinds: kinds.collect(),
            is_more_than_status: is_more_than_status(&old, pod),
            new: Arc::new(self.as_parsed(pod)),
            old,
        }
    }

    fn add(&mut self, pod: &Pod) {
        let pod = self.saw(pod);
        self.parsed.insert(pod.uid.clone(), pod.affinity.clone());
        self.subject.add(self.now_ms, &pod);
    }

    fn pop(&mut self) -> Option<PodName> {
        let popped = self.subject.pop(self.now_ms)?;
        let stale =
            |attempt: &mut Attempt<S::Attempt>| attempt.is_done && attempt.name == popped.name;
        for attempt in self.attempts.extract_if(.., stale) {
            self.subject.discard(attempt.handle);
        }
        let name = popped.name.clone();
        self.attempts.push(Attempt {
            name: popped.name,
            uid: popped.uid,
            is_done: false,
            handle: popped.attempt,
        });
        Some(name)
    }

    fn reject(
        &mut self,
        name: &PodName,
        unschedulable: &[String],
        pending: &[String],
        cycle: Option<i64>,
    ) -> Outcome {
        let Some(index) = self.attempt_of(name) else {
            return Outcome::Nothing;
        };
        let attempt = self.attempts.remove(index);
        let newest = self.newest_by_uid.get(&attempt.uid).cloned();
        let pod = newest.unwrap_or_else(|| Arc::new(Pod::bare(name)));
        let failure = Failure { pod: &pod, unschedulable, pending, cycle };
        match self.subject.reject(self.now_ms, attempt.handle, &failure) {
            Ok(()) => {
                self.parsed.insert(pod.uid.clone(), pod.affinity.clone());
                Outcome::Nothing
            }
            Err(already) => Outcome::Refused(already),
        }
    }

    /// Said again of an attempt that is done, it reaches the queue too: that must be harmless.
    fn done(&mut self, name: &PodName) {
        if let Some(index) = self.attempt_of(name) {
            let attempt = &mut self.attempts[index];
            attempt.is_done = true;
            self.subject.done(self.now_ms, &mut attempt.handle);
        }
    }

    fn update(&mut self, pod: &Pod) {
        let update = self.update_to(pod);
        self.saw(pod);
        self.parsed.insert(pod.uid.clone(), update.new.affinity.clone());
        self.subject.update(self.now_ms, &update);
    }

    fn assigned_add(&mut self, pod: &Pod) {
        let pod = self.saw(pod);
        let change = Change {
            event: Event::new("AssignedPod", Action::ADD),
            old: None,
            new: Some(Object::from_pod(&pod)),
        };
        self.subject.happened(self.now_ms, &change, Reach::RelatedTo(&pod));
    }

    fn assigned_update(&mut self, pod: &Pod) {
        let old = self.newest_by_name.get(&pod.full_name()).cloned();
        let new = self.saw(pod);
        let old = old.unwrap_or_else(|| new.clone());
        for action in kinds(&old, &new) {
            let change = Change {
                event: Event::new("AssignedPod", action),
                old: Some(Object::from_pod(&old)),
                new: Some(Object::from_pod(&new)),
            };
            let reach = match action {
                Action::UPDATE_POD_SCALE_DOWN => Reach::Everyone,
                _ => Reach::RelatedTo(&new),
            };
            self.subject.happened(self.now_ms, &change, reach);
        }
    }

    /// Enters a version as the newest, for the queue's pod lister too.
    fn saw(&mut self, pod: &Pod) -> Arc<Pod> {
        let pod = Arc::new(pod.clone());
        self.newest_by_name.insert(pod.full_name(), pod.clone());
        self.newest_by_uid.insert(pod.uid.clone(), pod.clone());
        self.subject.lister_has(&pod);
        pod
    }

    /// The newest version of a name, also of one deleted since.
    fn newest(&self, name: &PodName) -> Arc<Pod> {
        let known = self.newest_by_name.get(name).cloned();
        known.unwrap_or_else(|| Arc::new(Pod::bare(name)))
    }

    /// The oldest attempt of a name that is not done, or else the oldest.
    fn attempt_of(&self, name: &PodName) -> Option<usize> {
        let position = |is_done: bool| {
            self.attempts.iter().position(|it| it.name == *name && it.is_done == is_done)
        };
        position(false).or_else(|| position(true))
    }

    /// A new version with the affinity term that the queue goes by.
    ///
    /// Upstream's `PodInfo.Update` swaps only the pod where the uid is the same, and keeps the
    /// term parsed from an earlier version; the failure handler makes a new `PodInfo`.
    fn as_parsed(&self, pod: &Pod) -> Pod {
        let mut pod = pod.clone();
        if self.subject.waiting(&pod.full_name()).as_ref() == Some(&pod.uid)
            && let Some(term) = self.parsed.get(&pod.uid)
        {
            pod.affinity.clone_from(term);
        }
        pod
    }
}

/// What changed from one version of a pod to the next, in the order in which it is told.
fn kinds(old: &Pod, new: &Pod) -> impl Iterator<Item = Action> {
    let kinds = [
        (old.labels != new.labels, Action::UPDATE_POD_LABEL),
        (new.cpu < old.cpu, Action::UPDATE_POD_SCALE_DOWN),
        (
            !old.gates.is_empty() && new.gates.is_empty(),
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        ),
        (old.tolerations.len() != new.tolerations.len(), Action::UPDATE_POD_TOLERATION),
    ];
    let is_specific = kinds.iter().any(|(changed, _)| *changed);
    let general = (!is_specific, Action::UPDATE);
    kinds.into_iter().chain([general]).filter(|(changed, _)| *changed).map(|(_, action)| action)
}

fn is_more_than_status(old: &Pod, new: &Pod) -> bool {
    let mut old = old.clone();
    old.nominated.clone_from(&new.nominated);
    old != *new
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::Reference;
    use crate::trace::{Hint, HintResult, Rule};

    fn header() -> Header {
        let pod_added = Event::new("Pod", Action::ADD);
        Header {
            name: "t".to_owned(),
            about: None,
            quirk: None,
            start_ms: 1_700_000_000_000,
            initial_backoff_ms: 1000,
            max_backoff_ms: 0,
            max_in_unschedulable_ms: 300_000,
            queueing_hints: true,
            pop_from_backoff: true,
            gates: Vec::new(),
            hints: vec![Hint {
                plugin: "InterPodAffinity".to_owned(),
                events: vec![pod_added],
                rule: Rule::Always { result: HintResult::Queue },
            }],
        }
    }

    fn name(text: &str) -> PodName {
        PodName::try_from(text.to_owned()).unwrap()
    }

    fn app(value: &str) -> Labels {
        [("app".to_owned(), value.to_owned())].into()
    }

    fn pod(full_name: &str, uid: &str) -> Pod {
        Pod { uid: Uid(uid.into()), ..Pod::bare(&name(full_name)) }
    }

    fn waiting_for(app_value: &str) -> Pod {
        Pod { affinity: app(app_value), ..pod("ns/web", "uid-1") }
    }

    /// Binds a pod with this label and says whether that woke somebody.
    fn wakes(caller: &mut Caller<Reference>, app_value: &str) -> bool {
        let mut bound = Pod { labels: app(app_value), ..pod("ns/db", "uid-2") };
        bound.node = "node-1".to_owned();
        caller.apply(&Op::AssignedAdd { pod: bound });
        !caller.state().active.is_empty()
    }

    fn pop_and_reject(caller: &mut Caller<Reference>) {
        assert_eq!(caller.apply(&Op::Pop {}), Outcome::Popped(name("ns/web")));
        caller.apply(&Op::Reject {
            pod: name("ns/web"),
            unschedulable: vec!["InterPodAffinity".to_owned()],
            pending: Vec::new(),
            cycle: None,
        });
    }

    #[test]
    fn an_update_keeps_the_affinity_as_parsed_until_the_next_failure() {
        let mut caller = Caller::open(&header());
        caller.apply(&Op::Add { pod: waiting_for("x") });
        pop_and_reject(&mut caller);

        caller.apply(&Op::Update { pod: waiting_for("y") });
        assert!(!wakes(&mut caller, "y"));
        assert!(wakes(&mut caller, "x"));

        pop_and_reject(&mut caller);
        assert!(!wakes(&mut caller, "x"));
        assert!(wakes(&mut caller, "y"));
    }

    #[test]
    fn a_pod_that_is_nowhere_is_parsed_anew_by_an_update() {
        let mut caller = Caller::open(&header());
        caller.apply(&Op::Add { pod: waiting_for("x") });
        caller.apply(&Op::Pop {});
        caller.apply(&Op::Done { pod: name("ns/web") });

        caller.apply(&Op::Update { pod: waiting_for("y") });
        pop_and_reject(&mut caller);
        assert!(wakes(&mut caller, "y"));
    }

    #[test]
    fn kinds_of_change_are_told_in_order_and_a_general_one_only_without_them() {
        let old = Pod {
            cpu: 200,
            gates: vec!["g".to_owned()],
            tolerations: vec!["t".to_owned()],
            ..pod("ns/web", "uid-1")
        };
        let mut new = pod("ns/web", "uid-1");
        new.labels = app("x");
        new.cpu = 100;
        let all = [
            Action::UPDATE_POD_LABEL,
            Action::UPDATE_POD_SCALE_DOWN,
            Action::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            Action::UPDATE_POD_TOLERATION,
        ];
        assert_eq!(kinds(&old, &new).collect::<Vec<_>>(), all);
        new = Pod { priority: 1, cpu: 300, ..old.clone() };
        assert_eq!(kinds(&old, &new).collect::<Vec<_>>(), [Action::UPDATE]);
    }

    #[test]
    fn a_done_attempt_is_dropped_when_its_name_is_popped_again() {
        let mut caller = Caller::<Reference>::open(&header());
        caller.apply(&Op::Add { pod: waiting_for("x") });
        caller.apply(&Op::Pop {});
        caller.apply(&Op::Done { pod: name("ns/web") });
        assert_eq!(caller.attempts().count(), 1, "a failed binding may still reject it");

        caller.apply(&Op::Update { pod: waiting_for("x") });
        caller.apply(&Op::Pop {});
        assert_eq!(caller.attempts().count(), 1);
    }
}
