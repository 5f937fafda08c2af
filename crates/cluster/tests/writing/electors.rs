//! Electors without a server: every delay, drift and freeze that chance comes up with.

use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use roadstead_cluster::kubernetes::election::{
    Action, Claim, Elector, News, Record, Settings, Standing,
};

fn settings() -> Settings {
    Settings {
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
    }
}

fn start() -> Instant {
    tokio::time::Instant::now().into_std()
}

fn record(holder: &str, renewed: i64) -> Record {
    Record {
        holder: holder.to_owned(),
        seconds: 15,
        transitions: 3,
        acquired: Some(MicroTime(Timestamp::UNIX_EPOCH)),
        renewed: Some(MicroTime(Timestamp::from_second(renewed).unwrap())),
    }
}

struct Desk {
    elector: Elector,
    start: Instant,
}

impl Desk {
    fn new() -> Self {
        let start = start();
        Self { elector: Elector::new(settings(), "me".to_owned(), 7, start), start }
    }

    fn step(&mut self, millis: u64, news: News) -> Action {
        self.elector.step(self.start + Duration::from_millis(millis), news)
    }

    fn may_write(&self, millis: u64) -> bool {
        let now = self.start + Duration::from_millis(millis);
        self.elector.holds_until().is_some_and(|until| now < until)
    }

    /// Takes a lease that was not there, by a request sent at 0 and answered at 100.
    fn lead(&mut self) {
        assert_eq!(self.step(0, News::Nothing), Action::Read);
        assert!(matches!(self.step(0, News::Absent), Action::Create(_)));
        self.step(100, News::Written(record("me", 0)));
        assert_eq!(self.elector.standing(), Standing::Leading);
    }
}

#[test]
fn a_lease_that_is_not_there_is_made() {
    let mut desk = Desk::new();
    assert_eq!(desk.step(0, News::Nothing), Action::Read);
    let claim = Claim { holder: "me".to_owned(), seconds: 15, transitions: 0, acquired: None };
    assert_eq!(desk.step(50, News::Absent), Action::Create(claim));
    assert!(!desk.may_write(60));
    desk.step(100, News::Written(record("me", 0)));
    assert!(desk.may_write(100));
    assert!(desk.may_write(10_049), "counted from when the request was sent");
    assert!(!desk.may_write(10_050));
}

#[test]
fn a_lease_is_taken_over_when_it_was_seen_unchanged_for_its_own_duration() {
    let mut desk = Desk::new();
    desk.step(0, News::Nothing);
    let mut now = 0;
    // Its times are hours old by whatever clock; they do not count.
    for (renewed, lasts) in [(0, 14_000), (1, 20_000)] {
        let changed = now;
        while now < changed + lasts {
            match desk.step(now, News::Read(record("other", renewed))) {
                Action::Wait(_) => assert!(now < changed + 15_000, "taken at {now}"),
                Action::Update(claim) => {
                    assert!(now >= changed + 15_000);
                    assert_eq!((renewed, claim.transitions), (1, 4));
                    assert_eq!(claim.acquired, None, "it is ours from now on");
                    return;
                }
                other => panic!("at {now}: {other:?}"),
            }
            now += 4500;
            assert_eq!(desk.step(now, News::Nothing), Action::Read);
        }
    }
    panic!("it was never taken over");
}

#[test]
fn a_lease_that_was_given_up_is_taken_at_once() {
    let mut desk = Desk::new();
    desk.step(0, News::Nothing);
    let action = desk.step(10, News::Read(record("", 0)));
    assert!(matches!(action, Action::Update(claim) if claim.transitions == 4));
}

#[test]
fn a_leader_renews_every_retry_period_without_looking_and_keeps_the_acquire_time() {
    let mut desk = Desk::new();
    desk.lead();
    assert_eq!(
        desk.step(1000, News::Nothing),
        Action::Wait(desk.start + Duration::from_millis(2100))
    );
    let Action::Update(claim) = desk.step(2100, News::Nothing) else { panic!("a renewal") };
    assert_eq!((claim.transitions, claim.acquired), (3, record("me", 0).acquired));
    desk.step(2300, News::Written(record("me", 2)));
    assert!(desk.may_write(12_099));
    assert!(!desk.may_write(12_100));
}

#[test]
fn a_renewal_that_fails_is_looked_at_and_tried_again_until_the_deadline() {
    let mut desk = Desk::new();
    desk.lead();
    assert!(matches!(desk.step(2100, News::Nothing), Action::Update(_)));
    assert_eq!(desk.step(2200, News::Failed), Action::Read, "the version may be old");
    let again = desk.step(2300, News::Read(record("me", 1)));
    assert!(matches!(again, Action::Update(claim) if claim.transitions == 3));
    assert!(matches!(desk.step(2400, News::Failed), Action::Wait(_)));
    assert_eq!(desk.elector.standing(), Standing::Leading);
    assert!(matches!(desk.step(4400, News::Nothing), Action::Update(_)));
    assert_eq!(desk.step(10_000, News::Failed), Action::End);
    assert_eq!(desk.elector.standing(), Standing::Lost);
    assert!(!desk.may_write(10_000));
}

#[test]
fn an_answer_that_comes_too_late_makes_nobody_leader() {
    let mut desk = Desk::new();
    assert_eq!(desk.step(0, News::Nothing), Action::Read);
    desk.step(0, News::Absent);
    assert_eq!(desk.step(10_001, News::Written(record("me", 0))), Action::End);
    assert!(!desk.may_write(10_001));
}

#[test]
fn a_leader_that_sees_another_one_has_lost() {
    let mut desk = Desk::new();
    desk.lead();
    desk.step(2100, News::Nothing);
    desk.step(2200, News::Failed);
    assert_eq!(desk.step(2300, News::Read(record("other", 2))), Action::End);
    assert_eq!(desk.elector.standing(), Standing::Lost);
}

#[test]
fn a_leader_that_stops_gives_its_lease_up_having_stopped_first() {
    let mut desk = Desk::new();
    desk.lead();
    assert_eq!(desk.step(500, News::Stop), Action::Read);
    assert!(!desk.may_write(500));
    assert_eq!(desk.elector.standing(), Standing::Standby);
    let claim = Claim { holder: String::new(), seconds: 1, transitions: 3, acquired: None };
    assert_eq!(desk.step(600, News::Read(record("me", 0))), Action::Update(claim));
    assert_eq!(desk.step(700, News::Written(record("", 0))), Action::End);

    let mut standby = Desk::new();
    standby.step(0, News::Nothing);
    standby.step(0, News::Read(record("other", 0)));
    assert_eq!(standby.step(100, News::Stop), Action::End, "there is nothing to give up");
}

/// A candidate with a clock and a network of its own.
struct Candidate {
    elector: Elector,
    /// How fast its clock runs.
    drift: f64,
    frozen_until: u64,
    /// When it next runs, and what it finds then.
    next: Option<(u64, News)>,
    /// A request on its way to the server.
    request: Option<(u64, Action, u64)>,
    /// The version that it last saw.
    version: u64,
    saw: u64,
}

/// All times in milliseconds of the true time.
struct Race {
    start: Instant,
    lease: Option<(Record, u64)>,
    candidates: Vec<Candidate>,
    random: u64,
}

impl Race {
    fn new(seed: u64) -> Self {
        let start = start();
        let mut race = Self { start, lease: None, candidates: Vec::new(), random: seed };
        for i in 0..3 {
            // Clocks differ by up to a tenth; the durations leave room for a fifth and more.
            let drift = 0.95 + race.below(100) as f64 / 1000.0;
            let elector = Elector::new(settings(), format!("candidate-{i}"), seed + i, start);
            race.candidates.push(Candidate {
                elector,
                drift,
                frozen_until: 0,
                next: Some((i * 100, News::Nothing)),
                request: None,
                version: 0,
                saw: 0,
            });
        }
        race
    }

    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.random >> 33) % end
    }

    fn local(&self, i: usize, now: u64) -> Instant {
        self.start + Duration::from_secs_f64(now as f64 * self.candidates[i].drift / 1000.0)
    }

    /// Who may write at this moment, frozen or not: one who wakes now would.
    fn writers(&self, now: u64) -> Vec<usize> {
        (0..self.candidates.len())
            .filter(|&i| {
                let until = self.candidates[i].elector.holds_until();
                until.is_some_and(|until| self.local(i, now) < until)
            })
            .collect()
    }

    /// Does what a request asks for, as an API server does.
    fn serve(&mut self, action: &Action, version: u64, now: u64) -> (News, u64) {
        let written = |claim: &Claim, version: u64| {
            let record = Record {
                holder: claim.holder.clone(),
                seconds: claim.seconds,
                transitions: claim.transitions,
                acquired: claim.acquired.clone(),
                renewed: Some(MicroTime(Timestamp::from_millisecond(now as i64).unwrap())),
            };
            (record, version)
        };
        match (action, &self.lease) {
            (Action::Read, None) => (News::Absent, 0),
            (Action::Read, Some((record, version))) => (News::Read(record.clone()), *version),
            (Action::Create(claim), None) => {
                let lease = written(claim, 1);
                self.lease = Some(lease.clone());
                (News::Written(lease.0), 1)
            }
            (Action::Update(claim), Some((_, current))) if *current == version => {
                let lease = written(claim, current + 1);
                self.lease = Some(lease.clone());
                (News::Written(lease.0), lease.1)
            }
            _ => (News::Failed, version),
        }
    }

    fn run_candidate(&mut self, i: usize, now: u64, news: News) {
        let local = self.local(i, now);
        let candidate = &mut self.candidates[i];
        if !matches!(news, News::Nothing | News::Failed) {
            candidate.version = candidate.saw;
        }
        let action = candidate.elector.step(local, news);
        let drift = candidate.drift;
        let until = |at: Instant, start: Instant| {
            let local = at.saturating_duration_since(start).as_secs_f64();
            (local * 1000.0 / drift).ceil() as u64 + 1
        };
        match action {
            Action::End => candidate.next = None,
            Action::Wait(at) => {
                candidate.next = Some((until(at, self.start).max(now + 1), News::Nothing));
            }
            request => {
                let deadline = until(candidate.elector.deadline(), self.start).max(now + 1);
                candidate.next = Some((deadline, News::Failed));
                let version = candidate.version;
                // Mostly quick, at times slow, at times lost.
                let delay = match self.below(10) {
                    0 => self.below(20_000),
                    1 => u64::MAX / 2,
                    _ => self.below(300),
                };
                self.candidates[i].request = Some((now.saturating_add(delay), request, version));
            }
        }
    }

    /// Runs to the end; how often somebody else became leader.
    fn run(mut self, seed: u64) -> usize {
        let mut terms = Vec::new();
        for now in 0..300_000 {
            for i in 0..self.candidates.len() {
                if self.candidates[i].request.as_ref().is_some_and(|(at, ..)| *at == now)
                    && let Some((_, action, version)) = self.candidates[i].request.take()
                {
                    let (news, saw) = self.serve(&action, version, now);
                    // The answer has a way to go, too, and may come after the deadline.
                    let delay =
                        if self.below(10) == 0 { self.below(12_000) } else { self.below(100) };
                    let candidate = &mut self.candidates[i];
                    if let Some((next, _)) = candidate.next
                        && now + delay < next
                    {
                        candidate.saw = saw;
                        candidate.next = Some((now + delay, news));
                    }
                }
                let candidate = &self.candidates[i];
                let is_due = candidate.next.as_ref().is_some_and(|(next, _)| *next <= now);
                if is_due && candidate.frozen_until <= now {
                    if self.below(60) == 0 {
                        self.candidates[i].frozen_until = now + self.below(60_000);
                        continue;
                    }
                    let news = self.candidates[i].next.take().map(|(_, news)| news);
                    self.run_candidate(i, now, news.unwrap_or(News::Nothing));
                }
            }
            let writers = self.writers(now);
            assert!(writers.len() <= 1, "seed {seed}, at {now} ms: {writers:?}");
            if let [leader] = writers[..]
                && terms.last() != Some(&leader)
            {
                terms.push(leader);
            }
        }
        terms.len()
    }
}

#[test]
fn there_are_never_two_who_may_write() {
    let terms: usize = (0..40).map(|seed| Race::new(seed).run(seed)).sum();
    assert!(terms > 60, "leaders came and went {terms} times");
}
