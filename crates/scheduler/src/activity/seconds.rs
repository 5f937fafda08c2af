//! One record a second of the scheduler's time, the latest so many.

use std::time::Duration;

use roadstead_queue::Time;

use super::End;
use super::document::{Depths, Sample, Series};

/// What happened in each of the last seconds, and how many items there were at its end.
pub(super) struct Seconds {
    /// Of seconds that have ended; second `n` since the epoch is at `n % KEPT`.
    ended: Box<[Sample]>,
    /// The first second of which anything is known, and the one that goes on.
    first: Option<u64>,
    current: u64,
    depths: [i64; ENDS],
    attempts: u32,
    bound: u32,
    moves: u32,
    waits: Waits,
    /// Of the seconds of the last minute that have ended; second `n` is at `n % MINUTE`.
    minute: Box<[Waits]>,
}

impl Seconds {
    pub(super) fn new() -> Self {
        Self {
            ended: vec![Sample::default(); KEPT as usize].into(),
            first: None,
            current: 0,
            depths: [0; ENDS],
            attempts: 0,
            bound: 0,
            moves: 0,
            waits: Waits::default(),
            minute: vec![Waits::default(); MINUTE as usize].into(),
        }
    }

    /// The time is now that, or later than it was.
    pub(super) fn roll(&mut self, now: Time) {
        let second = now.as_nanos() / NANOS;
        if self.first.is_none() {
            (self.first, self.current) = (Some(second), second);
        }
        if second <= self.current {
            return;
        }
        self.end(self.current);
        // Nothing happened in those between; of more than are kept the last are enough, and the
        // minute before them, which their waits are of.
        for quiet in (self.current + 1).max(second.saturating_sub(KEPT + MINUTE))..second {
            self.end(quiet);
        }
        self.current = second;
    }

    pub(super) fn moved(&mut self, from: End, to: End) {
        self.moves = self.moves.saturating_add(1);
        self.depths[from as usize] -= 1;
        self.depths[to as usize] += 1;
    }

    pub(super) fn attempted(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    pub(super) fn bound(&mut self, waited: Option<Duration>) {
        self.bound = self.bound.saturating_add(1);
        if let Some(waited) = waited {
            self.waits.add(waited);
        }
    }

    pub(super) fn depths(&self) -> Depths {
        let depth = |end: End| usize::try_from(self.depths[end as usize]).unwrap_or(0);
        Depths {
            active: depth(End::Active),
            backoff: depth(End::Backoff),
            unschedulable: depth(End::Unschedulable),
            gated: depth(End::Gated),
            in_flight: depth(End::InFlight),
            binding: 0,
        }
    }

    /// The first second of which anything is known.
    pub(super) fn first(&self) -> u64 {
        self.first.unwrap_or(self.current)
    }

    /// The seconds that have ended, oldest first.
    pub(super) fn series(&self) -> Series {
        let first = self.first.unwrap_or(self.current).max(self.current.saturating_sub(KEPT));
        let samples = (first..self.current).map(|second| self.ended[(second % KEPT) as usize]);
        Series { step: 1, start: first, samples: samples.collect() }
    }

    /// A second ends with what is counted of it.
    fn end(&mut self, second: u64) {
        self.minute[(second % MINUTE) as usize] = std::mem::take(&mut self.waits);
        self.ended[(second % KEPT) as usize] = self.sample();
        (self.attempts, self.bound, self.moves) = (0, 0, 0);
    }

    fn sample(&self) -> Sample {
        let Depths { active, backoff, unschedulable, gated, in_flight, .. } = self.depths();
        // One pod a second is no distribution: the waits are those of a minute.
        let mut waits = Waits::default();
        for second in &self.minute {
            waits.add_all(second);
        }
        let [wait_p50, wait_p99] = [50, 99].map(|percent| waits.quantile(percent));
        Sample {
            active,
            backoff,
            unschedulable,
            gated,
            in_flight,
            attempts: self.attempts,
            bound: self.bound,
            moves: self.moves,
            wait_p50,
            wait_p99,
        }
    }
}

/// How long pods had waited, in buckets that grow by half each.
#[derive(Clone, Copy)]
struct Waits {
    buckets: [u32; BUCKETS],
    count: u32,
}

impl Default for Waits {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], count: 0 }
    }
}

impl Waits {
    fn add(&mut self, waited: Duration) {
        let seconds = waited.as_secs_f32();
        let bucket = UPPER.partition_point(|upper| *upper < seconds).min(BUCKETS - 1);
        self.buckets[bucket] = self.buckets[bucket].saturating_add(1);
        self.count = self.count.saturating_add(1);
    }

    fn add_all(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        for (bucket, more) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket = bucket.saturating_add(more);
        }
        self.count = self.count.saturating_add(other.count);
    }

    /// The bound that so many per cent of the waits stay within; `None` if there were none.
    fn quantile(&self, percent: u64) -> Option<f32> {
        let wanted = (u64::from(self.count) * percent).div_ceil(100);
        let mut so_far = 0;
        let within = self.buckets.iter().zip(UPPER).find(|(count, _)| {
            so_far += u64::from(**count);
            so_far >= wanted
        });
        within.filter(|_| self.count > 0).map(|(_, upper)| upper)
    }
}

/// How many seconds there are to look back at.
const KEPT: u64 = 600;
const MINUTE: u64 = 60;
const NANOS: u64 = 1_000_000_000;
const ENDS: usize = End::Gone as usize + 1;
const BUCKETS: usize = 52;
/// From a millisecond to twelve days.
const UPPER: [f32; BUCKETS] = {
    let mut bounds = [0.001_f32; BUCKETS];
    let mut at = 1;
    while at < BUCKETS {
        bounds[at] = bounds[at - 1] * 1.5;
        at += 1;
    }
    bounds
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_which_nothing_happens_keep_the_depths() {
        let mut seconds = Seconds::new();
        seconds.roll(Time::from_secs(100));
        seconds.moved(End::New, End::Active);
        seconds.roll(Time::from_millis(100_900));
        seconds.moved(End::Active, End::InFlight);
        seconds.moved(End::InFlight, End::Bound);
        seconds.attempted();
        seconds.bound(Some(Duration::from_millis(900)));
        seconds.moved(End::New, End::Gated);
        seconds.roll(Time::from_secs(104));
        let series = seconds.series();
        assert_eq!((series.start, series.samples.len()), (100, 4));
        let first = series.samples[0];
        assert_eq!((first.active, first.gated, first.in_flight), (0, 1, 0));
        assert_eq!((first.attempts, first.bound, first.moves), (1, 1, 4));
        assert!(first.wait_p50.is_some_and(|wait| (0.9..1.35).contains(&wait)), "{first:?}");
        for quiet in &series.samples[1..] {
            assert_eq!((quiet.gated, quiet.bound, quiet.moves), (1, 0, 0));
        }
    }

    #[test]
    fn waits_are_those_of_the_minute_up_to_the_second() {
        let mut seconds = Seconds::new();
        seconds.roll(Time::from_secs(100));
        seconds.bound(Some(Duration::from_secs(1)));
        seconds.roll(Time::from_secs(130));
        seconds.bound(Some(Duration::from_secs(100)));
        seconds.roll(Time::from_secs(1000));
        let samples = seconds.series().samples;
        let half = |second: usize| samples[second - 400].wait_p50;
        assert_eq!(half(400), None, "the first of them is long past");
        let mut seconds = Seconds::new();
        seconds.roll(Time::from_secs(100));
        seconds.bound(Some(Duration::from_secs(1)));
        seconds.roll(Time::from_secs(130));
        seconds.bound(Some(Duration::from_secs(100)));
        seconds.roll(Time::from_secs(300));
        let samples = seconds.series().samples;
        let most = |second: usize| samples[second - 100].wait_p99;
        let within =
            |wait: Option<f32>, low: f32| wait.is_some_and(|wait| wait >= low && wait < low * 1.5);
        assert!(within(most(100), 1.0) && within(most(129), 1.0), "{:?}", most(129));
        assert!(within(most(130), 100.0) && within(most(189), 100.0), "{:?}", most(130));
        assert_eq!(most(190), None);
    }

    #[test]
    fn only_the_latest_seconds_are_kept_however_time_jumps() {
        let mut seconds = Seconds::new();
        for second in [5, 6, 10_000, 10_001, 5_000_000, 5_000_003] {
            seconds.roll(Time::from_secs(second));
            seconds.moved(End::New, End::Active);
        }
        let series = seconds.series();
        assert_eq!((series.start, series.samples.len() as u64), (5_000_003 - KEPT, KEPT));
        let active: Vec<_> = series.samples.iter().map(|sample| sample.active).collect();
        assert_eq!((active[0], active[596], active[597], active[599]), (4, 4, 5, 5));
    }

    #[test]
    fn quantiles_are_bounds_within_a_half() {
        let mut waits = Waits::default();
        for wait in 1..=1000 {
            waits.add(Duration::from_millis(wait));
        }
        let (half, most) = (waits.quantile(50).unwrap(), waits.quantile(99).unwrap());
        assert!((0.5..0.75).contains(&half), "{half}");
        assert!((0.99..1.5).contains(&most), "{most}");
        waits.add(Duration::MAX);
        assert!(waits.quantile(100).is_some_and(|longest| longest > 500_000.0));
        assert_eq!(Waits::default().quantile(50), None);
    }
}
