//! How long a pod waits after it failed (section 4).

use super::record::Record;
use crate::trace::Header;

#[derive(Clone)]
pub(super) struct Backoff {
    initial_ms: u64,
    max_ms: u64,
    /// Whether times are cut to the second, so that pods of one second can be ordered by priority.
    has_windows: bool,
}

impl Backoff {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            initial_ms: header.initial_backoff_ms,
            max_ms: header.max_backoff_ms,
            has_windows: header.pop_from_backoff,
        }
    }

    /// When a pod's backoff ends; `None` where there is none.
    pub(super) fn end_ms(&self, record: &Record) -> Option<u64> {
        let failures = if record.errors > 0 { record.errors } else { record.unschedulable_count };
        if self.max_ms == 0 || failures == 0 {
            return None;
        }
        Some(self.cut(record.timestamp_ms.saturating_add(self.duration_ms(failures - 1))))
    }

    /// Whether a pod is backing off: to its end and, cut or not, at it.
    pub(super) fn lasts(&self, record: &Record, now_ms: u64) -> bool {
        self.end_ms(record).is_some_and(|end_ms| end_ms >= self.cut(now_ms))
    }

    fn duration_ms(&self, doublings: u32) -> u64 {
        if self.initial_ms > self.max_ms.checked_shr(doublings).unwrap_or(0) {
            self.max_ms
        } else {
            // Not more than the longest, so nothing is shifted out, unless it is 0 anyway.
            self.initial_ms.checked_shl(doublings).unwrap_or(0)
        }
    }

    fn cut(&self, ms: u64) -> u64 {
        if self.has_windows { ms - ms % WINDOW_MS } else { ms }
    }
}

const WINDOW_MS: u64 = 1000;
