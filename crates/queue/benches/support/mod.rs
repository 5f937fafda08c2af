//! What the benchmarks share; each of them uses its part.
#![allow(dead_code)]

pub(crate) mod pods;

use std::sync::Arc;

use pods::{Classes, Pod, Rules, Waiter};
use roadstead_queue::{Attempt, Clock, PluginId, Queue, Rejection, SystemClock, Time};

/// A queue with the pods to fill it.
pub(crate) struct Bench {
    pub(crate) queue: Queue<Rules>,
    pub(crate) classes: Classes,
    pub(crate) pods: Vec<Arc<Pod>>,
    /// The time; it moves a little with every operation, so that no two pods are queued at once.
    pub(crate) now: Time,
    clock: Option<SystemClock>,
}

impl Bench {
    /// An empty queue and `count` pods, numbered from `first`.
    pub(crate) fn new(first: u64, count: usize, with_affinity: bool) -> Self {
        let pods = (first..).take(count).map(|n| pods::pod(n, with_affinity)).collect();
        let now = Time::from_secs(1_700_000_000);
        Self { queue: pods::queue(), classes: Classes::default(), pods, now, clock: None }
    }

    /// Reads the real clock for every operation, as a scheduler does.
    pub(crate) fn by_the_clock(self) -> Self {
        Self { clock: Some(SystemClock::new()), ..self }
    }

    pub(crate) fn pop(&mut self) -> Option<Attempt> {
        let now = self.tick();
        self.queue.pop(now)
    }

    pub(crate) fn tick(&mut self) -> Time {
        self.now = match &self.clock {
            Some(clock) => clock.now(),
            None => self.now + std::time::Duration::from_micros(1),
        };
        self.now
    }

    pub(crate) fn waiter(&mut self, pod: usize) -> Waiter {
        self.classes.waiter(&self.pods[pod])
    }

    /// Adds pods `range` of those prepared.
    pub(crate) fn add(&mut self, range: std::ops::Range<usize>) {
        for pod in range {
            let waiter = self.waiter(pod);
            let now = self.tick();
            self.queue.add(waiter, now);
        }
    }

    /// Pops everything that can be popped, and rejects it.
    pub(crate) fn park(&mut self, rejector: PluginId) {
        while let Some(attempt) = self.queue.pop(self.now) {
            let now = self.tick();
            self.queue.reject(attempt, Rejection::by(&[rejector]), now).expect("nobody else");
        }
    }
}

/// The middle one of some measurements.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// `--json`, `--works a,b`, `--depths 1,2`; whatever else cargo hands over is passed by.
pub(crate) struct Options {
    pub(crate) json: bool,
    works: Option<Vec<String>>,
    depths: Option<Vec<usize>>,
}

impl Options {
    pub(crate) fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let after = |name: &str| {
            let at = arguments.iter().position(|argument| argument == name)?;
            let list = arguments.get(at + 1)?;
            Some(list.split(',').map(str::to_owned).collect::<Vec<_>>())
        };
        let number = |text: String| text.parse().expect("--depths takes numbers");
        Self {
            json: arguments.iter().any(|argument| argument == "--json"),
            works: after("--works"),
            depths: after("--depths").map(|list| list.into_iter().map(number).collect()),
        }
    }

    pub(crate) fn wants(&self, work: &str) -> bool {
        self.works.as_ref().is_none_or(|works| works.iter().any(|known| known == work))
    }

    /// The depths that were asked for, among those that a work is made for.
    pub(crate) fn depths(&self, usual: &[usize]) -> Vec<usize> {
        match &self.depths {
            Some(asked) => usual.iter().copied().filter(|depth| asked.contains(depth)).collect(),
            None => usual.to_vec(),
        }
    }

    /// Prints one result: for programs a line of JSON, for people a row.
    pub(crate) fn report(&self, work: &str, depth: usize, value: f64, unit: &str) {
        if self.json {
            println!("{{\"work\":\"{work}\",\"depth\":{depth},\"ns\":{value:.1}}}");
        } else {
            println!("{work:<22} {depth:>9}   {value:>14.1} {unit}");
        }
    }
}
