//! Random clusters and workloads, with delays and failures between scheduler and cluster: whatever
//! happened, at quiet nothing waits in vain, no node has more than it can bear, and no pod was
//! bound twice.
//!
//! `ROADSTEAD_RUNS=10000 cargo test --release -p roadstead-sim --test property` tries more seeds,
//! `ROADSTEAD_SEED=17` a single one.

mod checks;
mod churn;
mod naive;

use std::time::Duration;

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_sim::{Config, Delay, End, Faults, Setup, Simulation, Verify};

use crate::churn::{Churn, Random};

#[test]
fn at_quiet_nothing_waits_in_vain_and_no_node_is_over_committed() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("ROADSTEAD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ROADSTEAD_RUNS").unwrap_or(120),
    };
    let mut seen = checks::Seen::default();
    for seed in seeds.clone() {
        checks::check(&run(seed), seed, &mut seen);
    }
    // A generator that no longer makes trouble would let everything pass.
    if seeds.end - seeds.start >= 100 {
        seen.check_that_the_runs_were_hard();
    }
}

#[test]
fn a_seed_repeats_a_run_to_the_byte() {
    for seed in [3, 4] {
        let outcome =
            || serde_json::to_string(&run(seed).outcome()).expect("an outcome is plain data");
        assert_eq!(outcome(), outcome(), "seed {seed}");
    }
}

/// Runs a random cluster to quiet.
fn run(seed: u64) -> Simulation {
    let mut random = Random::new(seed);
    let mut cluster = Cluster::new(embedded::Config { seed, ..embedded::Config::default() });
    let mut churn = Churn::new(&mut random, &mut cluster);
    let config = Config {
        seed,
        max_cycles: 100_000,
        faults: faults(&mut random),
        verify: Verify::Always,
        ..Config::default()
    };
    let mut simulation = Simulation::new(cluster, Setup::default(), config);
    match simulation.run(&mut churn, &mut |_| ()) {
        Ok(End::Quiet) => {
            let troubles = simulation.outcome().troubles;
            let slept = troubles.iter().find(|trouble| trouble.contains("slept"));
            assert_eq!(slept, None, "seed {seed}: nobody sleeps through what would wake it");
            simulation
        }
        other => panic!("seed {seed}: {other:?}"),
    }
}

fn faults(random: &mut Random) -> Faults {
    let mut delay = |most_ms: u64| {
        let most = Duration::from_millis(random.below(most_ms + 1));
        Delay { least: most / 4, most }
    };
    let (command_delay, answer_delay) = (delay(3000), delay(2000));
    let mut watch_delay = delay(2500);
    let failing_bindings = random.below(200) as u16;
    let mut lost_answers = 0;
    if random.one_in(3) {
        // With a watch that is slower than the answer that was lost, even kube-scheduler gives the
        // place away: then it would be fair to find a node over-committed.
        watch_delay = Delay::default();
        lost_answers = random.below(200) as u16;
    }
    Faults { command_delay, answer_delay, watch_delay, failing_bindings, lost_answers }
}
