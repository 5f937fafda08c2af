//! What is due when.

use std::time::Duration;

use super::Queue;
use crate::observer::Observer;
use crate::order::QueueSort;
use crate::policy::Policy;
use crate::time::Time;

/// When each of the two flushes is due next.
pub(super) struct Timers {
    backoff: Time,
    leftover: Time,
}

/// How often backoffs are looked at.
const BACKOFF_PERIOD: Duration = Duration::from_secs(1);
/// How often the pool is looked at.
const LEFTOVER_PERIOD: Duration = Duration::from_secs(30);

impl<P, S, V> Queue<P, S, V>
where
    P: Policy,
    S: QueueSort<P::Item>,
    V: Observer<P::Item, P::Object>,
{
    /// Does what is due at `now`: the flush of completed backoffs each second, at whole seconds
    /// where backoffs are ordered in windows, and the flush of leftovers every thirty seconds.
    ///
    /// The first call starts the two timers. Late calls do what was missed, once.
    pub fn on_time(&mut self, now: Time) {
        let now = self.at(now);
        let first = if self.config.pop_from_backoff { now.floor_to_second() } else { now };
        let timers =
            self.timers.get_or_insert(Timers { backoff: first + BACKOFF_PERIOD, leftover: now });
        let backoff_due = timers.backoff <= now;
        let leftover_due = timers.leftover <= now;
        timers.backoff = next_tick(timers.backoff, BACKOFF_PERIOD, now);
        timers.leftover = next_tick(timers.leftover, LEFTOVER_PERIOD, now);
        if backoff_due {
            self.flush_backoff(now);
        }
        if leftover_due {
            self.flush_leftover(now);
        }
    }

    /// Whether [`on_time`](Self::on_time) does anything at `now`, if only to move on its timers.
    ///
    /// Where it does not, leaving the call out changes nothing, now or later.
    pub fn is_due(&self, now: Time) -> bool {
        let is_due = |timers: &Timers| timers.backoff <= now || timers.leftover <= now;
        self.timers.as_ref().is_none_or(is_due)
    }

    /// When [`on_time`](Self::on_time) next has something to do; `None` while nothing waits for
    /// time to pass.
    ///
    /// Calling it at every whole second instead does no harm and nothing else.
    pub fn next_wakeup(&self) -> Option<Time> {
        let Some(timers) = &self.timers else { return Some(self.now) };
        let first_due = [
            self.backoff.first().map(|due| due.until.get()),
            self.error_backoff.first().map(|due| due.until.get()),
        ];
        let backoff = first_due
            .into_iter()
            .flatten()
            .map(|until| self.backoff_rule.free_from(until))
            .min()
            .map(|free| tick_from(timers.backoff, BACKOFF_PERIOD, free));
        let leftover = self.pool.since_at_least().map(|since| {
            let over = since + self.config.leftover_after + Duration::from_nanos(1);
            tick_from(timers.leftover, LEFTOVER_PERIOD, over)
        });
        [backoff, leftover].into_iter().flatten().min()
    }
}

/// The first tick after `now`, where `tick` is one and they are `period` apart.
fn next_tick(tick: Time, period: Duration, now: Time) -> Time {
    if tick > now { tick } else { tick_from(tick, period, now + Duration::from_nanos(1)) }
}

/// The first tick at or after `from`, where `tick` is the earliest one.
fn tick_from(tick: Time, period: Duration, from: Time) -> Time {
    let behind = crate::time::nanos(from - tick);
    let period = crate::time::nanos(period);
    tick + Duration::from_nanos(behind.div_ceil(period).saturating_mul(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stay_on_their_grid() {
        let at = Time::from_millis;
        let second = Duration::from_secs(1);
        let rows = [
            // tick,     from,      first at or after, next after
            (at(2_000), at(1_500), at(2_000), at(2_000)),
            (at(2_000), at(2_000), at(2_000), at(3_000)),
            (at(2_000), at(2_001), at(3_000), at(3_000)),
            (at(2_000), at(9_500), at(10_000), at(10_000)),
        ];
        for (tick, from, first, next) in rows {
            assert_eq!(tick_from(tick, second, from), first, "{tick:?} {from:?}");
            assert_eq!(next_tick(tick, second, from), next, "{tick:?} {from:?}");
        }
    }
}
