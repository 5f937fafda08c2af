//! Roadstead beside kube-scheduler.

use clap::Args;

use crate::failure::Outcome;
use crate::scheduler::Programs;

/// What to compare.
#[derive(Args)]
pub(crate) struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Compares.
pub(crate) async fn run(_options: Options, _programs: &Programs) -> Outcome {
    Ok(())
}
