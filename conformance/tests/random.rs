//! Made-up sequences are legal, varied and the same for the same seed.

use std::collections::{BTreeMap, BTreeSet};

use roadstead_conformance::{
    Caller, Op, Outcome, Reference, Sequence, Source, SplitMix64, State, from_bytes, from_seed,
};

/// Runs a sequence on the reference and looks at every step.
fn run(sequence: &Sequence, mut look: impl FnMut(&Op, &Outcome, &State)) -> Caller<Reference> {
    let mut caller = Caller::<Reference>::open(&sequence.header);
    for op in &sequence.ops {
        let outcome = caller.apply(op);
        caller.subject().check_invariants();
        look(op, &outcome, &caller.state());
    }
    caller
}

fn has_equal_timestamps(state: &State) -> bool {
    let times: BTreeSet<_> = state.pods.values().map(|pod| pod.timestamp_ms).collect();
    times.len() < state.pods.len()
}

#[test]
fn the_invariants_hold_and_no_two_pods_have_the_same_timestamp() {
    for seed in 0..2000 {
        run(&from_seed(seed, 120), |op, _, state| {
            assert!(!has_equal_timestamps(state), "seed {seed} at {op}");
        });
    }
}

#[test]
fn any_bytes_are_a_legal_sequence() {
    let mut numbers = SplitMix64::new(7);
    for length in 0..1500 {
        let bytes: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
        run(&from_bytes(&bytes), |op, _, state| {
            assert!(!has_equal_timestamps(state), "{length} bytes at {op}");
        });
    }
    for byte in 0..=255 {
        run(&from_bytes(&[byte; 300]), |_, _, _| {});
    }
}

#[test]
fn a_seed_gives_the_same_sequence_every_time() {
    assert_eq!(from_seed(3, 200), from_seed(3, 200));
    assert_ne!(from_seed(3, 200).ops, from_seed(4, 200).ops);
    assert!((200..220).contains(&from_seed(3, 200).ops.len()));
}

#[test]
fn everything_that_can_happen_does() {
    let mut happened: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..1000 {
        let sequence = from_seed(seed, 100);
        let header = &sequence.header;
        let mut count = |what: String| *happened.entry(what).or_default() += 1;
        count(format!("hints {} pop {}", header.queueing_hints, header.pop_from_backoff));
        let mut caller = run(&sequence, |op, outcome, state| {
            let op = op.to_string();
            count(op.split(['"']).nth(3).unwrap_or_default().to_owned());
            if let Outcome::Refused(already) = outcome {
                count(format!("refused {already:?}"));
            }
            for (what, is_so) in [
                ("active", !state.active.is_empty()),
                ("backoff", !state.backoff.is_empty()),
                ("unschedulable", !state.unschedulable.is_empty()),
                ("gated", !state.gated.is_empty()),
                ("events kept", state.in_flight_events > 0),
                ("in flight twice", state.in_flight.windows(2).any(|two| two[0] == two[1])),
            ] {
                if is_so {
                    count(format!("state {what}"));
                }
            }
        });
        for (what, number) in caller.end().incoming {
            *happened.entry(format!("incoming {what}")).or_default() += number;
        }
    }
    #[rustfmt::skip]
    let wanted = [
        "hints true pop true", "hints true pop false", "hints false pop true", "hints false pop false",
        "add", "pop", "reject", "done", "update", "delete", "event", "assigned_add",
        "assigned_update", "activate", "nominate", "unnominate", "nominated", "advance",
        "flush_backoff", "flush_unschedulable",
        "refused Active", "refused Backoff", "refused Unschedulable",
        "state active", "state backoff", "state unschedulable", "state gated",
        "state events kept", "state in flight twice",
        "incoming active/UnschedulablePodAdd", "incoming active/UnschedulablePodUpdate",
        "incoming active/UnschedulablePodUpdatePodLabel",
        "incoming active/UnschedulablePodUpdatePodSchedulingGatesEliminated",
        "incoming active/NodeAdd", "incoming active/*All", "incoming active/BackoffComplete",
        "incoming active/PopFromBackoffQ", "incoming active/ForceActivate",
        "incoming active/UnschedulableTimeout", "incoming active/ScheduleAttemptFailure",
        "incoming backoff/ScheduleAttemptFailure", "incoming backoff/NodeAdd",
        "incoming backoff/UnschedulablePodUpdate", "incoming backoff/UnschedulablePodUpdatePodScaleDown",
        "incoming backoff/UnschedulableTimeout", "incoming backoff/AssignedPodAdd",
        "incoming unschedulable/ScheduleAttemptFailure", "incoming unschedulable/UnschedulablePodAdd",
        "incoming unschedulable/UnschedulableTimeout", "incoming unschedulable/BackoffComplete",
        "incoming unschedulable/ForceActivate",
    ];
    for what in wanted {
        let times = happened.get(what).copied().unwrap_or(0);
        assert!(times >= 10, "`{what}` happened {times} times in 1000 sequences: {happened:#?}");
    }
}
