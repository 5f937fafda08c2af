//! Recording random runs.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_recording::{Header, Reader, Recorder, Source};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::{Journal, JournalLimits, Registry};
use roadstead_sim::{Config, Delay, Faults, Replay, Setup, Simulation, Timeline, Verify, setup_of};

use crate::churn::{Churn, Random};

pub(crate) type Replayed = Replay<Option<Journal>, Cursor<Vec<u8>>>;

/// Seeds to try: so many, or what the environment says.
pub(crate) fn seeds(usually: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("ROADSTEAD_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ROADSTEAD_RUNS").unwrap_or(usually),
    }
}

/// Runs a random cluster to quiet, and records it.
pub(crate) fn record(test: &str, seed: u64) -> (Simulation, Vec<u8>) {
    let mut random = Random::new(seed);
    let faults = faults(&mut random);
    record_with(test, seed, faults)
}

/// The same with other faults.
pub(crate) fn record_with(test: &str, seed: u64, faults: Faults) -> (Simulation, Vec<u8>) {
    let mut random = Random::new(seed);
    let mut cluster = Cluster::new(embedded::Config { seed, ..embedded::Config::default() });
    let mut churn = Churn::new(&mut random, &mut cluster);
    let verify = if random.one_in(4) { Verify::Always } else { Verify::Sampled };
    let config = Config {
        seed,
        max_cycles: 100_000,
        faults,
        verify,
        journal: Some(JournalLimits::default()),
        ..Config::default()
    };
    let mut simulation = Simulation::new(cluster, Setup::default(), config);
    let bytes = recorded_bytes(test, &mut simulation, &header(seed), &mut churn);
    (simulation, bytes)
}

/// Runs a simulation to its end, and records it.
pub(crate) fn record_simulation(
    test: &str,
    simulation: &mut Simulation,
    header: &Header,
    timeline: &mut dyn Timeline,
) -> Reader<Cursor<Vec<u8>>> {
    reader(recorded_bytes(test, simulation, header, timeline))
}

fn recorded_bytes(
    test: &str,
    simulation: &mut Simulation,
    header: &Header,
    timeline: &mut dyn Timeline,
) -> Vec<u8> {
    let file = file(test);
    simulation.record_to(Recorder::create(&file, header).expect("a new file"));
    simulation.run(timeline, &mut |_| ()).expect("it comes to an end");
    let written = simulation.end_recording().expect("it is written").expect("it was recorded");
    let bytes = std::fs::read(&file).expect("it is there");
    assert_eq!(written.bytes, bytes.len() as u64);
    std::fs::remove_file(&file).expect("it is ours");
    bytes
}

pub(crate) fn header(seed: u64) -> Header {
    let configuration = SchedulerConfiguration::new(Registry::default().known());
    Header::new(Source::Sim, configuration.to_json(), seed)
}

pub(crate) fn reader(bytes: Vec<u8>) -> Reader<Cursor<Vec<u8>>> {
    Reader::new("run.rec", Cursor::new(bytes)).expect("a recording")
}

pub(crate) fn replay(bytes: Vec<u8>) -> Replayed {
    let reader = reader(bytes);
    let setup = setup_of(reader.header(), "run.rec", &Registry::default()).expect("the defaults");
    Replay::new(reader, setup, Some(Journal::new(JournalLimits::default())))
}

/// A name that no other recording has.
fn file(test: &str) -> PathBuf {
    static FILES: AtomicU64 = AtomicU64::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let name = format!("{test}-{}-{number}.rec", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn faults(random: &mut Random) -> Faults {
    let mut delay = |most_ms: u64| {
        let most = Duration::from_millis(random.below(most_ms + 1));
        Delay { least: most / 4, most }
    };
    Faults {
        command_delay: delay(3000),
        answer_delay: delay(2000),
        watch_delay: delay(2500),
        failing_bindings: random.below(200) as u16,
        lost_answers: random.below(100) as u16,
    }
}
