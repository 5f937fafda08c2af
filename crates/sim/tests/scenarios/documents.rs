//! What the documentation and the examples show works as they say.

use std::fs;
use std::path::{Path, PathBuf};

use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::manifests;
use roadstead_queue::Time;
use roadstead_sim::{Config, Input, Outcome, Setup, Simulation};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(name: &str, input: Input) -> Outcome {
    let mut cluster = Cluster::new(embedded::Config::default());
    let (mut timeline, until) = (input.play(None), input.until());
    let loaded = cluster.load(Time::ZERO, input.manifests);
    assert!(loaded.problems.is_empty(), "{name}: {:?}", loaded.problems);
    let config = Config { until, ..Config::default() };
    let mut simulation = Simulation::new(cluster, Setup::default(), config);
    simulation.run(&mut *timeline, &mut |_| ()).expect("it ends");
    let outcome = simulation.outcome();
    assert_eq!(outcome.troubles, Vec::<String>::new(), "{name}");
    assert!(outcome.counts.total > 0, "{name}: no pod came");
    outcome
}

#[test]
fn every_example_of_the_documentation_runs() {
    let text = fs::read_to_string(root().join("docs/scenarios.md")).expect("it is there");
    let blocks: Vec<&str> =
        text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4, "{} examples", blocks.len());
    for block in blocks {
        let name = block.lines().find(|line| line.contains("name:")).unwrap_or_default();
        let input = Input::sort_out(manifests::parse("docs.yaml", block));
        run(name, input.unwrap_or_else(|error| panic!("{name}:\n{error}")));
    }
}

#[test]
fn every_example_file_runs_and_repeats() {
    let folder = root().join("examples/scenarios");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("it is there").map(|e| e.expect("it reads").path()).collect();
    files.sort();
    assert!(files.len() >= 3);
    for file in files {
        let name = file.to_string_lossy().into_owned();
        let read = || {
            let input = Input::read(std::slice::from_ref(&file), &mut std::io::empty());
            input.unwrap_or_else(|error| panic!("{name}:\n{error}"))
        };
        let json = |outcome: &Outcome| serde_json::to_string(outcome).expect("it is plain data");
        let (first, second) = (run(&name, read()), run(&name, read()));
        assert!(json(&first) == json(&second), "{name}: two runs differ");
        assert_eq!(first.counts.waiting.total(), 0, "{name}: {:?}", first.reasons);
    }
}

#[test]
fn at_rush_hour_customers_go_first() {
    let file = root().join("examples/scenarios/rush-hour.yaml");
    let input = Input::read(&[file], &mut std::io::empty()).expect("it reads");
    let outcome = run("rush-hour", input);
    assert!(outcome.counts.preempted > 10, "{:?}", outcome.counts);
    let preempted = outcome.pods.iter().filter(|pod| pod.preempted_by.is_some());
    assert!(preempted.into_iter().all(|pod| pod.name.starts_with("batch-")));
}
