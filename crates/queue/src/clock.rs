//! Where a [`SharedQueue`](crate::SharedQueue) gets the time from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::time::{Time, nanos};

/// Tells the time.
pub trait Clock {
    /// The time now. It should not go back; if it does, the queue takes the latest it knows.
    fn now(&self) -> Time;
}

/// The real time: that of the wall clock when it was made, and monotonic since.
#[derive(Clone, Debug)]
pub struct SystemClock {
    started_at: Time,
    start: Instant,
}

impl SystemClock {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads a clock")]
    pub fn new() -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let started_at = Time::from_nanos(nanos(since_epoch.unwrap_or_default()));
        Self { started_at, start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Time {
        self.started_at + self.start.elapsed()
    }
}

/// A clock that moves only when it is told to, for tests. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that shows `now`.
    pub fn new(now: Time) -> Self {
        Self(Arc::new(AtomicU64::new(now.as_nanos())))
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(nanos(by), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Relaxed))
    }
}
