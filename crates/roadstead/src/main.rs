//! The program with kube-scheduler's plugins.

use std::process::ExitCode;

use roadstead_scheduler::Registry;

fn main() -> ExitCode {
    roadstead::run(&Registry::default())
}
