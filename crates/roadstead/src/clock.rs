//! What time it is.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use roadstead_queue::Time;

/// The wall clock as it was at the start, going on at the pace of the monotonic one: it never goes
/// back, and setting the wall clock ends no backoff early.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    time_at_start: Time,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), time_at_start: Time::ZERO + passed }
    }

    pub(crate) fn now(&self) -> Time {
        self.time_at_start + self.start.elapsed()
    }

    /// For how long to wait until then.
    pub(crate) fn until(&self, time: Time) -> Duration {
        let (now, then) = (self.now().as_nanos(), time.as_nanos());
        Duration::from_nanos(then.saturating_sub(now))
    }
}

/// Nanoseconds since the first call, to measure what things cost.
pub(crate) fn ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
