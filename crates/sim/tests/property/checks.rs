//! What must hold at quiet.

use roadstead_queue::Place;
use roadstead_scheduler::PodKey;
use roadstead_sim::{PodState, Simulation};

use crate::naive::Naive;

/// What happened in all runs together, so that it is known that something did.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    bound: usize,
    unschedulable: usize,
    gated: usize,
    preempted: usize,
    failed_bindings: usize,
    retried: usize,
}

impl Seen {
    pub(crate) fn check_that_the_runs_were_hard(&self) {
        let Self { bound, unschedulable, gated, preempted, failed_bindings, retried } = *self;
        let all = [bound, unschedulable, gated, preempted, failed_bindings, retried];
        assert!(all.iter().all(|seen| *seen >= 50), "hardly anything happened: {self:?}");
    }
}

pub(crate) fn check(run: &Simulation, seed: u64, seen: &mut Seen) {
    run.cluster().check_invariants();
    let naive = Naive::new(run.cluster());
    nothing_waits_in_vain(run, &naive, seed);
    no_node_is_over_committed(&naive, seed);
    every_pod_is_bound_at_most_once(run, seed, seen);
}

fn nothing_waits_in_vain(run: &Simulation, naive: &Naive, seed: u64) {
    let queue = run.scheduler().queue();
    let counts = queue.counts();
    assert_eq!((counts.active, counts.backoff, counts.in_flight), (0, 0, 0), "seed {seed}");
    assert_eq!(run.scheduler().bindings(), 0, "seed {seed}: bindings");
    if !naive.nodes.is_empty() {
        assert_eq!(counts.error_backoff, 0, "seed {seed}: something went wrong and still does");
    }
    for pod in &naive.pods {
        let (name, key) = (&pod.name, PodKey::of(pod));
        if pod.node_name.is_some() || pod.is_terminating() {
            assert_eq!(queue.place(&key), None, "seed {seed}: {name} is on a node and waits");
            continue;
        }
        match queue.place(&key) {
            Some(Place::Gated { by }) => {
                let gate = queue.plugins().name(by);
                assert_eq!(gate, "SchedulingGates", "seed {seed}: {name} is held for ever");
            }
            Some(Place::Unschedulable) => {
                let feasible = naive.feasible(pod);
                assert!(feasible.is_empty(), "seed {seed}: {name} fits on {feasible:?} and waits");
            }
            Some(Place::ErrorBackoff { .. }) if naive.nodes.is_empty() => {}
            place => panic!("seed {seed}: {name} is on no node and in {place:?}"),
        }
    }
}

fn no_node_is_over_committed(naive: &Naive, seed: u64) {
    for node in naive.nodes.iter() {
        let (name, used, has) = (node.name(), node.requested(), &node.node().allocatable);
        let pods = node.pods().len();
        assert!(used.milli_cpu <= has.milli_cpu, "seed {seed}: cpu of {name}: {used:?} of {has:?}");
        assert!(used.memory <= has.memory, "seed {seed}: memory of {name}: {used:?} of {has:?}");
        assert!(pods as i64 <= has.pods, "seed {seed}: {name} has {pods} pods of {}", has.pods);
        let ports: Vec<_> = node.pods().iter().flat_map(|pod| &pod.spec().host_ports).collect();
        for (i, port) in ports.iter().enumerate() {
            assert!(!ports[..i].contains(port), "seed {seed}: {port:?} on {name} is taken twice");
        }
    }
}

fn every_pod_is_bound_at_most_once(run: &Simulation, seed: u64, seen: &mut Seen) {
    let outcome = run.outcome();
    let bound = outcome.pods.iter().filter(|pod| pod.bound.is_some()).count();
    let bindings: usize = outcome.series.points.iter().map(|point| point.bindings).sum();
    assert_eq!(bindings, bound, "seed {seed}: bindings that the cluster took, and pods bound");
    let scheduled = outcome.events.iter().filter(|event| event.reason == "Scheduled");
    let scheduled: Vec<_> = scheduled.map(|event| (&event.pod, &event.note, event.count)).collect();
    assert!(scheduled.len() <= bound, "seed {seed}: {} Events for {bound}", scheduled.len());

    seen.bound += bound;
    seen.unschedulable += outcome.counts.waiting.unschedulable;
    seen.gated += outcome.counts.waiting.gated;
    seen.preempted += outcome.pods.iter().filter(|pod| pod.preempted_by.is_some()).count();
    let refused = |pod: &&roadstead_sim::PodOutcome| {
        pod.reason.as_deref().is_some_and(|reason| reason.contains("DefaultBinder"))
    };
    seen.failed_bindings += outcome.pods.iter().filter(refused).count();
    let retried = |pod: &&roadstead_sim::PodOutcome| {
        pod.attempts > 1 && matches!(pod.state, PodState::Placed | PodState::Finished)
    };
    seen.retried += outcome.pods.iter().filter(retried).count();
}
