//! `roadstead sim`: schedule manifests in virtual time, and say what came of it.

pub(super) mod explaining;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use roadstead_queue::Time;
use roadstead_recording::{Header, Source, Written};
use roadstead_scheduler::Registry;
use roadstead_scheduler::config::{self, SchedulerConfiguration};
use roadstead_sim::{Config, End, Outcome, PodKey, Setup, Simulation, Verify};

use crate::error::Error;
use crate::input::Input;
use crate::progress::ProgressLine;
use crate::recording::RecordOptions;
use crate::{FINE, input, print};
use explaining::{Unknown, WithExplanations};

/// Schedule manifests in virtual time, and say what came of it.
///
/// Takes what people have: files of YAML or JSON, folders of them, lists as kubectl prints them;
/// and among them scenarios (kind: Scenario), which say what happens to the cluster and when.
/// Deployments and other workloads become pods, kubelets start them and finish those with the
/// annotation roadstead.dev/run-seconds, and a scheduler places them, until nothing happens any
/// more.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sim {
    /// Manifests and scenarios: files, folders, - for standard input. Of a trace: its files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The scheduler's configuration: a KubeSchedulerConfiguration.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What chance is drawn from: equal seeds give equal runs. By default what a scenario says,
    /// else 0.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Stop after this much virtual time, such as 90s, 1h30m, 48h.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    until: Option<Duration>,
    /// The files are a workload trace. openb: nodes.csv and pods.csv, in the columns of the Alibaba
    /// GPU cluster trace.
    #[arg(long, value_enum, value_name = "FORMAT")]
    trace: Option<TraceFormat>,
    /// Also write a page with plots over time, which a browser shows without anything else.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordOptions,
    /// Try out every pod that sleeps after every step, to find those that should have been woken.
    /// Without it only a sample is tried. What is found is a defect of a plugin: it is told, and
    /// the pod is tried again.
    #[arg(long)]
    verify_wakeups: bool,
    /// Exit with 0 also if some pods wait.
    #[arg(long)]
    exit_zero: bool,
    /// Also print a table of every pod.
    #[arg(long)]
    pods: bool,
    /// Also say of this pod why it is where it is at the end, what it waits for, which changes would
    /// place it, and what happened to it. May be given several times; without a namespace it is
    /// the default one.
    #[arg(long, value_name = "[NAMESPACE/]POD", value_parser = crate::explained::parse)]
    explain: Vec<String>,
    /// human: a summary. json: the whole outcome. yaml: the cluster at the end, as a List of
    /// manifests, which this command takes again.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = Output::Human)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum Output {
    Human,
    Json,
    Yaml,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
enum TraceFormat {
    Openb,
}

/// Some pods wait.
const SOME_WAIT: u8 = 2;

const EXAMPLES: &str = "\
Exit code: 0 every pod is placed, 2 some wait (0 with --exit-zero), 1 something is wrong with the input.

Examples:
  roadstead sim examples/shop
  roadstead sim --pods nodes.yaml workloads/      every pod: its node, its attempts, its wait
  kubectl get nodes,pods -A -o yaml | roadstead sim -
                                                  what would this cluster do with its pods?
  roadstead sim --config scheduler.yaml examples/shop
  roadstead sim --report rush.html examples/scenarios/rush-hour.yaml
                                                  a scenario, and a page with plots of it
  roadstead sim --trace openb examples/openb/nodes.csv examples/openb/pods.csv
  roadstead sim --explain ml/train-vision examples/shop
                                                  why does this pod wait, and what would help?
  roadstead sim -o json examples/shop | jq '.reasons'
  roadstead sim -o yaml examples/shop > later.yaml && roadstead sim later.yaml more.yaml
                                                  go on from where it ended";

impl Sim {
    pub(crate) fn run(&self, registry: &Registry, out: &mut dyn Write) -> Result<u8, Error> {
        let configuration = match &self.config {
            Some(file) => super::config::read(file, registry)?,
            None => SchedulerConfiguration::new(registry.known()),
        };
        let setup = Setup::new(&configuration, registry).map_err(Error::Setup)?;
        if !self.explain.is_empty() && self.output == Output::Yaml {
            return Err(Error::ExplainedManifests);
        }
        let mut input = self.read()?;
        let until = self.until.map(|until| Time::ZERO + until).or(input.until);
        let verify = if self.verify_wakeups { Verify::Always } else { Verify::Sampled };
        let journal = (!self.explain.is_empty()).then(explaining::limits);
        let config = Config { seed: input.seed, until, verify, journal, ..Config::default() };
        if let Some(file) = &self.report {
            print::check_report(file)?;
        }
        let recorder = self
            .recording
            .begin(|| Header::new(Source::Sim, configuration.to_json(), input.seed))?;
        let mut simulation = Simulation::new(input.cluster, setup, config);
        if let Some(recorder) = recorder {
            simulation.record_to(recorder);
        }
        let start = Instant::now();
        let mut line = ProgressLine::new(until);
        let ended = simulation.run(&mut *input.timeline, &mut |progress| line.update(progress));
        drop(line);
        self.end_recording(&mut simulation)?;
        let ended = ended.map_err(Error::Run)?;
        let took_ms = start.elapsed().as_millis();

        let outcome = simulation.outcome();
        log(&outcome);
        tracing::info!(took_ms, quiet = ended == End::Quiet, "ended");
        if let Some(file) = &self.report {
            print::report(&outcome, file)?;
        }
        let ask = |pod: &PodKey| (simulation.explain(pod), simulation.history(pod));
        let (explained, unknown) = explaining::explain(ask, &outcome, &self.explain);
        match self.output {
            Output::Human => {
                let how = match ended {
                    End::Quiet => "until nothing happened any more",
                    End::Stopped => "until the time was up",
                };
                print::summary(&outcome, how, out)?;
                if self.pods {
                    writeln!(out)?;
                    print::pods(&outcome, out)?;
                }
                for explained in &explained {
                    writeln!(out)?;
                    write!(out, "{explained}")?;
                }
            }
            Output::Json => {
                let all = WithExplanations { outcome: &outcome, explanations: &explained };
                serde_json::to_writer_pretty(&mut *out, &all)?;
                writeln!(out)?;
            }
            Output::Yaml => print::manifests(simulation.cluster(), out)?,
        }
        Unknown::tell(unknown)?;
        Ok(if outcome.is_all_placed() || self.exit_zero { FINE } else { SOME_WAIT })
    }

    fn end_recording(&self, simulation: &mut Simulation) -> Result<(), Error> {
        let unwritable = |error| {
            let file = self.recording.record.as_deref().unwrap_or(Path::new(""));
            Error::Unwritable { file: file.to_string_lossy().into_owned(), error }
        };
        if let Some(written) = simulation.end_recording().map_err(unwritable)? {
            let Written { steps, raw_bytes, bytes } = written;
            tracing::info!(steps, raw_bytes, bytes, "recorded");
        }
        Ok(())
    }

    fn read(&self) -> Result<Input, Error> {
        match (self.trace, &self.files[..]) {
            (None, files) => input::read(files, self.seed),
            (Some(TraceFormat::Openb), [nodes, pods]) => {
                input::read_openb(nodes, pods, self.seed.unwrap_or_default())
            }
            (Some(TraceFormat::Openb), files) => Err(Error::TraceFiles(files.len())),
        }
    }
}

fn log(outcome: &Outcome) {
    for trouble in &outcome.troubles {
        tracing::warn!(trouble, "something went wrong in the cluster");
    }
    for event in &outcome.events {
        tracing::debug!(
            at = event.first.get(),
            pod = format_args!("{}/{}", event.namespace, event.pod),
            reason = event.reason,
            count = event.count,
            note = event.note,
            "event"
        );
    }
    tracing::info!(
        seconds = outcome.duration.get(),
        cycles = outcome.cycles,
        placed = outcome.counts.placed,
        waiting = outcome.counts.waiting.total(),
        "outcome"
    );
}

/// A duration as Kubernetes writes it, such as `1h30m`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = config::Duration::parse(text)?;
    parsed.to_std().ok_or_else(|| "expected a duration that is not negative".to_owned())
}
