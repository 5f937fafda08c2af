//! What goes first.

use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use roadstead_cluster::kubernetes::writing::{Class, Job, Lanes, Limits, Pushed};
use roadstead_model::World;
use roadstead_scheduler::Command;

use crate::testing::*;

struct Desk {
    lanes: Lanes,
    start: Instant,
    world: World,
}

impl Desk {
    fn new(limits: Limits) -> Self {
        let start = tokio::time::Instant::now().into_std();
        Self { lanes: Lanes::new(&limits, start), start, world: World::new() }
    }

    fn unlimited() -> Self {
        Self::new(Limits { qps: 0.0, ..Limits::default() })
    }

    fn at(&self, millis: u64) -> Instant {
        self.start + Duration::from_millis(millis)
    }

    fn push(&mut self, command: Command) -> Pushed {
        self.lanes.push(self.start, Timestamp::UNIX_EPOCH, command)
    }

    fn bind(&mut self, name: &str) -> Pushed {
        let pod = unmade(name, &mut self.world);
        self.push(bind(&pod, "pier"))
    }

    fn status(&mut self, name: &str, message: &str) -> Pushed {
        let pod = unmade(name, &mut self.world);
        self.push(unschedulable(&pod, message))
    }

    fn nominate(&mut self, name: &str) -> Pushed {
        let pod = unmade(name, &mut self.world);
        self.push(nominate(&pod, "pier"))
    }

    fn evict(&mut self, name: &str) -> Pushed {
        let [victim, preemptor] = [name, "urgent"].map(|name| unmade(name, &mut self.world));
        self.push(Command::Evict { victim, preemptor })
    }

    fn event(&mut self, name: &str) -> Pushed {
        let pod = unmade(name, &mut self.world);
        self.push(failed_event(&pod, "too small"))
    }

    fn take(&mut self, millis: u64) -> Option<Job> {
        let now = self.at(millis);
        self.lanes.take(now)
    }

    /// The classes of all that may go, each finished at once.
    fn classes(&mut self, millis: u64) -> Vec<Class> {
        let mut classes = Vec::new();
        while let Some(job) = self.take(millis) {
            classes.push(job.class());
            self.finish(&job);
        }
        classes
    }

    fn finish(&mut self, job: &Job) {
        let pod = match job {
            Job::Bind { pod, .. } | Job::Evict { victim: pod, .. } => Some(&pod.uid),
            Job::Status(write) => Some(&write.pod.uid),
            Job::Write { .. } | Job::Event(_) => None,
        };
        self.lanes.finish(job.class(), pod);
    }
}

#[test]
fn classes_go_in_their_order() {
    use Class::*;
    let mut desk = Desk::unlimited();
    desk.event("a");
    desk.status("b", "too small");
    desk.nominate("c");
    desk.evict("d");
    desk.bind("e");
    assert_eq!(desk.classes(0), [Bind, Evict, Nominate, Status, Event]);
    assert!(desk.lanes.is_idle());
}

#[test]
fn each_class_has_places_of_its_own() {
    let mut desk = Desk::new(Limits { qps: 0.0, binds: 2, statuses: 1, ..Limits::default() });
    for name in ["a", "b", "c"] {
        desk.bind(name);
    }
    for name in ["d", "e"] {
        desk.status(name, "too small");
    }
    let jobs: Vec<Job> = std::iter::from_fn(|| desk.take(0)).collect();
    let classes: Vec<Class> = jobs.iter().map(Job::class).collect();
    assert_eq!(classes, [Class::Bind, Class::Bind, Class::Status]);
    assert_eq!((desk.lanes.waiting(Class::Bind), desk.lanes.running(Class::Bind)), (1, 2));
    desk.finish(&jobs[0]);
    assert_eq!(desk.take(0).map(|job| job.class()), Some(Class::Bind));
    assert!(desk.take(0).is_none());
}

#[test]
fn the_rate_is_that_of_the_client_and_its_end_is_known() {
    let mut desk = Desk::new(Limits { qps: 10.0, burst: 3, ..Limits::default() });
    for i in 0..6 {
        desk.bind(&format!("pod-{i}"));
    }
    assert_eq!(desk.classes(0).len(), 3);
    let now = desk.at(0);
    let wakeup = desk.lanes.next_wakeup(now).unwrap();
    assert!(wakeup > desk.at(99) && wakeup < desk.at(101));
    assert!(desk.classes(99).is_empty());
    assert_eq!(desk.classes(101).len(), 1);
    assert_eq!(desk.classes(301).len(), 2, "what is left");
    let now = desk.at(301);
    assert_eq!(desk.lanes.next_wakeup(now), None);

    let now = desk.at(10_000);
    let further: Vec<Instant> = (0..5).map(|_| desk.lanes.reserve(now)).collect();
    assert_eq!(further[..3], [now; 3], "there were three at once");
    assert!(further[4] > now + Duration::from_millis(150), "they run ahead of the rate");
    desk.bind("late");
    assert!(desk.classes(10_100).is_empty(), "and others wait for it");
    assert_eq!(desk.classes(10_400).len(), 1);
}

#[test]
fn under_a_tight_budget_most_goes_to_the_first_class_and_a_share_to_every_other() {
    let mut desk = Desk::new(Limits { qps: 1.0, burst: 1, ..Limits::default() });
    for i in 0..300 {
        desk.bind(&format!("bind-{i}"));
        desk.event(&format!("event-{i}"));
        desk.status(&format!("status-{i}"), "too small");
    }
    let sent: Vec<Class> = (0..200).flat_map(|second| desk.classes(second * 1000)).collect();
    let of = |class| sent.iter().filter(|it| **it == class).count();
    assert_eq!(sent.len(), 200);
    assert_eq!(of(Class::Bind), 180);
    assert_eq!((of(Class::Status), of(Class::Event)), (10, 10));
    assert_eq!(sent[..9], [Class::Bind; 9]);

    desk.lanes.be_strict();
    let sent: Vec<Class> = (200..320).flat_map(|second| desk.classes(second * 1000)).collect();
    assert_eq!(sent, [Class::Bind; 120]);
}

#[test]
fn a_later_status_takes_the_place_of_an_unsent_one_each_part_the_latest() {
    let mut desk = Desk::unlimited();
    assert_eq!(desk.status("web", "one"), Pushed::Waits);
    assert_eq!(desk.nominate("web"), Pushed::Merged);
    assert_eq!(desk.status("web", "two"), Pushed::Merged);
    let Some(Job::Status(write)) = desk.take(0) else { panic!("a status") };
    assert_eq!(write.condition.unwrap().message, "two");
    assert_eq!(write.nominated_node.unwrap(), "pier");
    assert!(desk.take(0).is_none(), "and there is no other");
    assert_eq!(desk.lanes.running(Class::Nominate), 1, "it became as urgent as a nomination");
}

#[test]
fn nothing_is_written_to_a_pod_while_something_else_is() {
    let mut desk = Desk::unlimited();
    desk.status("web", "too small");
    let status = desk.take(0).unwrap();
    desk.bind("web");
    desk.bind("other");
    let Some(Job::Bind { pod, .. }) = desk.take(0) else { panic!("a bind") };
    assert_eq!(pod.name, "other");
    assert!(desk.take(0).is_none());
    assert_eq!(desk.lanes.waiting(Class::Bind), 1);
    assert!(!desk.lanes.is_idle());
    desk.finish(&status);
    assert!(matches!(desk.take(0), Some(Job::Bind { .. })));
}

#[test]
fn a_bind_replaces_what_was_to_be_said_of_the_pod() {
    let mut desk = Desk::unlimited();
    desk.status("web", "too small");
    desk.bind("web");
    assert!(matches!(desk.take(0), Some(Job::Bind { .. })));
    assert!(desk.take(0).is_none());

    let mut desk = Desk::unlimited();
    desk.status("web", "too small");
    let Some(Job::Status(write)) = desk.take(0) else { panic!("a status") };
    desk.bind("web");
    let later = desk.at(100);
    let (class, uid) = (Class::Status, write.pod.uid.clone());
    assert_eq!(desk.lanes.retry_status(later, write), Pushed::Dropped);
    desk.lanes.finish(class, Some(&uid));
    assert_eq!(desk.classes(200), [Class::Bind]);
}

#[test]
fn a_status_that_is_sent_again_gives_way_to_a_newer_one() {
    let mut desk = Desk::unlimited();
    desk.nominate("web");
    let Some(Job::Status(write)) = desk.take(0) else { panic!("a status") };
    desk.status("web", "newer");
    let (later, uid) = (desk.at(100), write.pod.uid.clone());
    assert_eq!(desk.lanes.retry_status(later, write.clone()), Pushed::Merged);
    desk.lanes.finish(Class::Nominate, Some(&uid));
    let Some(Job::Status(merged)) = desk.take(0) else { panic!("a status") };
    assert_eq!(merged.condition.unwrap().message, "newer");
    assert_eq!(merged.nominated_node.unwrap(), "pier", "which the newer said nothing of");

    let mut desk = Desk::unlimited();
    assert_eq!(desk.lanes.retry_status(later, write), Pushed::Waits);
    assert!(desk.take(99).is_none());
    let now = desk.at(99);
    assert_eq!(desk.lanes.next_wakeup(now), Some(later));
    assert!(desk.take(101).is_some());
}

#[test]
fn a_condition_that_is_shown_is_not_written_again() {
    let mut desk = Desk::unlimited();
    desk.status("web", "too small");
    let job = desk.take(0).unwrap();
    assert_eq!(desk.status("web", "too small"), Pushed::Waits, "nobody knows yet");
    desk.classes(0);
    let Job::Status(write) = &job else { panic!("a status") };
    desk.lanes.status_written(write);
    desk.finish(&job);
    desk.classes(0);
    assert_eq!(desk.status("web", "too small"), Pushed::Unchanged);
    assert_eq!(desk.status("web", "too full"), Pushed::Waits);
    desk.classes(0);
    desk.lanes.forget(&write.pod.uid);
    assert_eq!(desk.status("web", "too small"), Pushed::Waits);
}

#[test]
fn a_write_knows_how_long_only_the_rate_held_it_back() {
    let mut desk = Desk::new(Limits { qps: 10.0, burst: 1, binds: 2, ..Limits::default() });
    for name in ["a", "b", "c"] {
        desk.bind(name);
    }
    let mut jobs = Vec::new();
    // Whether one is taken then, and how long the last that was had waited.
    for (millis, is_taken, waited) in
        [(0, true, 0), (50, false, 0), (101, true, 101), (500, false, 101)]
    {
        let job = desk.take(millis);
        assert_eq!(job.is_some(), is_taken, "at {millis}");
        jobs.extend(job);
        assert_eq!(desk.lanes.waited(), Duration::from_millis(waited), "at {millis}");
        // What may be sent is looked for until nothing may.
        assert!(desk.take(millis).is_none(), "at {millis}");
    }
    desk.finish(&jobs[0]);
    assert!(desk.take(500).is_some());
    let waited = desk.lanes.waited();
    assert_eq!(waited, Duration::from_millis(101), "from then on it waited for a place");
}
