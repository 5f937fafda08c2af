//! What the program prints and how it exits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_roadstead-conformance"));
    program.args(arguments).output().expect("the program starts")
}

fn scenarios() -> String {
    format!("{}/data/traces-scenarios.jsonl", env!("CARGO_MANIFEST_DIR"))
}

/// A file of this run's own.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the directory is there");
    path
}

#[test]
fn it_counts_what_it_replayed_and_what_it_left_out() {
    let output = run(&["traces", "--reference", &scenarios()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        text,
        "2 traces left out: D1 two places\n109 traces, 2345 operations, 0 differences\n"
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_difference_is_printed_and_exits_with_1() {
    let scenarios = fs::read_to_string(scenarios()).unwrap();
    let end = scenarios.find("{\"end\"").unwrap();
    let end = end + scenarios[end..].find('\n').unwrap();
    let wrong = scenarios[..end].replacen("\"cycle\":1", "\"cycle\":7", 1);
    let path = file("wrong.jsonl", &wrong);

    let output = run(&["traces", "--reference", path.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("trace `new-pod` ("), "{text}");
    assert!(text.contains("\n    state.cycle: expected 7, got 1\n"), "{text}");
    assert!(text.ends_with("\n1 traces, 4 operations, 1 differences\n"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn wrong_usage_and_unreadable_files_exit_with_2() {
    let broken = file("broken.jsonl", "{\"op\":\"pop\"}\n");
    let packed = file("broken.jsonl.gz", "not packed");
    for (arguments, says) in [
        (&["traces", broken.to_str().unwrap()][..], "broken.jsonl:1: missing field `result`"),
        (&["traces", packed.to_str().unwrap()], "broken.jsonl.gz:1: cannot be read"),
        (&["traces", "no-such.jsonl"], "no-such.jsonl: "),
        (&["traces"], "needs at least one file"),
        (&["traces", "--fast", "x"], "unknown option `--fast`"),
        (&["dance"], "unknown command `dance`"),
        (&[], "no command"),
    ] {
        let output = run(arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("error: ") && text.contains(says), "{arguments:?}: {text}");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_is_printed_when_asked_for() {
    for arguments in [&["--help"][..], &["traces", "--help"]] {
        let output = run(arguments);
        assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: "));
        assert_eq!(output.status.code(), Some(0));
    }
}
