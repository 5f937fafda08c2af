//! How many bytes the queue keeps for a waiting item, beyond the item itself.

mod support;

use std::alloc::System;

use cap::Cap;
use roadstead_queue::{Action, Event};
use support::pods::{NODE, Waiter};
use support::{Bench, Options};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// Brings added items where they are to be counted.
type Arrange = fn(&mut Bench);

fn main() {
    let options = Options::from_arguments();
    let works: [(&str, Arrange); 3] = [
        ("bytes", |_| {}),
        ("bytes-backoff", |bench| {
            park(bench);
            bench.queue.on_event(Event::new(NODE, Action::ADD), bench.now);
        }),
        ("bytes-unschedulable", park),
    ];
    for (work, arrange) in works {
        if !options.wants(work) {
            continue;
        }
        for depth in options.depths(&[1_000, 10_000, 100_000, 1_000_000]) {
            let mut bench = Bench::new(0, depth, false);
            let before = ALLOCATOR.allocated();
            bench.add(0..depth);
            arrange(&mut bench);
            let kept = (ALLOCATOR.allocated() - before) as f64 / depth as f64;
            let item = size_of::<Waiter>() as f64;
            options.report(work, depth, kept - item, "bytes an item");
        }
    }
}

fn park(bench: &mut Bench) {
    let fit = bench.queue.policy().fit;
    bench.park(fit);
}
