//! Who leads, decided from what is seen of a lease: client-go's rules, without clock or network.
//!
//! Times in a lease are written by machines whose clocks differ, so they are shown to people and
//! compared with each other, never with our clock. What counts is for how long *we* have seen no
//! change. The holder counts from before its last renewal was sent, everybody else from when they
//! saw it, which is later; and the holder gives up after the renew deadline, which is shorter than
//! the lease. So nobody takes a lease over while its holder still acts on it, as long as clocks run
//! at about the same speed.

use std::time::{Duration, Instant};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// How long things take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long others wait for the leader before they take over.
    pub lease_duration: Duration,
    /// How long the leader acts on a lease that it cannot renew.
    pub renew_deadline: Duration,
    /// The pause between two tries.
    pub retry_period: Duration,
}

/// What a lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who holds it; empty if it was given up.
    pub holder: String,
    /// For how long, in seconds.
    pub seconds: i32,
    /// How often it passed from one to another.
    pub transitions: i32,
    /// Since when, by the holder's clock.
    pub acquired: Option<MicroTime>,
    /// When it was last renewed, by the holder's clock.
    pub renewed: Option<MicroTime>,
}

/// What to write into a lease, besides the time of the renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who holds it; empty gives it up.
    pub holder: String,
    /// For how long, in seconds.
    pub seconds: i32,
    /// How often it passed from one to another.
    pub transitions: i32,
    /// Since when; `None` means from now on.
    pub acquired: Option<MicroTime>,
}

/// What has happened since the last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Time passed.
    Nothing,
    /// The lease was read.
    Read(Record),
    /// There is no lease.
    Absent,
    /// The lease was written.
    Written(Record),
    /// A request failed, or nobody knows what came of it.
    Failed,
    /// The lease is to be given up.
    Stop,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing before this time.
    Wait(Instant),
    /// Read the lease.
    Read,
    /// Make the lease, if there is none.
    Create(Claim),
    /// Write the lease, if it is still the version that was read or written last.
    Update(Claim),
    /// The end: there is nothing to do any more.
    End,
}

/// Where somebody stands in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Somebody else leads, or nobody.
    Standby,
    /// We lead.
    Leading,
    /// We led, and do no more.
    Lost,
}

/// One who would like to lead.
///
/// [`step`](Self::step) is told what happened and says what to do. At most one request is under
/// way: its outcome is the news of the next step.
#[derive(Clone, Debug)]
pub struct Elector {
    settings: Settings,
    identity: String,
    standing: Standing,
    /// What was last seen of the lease, and when it was first seen so.
    seen: Option<(Record, Instant)>,
    /// When the last request was sent.
    sent: Instant,
    /// When the request was sent that made or kept us leader; none once we gave up.
    renewed: Option<Instant>,
    /// When to try again.
    next: Instant,
    /// What is under way.
    doing: Doing,
    /// How often a leader had to look at its lease to renew it.
    slow_renewals: u64,
    random: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Nothing,
    Reading,
    Writing { is_renewal: bool },
    ReadingToRelease,
    Releasing,
    Ended,
}

impl Elector {
    /// One who has seen nothing yet. `seed` spreads the tries of several.
    #[must_use]
    pub fn new(settings: Settings, identity: String, seed: u64, now: Instant) -> Self {
        Self {
            settings,
            identity,
            standing: Standing::Standby,
            seen: None,
            sent: now,
            renewed: None,
            next: now,
            doing: Doing::Nothing,
            slow_renewals: 0,
            random: seed,
        }
    }

    /// Takes note of what happened, and says what to do.
    pub fn step(&mut self, now: Instant, news: News) -> Action {
        if self.standing == Standing::Leading && self.holds_until().is_none_or(|end| now >= end) {
            return self.lose();
        }
        match (self.doing, news) {
            (Doing::Ended, _) => Action::End,
            (Doing::ReadingToRelease, News::Read(record)) if record.holder == self.identity => {
                self.doing = Doing::Releasing;
                Action::Update(Claim {
                    holder: String::new(),
                    seconds: 1,
                    transitions: record.transitions,
                    acquired: None,
                })
            }
            (Doing::ReadingToRelease | Doing::Releasing, _) => self.end(),
            (_, News::Stop) => self.stop(),
            (Doing::Reading, News::Read(record)) => self.consider(now, record),
            (Doing::Reading, News::Absent) => {
                let claim = self.claim(None);
                self.write(now, Action::Create, claim)
            }
            (Doing::Writing { .. }, News::Written(record)) => self.succeed(now, record),
            // The version that we have may not be the newest: we look, in the same try.
            (Doing::Writing { is_renewal: true }, News::Failed | News::Absent) => self.read(now),
            (Doing::Reading | Doing::Writing { .. }, News::Nothing) => {
                Action::Wait(self.deadline())
            }
            (Doing::Reading | Doing::Writing { .. }, _) => self.fail(now),
            (Doing::Nothing, _) if now < self.next => Action::Wait(self.next.min(self.deadline())),
            (Doing::Nothing, _) => self.begin(now),
        }
    }

    /// Where we stand.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Until when we may act as leader, unless the lease is renewed.
    #[must_use]
    pub fn holds_until(&self) -> Option<Instant> {
        self.renewed.map(|renewed| renewed + self.settings.renew_deadline)
    }

    /// When the request was sent that made or kept us leader.
    #[must_use]
    pub fn renewed_at(&self) -> Option<Instant> {
        self.renewed
    }

    /// How often the lease had to be read to be renewed: writing it as we knew it did not do.
    #[must_use]
    pub fn slow_renewals(&self) -> u64 {
        self.slow_renewals
    }

    /// Who leads, as far as we have seen; empty if nobody does.
    #[must_use]
    pub fn leader(&self) -> &str {
        self.seen.as_ref().map_or("", |(record, _)| &record.holder)
    }

    /// Until when the request that was just asked for has to be answered.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        // As client-go's client: half, so that there is time for another try.
        let patience = self.sent + self.settings.renew_deadline / 2;
        self.holds_until().map_or(patience, |end| end.min(patience))
    }

    fn begin(&mut self, now: Instant) -> Action {
        match &self.seen {
            // The record that we saw last is our own: written without looking first.
            Some((record, _)) if self.standing == Standing::Leading => {
                let claim = self.claim(Some(record));
                self.sent = now;
                self.doing = Doing::Writing { is_renewal: true };
                Action::Update(claim)
            }
            _ => self.read(now),
        }
    }

    fn read(&mut self, now: Instant) -> Action {
        self.sent = now;
        self.doing = Doing::Reading;
        Action::Read
    }

    /// Looks at the lease, and takes it if nobody has it.
    fn consider(&mut self, now: Instant, record: Record) -> Action {
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != record) {
            self.seen = Some((record.clone(), now));
        }
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        let lease = Duration::from_secs(u64::try_from(record.seconds).unwrap_or(0));
        let is_ours = record.holder == self.identity;
        if self.standing == Standing::Leading && !is_ours {
            return self.lose();
        }
        if !is_ours && !record.holder.is_empty() && now < since + lease {
            return self.fail(now);
        }
        self.slow_renewals += u64::from(self.standing == Standing::Leading);
        let claim = self.claim(Some(&record));
        self.write(now, Action::Update, claim)
    }

    fn write(&mut self, now: Instant, action: fn(Claim) -> Action, claim: Claim) -> Action {
        self.sent = now;
        self.doing = Doing::Writing { is_renewal: false };
        action(claim)
    }

    /// What we write, on top of what is there.
    fn claim(&self, there: Option<&Record>) -> Claim {
        let ours = there.filter(|record| record.holder == self.identity);
        // client-go cuts a part of a second off, and so shortens what others wait.
        let rounded = self.settings.lease_duration + Duration::from_nanos(999_999_999);
        Claim {
            holder: self.identity.clone(),
            seconds: i32::try_from(rounded.as_secs()).unwrap_or(i32::MAX),
            transitions: match (ours, there) {
                (Some(ours), _) => ours.transitions,
                (None, Some(other)) => other.transitions.saturating_add(1),
                (None, None) => 0,
            },
            acquired: ours.and_then(|ours| ours.acquired.clone()),
        }
    }

    fn succeed(&mut self, now: Instant, record: Record) -> Action {
        self.seen = Some((record, now));
        self.standing = Standing::Leading;
        self.renewed = Some(self.sent);
        self.doing = Doing::Nothing;
        self.next = now + self.settings.retry_period;
        // The answer may have come too late to be of use.
        if self.holds_until().is_none_or(|end| now >= end) {
            return self.lose();
        }
        Action::Wait(self.next)
    }

    fn fail(&mut self, now: Instant) -> Action {
        self.doing = Doing::Nothing;
        // Those who wait must not all come at once; who leads has no time to lose.
        let pause = match self.standing {
            Standing::Leading => self.settings.retry_period,
            _ => self.settings.retry_period.mul_f64(1.0 + JITTER * self.draw()),
        };
        self.next = now + pause;
        Action::Wait(self.next.min(self.holds_until().unwrap_or(self.next)))
    }

    fn stop(&mut self) -> Action {
        let led = self.standing == Standing::Leading;
        self.renewed = None;
        self.standing = Standing::Standby;
        // A write may be under way that nobody waits for any more: it is read again.
        if led || matches!(self.doing, Doing::Writing { .. }) {
            self.doing = Doing::ReadingToRelease;
            return Action::Read;
        }
        self.end()
    }

    fn end(&mut self) -> Action {
        self.doing = Doing::Ended;
        Action::End
    }

    fn lose(&mut self) -> Action {
        self.standing = Standing::Lost;
        self.renewed = None;
        self.end()
    }

    /// A number from 0 to 1, without 1.
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// How much longer than the retry period a pause may be, as a share of it; client-go's
/// `JitterFactor`.
pub(super) const JITTER: f64 = 1.2;
