//! What is left to chance: when pods come, how large they are, how long they run.

use std::f64::consts::TAU;
use std::time::Duration;

use crate::random::Random;

/// When the pods of a workload come, counted from its start.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arrivals {
    /// All at the start.
    AtOnce,
    /// One after each interval, the first at the start.
    Constant { interval: Duration },
    /// Independently of each other, with this time between them on average.
    Poisson { mean: Duration },
    /// So many together, again and again.
    Burst { size: u64, every: Duration },
}

impl Arrivals {
    /// When pod `number` comes, if the one before it came at `last`.
    pub(super) fn next(&self, number: u64, last: Duration, random: &mut Random) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            // Counted from the start each time: rounding does not add up.
            Self::Constant { interval } => times(*interval, number),
            Self::Poisson { mean } => last.saturating_add(exponential(*mean, random)),
            Self::Burst { size, every } => times(*every, number / size),
        }
    }

    /// Whether there are only so many pods in any time.
    pub(super) fn is_spread(&self) -> bool {
        !matches!(self, Self::AtOnce)
    }
}

/// How long pods run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Runs {
    Constant(Duration),
    Uniform { min: Duration, max: Duration },
    Exponential { mean: Duration, max: Duration },
    Lognormal { median: Duration, sigma: f64, max: Duration },
}

impl Runs {
    pub(super) fn draw(&self, random: &mut Random) -> Duration {
        match *self {
            Self::Constant(time) => time,
            Self::Uniform { min, max } => random.between(min, max),
            Self::Exponential { mean, max } => exponential(mean, random).min(max),
            Self::Lognormal { median, sigma, max } => {
                seconds(median.as_secs_f64() * (sigma * normal(random)).exp()).min(max)
            }
        }
    }
}

/// One of several, each with its weight.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice<T> {
    /// With the sum of the weights up to and with this one.
    of: Vec<(u64, T)>,
}

impl<T> Choice<T> {
    pub(super) fn new(weighed: impl IntoIterator<Item = (u64, T)>) -> Self {
        let mut sum: u64 = 0;
        let add = |(weight, item)| {
            sum = sum.saturating_add(weight);
            (sum, item)
        };
        Self { of: weighed.into_iter().map(add).collect() }
    }

    pub(super) fn draw(&self, random: &mut Random) -> Option<&T> {
        let (sum, first) = self.of.last()?;
        // What has no choice draws nothing, so that a second template changes the first's numbers
        // only where it must.
        if self.of.len() == 1 {
            return Some(first);
        }
        let point = random.below(*sum);
        self.of.iter().find(|(until, _)| point < *until).map(|(_, item)| item)
    }
}

/// A whole number of steps from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) step: u64,
}

impl Steps {
    pub(super) fn draw(self, random: &mut Random) -> u64 {
        let steps = self.max.saturating_sub(self.min) / self.step.max(1);
        self.min + self.step * random.below(steps.saturating_add(1))
    }
}

/// A number in [0, 1).
fn fraction(random: &mut Random) -> f64 {
    (random.number() >> 11) as f64 / (1_u64 << 53) as f64
}

fn exponential(mean: Duration, random: &mut Random) -> Duration {
    seconds(-(1.0 - fraction(random)).ln() * mean.as_secs_f64())
}

/// Of the normal distribution, by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - fraction(random)).ln()).sqrt();
    radius * (TAU * fraction(random)).cos()
}

/// In whole microseconds, so that the last bits of a logarithm do not matter.
fn seconds(seconds: f64) -> Duration {
    let micros = (seconds * 1e6).round();
    Duration::from_micros(if micros.is_finite() && micros > 0.0 { micros as u64 } else { 0 })
}

fn times(interval: Duration, number: u64) -> Duration {
    let nanos = interval.as_nanos().saturating_mul(u128::from(number));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn mean(draw: impl Fn(&mut Random) -> f64) -> f64 {
        let mut random = Random::new(7);
        (0..20_000).map(|_| draw(&mut random)).sum::<f64>() / 20_000.0
    }

    #[test]
    fn distributions_have_the_mean_and_bounds_that_they_are_asked_for() {
        let max = 1000 * SECOND;
        let sigma = 0.5_f64;
        #[rustfmt::skip]
        let rows = [
            (Runs::Constant(10 * SECOND),                               10.0, "constant"),
            (Runs::Uniform { min: 5 * SECOND, max: 15 * SECOND },       10.0, "uniform"),
            (Runs::Exponential { mean: 10 * SECOND, max },              10.0, "exponential"),
            (Runs::Exponential { mean: 10 * SECOND, max: SECOND },       0.952, "exponential, cut"),
            (Runs::Lognormal { median: 10 * SECOND, sigma, max },
                                                10.0 * (sigma * sigma / 2.0).exp(), "lognormal"),
        ];
        for (runs, expected, name) in rows {
            let mean = mean(|random| runs.draw(random).as_secs_f64());
            assert!((mean / expected - 1.0).abs() < 0.02, "{name}: {mean}, not {expected}");
        }
    }

    #[test]
    fn a_poisson_process_has_its_rate_and_comes_in_no_pattern() {
        let arrivals = Arrivals::Poisson { mean: SECOND };
        let mut random = Random::new(3);
        let (mut last, mut gaps) = (Duration::ZERO, Vec::new());
        for number in 0..20_000 {
            let next = arrivals.next(number, last, &mut random);
            gaps.push((next - last).as_secs_f64());
            last = next;
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.1, "variance {variance}");
    }

    #[test]
    fn steady_arrivals_do_not_drift() {
        let mut random = Random::new(0);
        let third = Arrivals::Constant { interval: Duration::from_nanos(333_333_333) };
        assert_eq!(third.next(0, SECOND, &mut random), Duration::ZERO);
        assert_eq!(third.next(3_000, SECOND, &mut random), Duration::from_nanos(999_999_999_000));
        let burst = Arrivals::Burst { size: 10, every: SECOND };
        assert_eq!(burst.next(9, SECOND, &mut random), Duration::ZERO);
        assert_eq!(burst.next(10, SECOND, &mut random), SECOND);
    }

    #[test]
    fn a_choice_follows_its_weights() {
        let choice = Choice::new([(3, 0.0), (0, 100.0), (1, 1.0)]);
        let mean = mean(|random| *choice.draw(random).expect("there is one"));
        assert!((mean - 0.25).abs() < 0.01, "{mean}");
        assert_eq!(Choice::<u8>::new([]).draw(&mut Random::new(0)), None);
    }

    #[test]
    fn steps_reach_both_ends() {
        let steps = Steps { min: 10, max: 35, step: 10 };
        let mut random = Random::new(1);
        let mut drawn: Vec<u64> = (0..100).map(|_| steps.draw(&mut random)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [10, 20, 30]);
    }
}
