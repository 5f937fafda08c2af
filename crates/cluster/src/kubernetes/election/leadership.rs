//! Whether we may write, asked before every request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;

use super::elector::Standing;

/// Tells whether this process leads. Cloning one is cheap: the clones tell the same.
///
/// The answer is a comparison of two times, not a flag that somebody has to clear: a process that
/// was stopped for a minute and goes on finds that its time is over, before anything of it has run.
/// The clock is the monotonic one, which goes on while a process is stopped (it stands still only
/// while the whole machine sleeps, and a machine that sleeps is not one to run a scheduler on).
///
/// What remains is the time between asking and the bytes on the wire. The writer asks again each
/// time that a request is about to make progress, and gives it up when its time is over; a request
/// that slipped through is one that the kernel had already taken. Such a late write does no harm
/// where it matters: a binding names the pod's uid and is refused for a pod that has a node, an
/// eviction names the uid, and volumes are written with the version that was seen.
#[derive(Clone, Debug)]
pub struct Leadership {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// What times are counted from.
    start: Instant,
    /// Until when we may write, in nanoseconds since the start; `ALWAYS` for no end.
    until: AtomicU64,
    /// When the last renewal was sent, in nanoseconds since the start.
    renewed: AtomicU64,
    /// Since when we lead, in microseconds of the wall clock.
    since: AtomicI64,
    slow_renewals: AtomicU64,
    standing: watch::Sender<Standing>,
}

const ALWAYS: u64 = u64::MAX;

impl Leadership {
    /// For one who is alone.
    #[must_use]
    pub fn always() -> Self {
        Self::new(ALWAYS, Standing::Leading)
    }

    pub(super) fn none() -> Self {
        Self::new(0, Standing::Standby)
    }

    fn new(until: u64, standing: Standing) -> Self {
        let shared = Shared {
            start: tokio::time::Instant::now().into_std(),
            until: AtomicU64::new(until),
            renewed: AtomicU64::new(0),
            since: AtomicI64::new(Timestamp::now().as_microsecond()),
            slow_renewals: AtomicU64::new(0),
            standing: watch::Sender::new(standing),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether a request may be sent that changes something.
    #[must_use]
    pub fn may_write(&self, now: Instant) -> bool {
        let until = self.shared.until.load(Ordering::Acquire);
        until == ALWAYS || self.since_start(now) < until
    }

    /// Until when that holds, unless the lease is renewed; `None` if it has no end.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        let until = self.shared.until.load(Ordering::Acquire);
        (until != ALWAYS).then(|| self.shared.start + Duration::from_nanos(until))
    }

    /// Where we stand, and each change of it.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<Standing> {
        self.shared.standing.subscribe()
    }

    /// Where we stand.
    #[must_use]
    pub fn standing(&self) -> Standing {
        *self.shared.standing.borrow()
    }

    /// How long ago the lease was renewed, for one who leads by a lease: what a health check is
    /// about.
    #[must_use]
    pub fn renewed_ago(&self, now: Instant) -> Option<Duration> {
        let leads = self.standing() == Standing::Leading && self.until().is_some();
        let renewed = self.shared.renewed.load(Ordering::Acquire);
        leads.then(|| Duration::from_nanos(self.since_start(now).saturating_sub(renewed)))
    }

    /// How often the lease had to be read to be renewed: writing it as it was known did not do.
    #[must_use]
    pub fn slow_renewals(&self) -> u64 {
        self.shared.slow_renewals.load(Ordering::Acquire)
    }

    pub(super) fn renewed_slowly(&self, times: u64) {
        self.shared.slow_renewals.store(times, Ordering::Release);
    }

    /// Since when we lead, by the wall clock in microseconds.
    pub(crate) fn since(&self) -> i64 {
        self.shared.since.load(Ordering::Acquire)
    }

    /// The lease was renewed by a request that was sent then.
    pub(super) fn renewed(&self, sent: Instant, until: Instant) {
        self.shared.renewed.store(self.since_start(sent), Ordering::Release);
        self.shared.until.store(self.since_start(until), Ordering::Release);
        if self.standing() != Standing::Leading {
            self.shared.since.store(Timestamp::now().as_microsecond(), Ordering::Release);
            self.shared.standing.send_replace(Standing::Leading);
        }
    }

    /// We do not lead, or no more.
    pub(super) fn over(&self, standing: Standing) {
        self.shared.until.store(0, Ordering::Release);
        self.shared.standing.send_if_modified(|old| std::mem::replace(old, standing) != standing);
    }

    fn since_start(&self, time: Instant) -> u64 {
        let passed = time.saturating_duration_since(self.shared.start).as_nanos();
        u64::try_from(passed).unwrap_or(ALWAYS - 1).min(ALWAYS - 1)
    }
}
