//! What `SharedQueue` keeps up under one popper, four adders and a source of events.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use roadstead_queue::{Clock, Event, SharedQueue, SystemClock};
use support::pods::{ALLOCATABLE, Classes, NODE, Object, pod};
use support::{Bench, Options};

const ADDERS: u64 = 4;
const DEPTH: u64 = 10_000;
const PARKED: usize = 10_000;
const RUN: Duration = Duration::from_secs(2);

fn main() {
    let options = Options::from_arguments();
    let rounds = 3;
    let (mut quiet, mut busy, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        quiet.push(run(false).0);
        let (pops, handled) = run(true);
        busy.push(pops);
        events.push(handled);
    }
    let depth = DEPTH as usize;
    options.report("shared-pops", depth, support::median(quiet), "pops a second");
    options.report("shared-pops-events", depth, support::median(busy), "pops a second");
    options.report("shared-events", depth, support::median(events), "events a second");
}

/// Pops and events a second.
fn run(with_events: bool) -> (f64, f64) {
    let mut bench = Bench::new(0, PARKED, false);
    // Parked just now: the leftover flush of a queue that starts must not find them.
    bench.now = SystemClock::new().now();
    bench.add(0..PARKED);
    let fit = bench.queue.policy().fit;
    bench.park(fit);
    let queue = SharedQueue::new(bench.queue);
    let (stop, pops, events, next) =
        (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(1 << 32));
    // Prepared as an informer's objects are, and used again and again.
    let pods: Vec<_> = (0..4 * DEPTH).map(|number| pod((1 << 32) + number, false)).collect();
    let depth = AtomicU64::new(0);

    std::thread::scope(|threads| {
        for _ in 0..ADDERS {
            threads.spawn(|| {
                let mut own = Classes::default();
                while !stop.load(Relaxed) {
                    if depth.load(Relaxed) >= DEPTH {
                        std::thread::yield_now();
                        continue;
                    }
                    let number = next.fetch_add(1, Relaxed);
                    let waiter = own.waiter(&pods[number as usize % pods.len()]);
                    depth.fetch_add(1, Relaxed);
                    queue.add(waiter);
                }
            });
        }
        threads.spawn(|| {
            while let Some(attempt) = queue.pop() {
                attempt.finish();
                depth.fetch_sub(1, Relaxed);
                pops.fetch_add(1, Relaxed);
            }
        });
        if with_events {
            threads.spawn(|| {
                while !stop.load(Relaxed) {
                    let node = |milli_cpu| Object::Node { milli_cpu, memory: 1 << 40 };
                    queue.on_event(Event::updated(NODE, ALLOCATABLE, node(50), node(100)));
                    events.fetch_add(1, Relaxed);
                }
            });
        }
        // Let the threads get going before the clock runs.
        std::thread::sleep(Duration::from_millis(200));
        let (pops_before, events_before) = (pops.load(Relaxed), events.load(Relaxed));
        let start = Instant::now();
        std::thread::sleep(RUN);
        let seconds = start.elapsed().as_secs_f64();
        let rate = |count: &AtomicU64, before| (count.load(Relaxed) - before) as f64 / seconds;
        let rates = (rate(&pops, pops_before), rate(&events, events_before));
        stop.store(true, Relaxed);
        queue.close();
        rates
    })
}
