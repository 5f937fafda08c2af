//! Points in time, as the caller tells them.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since an epoch that the caller chooses.
///
/// With the Unix epoch, whole seconds are those of the wall clock, and backoff windows fall
/// together with kube-scheduler's. Arithmetic saturates; it never wraps or panics.
///
/// ```
/// use roadstead_queue::Time;
/// use std::time::Duration;
///
/// let start = Time::from_millis(1_400);
/// assert_eq!(start + Duration::from_millis(700), Time::from_millis(2_100));
/// assert_eq!(start - Time::from_secs(1), Duration::from_millis(400));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// The time `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The time `secs` seconds after the epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// The last whole second at or before this time.
    pub const fn floor_to_second(self) -> Self {
        Self(self.0 - self.0 % NANOS_PER_SEC)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(nanos(later)))
    }
}

impl Sub for Time {
    type Output = Duration;

    /// How long after `earlier` this is; zero where it is not after.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / NANOS_PER_SEC, self.0 % NANOS_PER_SEC)
    }
}

/// A duration in nanoseconds; one of more than 584 years is as good as endless.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// `Option<Time>` in eight bytes; the queue keeps two for every waiting item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaybeTime(u64);

impl MaybeTime {
    pub(crate) const NONE: Self = Self(u64::MAX);

    pub(crate) fn some(time: Time) -> Self {
        Self(time.0.min(u64::MAX - 1))
    }

    pub(crate) fn get(self) -> Option<Time> {
        (self != Self::NONE).then_some(Time(self.0))
    }
}

const NANOS_PER_SEC: u64 = 1_000_000_000;
