//! `e2e/run`: a scheduler against a real API server.
//!
//! Each case gets etcd and kube-apiserver of its own on loopback, fake nodes, and the scheduler
//! under test as a separate process. See `e2e/README.md`.

mod amounts;
mod audit;
mod cases;
mod certificates;
mod compare;
mod control_plane;
mod failure;
mod ledger;
mod objects;
mod pod_network;
mod process;
mod proxy;
mod runner;
mod scheduler;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::Outcome;
use crate::scheduler::Programs;

#[derive(Parser)]
#[command(name = "roadstead-e2e", about = "A scheduler against a real API server")]
struct Arguments {
    #[command(flatten)]
    places: Places,
    #[command(subcommand)]
    command: Command,
}

/// Set by the script, not by people.
#[derive(Args)]
struct Places {
    /// The directory with etcd, kube-apiserver, kube-scheduler and kubectl
    #[arg(long, hide = true)]
    servers: PathBuf,
    /// Roadstead's program
    #[arg(long, hide = true)]
    roadstead: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Run cases and count them
    #[command(bin_name = "e2e/run")]
    Cases(runner::Options),
    /// Run Roadstead beside kube-scheduler and print how they compare
    #[command(bin_name = "bench/compare cluster")]
    Compare(compare::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(until_interrupted(run(arguments))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Outcome<bool> {
    let Places { servers, roadstead } = arguments.places;
    let programs = Programs { servers, roadstead };
    match arguments.command {
        Command::Cases(options) => runner::run(options, &programs).await,
        Command::Compare(options) => compare::run(options, &programs).await.map(|()| true),
    }
}

/// Drops `work`, and with it every process it started, when told to end.
async fn until_interrupted(work: impl Future<Output = Outcome<bool>>) -> Outcome<bool> {
    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        outcome = work => outcome,
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        _ = terminated.recv() => Err("terminated".into()),
    }
}
