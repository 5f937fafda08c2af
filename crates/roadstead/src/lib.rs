//! The program, as a library: whoever has plugins of their own makes a program of it with theirs.
//!
//! ```no_run
//! use roadstead_scheduler::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     let registry = Registry::default();
//!     // registry.add("GpuKeeper", [Point::Filter, Point::Score], GpuKeeper::extensions);
//!     roadstead::run(&registry)
//! }
//! ```

mod clock;
mod commands;
mod driver;
mod engine;
mod error;
mod explained;
mod input;
mod logging;
mod observing;
mod print;
mod progress;
mod recording;
// The commands that run for long start it.
mod serving;
mod stopping;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use roadstead_scheduler::Registry;

use crate::commands::{completions, config, explain, queue, replay, run, serve, sim};
use crate::error::Error;

/// A Kubernetes scheduler that shows what waits, why, and what would wake it.
#[derive(Parser)]
#[command(version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Program {
    /// Log more to standard error: -v what is done, -vv every Event. RUST_LOG overrides it.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Sim(sim::Sim),
    Serve(serve::Serve),
    Run(Box<run::Run>),
    Replay(replay::Replay),
    Queue(queue::Queue),
    Explain(explain::Explain),
    #[command(subcommand)]
    Config(config::Config),
    Completions(completions::Completions),
}

const EXAMPLES: &str = "\
Examples:
  roadstead sim examples/shop                     schedule a folder of manifests, and see
  kubectl get nodes,pods -A -o yaml | roadstead sim -
                                                  what would this cluster do with its pods?
  roadstead serve                                 watch a cluster in memory, in a browser
  roadstead run --kubeconfig ~/.kube/config       schedule a Kubernetes cluster
  roadstead replay run.rec                        repeat what was recorded with --record run.rec
  roadstead queue -A                              what waits in a running scheduler, and where
  roadstead explain default/web-0                 why a pod waits there, and what would place it
  roadstead config check scheduler.yaml           find everything wrong with a configuration
  source <(roadstead completions bash)            complete commands and options in this shell";

/// Everything asked for was done, or every pod is placed.
const FINE: u8 = 0;
/// Something is wrong with what the program was given, or it could not do its work.
const FAILED: u8 = 1;

/// Does what the command line says, with these plugins.
#[must_use]
pub fn run(registry: &Registry) -> ExitCode {
    let program = match Program::try_parse() {
        Ok(program) => program,
        Err(told) => {
            let is_wrong = told.use_stderr()
                && told.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
            // Nobody is left to tell if this fails.
            let _ = told.print();
            return if is_wrong { FAILED.into() } else { FINE.into() };
        }
    };
    logging::start(program.verbose);
    let mut out = BufWriter::new(io::stdout().lock());
    let done = match program.command {
        Command::Sim(command) => command.run(registry, &mut out),
        Command::Serve(command) => command.run(registry, &mut out),
        Command::Run(command) => command.run(registry, &mut out),
        Command::Replay(command) => command.run(registry, &mut out),
        Command::Queue(command) => command.run(&mut out),
        Command::Explain(command) => command.run(&mut out),
        Command::Config(command) => command.run(registry, &mut out),
        Command::Completions(command) => command.run(&mut Program::command(), &mut out),
    };
    // What was found comes before what went wrong.
    let flushed = out.flush().map_err(Error::Output);
    let done = done.and_then(|code| flushed.map(|()| code));
    match done {
        Ok(code) => code.into(),
        // Whoever read the output has seen enough of it.
        Err(Error::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => FINE.into(),
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            FAILED.into()
        }
    }
}
