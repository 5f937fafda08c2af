//! Structured logs, to standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// Starts logging: warnings, with `-v` what is done, with `-vv` every Event, or what `RUST_LOG`
/// asks for.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        // What became of a request is told by whoever made it.
        0 => "warn,kube_client::client=off",
        1 => "info",
        2 => "debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        // The times that matter are virtual, and in the fields.
        .without_time()
        .init();
}
