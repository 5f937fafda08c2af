//! `roadstead replay`: a recorded run once more, in virtual time.

mod scanning;
mod showing;
mod told;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use roadstead_queue::Time;
use roadstead_recording::{Ending, Reader};
use roadstead_scheduler::{Journal, Registry, Setup};
use roadstead_sim::{
    Difference, PodKey, Replay as Replayed, Setups, setup_of, setup_with, what_if,
};

use super::sim::explaining::{self, Unknown};
use super::sim::parse_duration;
use crate::error::{Error, UnknownPod};
use crate::progress::ProgressLine;
use crate::{FAILED, FINE, print};
use told::{Told, WithReplay};

/// Repeat a recorded run in virtual time, bit for bit, up to any moment of it.
///
/// Takes a file that was made by --record of run, serve or sim. The scheduler is told again what it
/// was told then, with the configuration and the seed of then, and decides the same: whether it
/// does is checked with every decision. With --config it says what another configuration would have
/// changed; docs/replay.md has the rules for that.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Replay {
    /// The recording.
    file: PathBuf,
    /// Stop at this time after the start, such as 90s, 1h30m, 48h: everything is told as of then.
    #[arg(long, visible_alias = "at", value_name = "DURATION", value_parser = parse_duration)]
    until: Option<Duration>,
    /// Instead, run what came from outside under this configuration, a KubeSchedulerConfiguration,
    /// and say which pods would have been placed sooner, later, elsewhere, or not.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["report", "pods", "explain"])]
    config: Option<PathBuf>,
    /// Also write a page with plots over time, which a browser shows without anything else.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Also print a table of every pod.
    #[arg(long)]
    pods: bool,
    /// Also say of this pod why it is where it is at that time, what it waits for, which changes
    /// would place it, and what happened to it. May be given several times; without a namespace it
    /// is the default one.
    #[arg(long, value_name = "[NAMESPACE/]POD", value_parser = crate::explained::parse)]
    explain: Vec<String>,
    /// Show it in a browser instead: the dashboard at that time, or at the end, and at any other.
    #[arg(long, conflicts_with_all = ["config", "report", "pods", "explain", "output"])]
    serve: bool,
    /// The port of 127.0.0.1 for the dashboard; 0 takes one that is free.
    #[arg(long, value_name = "PORT", default_value_t = 10260, requires = "serve")]
    port: u16,
    /// human: a summary. json: the whole outcome, or with --config every pod in both runs.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Human)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Output {
    Human,
    Json,
}

const EXAMPLES: &str = "\
Exit code: 0 every decision is the same, 1 one differs, or something is wrong with the file. A
recording that was cut is replayed up to the cut, which is told.

Examples:
  roadstead sim --record rush.rec examples/scenarios/rush-hour.yaml
  roadstead replay rush.rec                       the same summary once more, checked
  roadstead replay rush.rec --until 12m --explain default/serve-17
                                                  why did that pod wait at that time?
  roadstead replay rush.rec --until 25m --report then.html
  roadstead replay rush.rec --serve               look at any moment of it in a browser
  roadstead replay rush.rec --config other.yaml   what would another configuration have changed?";

impl Replay {
    pub(crate) fn run(&self, registry: &Registry, out: &mut dyn Write) -> Result<u8, Error> {
        let mut reader = Reader::open(&self.file).map_err(Error::Recording)?;
        if let Ok(None) = reader.next_step() {
            return Err(Error::EmptyRecording(reader.file().to_owned()));
        }
        reader.rewind();
        if let Some(file) = &self.report {
            print::check_report(file)?;
        }
        if self.serve {
            let at = self.until.map(|until| reader.header().start() + until);
            return showing::show(reader, at, self.port, registry, out);
        }
        match &self.config {
            Some(file) => self.compare(reader, file, registry, out),
            None => self.replay(reader, registry, out),
        }
    }

    /// Says what another configuration would have changed.
    fn compare(
        &self,
        mut reader: Reader,
        file: &Path,
        registry: &Registry,
        out: &mut dyn Write,
    ) -> Result<u8, Error> {
        let configuration = super::config::read(file, registry)?;
        let header = reader.header();
        let start = header.start();
        let other = setup_with(header, &configuration, registry).map_err(Error::Replay)?;
        let recorded = || setup_of(header, reader.file(), registry).map_err(Error::Replay);
        let setups = Setups { recorded: [recorded()?, recorded()?, recorded()?], other };
        let until = self.until.map(|until| start + until);
        let [before, now] = [&setups.recorded[0], &setups.other].map(profiles);
        for (scheduler, pods) in scanning::left_alone(&mut reader, &before, &now) {
            eprintln!(
                "warning: {}: no profile is called {scheduler}; {} that ask for it belong to nobody",
                file.display(),
                print::count(pods, "pod")
            );
        }
        let end = reader.find_end().map_err(Error::Recording)?;
        let compared = what_if(reader, setups, until).map_err(Error::Recording)?;
        match self.output {
            Output::Human => {
                print::comparison(&compared, out)?;
                if let Some(Ending::Cut { byte, of }) = compared.ending {
                    writeln!(
                        out,
                        "\nThe recording is cut at byte {byte} of {of}: all before that."
                    )?;
                }
                if until.is_some_and(|until| until > end) {
                    writeln!(out, "\n{}", told::ends_before(print::duration(end - start)))?;
                }
            }
            Output::Json => {
                serde_json::to_writer_pretty(&mut *out, &compared)?;
                writeln!(out)?;
            }
        }
        match compared.difference {
            None => Ok(FINE),
            Some(Difference { step, .. }) => Err(Error::NotReproduced(step)),
        }
    }

    /// Replays the run as it was.
    fn replay(
        &self,
        mut reader: Reader,
        registry: &Registry,
        out: &mut dyn Write,
    ) -> Result<u8, Error> {
        let setup = setup_of(reader.header(), reader.file(), registry).map_err(Error::Replay)?;
        let start = reader.header().start();
        let until = self.until.map(|until| start + until);
        let end = reader.find_end().map_err(Error::Recording)?;
        let length = until.map_or(end, |until| until.min(end)) - start;
        let journal = (!self.explain.is_empty()).then(|| Journal::new(explaining::limits()));
        let mut replayed = Replayed::new(reader, setup, journal);
        let mut line = ProgressLine::new(Some(Time::ZERO + length));
        let ran = replayed.run_to(until, &mut |progress| line.update(progress));
        drop(line);
        ran.map_err(Error::Recording)?;

        let outcome = replayed.outcome();
        let told = Told::of(&replayed, until);
        if let Some(file) = &self.report {
            print::report(&outcome, file)?;
        }
        let ask = |pod: &PodKey| (replayed.explain(pod), replayed.history(pod));
        let (explanations, unknown) = explaining::explain(ask, &outcome, &self.explain);
        match self.output {
            Output::Human => {
                print::summary(&outcome, "as recorded", out)?;
                if self.pods {
                    writeln!(out)?;
                    print::pods(&outcome, out)?;
                }
                for explained in &explanations {
                    writeln!(out)?;
                    write!(out, "{explained}")?;
                }
                writeln!(out)?;
                told.print(out)?;
            }
            Output::Json => {
                let all =
                    WithReplay { outcome: &outcome, replay: &told, explanations: &explanations };
                serde_json::to_writer_pretty(&mut *out, &all)?;
                writeln!(out)?;
            }
        }
        let mut reader = replayed.into_reader();
        let tell = |Unknown { namespace, name, near }: Unknown| {
            let comes = scanning::first_shown(&mut reader, &namespace, &name);
            let comes = comes.map(|at| at - start);
            UnknownPod { name: format!("{namespace}/{name}"), near, comes }
        };
        UnknownPod::tell(unknown.into_iter().map(tell).collect())?;
        Ok(if told.is_reproduced { FINE } else { FAILED })
    }
}

fn profiles(setup: &Setup) -> BTreeSet<String> {
    setup.profiles.iter().map(|(name, _)| name.to_string()).collect()
}
