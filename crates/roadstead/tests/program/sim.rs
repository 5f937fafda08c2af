//! `roadstead sim`.

use std::io::Read;

use serde_json::Value;

use crate::testing::{assert_golden, folder, program, run, run_in, run_with, write};

const HARBOUR: &str = "crates/roadstead/tests/golden/harbour.yaml";

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: pier}, \
                    status: {allocatable: {cpu: 4, pods: 10}}}\n---\n";
const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, \
                   spec: {containers: [{name: main, image: web}]}}\n";

#[test]
fn the_summary_is_as_it_was() {
    let said = run(&["sim", "--pods", HARBOUR]);
    assert_eq!((said.code, said.err.as_str()), (2, ""));
    assert_golden("harbour.txt", &said.out);
}

#[test]
fn the_exit_code_says_whether_everything_is_placed() {
    let folder = folder("exit_codes");
    write(&folder, "placed.yaml", &format!("{NODE}{POD}"));
    write(&folder, "waiting.yaml", POD);
    write(&folder, "wrong.yaml", "kind: Pod");
    for (arguments, code) in [
        (&["sim", "placed.yaml"][..], 0),
        (&["sim", "waiting.yaml"], 2),
        (&["sim", "wrong.yaml"], 1),
        (&["sim", "absent.yaml"], 1),
        (&["sim"], 1),
        (&["sim", "--until", "soon", "placed.yaml"], 1),
        (&["dance"], 1),
        (&["--help"], 0),
        (&["--version"], 0),
        (&["sim", "--help"], 0),
        (&[], 0),
        (&["completions", "bash"], 0),
        (&["completions", "cmd"], 1),
    ] {
        let said = run_in(&folder, arguments);
        assert_eq!(said.code, code, "{arguments:?}: {}{}", said.out, said.err);
    }
}

#[test]
fn a_pod_without_any_node_waits_and_the_run_ends() {
    let said = run_with(&folder("no_nodes"), &["sim", "-"], POD);
    assert_eq!(said.code, 2);
    assert!(said.out.contains("no nodes available to schedule pods"), "{}", said.out);
}

#[test]
fn equal_inputs_and_seeds_give_equal_bytes() {
    let output = |seed| run(&["sim", "-o", "json", "--seed", seed, "examples/shop"]).out;
    let first = output("1");
    assert_eq!(first, output("1"));
    assert_ne!(first, output("2"), "names at least come from the seed");
}

#[test]
fn the_cluster_that_is_printed_can_be_fed_back() {
    let folder = folder("fed_back");
    let cluster = run(&["sim", "-o", "yaml", "examples/shop"]);
    assert_eq!(cluster.code, 2, "{}", cluster.err);
    write(&folder, "cluster.yaml", &cluster.out);
    let before = outcome(&run(&["sim", "-o", "json", "examples/shop"]).out);
    let again = run_in(&folder, &["sim", "-o", "json", "cluster.yaml"]);
    assert_eq!((again.code, again.err.as_str()), (2, ""));
    let after = outcome(&again.out);

    for count in ["placed", "finished", "waiting"] {
        assert_eq!(after["counts"][count], before["counts"][count], "{count}");
    }
    let bound_again = pods(&after).iter().filter(|pod| pod.get("bound").is_some()).count();
    assert_eq!(bound_again, 0, "what was placed stays where it was");
    let places = |outcome: &Value| -> Vec<(Value, Value)> {
        let there = pods(outcome).iter().filter(|pod| pod["state"] != "deleted");
        there.map(|pod| (pod["name"].clone(), pod["node"].clone())).collect()
    };
    assert_eq!(places(&after), places(&before));
    // What is printed of the second run is what was printed of the first, but for versions.
    let versionless = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.contains("resourceVersion:"));
        lines.map(str::to_owned).collect()
    };
    let printed_again = run_in(&folder, &["sim", "-o", "yaml", "cluster.yaml"]).out;
    assert_eq!(versionless(&printed_again), versionless(&cluster.out));
}

#[test]
fn a_cluster_that_grows_takes_what_waited() {
    let folder = folder("grows");
    write(&folder, "cluster.yaml", &run_with(&folder, &["sim", "-o", "yaml", "-"], POD).out);
    write(&folder, "node.yaml", NODE);
    let said = run_in(&folder, &["sim", "cluster.yaml", "node.yaml"]);
    assert_eq!(said.code, 0, "{}", said.out);
}

#[test]
fn the_shop_shows_a_pod_for_each_kind_of_reason() {
    let outcome = outcome(&run(&["sim", "-o", "json", "examples/shop"]).out);
    let waiting: Vec<(&str, &str)> = pods(&outcome)
        .iter()
        .filter_map(|pod| Some((pod["name"].as_str()?, pod["state"]["waiting"].as_str()?)))
        .collect();
    let expected = [
        ("quarterly-audit", "gated"),
        ("train-speech", "unschedulable"),
        ("train-vision", "unschedulable"),
        ("archive", "unschedulable"),
        ("giant", "unschedulable"),
        ("legacy", "unclaimed"),
        ("metrics", "unschedulable"),
    ];
    assert_eq!(waiting, expected);
    assert_eq!(outcome["counts"]["placed"], 45);
    assert_eq!(outcome["troubles"], Value::Array(Vec::new()));
}

#[test]
fn a_run_stops_at_its_time() {
    let said = run(&["sim", "-o", "json", "--until", "20s", HARBOUR]);
    let outcome = outcome(&said.out);
    assert_eq!(outcome["duration"], 20.0);
    let ferry = pods(&outcome).iter().find(|pod| pod["name"] == "ferry-0");
    let ferry = ferry.expect("it is there");
    assert_eq!(ferry["state"]["waiting"], "unschedulable", "the tug is still at the pier");
}

#[test]
fn a_configuration_decides() {
    let folder = folder("configured");
    let config = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: second-scheduler
";
    write(&folder, "scheduler.yaml", config);
    let pod = POD.replace("spec: {", "spec: {schedulerName: second-scheduler, ");
    write(&folder, "web.yaml", &format!("{NODE}{pod}"));
    let without = run_in(&folder, &["sim", "web.yaml"]);
    assert_eq!(without.code, 2);
    assert!(without.out.contains("no scheduler is called `second-scheduler`"), "{}", without.out);
    let with = run_in(&folder, &["sim", "--config", "scheduler.yaml", "web.yaml"]);
    assert_eq!(with.code, 0, "{}{}", with.out, with.err);
}

#[test]
fn what_is_not_simulated_is_named_once_and_left_out() {
    let boat = "---\n{apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}\n";
    let text = format!("{NODE}{POD}{boat}{boat}");
    let said = run_with(&folder("unknown_kinds"), &["sim", "-"], &text);
    assert_eq!(said.code, 0);
    assert_eq!(said.err.matches("example.com/v1 Boat").count(), 1, "{}", said.err);
}

#[test]
fn logs_are_structured_and_go_to_standard_error() {
    let said = run(&["-vv", "sim", HARBOUR]);
    for part in ["INFO loaded objects=", "DEBUG event at=", "pod=default/tug reason=\"Scheduled\""]
    {
        assert!(said.err.contains(part), "{part} is not in {}", said.err);
    }
    assert!(!said.out.contains("INFO"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let mut child = program(&folder("closed"), &["sim", "-"]).spawn().expect("the program starts");
    // Nobody reads what it prints.
    drop(child.stdout.take());
    use std::io::Write;
    let pods: String =
        (0..300).map(|i| POD.replace("name: web", &format!("name: web-{i}")) + "---\n").collect();
    child.stdin.take().expect("it is piped").write_all(pods.as_bytes()).expect("it reads");
    let mut err = String::new();
    let stderr = child.stderr.take();
    stderr.expect("it is piped").read_to_string(&mut err).expect("it is text");
    assert_eq!(err, "");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

fn outcome(text: &str) -> Value {
    serde_json::from_str(text).expect("the outcome is JSON")
}

fn pods(outcome: &Value) -> &[Value] {
    outcome["pods"].as_array().expect("there is a list")
}
