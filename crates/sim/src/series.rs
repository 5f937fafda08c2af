//! What happened when, in a bounded number of points.

use std::time::Duration;

use roadstead_model::Resources;
use roadstead_queue::{Counts, Time};
use roadstead_scheduler::Nodes;

use crate::outcome::{Amount, Point, Quantiles, Seconds, Series};

/// What happened in each stretch of time. Stretches are of equal width; when there would be too
/// many of them, two become one.
#[derive(Debug)]
pub(crate) struct Recording {
    width: Duration,
    /// Only those in which something happened, in order.
    buckets: Vec<Bucket>,
}

#[derive(Debug, Default)]
struct Bucket {
    index: u64,
    /// The most that waited in each place at one time, and what waited at the end.
    peak: Counts,
    last: Counts,
    attempts: u64,
    /// How long each pod that was bound had waited, in milliseconds.
    waits: Vec<u64>,
    totals: Option<Totals>,
}

/// What all nodes together have, and what is asked of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) requested: Resources,
    pub(crate) allocatable: Resources,
}

impl Totals {
    pub(crate) fn of(nodes: &Nodes) -> Self {
        let mut totals = Self::default();
        for node in nodes.iter() {
            totals.requested.add(node.requested());
            totals.requested.pods += i64::try_from(node.pods().len()).unwrap_or(0);
            totals.allocatable.add(&node.node().allocatable);
        }
        totals
    }

    /// Each resource that a node has or a pod asks for.
    pub(crate) fn amounts(&self) -> Vec<Amount> {
        let Self { requested, allocatable } = self;
        let plain = [
            ("cpu", requested.milli_cpu, allocatable.milli_cpu, 1000),
            ("memory", requested.memory, allocatable.memory, 1),
            ("ephemeral-storage", requested.ephemeral_storage, allocatable.ephemeral_storage, 1),
            ("pods", requested.pods, allocatable.pods, 1),
        ];
        let mut names: Vec<_> =
            allocatable.scalars().iter().chain(requested.scalars()).map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        let scalars = names
            .into_iter()
            .map(|name| (name.as_str(), requested.scalar(name), allocatable.scalar(name), 1));
        plain
            .into_iter()
            .chain(scalars)
            .filter(|(_, used, available, _)| *used != 0 || *available != 0)
            .map(|(resource, used, available, unit)| Amount {
                resource: resource.to_owned(),
                requested: used as f64 / f64::from(unit),
                allocatable: available as f64 / f64::from(unit),
            })
            .collect()
    }
}

impl Default for Recording {
    fn default() -> Self {
        Self { width: FIRST_WIDTH, buckets: Vec::new() }
    }
}

impl Recording {
    pub(crate) fn count_attempt(&mut self, now: Time) {
        self.bucket(now).attempts += 1;
    }

    pub(crate) fn count_binding(&mut self, now: Time, waited: Duration) {
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        self.bucket(now).waits.push(waited);
    }

    pub(crate) fn note_depth(&mut self, now: Time, counts: Counts) {
        let bucket = self.bucket(now);
        bucket.peak = highest(bucket.peak, counts);
        bucket.last = counts;
    }

    pub(crate) fn note_totals(&mut self, now: Time, totals: Totals) {
        self.bucket(now).totals = Some(totals);
    }

    pub(crate) fn is_in_another_bucket(&self, now: Time, next: Time) -> bool {
        self.index(now) != self.index(next)
    }

    /// One point for each stretch of time up to the last in which something happened.
    pub(crate) fn series(&self) -> Series {
        let mut points = Vec::new();
        let mut last = Counts::default();
        let mut amounts: Vec<Amount> = Vec::new();
        for bucket in &self.buckets {
            while points.len() < usize::try_from(bucket.index).unwrap_or(usize::MAX) {
                points.push(self.point(points.len(), last, 0, &[], amounts.clone()));
            }
            if let Some(totals) = &bucket.totals {
                amounts = totals.amounts();
            }
            let peak = highest(bucket.peak, bucket.last);
            let point =
                self.point(points.len(), peak, bucket.attempts, &bucket.waits, amounts.clone());
            points.push(point);
            last = bucket.last;
        }
        Series { width: Seconds::of(self.width), points }
    }

    fn point(
        &self,
        index: usize,
        depth: Counts,
        attempts: u64,
        waits: &[u64],
        nodes: Vec<Amount>,
    ) -> Point {
        let start = self.width * u32::try_from(index).unwrap_or(u32::MAX);
        Point {
            at: Seconds::of(start),
            active: depth.active,
            backoff: depth.backoff + depth.error_backoff,
            unschedulable: depth.unschedulable,
            gated: depth.gated,
            attempts,
            bindings: waits.len(),
            waited: Quantiles::of(waits),
            nodes,
        }
    }

    fn index(&self, time: Time) -> u64 {
        u64::try_from((time - Time::ZERO).as_nanos() / self.width.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The stretch that `now` is in, which is the last one: time never goes back.
    fn bucket(&mut self, now: Time) -> &mut Bucket {
        while self.index(now) >= MOST_POINTS {
            self.widen();
        }
        let index = self.index(now);
        if self.buckets.last().is_none_or(|bucket| bucket.index < index) {
            let last = self.buckets.last().map(|bucket| bucket.last).unwrap_or_default();
            self.buckets.push(Bucket { index, peak: last, last, ..Bucket::default() });
        }
        self.buckets.last_mut().expect("one was just seen to")
    }

    fn widen(&mut self) {
        self.width *= 2;
        let mut wide: Vec<Bucket> = Vec::with_capacity(self.buckets.len());
        for mut bucket in std::mem::take(&mut self.buckets) {
            bucket.index /= 2;
            match wide.last_mut().filter(|last| last.index == bucket.index) {
                Some(last) => last.absorb(bucket),
                None => wide.push(bucket),
            }
        }
        self.buckets = wide;
    }
}

impl Bucket {
    fn absorb(&mut self, later: Bucket) {
        self.peak = highest(self.peak, later.peak);
        self.last = later.last;
        self.attempts += later.attempts;
        self.waits.extend(later.waits);
        self.totals = later.totals.or(self.totals.take());
    }
}

fn highest(a: Counts, b: Counts) -> Counts {
    Counts {
        active: a.active.max(b.active),
        backoff: a.backoff.max(b.backoff),
        error_backoff: a.error_backoff.max(b.error_backoff),
        unschedulable: a.unschedulable.max(b.unschedulable),
        gated: a.gated.max(b.gated),
        in_flight: a.in_flight.max(b.in_flight),
    }
}

/// A run of a few seconds is told in hundredths of a second.
const FIRST_WIDTH: Duration = Duration::from_millis(10);
const MOST_POINTS: u64 = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_a_run_is_it_has_few_points_and_loses_nothing() {
        let mut recording = Recording::default();
        for second in 0..100_000 {
            let now = Time::from_secs(second);
            recording.count_attempt(now);
            recording.count_binding(now, Duration::from_millis(second));
        }
        let series = recording.series();
        assert!((200..=400).contains(&series.points.len()), "{}", series.points.len());
        assert_eq!(series.points.iter().map(|point| point.bindings).sum::<usize>(), 100_000);
        assert_eq!(series.points.iter().map(|point| point.attempts).sum::<u64>(), 100_000);
    }

    #[test]
    fn what_waits_is_the_most_of_a_stretch_and_then_what_was_left() {
        let counts = |active| Counts { active, ..Counts::default() };
        let mut recording = Recording::default();
        recording.note_depth(Time::ZERO, counts(7));
        recording.note_depth(Time::from_millis(1), counts(2));
        recording.note_depth(Time::from_millis(40), counts(5));
        let depths: Vec<_> = recording.series().points.iter().map(|point| point.active).collect();
        assert_eq!(depths, [7, 2, 2, 2, 5]);
    }
}
