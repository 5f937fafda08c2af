//! How long to wait before trying again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Waits that grow from failure to failure: 0.8 seconds, doubled up to 30, as client-go's
/// reflectors. Each is cut by up to a half by chance, so that tasks that failed together do not
/// try again together.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(super) fn next(&mut self) -> Duration {
        let full = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        full.mul_f64(0.5 + chance() / 2.0)
    }
}

/// A number from 0 to 1. The keys of a hasher are the randomness that the standard library has.
pub(super) fn chance() -> f64 {
    (RandomState::new().hash_one(()) >> 11) as f64 / (1_u64 << 53) as f64
}

const FIRST: Duration = Duration::from_millis(800);
const LONGEST: Duration = Duration::from_secs(30);
