//! Structured logs, to standard error.

use std::io;

use tracing_subscriber::EnvFilter;

/// Starts logging: warnings, with `-v` what is done, with `-vv` every Event and what the libraries
/// below say, or what `RUST_LOG` asks for.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => format!("warn{LIBRARIES}"),
        1 => format!("info{LIBRARIES}"),
        2 => "debug".to_owned(),
        _ => "trace".to_owned(),
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        // A terminal gets what a file gets; colours would take a feature of the library as well.
        .with_ansi(false)
        .with_target(false)
        // The times that matter are virtual, and in the fields.
        .without_time()
        .init();
}

/// What became of a request is told by whoever made it, and in words that say what to do.
const LIBRARIES: &str = ",kube_client::client=off,hyper=off,hyper_util=off,tower=off,rustls=off";
