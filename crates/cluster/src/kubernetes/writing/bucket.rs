//! How many requests a second: client-go's token bucket.

use std::time::{Duration, Instant};

/// So many requests a second, and so many at once after a pause.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// `None` for no limit.
    qps: Option<f64>,
    burst: f64,
    /// Negative while requests that cannot wait have run ahead.
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// A full bucket. A rate that is not positive means no limit.
    pub(super) fn new(qps: f64, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        let is_limit = qps > 0.0 && qps.is_finite();
        Self { qps: is_limit.then_some(qps), burst, tokens: burst, filled: now }
    }

    /// Whether a request may go now.
    pub(super) fn has_one(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.qps.is_none() || self.tokens >= 1.0 - EPSILON
    }

    /// Takes one, there or not; says from when on it is there.
    pub(super) fn take(&mut self, now: Instant) -> Instant {
        self.fill(now);
        let Some(qps) = self.qps else { return now };
        self.tokens -= 1.0;
        now + Duration::from_secs_f64((-self.tokens / qps).clamp(0.0, LONGEST))
    }

    /// When there will be one.
    pub(super) fn ready_at(&mut self, now: Instant) -> Instant {
        self.fill(now);
        let Some(qps) = self.qps else { return now };
        // A nanosecond more, or rounding would wake us in vain.
        let missing = ((1.0 - self.tokens) / qps).clamp(0.0, LONGEST);
        now + Duration::from_secs_f64(missing) + Duration::from_nanos(1)
    }

    fn fill(&mut self, now: Instant) {
        let Some(qps) = self.qps else { return };
        let passed = now.saturating_duration_since(self.filled);
        self.tokens = (self.tokens + passed.as_secs_f64() * qps).min(self.burst);
        self.filled = self.filled.max(now);
    }
}

const EPSILON: f64 = 1e-9;

/// An hour, in seconds: longer pauses are nobody's wish.
const LONGEST: f64 = 3600.0;
