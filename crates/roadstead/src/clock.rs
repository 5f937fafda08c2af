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
    /// How many seconds pass in one.
    speed: f64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self::at_speed(1.0)
    }

    /// One that goes faster from the start on, or slower.
    pub(crate) fn at_speed(speed: f64) -> Self {
        let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), time_at_start: Time::ZERO + passed, speed }
    }

    pub(crate) fn now(&self) -> Time {
        self.time_at_start + self.scaled(self.start.elapsed(), self.speed)
    }

    /// For how long to wait until then.
    pub(crate) fn until(&self, time: Time) -> Duration {
        let (now, then) = (self.now().as_nanos(), time.as_nanos());
        self.scaled(Duration::from_nanos(then.saturating_sub(now)), 1.0 / self.speed)
    }

    /// A clock at its ordinary speed is exact; another one is off by a millionth of a second or so.
    fn scaled(&self, duration: Duration, by: f64) -> Duration {
        if self.speed == 1.0 {
            return duration;
        }
        Duration::try_from_secs_f64(duration.as_secs_f64() * by).unwrap_or(Duration::MAX)
    }
}

/// Nanoseconds since the first call, to measure what things cost.
pub(crate) fn ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}
