//! How often pods move from one place to another, in all and lately.

use hashbrown::HashMap;
use roadstead_queue::Time;

use super::End;
use super::words::WordId;

/// Moves by where from, where to and why.
pub(super) struct Flows(HashMap<FlowKey, Counted>);

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct FlowKey {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) cause: WordId,
}

pub(super) struct Counted {
    pub(super) count: u64,
    /// The second of the last move.
    second: u64,
    /// Of the seconds up to that one; second `n` is at `n % RING`.
    lately: Box<[u32; RING]>,
}

impl Flows {
    pub(super) fn new() -> Self {
        Self(HashMap::new())
    }

    pub(super) fn note(&mut self, key: FlowKey, at: Time) {
        // As many as there are causes, and of those there is a bound.
        self.0.entry(key).or_default().note(at.as_nanos() / NANOS);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (FlowKey, &Counted)> {
        self.0.iter().map(|(key, counted)| (*key, counted))
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self { count: 0, second: 0, lately: Box::new([0; RING]) }
    }
}

impl Counted {
    fn note(&mut self, second: u64) {
        // Nothing was in those between; a whole ring of them is enough.
        for quiet in (self.second + 1).max(second.saturating_sub(RING as u64 - 1))..=second {
            self.lately[quiet as usize % RING] = 0;
        }
        self.second = self.second.max(second);
        self.count += 1;
        let moves = &mut self.lately[self.second as usize % RING];
        *moves = moves.saturating_add(1);
    }

    /// Moves a second at that time: in the last few seconds if that is many, and else in the last
    /// minute, or since the second in which all began.
    pub(super) fn rate(&self, now: Time, began: u64) -> f64 {
        let [now, began] = [now.as_nanos(), began * NANOS].map(|nanos| nanos as f64 / NANOS as f64);
        let current = now.floor();
        let over = |seconds: u64| {
            let moves = self.within(current as u64, seconds);
            (moves, seconds as f64 + now - current)
        };
        match over(SHORTLY) {
            (moves, elapsed) if moves >= MANY => moves as f64 / elapsed,
            _ => {
                let (moves, elapsed) = over(MINUTE);
                // A moment after the beginning, one move is no stream.
                moves as f64 / elapsed.min(now - began).max(LEAST)
            }
        }
    }

    /// How many there were in the second that goes on and so many before it.
    fn within(&self, current: u64, seconds: u64) -> u64 {
        let first = current.saturating_sub(seconds);
        (first..=current.min(self.second))
            .filter(|second| second + RING as u64 > self.second)
            .map(|second| u64::from(self.lately[second as usize % RING]))
            .sum()
    }
}

const NANOS: u64 = 1_000_000_000;
const MINUTE: u64 = 60;
const SHORTLY: u64 = 5;
const MANY: u64 = 20;
const LEAST: f64 = 10.0;
const RING: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn per_minute(counted: &Counted, millis: u64) -> u64 {
        (counted.rate(Time::from_millis(millis), 0) * 60.0).round() as u64
    }

    #[test]
    fn one_move_is_one_in_the_minute_however_soon_it_is_looked_at() {
        let mut counted = Counted::default();
        counted.note(100);
        assert_eq!(per_minute(&counted, 100_100), 1);
        assert_eq!(per_minute(&counted, 130_000), 1);
        assert_eq!(per_minute(&counted, 161_000), 0);
        assert_eq!(counted.count, 1);
    }

    #[test]
    fn a_stream_is_measured_over_the_last_seconds_alone() {
        let mut counted = Counted::default();
        for second in 100..200 {
            for _ in 0..(if second < 150 { 10 } else { 50 }) {
                counted.note(second);
            }
        }
        assert!((counted.rate(Time::from_secs(200), 0) - 50.0).abs() < 1e-9);
        // It has stopped: what is left of it is what the last minute has.
        assert_eq!(per_minute(&counted, 230_000), 20 * 50 + 10 * 50);
    }

    #[test]
    fn in_the_first_minute_the_rate_is_that_of_the_time_there_was() {
        let mut counted = Counted::default();
        let rate = |counted: &Counted, second| {
            (counted.rate(Time::from_secs(second), 100) * 60.0).round() as u64
        };
        counted.note(100);
        assert_eq!(rate(&counted, 101), 6, "one in ten seconds at most");
        for second in 101..130 {
            counted.note(second);
        }
        assert_eq!(rate(&counted, 130), 60);
    }

    #[test]
    fn what_is_too_long_ago_is_not_counted_again_when_the_ring_comes_round() {
        let mut counted = Counted::default();
        counted.note(10);
        counted.note(10);
        counted.note(10 + 3 * RING as u64);
        assert_eq!(per_minute(&counted, (10 + 3 * RING as u64) * 1000), 1);
        assert_eq!(per_minute(&counted, 1_000_000_000), 0);
        assert_eq!(counted.count, 3);
    }
}
