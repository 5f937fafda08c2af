//! `bench/compare`: Roadstead beside its peers, in one run.

mod peer;
mod queue;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((command, rest)) if command == "queue" => queue::compare(rest),
        Some((help, _)) if help == "--help" || help == "-h" => {
            println!("{HELP}");
            Ok(())
        }
        Some((other, _)) => Err(format!("unknown comparison `{other}`\n\n{HELP}")),
        None => Err(format!("no comparison named\n\n{HELP}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

const HELP: &str = "\
Runs Roadstead beside its peers, several times in turn, and prints medians and ratios.

Usage: bench/compare queue [--json] [--rounds N] [--works A,B] [--depths N,M]
       bench/compare cluster [--json] [--rounds N] [--nodes N] [--pods N]

  queue            the scheduling queue beside kube-scheduler's own (needs Go; without it, ours
                   alone)
      --json       a list of {\"work\",\"depth\",\"ours_ns\",\"peer_ns\",\"ratio\"}
      --rounds N   how often each side runs, in turn; 3 by default
      --works A,B  only these works
      --depths N,M only these depths; 1000, 10000, 100000 and 1000000 by default
  cluster          the scheduler beside kube-scheduler on a real API server (needs Go); for its
                   options, bench/compare cluster --help
  -h, --help       print this

At a depth of a million each side runs once, and the Go side needs 12 GB of memory.";
