//! Roadstead's queue and the reference do what the real one did, in every trace.

use std::path::{Path, PathBuf};

use roadstead_conformance::{Reference, Report, Roadstead, Subject, Traces, replay};

fn replay_file<S: Subject>(name: &str) -> Report {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "data", name].iter().collect();
    let traces = Traces::open(&path).expect("the data is checked in");
    let report = replay::<S>(traces).expect("the data is well formed");
    for failing in &report.failing {
        eprintln!("{failing}");
    }
    report
}

#[test]
fn roadstead_agrees_with_every_trace() {
    agrees_with_every_trace::<Roadstead>();
}

#[test]
fn the_reference_agrees_with_every_trace() {
    agrees_with_every_trace::<Reference>();
}

fn agrees_with_every_trace<S: Subject>() {
    #[rustfmt::skip]
    let table = [
        ("traces-hints.jsonl.gz",       150, 13_602, 0),
        ("traces-hints-nopop.jsonl.gz", 150, 13_258, 0),
        ("traces-legacy.jsonl.gz",      150, 13_502, 0),
        ("traces-legacy-pop.jsonl.gz",  150, 13_293, 0),
        ("traces-scenarios.jsonl",      109,  2_345, 2),
    ];
    for (file, traces, operations, left_out) in table {
        let report = replay_file::<S>(file);
        assert_eq!(report.failing.len(), 0, "{file}");
        assert_eq!((report.traces, report.operations), (traces, operations), "{file}");
        assert_eq!(report.left_out.len(), left_out, "{file}");
    }
}

#[test]
fn only_what_needs_a_pod_in_two_places_is_left_out() {
    let left_out = replay_file::<Roadstead>("traces-scenarios.jsonl").left_out;
    let names: Vec<_> = left_out.iter().map(|it| it.trace.as_str()).collect();
    assert_eq!(names, ["quirk-two-events-one-update", "quirk-added-in-flight"]);
    assert!(left_out.iter().all(|it| it.reason() == "D1 two places"));
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let error = Traces::open(Path::new("no/such.jsonl")).err().expect("there is no such file");
    assert!(error.to_string().starts_with("no/such.jsonl: "), "{error}");
}
