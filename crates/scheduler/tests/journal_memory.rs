//! What a journal takes of memory, measured.

use std::alloc::System;
use std::sync::Arc;

use cap::Cap;
use roadstead_model::{Node, Pod, World};
use roadstead_queue::{Cause, Config, HintVerdict, Plugins, Time, Transition};
use roadstead_scheduler::events::Object;
use roadstead_scheduler::{Happening, Journal, Observer, QueuedPod, Scheduler, plugins};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// A journal, and what it took: in all, and while pods were popped.
#[derive(Default)]
struct Measured {
    journal: Journal,
    held: isize,
    allocated_by_pops: usize,
    pops: usize,
}

impl Measured {
    fn measure(&mut self, step: impl FnOnce(&mut Journal)) -> usize {
        let (held, total) = (ALLOCATOR.allocated(), ALLOCATOR.total_allocated());
        step(&mut self.journal);
        self.held += ALLOCATOR.allocated() as isize - held as isize;
        ALLOCATOR.total_allocated() - total
    }
}

impl roadstead_queue::Observer<QueuedPod, Object> for Measured {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        let allocated = self.measure(|journal| journal.transition(step));
        if matches!(step.cause, Cause::Popped | Cause::PoppedFromBackoff) {
            self.allocated_by_pops += allocated;
            self.pops += 1;
        }
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, QueuedPod, Object>) {
        self.measure(|journal| journal.hint(verdict));
    }
}

impl Observer for Measured {
    fn happened(&mut self, happening: &Happening<'_>) {
        self.measure(|journal| journal.happened(happening));
    }

    fn start(&mut self, plugins: &Plugins) {
        self.measure(|journal| journal.start(plugins));
    }
}

const PODS: usize = 10_000;

// One test: what others allocate meanwhile would count.
#[test]
fn a_waiting_pod_takes_less_than_a_kibibyte_and_popping_it_takes_none() {
    let mut world = World::new();
    let framework = plugins::default_framework(|_| None, &mut world).expect("the defaults work");
    let profiles = vec![(world.text("default-scheduler"), framework)];
    let mut scheduler = Scheduler::new(Config::default(), profiles, Measured::default(), 7);
    let mut now = Time::from_secs(1_000);
    for number in 0..10 {
        let api = json!({"metadata": {"name": format!("node-{number}")},
            "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "110"}}});
        let node = Node::from_api(&serde_json::from_value(api).unwrap(), &mut world).unwrap();
        scheduler.node_set(Arc::new(node), now);
    }
    for number in 0..PODS {
        let api = json!({
            "metadata": {"name": format!("pod-{number}"), "namespace": "default", "uid": format!("uid-{number}")},
            "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2", "memory": "2Gi"}}}]}});
        let pod = Pod::from_api(&serde_json::from_value(api).unwrap(), &mut world).unwrap();
        scheduler.pod_set(Arc::new(pod), now);
    }
    // Often enough to fill every pod's memory.
    for _ in 0..12 {
        scheduler.schedule_all(now);
        scheduler.commands().for_each(drop);
        now = now + std::time::Duration::from_secs(400);
        scheduler.on_time(now);
    }
    assert_eq!(scheduler.queue().counts().waiting(), PODS);

    let measured = scheduler.observer_mut();
    let a_pod = measured.held / PODS as isize;
    println!(
        "{a_pod} bytes a waiting pod; {} pops took {} bytes",
        measured.pops, measured.allocated_by_pops
    );
    assert!((500..=1024).contains(&a_pod), "{a_pod} bytes a waiting pod");
    assert!(measured.pops > 10 * PODS, "{} pops", measured.pops);
    assert_eq!(measured.allocated_by_pops, 0, "bytes allocated by {} pops", measured.pops);
}
