//! Roadstead's plugins decide as the real ones did, in every case.

use std::path::{Path, PathBuf};

use roadstead_conformance::{Cases, DecisionReport, Selection, replay_decisions};

fn replay_file(name: &str) -> DecisionReport {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "data", name].iter().collect();
    let cases = Cases::open(&path).expect("the data is checked in");
    let report = replay_decisions(cases, &Selection::default()).expect("the data is well formed");
    eprintln!("{report}");
    report
}

#[test]
fn the_plugins_agree_with_every_case() {
    #[rustfmt::skip]
    let table = [
        ("decisions-place.jsonl.gz",   756),
        ("decisions-hint.jsonl.gz",    693),
        ("decisions-preempt.jsonl.gz", 192),
    ];
    for (file, cases) in table {
        let report = replay_file(file);
        assert_eq!(report.cases, cases, "{file}");
        assert_eq!(report.differences, [], "{file}");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_that_names_it() {
    let error = Cases::open(Path::new("no/such.jsonl")).err().expect("there is no such file");
    assert!(error.to_string().starts_with("no/such.jsonl: "), "{error}");
}
