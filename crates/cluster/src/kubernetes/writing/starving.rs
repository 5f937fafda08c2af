//! For how long writes wait for nothing but the rate of requests.

use std::time::{Duration, Instant};

/// Adds up the times in which something could have been sent if the rate had let it. What a write
/// has waited for the rate is how much this grew while it waited: a write that waits for a place or
/// for its pod is not held back by the rate.
#[derive(Debug)]
pub(super) struct Starving {
    /// Since when nothing may be sent that could be.
    since: Option<Instant>,
    before: Duration,
    /// The last time that was heard of.
    now: Instant,
}

impl Starving {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: None, before: Duration::ZERO, now }
    }

    /// Whether something could be sent now, if the rate let it.
    pub(super) fn set(&mut self, now: Instant, is_starving: bool) {
        self.now = now;
        match (self.since, is_starving) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.before += now.saturating_duration_since(since);
                self.since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    /// How long it was so, all times together.
    pub(super) fn sum(&self) -> Duration {
        let open = self.since.map(|since| self.now.saturating_duration_since(since));
        self.before + open.unwrap_or_default()
    }
}
