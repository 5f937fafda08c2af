//! `roadstead sim` with scenarios, traces and reports.

use std::fs;

use serde_json::Value;

use crate::testing::{folder, run, run_in, write};

const SCENARIO: &str = "
apiVersion: sim.roadstead.dev/v1
kind: Scenario
metadata: {name: test}
spec:
  seed: 3
  stop: {after: 5m}
  fleets: [{name: pier, count: 2, capacity: {cpu: 4, memory: 8Gi}}]
  workloads:
  - {name: boat, arrivals: {poisson: {rate: 30/m}}, sizes: [{requests: {cpu: 1}}], runs: {exponential: {mean: 10s}}}
";

fn total(text: &str) -> u64 {
    let outcome: Value = serde_json::from_str(text).expect("it is JSON");
    outcome["counts"]["total"].as_u64().expect("it is a number")
}

#[test]
fn a_scenario_runs_until_it_says_and_from_its_seed_unless_another_is_given() {
    let folder = folder("scenario");
    write(&folder, "test.yaml", SCENARIO);
    let said = run_in(&folder, &["sim", "-o", "json", "test.yaml"]);
    let outcome: Value = serde_json::from_str(&said.out).expect("it is JSON");
    assert_eq!(outcome["duration"], 300.0, "{}", said.err);
    assert!((100..200).contains(&total(&said.out)), "thirty a minute, about: {}", total(&said.out));
    let with = |seed| run_in(&folder, &["sim", "-o", "json", "--seed", seed, "test.yaml"]).out;
    assert_eq!(said.out, with("3"));
    assert_ne!(total(&said.out), total(&with("4")));
    let short = run_in(&folder, &["sim", "-o", "json", "--until", "1m", "test.yaml"]).out;
    assert!(total(&short) < 60);
}

#[test]
fn a_report_is_written_beside_what_is_printed() {
    let folder = folder("report");
    write(&folder, "test.yaml", SCENARIO);
    let plain = run_in(&folder, &["sim", "test.yaml"]);
    let said = run_in(&folder, &["sim", "--report", "page.html", "test.yaml"]);
    assert_eq!((said.out, said.code), (plain.out, plain.code));
    let page = fs::read_to_string(folder.join("page.html")).expect("it was written");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));

    let said = run_in(&folder, &["sim", "--report", "no/such/page.html", "test.yaml"]);
    assert_eq!(said.code, 1);
    assert!(said.err.starts_with("error: no/such/page.html: cannot write: "), "{}", said.err);
}

#[test]
fn a_trace_is_replayed() {
    let [nodes, pods] = ["examples/openb/nodes.csv", "examples/openb/pods.csv"];
    let said = run(&["sim", "--trace", "openb", nodes, pods, "-o", "json"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(total(&said.out), 240);

    let said = run(&["sim", "--trace", "openb", nodes]);
    let expected = "error: --trace openb: 1 files, expected two: the nodes, then the pods\n";
    assert_eq!((said.code, said.err.as_str()), (1, expected));

    let said = run(&["sim", "--trace", "openb", pods, nodes]);
    assert_eq!(said.code, 1);
    let expected = "error: examples/openb/pods.csv:1: column `sn`: no such column; expected the \
                    columns sn, cpu_milli, memory_mib\n";
    assert!(said.err.starts_with(expected), "{}", said.err);
}

#[test]
fn a_scenario_that_is_wrong_is_shown_with_its_line() {
    let folder = folder("wrong_scenario");
    write(&folder, "test.yaml", &SCENARIO.replace("count: 2", "cont: 2"));
    let said = run_in(&folder, &["sim", "test.yaml"]);
    assert_eq!(said.code, 1);
    let line = "8 |   fleets: [{name: pier, cont: 2, capacity: {cpu: 4, memory: 8Gi}}]";
    let expected = [
        "error: spec.fleets[0].count: Required value: a whole number, 1 or more",
        " --> test.yaml:8:12",
        line,
        "  |            ^",
        "",
        "error: unknown field \"spec.fleets[0].cont\"",
        " --> test.yaml:8:25",
        line,
        "  |                         ^^^^ did you mean `count`?",
    ];
    assert_eq!(said.err.lines().collect::<Vec<_>>(), expected);
}
