//! A replay is the run once more.

use roadstead_queue::Time;
use roadstead_recording::{Ending, Step};
use roadstead_scheduler::{PodKey, Registry};
use roadstead_sim::{Faults, Replay, Simulation, setup_of};

use crate::churn::Random;
use crate::testing::{Replayed, reader, record, record_with, replay, seeds};

#[test]
fn a_run_with_faults_replays_to_the_same_decisions_and_journal() {
    let (mut decisions, mut failed) = (0, 0);
    let seeds = seeds(40);
    for seed in seeds.clone() {
        let (run, bytes) = record("faults", seed);
        let mut replayed = replay(bytes);
        while let Some((recorded, _)) = replayed.step().expect("it is whole") {
            failed += usize::from(matches!(recorded.step, Step::Bound { result: Err(_), .. }));
        }
        assert_eq!(replayed.difference(), None, "seed {seed}");
        assert_eq!(replayed.ending(), Some(Ending::Complete), "seed {seed}");
        assert_same_end(&run, &replayed, seed);
        decisions += replayed.decisions();
    }
    // A generator that no longer makes trouble would let everything pass.
    if seeds.end - seeds.start >= 40 {
        assert!(decisions > 1000 && failed > 10, "{decisions} decisions, {failed} failed");
    }
}

#[test]
fn without_faults_the_whole_outcome_is_the_same() {
    for seed in seeds(15) {
        let (run, bytes) = record_with("outcome", seed, Faults::default());
        let mut replayed = replay(bytes);
        replayed.run_to(None, &mut |_| ()).expect("it is whole");
        let text = |outcome| serde_json::to_string_pretty(&outcome).expect("plain data");
        let (first, again) = (text(run.outcome()), text(replayed.outcome()));
        let differs = first.lines().zip(again.lines()).find(|(first, again)| first != again);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(first.len(), again.len(), "seed {seed}");
    }
}

#[test]
fn a_pod_that_is_explained_at_any_moment_leaves_all_decisions_as_they_were() {
    let mut explained = 0;
    let seeds = seeds(15);
    for seed in seeds.clone() {
        let (run, bytes) = record("explained", seed);
        let mut replayed = replay(bytes);
        let mut random = Random::new(seed ^ 0xbeef);
        while replayed.step().expect("it is whole").is_some() {
            if !random.one_in(7) {
                continue;
            }
            let pods: Vec<PodKey> = replayed.scheduler().known_pods().cloned().collect();
            if pods.is_empty() {
                continue;
            }
            let pod = &pods[random.below(pods.len() as u64) as usize];
            explained += usize::from(replayed.explain(pod).is_some());
        }
        assert_eq!(replayed.difference(), None, "seed {seed}");
        assert_same_end(&run, &replayed, seed);
    }
    assert!(explained > 10, "{explained} explanations of seeds {seeds:?}");
}

#[test]
fn a_scheduler_that_decides_otherwise_is_found_out_with_the_step() {
    let (_, bytes) = record("otherwise", 5);
    let whole = reader(bytes.clone());
    let mut setup = setup_of(whole.header(), "run.rec", &Registry::default()).expect("defaults");
    setup.queue.initial_backoff *= 3;
    setup.queue.max_backoff *= 3;
    let mut replayed: Replayed = Replay::new(whole, setup, None);
    replayed.run_to(None, &mut |_| ()).expect("it is whole");
    let difference = replayed.difference().expect("pods back off for longer");
    assert!(difference.step > 0 && difference.step < replayed.steps(), "{difference:?}");
}

#[test]
fn a_replay_stops_at_any_time_and_goes_back_by_beginning_again() {
    let (_, bytes) = record("moments", 9);
    let text = |replayed: &Replayed| {
        serde_json::to_string(&replayed.outcome()).expect("an outcome is plain data")
    };
    let mut replayed = replay(bytes.clone());
    let half = Time::from_secs(40);
    replayed.run_to(Some(half), &mut |_| ()).expect("it is whole");
    assert_eq!((replayed.now(), replayed.ending()), (half, None));
    let at_half = text(&replayed);
    replayed.run_to(None, &mut |_| ()).expect("it is whole");
    assert_ne!(text(&replayed), at_half);

    let reader = reader(bytes);
    let setup = setup_of(reader.header(), "run.rec", &Registry::default()).expect("defaults");
    replayed.begin_again(setup, None);
    replayed.run_to(Some(half), &mut |_| ()).expect("it is whole");
    assert_eq!(text(&replayed), at_half);
    assert_eq!(replayed.difference(), None);
}

/// What is known of every pod is the same at the end.
fn assert_same_end(run: &Simulation, replayed: &Replayed, seed: u64) {
    let counts = |counts: roadstead_queue::Counts| format!("{counts:?}");
    let (first, again) = (run.scheduler().queue(), replayed.scheduler().queue());
    assert_eq!(counts(first.counts()), counts(again.counts()), "seed {seed}");
    let (first, again) = (run.outcome(), replayed.outcome());
    assert_eq!(first.cycles, again.cycles, "seed {seed}");
    assert_eq!(first.pods.len(), again.pods.len(), "seed {seed}");
    for (first, again) in first.pods.iter().zip(&again.pods) {
        let name = format!("seed {seed}: {}/{}", first.namespace, first.name);
        assert_eq!((first.state, &first.node), (again.state, &again.node), "{name}");
        assert_eq!(first.attempts, again.attempts, "{name}");
        let (namespace, pod) = (&first.namespace, &first.name);
        let text = roadstead_model::Text::unshared;
        let key = PodKey { namespace: text(namespace), name: text(pod) };
        assert_eq!(run.history(&key), replayed.history(&key), "{name}");
    }
}
