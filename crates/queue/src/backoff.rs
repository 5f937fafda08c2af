//! How long a failed item waits.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use crate::config::{Config, Jitter};
use crate::time::{Time, nanos};

/// The rule by which backoffs end.
pub(crate) struct Backoff {
    initial: u64,
    max: u64,
    windows: bool,
    jitter: Option<Jitter>,
}

impl Backoff {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            initial: nanos(config.initial_backoff),
            max: nanos(config.max_backoff),
            windows: config.pop_from_backoff,
            jitter: config.jitter,
        }
    }

    /// When the backoff ends of an item that failed `failures` times, the last time at `since`;
    /// `None` where it has none. `identity` is what jitter depends on.
    pub(crate) fn end(&self, failures: u32, since: Time, identity: impl Hash) -> Option<Time> {
        let doublings = failures.checked_sub(1)?;
        if self.max == 0 {
            return None;
        }
        let full = if self.initial > self.max.checked_shr(doublings).unwrap_or(0) {
            self.max
        } else {
            // Not past `max`, by the test above; zero stays zero however often it is doubled.
            self.initial.checked_shl(doublings).unwrap_or(0)
        };
        let end = since + Duration::from_nanos(full - self.cut(full, failures, identity));
        Some(if self.windows { end.floor_to_second() } else { end })
    }

    /// Whether an item whose backoff ends at `end` still backs off at `now`.
    pub(crate) fn is_under_way(&self, end: Option<Time>, now: Time) -> bool {
        end.is_some_and(|end| end >= if self.windows { now.floor_to_second() } else { now })
    }

    /// The first moment at which such an item no longer backs off.
    pub(crate) fn free_from(&self, end: Option<Time>) -> Time {
        let step = if self.windows { Duration::from_secs(1) } else { Duration::from_nanos(1) };
        end.map_or(Time::ZERO, |end| end + step)
    }

    fn cut(&self, full: u64, failures: u32, identity: impl Hash) -> u64 {
        let Some(jitter) = self.jitter else { return 0 };
        // std's hasher has fixed keys when made like this, so equal seeds repeat a run.
        let mut hasher = DefaultHasher::new();
        (jitter.seed, failures).hash(&mut hasher);
        identity.hash(&mut hasher);
        let unit = (hasher.finish() >> 11) as f64 / (1u64 << 53) as f64;
        (full as f64 * jitter.fraction.clamp(0.0, 1.0) * unit) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(initial_ms: u64, max_ms: u64, windows: bool) -> Backoff {
        Backoff::new(&Config {
            initial_backoff: Duration::from_millis(initial_ms),
            max_backoff: Duration::from_millis(max_ms),
            pop_from_backoff: windows,
            ..Config::default()
        })
    }

    #[test]
    fn backoff_doubles_up_to_the_maximum() {
        let rows: [(u64, u64, &[u64]); 6] = [
            (1_000, 10_000, &[1_000, 2_000, 4_000, 8_000, 10_000, 10_000]),
            (250, 2_000, &[250, 500, 1_000, 2_000, 2_000]),
            (6_000, 10_000, &[6_000, 10_000, 10_000]),
            (4_000, 1_500, &[1_500, 1_500]),
            (1, 600_000, &[1, 2, 4, 8, 16, 32, 64]),
            (0, 10_000, &[0, 0, 0]),
        ];
        for (initial, max, expected) in rows {
            let rule = backoff(initial, max, false);
            for (failures, millis) in (1..).zip(expected) {
                let end = rule.end(failures, Time::ZERO, ());
                assert_eq!(end, Some(Time::from_millis(*millis)), "{initial}/{max} #{failures}");
            }
            let end = rule.end(u32::MAX, Time::ZERO, ());
            assert_eq!(end, Some(Time::from_millis(if initial == 0 { 0 } else { max })));
        }
        assert_eq!(backoff(1_000, 0, false).end(3, Time::ZERO, ()), None, "switched off");
        assert_eq!(backoff(1_000, 10_000, false).end(0, Time::ZERO, ()), None, "never failed");
    }

    #[test]
    fn an_item_is_free_only_after_the_end() {
        let at = Time::from_millis;
        let plain = backoff(1_000, 10_000, false);
        let end = plain.end(1, at(400), ());
        assert_eq!(end, Some(at(1_400)));
        assert!(plain.is_under_way(end, at(1_400)));
        assert!(!plain.is_under_way(end, plain.free_from(end)));

        let windowed = backoff(1_000, 10_000, true);
        let end = windowed.end(1, at(400), ());
        assert_eq!(end, Some(at(1_000)));
        assert!(windowed.is_under_way(end, at(1_999)));
        assert_eq!(windowed.free_from(end), at(2_000));
        assert!(!windowed.is_under_way(end, at(2_000)));
    }

    #[test]
    fn jitter_repeats_with_its_seed_and_only_shortens() {
        let with = |seed| Backoff {
            jitter: Some(Jitter { fraction: 0.5, seed }),
            ..backoff(1_000, 10_000, false)
        };
        let ends: Vec<_> = (0..64).map(|id: u32| with(7).end(2, Time::ZERO, id)).collect();
        assert_eq!(ends, (0..64).map(|id: u32| with(7).end(2, Time::ZERO, id)).collect::<Vec<_>>());
        assert_ne!(ends, (0..64).map(|id: u32| with(8).end(2, Time::ZERO, id)).collect::<Vec<_>>());
        for end in ends.into_iter().flatten() {
            assert!(end >= Time::from_millis(1_000) && end <= Time::from_millis(2_000), "{end:?}");
        }
    }
}
