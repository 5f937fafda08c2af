//! `roadstead config`: the scheduler's configuration.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use roadstead_scheduler::Registry;
use roadstead_scheduler::config::SchedulerConfiguration;

use crate::FINE;
use crate::error::Error;

/// Print or check a scheduler configuration.
#[derive(clap::Subcommand)]
pub(crate) enum Config {
    /// Print the complete default configuration as YAML: a file to start from.
    Defaults,
    /// Check a KubeSchedulerConfiguration, and print everything that is wrong with it.
    #[command(after_help = CHECK_EXAMPLES)]
    Check {
        /// The file; - for standard input.
        file: PathBuf,
    },
}

const CHECK_EXAMPLES: &str = "\
Examples:
  roadstead config defaults > scheduler.yaml      start from the defaults
  roadstead config check scheduler.yaml           exit code 1 if something is wrong";

impl Config {
    pub(crate) fn run(&self, registry: &Registry, out: &mut dyn Write) -> Result<u8, Error> {
        match self {
            Self::Defaults => {
                let defaults = SchedulerConfiguration::new(registry.known());
                out.write_all(defaults.to_yaml().as_bytes())?;
            }
            Self::Check { file } => {
                let configuration = read(file, registry)?;
                let names: Vec<_> =
                    configuration.profiles.iter().map(|p| p.scheduler_name.as_str()).collect();
                writeln!(out, "{}: fine (schedulers: {})", file.display(), names.join(", "))?;
            }
        }
        Ok(FINE)
    }
}

/// Reads a configuration from a file or from standard input.
pub(crate) fn read(file: &Path, registry: &Registry) -> Result<SchedulerConfiguration, Error> {
    let (name, text) = if file.as_os_str() == "-" {
        let mut text = String::new();
        ("standard input".to_owned(), io::stdin().read_to_string(&mut text).map(|_| text))
    } else {
        (file.to_string_lossy().into_owned(), std::fs::read_to_string(file))
    };
    let text = text.map_err(|error| Error::Unreadable { file: name.clone(), error })?;
    SchedulerConfiguration::read(&name, &text, registry.known()).map_err(Error::Config)
}
