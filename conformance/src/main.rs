//! `roadstead-conformance`: replays records of the real scheduler.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use roadstead_conformance::{
    Cases, DecisionReport, Reference, Report, Roadstead, Selection, Traces, replay,
    replay_decisions,
};

/// The queue that is replayed against unless told otherwise.
type UnderTest = Roadstead;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let command = arguments.next().unwrap_or_default();
    match command.to_str() {
        Some("--help" | "-h") => help(),
        Some("traces") => traces(arguments.collect()),
        Some("decisions") => decisions(arguments.collect()),
        Some("") => misused("no command"),
        _ => misused(&format!("unknown command `{}`", command.display())),
    }
}

/// `traces [--reference] FILE…`
fn traces(arguments: Vec<OsString>) -> ExitCode {
    let mut files = Vec::new();
    let mut is_reference = false;
    for argument in &arguments {
        match argument.to_str() {
            Some("--reference") => is_reference = true,
            Some("--help" | "-h") => return help(),
            Some(option) if option.starts_with('-') => {
                return misused(&format!("unknown option `{option}`"));
            }
            _ => files.push(Path::new(argument)),
        }
    }
    if files.is_empty() {
        return misused("`traces` needs at least one file");
    }
    let replay = if is_reference { replay::<Reference> } else { replay::<UnderTest> };
    let mut report = Report::default();
    for file in files {
        match Traces::open(file).and_then(replay) {
            Ok(of_file) => report.add(of_file),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(2);
            }
        }
    }
    say(&summary(&report));
    if report.failing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `decisions [--only PLUGIN] [--allow-missing] FILE…`
fn decisions(arguments: Vec<OsString>) -> ExitCode {
    let mut files = Vec::new();
    let mut selection = Selection::default();
    let mut may_miss = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("--only") => match arguments.next().and_then(|name| name.into_string().ok()) {
                Some(plugin) => selection.only = Some(plugin),
                None => return misused("`--only` needs the name of a plugin"),
            },
            Some("--allow-missing") => may_miss = true,
            Some("--help" | "-h") => return help(),
            Some(option) if option.starts_with('-') => {
                return misused(&format!("unknown option `{option}`"));
            }
            _ => files.push(argument),
        }
    }
    if files.is_empty() {
        return misused("`decisions` needs at least one file");
    }
    let mut report = DecisionReport::default();
    for file in files {
        let cases = Cases::open(Path::new(&file));
        match cases.and_then(|cases| replay_decisions(cases, &selection)) {
            Ok(of_file) => report.merge(of_file),
            Err(error) => {
                eprintln!("error: {error}");
                return ExitCode::from(2);
            }
        }
    }
    say(&report.to_string());
    let is_complete = may_miss || report.not_yet.is_empty();
    if report.differences.is_empty() && is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summary(report: &Report) -> String {
    let mut lines = Vec::new();
    for failing in &report.failing {
        lines.push(format!("{failing}\n"));
    }
    let mut reasons: Vec<_> = report.left_out.iter().map(|it| it.reason()).collect();
    reasons.sort_unstable();
    for group in reasons.chunk_by(|a, b| a == b) {
        lines.push(format!("{} traces left out: {}", group.len(), group[0]));
    }
    let Report { traces, operations, failing, .. } = report;
    lines.push(format!("{traces} traces, {operations} operations, {} differences", failing.len()));
    lines.join("\n")
}

fn help() -> ExitCode {
    say(HELP);
    ExitCode::SUCCESS
}

fn misused(what: &str) -> ExitCode {
    eprintln!("error: {what}\n\n{HELP}");
    ExitCode::from(2)
}

/// Whoever stops listening (`| head`) has heard enough; the exit code says the rest.
fn say(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

const HELP: &str = "\
Replays records of the real kube-scheduler and says where Roadstead does something else.

Usage: roadstead-conformance traces [--reference] FILE...
       roadstead-conformance decisions [--only PLUGIN] [--allow-missing] FILE...

  traces FILE...         replay queue traces (.jsonl, .jsonl.gz)
      --reference        against the reference queue of this crate
  decisions FILE...      replay scheduling decisions (.jsonl, .jsonl.gz)
      --only PLUGIN      only what this plugin says, by itself
      --allow-missing    cases that need a plugin that there is not yet are no failure
  -h, --help             print this

Exit code: 0 no difference, 1 some, 2 wrong usage or a file that cannot be read.";
