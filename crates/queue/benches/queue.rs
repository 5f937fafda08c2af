//! How long the queue's operations take, at several depths.
//!
//! `cargo bench -p roadstead-queue`; with `-- --json` a line of JSON for each result, which
//! `bench/compare` sets beside those of kube-scheduler's own queue.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use roadstead_queue::{Action, Event};
use support::pods::{ALLOCATABLE, ASSIGNED_POD, CONDITION, NODE, Object};
use support::{Bench, Options, median};

/// Measures something at a depth, once.
type Work = fn(usize) -> f64;

fn main() {
    let options = Options::from_arguments();
    let per_item: [(&str, Work, &[usize]); 5] = [
        ("add", add, &[1_000, 10_000, 100_000, 1_000_000]),
        ("pop", pop, &[1_000, 10_000, 100_000, 1_000_000]),
        ("steady", steady, &[1_000, 10_000, 100_000, 1_000_000]),
        ("flush-backoff", flush_backoff, &[1_000, 10_000, 100_000]),
        ("flush-leftover", flush_leftover, &[1_000, 10_000, 100_000]),
    ];
    for (work, run, depths) in per_item {
        measure(&options, work, depths, "ns an item", run);
    }
    let per_event: [(&str, Work); 6] = [
        ("event-skip", event_skip),
        ("event-queue-1pct", event_queue_1pct),
        ("event-unregistered", event_unregistered),
        ("assigned", assigned),
        ("event-skip-unclassed", event_skip_unclassed),
        ("flush-leftover-none", flush_leftover_none),
    ];
    for (work, run) in per_event {
        measure(&options, work, &[1_000, 10_000, 100_000], "ns an event", run);
    }
}

fn measure(options: &Options, work: &str, depths: &[usize], unit: &str, run: Work) {
    if !options.wants(work) {
        return;
    }
    for depth in options.depths(depths) {
        let rounds = if depth >= 1_000_000 { 3 } else { 7 };
        let ns = median((0..rounds).map(|_| run(depth)).collect());
        options.report(work, depth, ns, unit);
    }
}

fn per(elapsed: Duration, count: usize) -> f64 {
    elapsed.as_nanos() as f64 / count as f64
}

/// Small depths are repeated within a round, so that a round is long enough to time.
fn repeats(depth: usize) -> usize {
    (100_000 / depth).clamp(1, 50)
}

fn add(depth: usize) -> f64 {
    let mut elapsed = Duration::ZERO;
    let mut bench = Bench::new(0, depth, false).by_the_clock();
    for _ in 0..repeats(depth) {
        bench.queue = support::pods::queue();
        let start = Instant::now();
        bench.add(0..depth);
        elapsed += start.elapsed();
    }
    per(elapsed, depth * repeats(depth))
}

fn pop(depth: usize) -> f64 {
    let mut elapsed = Duration::ZERO;
    let mut bench = Bench::new(0, depth, false).by_the_clock();
    for _ in 0..repeats(depth) {
        bench.queue = support::pods::queue();
        bench.add(0..depth);
        let start = Instant::now();
        while let Some(attempt) = bench.pop() {
            black_box(bench.queue.finish(attempt));
        }
        elapsed += start.elapsed();
    }
    per(elapsed, depth * repeats(depth))
}

fn steady(depth: usize) -> f64 {
    let rounds = depth.clamp(10_000, 100_000);
    let mut bench = Bench::new(0, depth + rounds, false).by_the_clock();
    bench.add(0..depth);
    let start = Instant::now();
    for pod in depth..depth + rounds {
        let attempt = bench.pop().expect("the queue never runs dry");
        black_box(bench.queue.finish(attempt));
        let waiter = bench.waiter(pod);
        let now = bench.tick();
        bench.queue.add(waiter, now);
    }
    per(start.elapsed(), rounds)
}

fn parked(depth: usize, with_affinity: bool) -> Bench {
    let mut bench = Bench::new(0, depth, with_affinity);
    bench.add(0..depth);
    let rules = bench.queue.policy();
    let rejector = if with_affinity { rules.affinity } else { rules.fit };
    bench.park(rejector);
    assert_eq!(bench.queue.counts().unschedulable, depth);
    bench
}

fn node(milli_cpu: u64) -> Object {
    Object::Node { milli_cpu, memory: 1 << 40 }
}

fn timed_events(bench: &mut Bench, count: usize, event: impl Fn() -> Event<Object>) -> f64 {
    let events: Vec<_> = (0..count).map(|_| event()).collect();
    let start = Instant::now();
    for event in events {
        bench.queue.on_event(event, bench.now);
    }
    per(start.elapsed(), count)
}

fn event_skip(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    let ns =
        timed_events(&mut bench, 100, || Event::updated(NODE, ALLOCATABLE, node(50), node(100)));
    assert_eq!(bench.queue.counts().unschedulable, depth, "the hint skips everyone");
    ns
}

fn event_queue_1pct(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    let mut elapsed = Duration::ZERO;
    for _ in 0..5 {
        // Past everyone's backoff, as long-parked pods are.
        bench.now = bench.now + Duration::from_secs(20);
        let event = Event::updated(NODE, ALLOCATABLE, node(100), node(110));
        let start = Instant::now();
        bench.queue.on_event(event, bench.now);
        elapsed += start.elapsed();
        assert_eq!(bench.queue.counts().active, depth / 100, "one template fits");
        let fit = bench.queue.policy().fit;
        bench.park(fit);
    }
    per(elapsed, 5)
}

fn event_unregistered(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    timed_events(&mut bench, 10_000, || Event::updated(NODE, CONDITION, node(1), node(1)))
}

fn assigned(depth: usize) -> f64 {
    let mut bench = parked(depth, true);
    let ns = timed_events(&mut bench, 100, || {
        let labels = vec![("app".into(), "app-0".into())];
        Event::added(ASSIGNED_POD, Object::Pod { namespace: "ns-0".into(), labels })
    });
    assert_eq!(bench.queue.counts().unschedulable, depth, "the hint skips everyone");
    ns
}

/// The same as `event-skip`, where every item is a class of its own.
fn event_skip_unclassed(depth: usize) -> f64 {
    let mut bench = Bench::new(0, depth, false);
    bench.queue = support::pods::queue();
    for pod in 0..depth {
        let alone = bench.waiter(pod).in_a_class_of_its_own();
        let now = bench.tick();
        bench.queue.add(alone, now);
    }
    let fit = bench.queue.policy().fit;
    bench.park(fit);
    timed_events(&mut bench, 10, || Event::updated(NODE, ALLOCATABLE, node(50), node(100)))
}

fn flush_backoff(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    bench.queue.on_event(Event::new(NODE, Action::ADD), bench.now);
    assert_eq!(bench.queue.counts().backoff, depth);
    bench.now = bench.now + Duration::from_secs(20);
    let start = Instant::now();
    bench.queue.flush_backoff(bench.now);
    let elapsed = start.elapsed();
    assert_eq!(bench.queue.counts().active, depth);
    per(elapsed, depth)
}

fn flush_leftover(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    bench.now = bench.now + Duration::from_secs(400);
    let start = Instant::now();
    bench.queue.flush_leftover(bench.now);
    let elapsed = start.elapsed();
    assert_eq!(bench.queue.counts().active, depth);
    per(elapsed, depth)
}

fn flush_leftover_none(depth: usize) -> f64 {
    let mut bench = parked(depth, false);
    let start = Instant::now();
    for _ in 0..100 {
        bench.queue.flush_leftover(bench.now);
    }
    per(start.elapsed(), 100)
}
