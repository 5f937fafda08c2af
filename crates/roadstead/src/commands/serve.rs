//! `roadstead serve`: a cluster in memory and its scheduler, in real time, with the dashboard.

mod files;
mod keeping;
mod stage;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::listening::Listener;
use roadstead_cluster::embedded::{self, Cluster};
use roadstead_cluster::kubernetes::election::Leadership;
use roadstead_cluster::kubernetes::writing::Limits;
use roadstead_recording::{Header, Source};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::{Registry, Setup};

use self::files::Files;
use self::keeping::Keeper;
use self::stage::Harbour;
use super::run::source::Running;
use crate::clock::Clock;
use crate::driver::Orders;
use crate::engine::{Engine, Parts};
use crate::error::Error;
use crate::recording::RecordOptions;
use crate::serving::{self, Health, Ports, ProcessMetrics, Served};
use crate::{FINE, stopping};

/// Run a cluster in memory and its scheduler in real time, and watch them in a browser.
///
/// Takes what sim takes: manifests and scenarios. Pods come and go, kubelets start and finish them,
/// and the page shows how they move through the queue, and why. Nothing leaves this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    /// Manifests and scenarios: files and folders. They are read again when they change. Without
    /// any, a harbour that is never quiet.
    files: Vec<PathBuf>,
    /// The scheduler's configuration: a KubeSchedulerConfiguration.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port of 127.0.0.1 for the dashboard, its API and metrics; 0 takes one that is free.
    #[arg(long, value_name = "PORT", default_value_t = 10260)]
    port: u16,
    /// Also serve the Kubernetes API of the cluster on a port of 127.0.0.1, for kubectl; 0 takes
    /// one that is free.
    #[arg(long, value_name = "PORT")]
    api_port: Option<u16>,
    /// How much faster than real time the cluster's time passes: with 10, a minute takes six
    /// seconds. Less than 1 is slower.
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// What chance is drawn from. By default what a scenario says, else 0.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    #[command(flatten)]
    recording: RecordOptions,
}

const EXAMPLES: &str = "\
Files that change while it runs are read again: what is new in them is made, what is different is
changed, what is gone is deleted; a scenario that changed starts over, in an empty cluster. Files
with something wrong in them change nothing.

Stops on SIGTERM or SIGINT, and nothing is kept.

Examples:
  roadstead serve                                 a lively harbour
  roadstead serve examples/shop --speed 10        manifests of yours, ten times as fast
  roadstead serve --api-port 8001 examples/shop   and kubectl --server=http://127.0.0.1:8001";

impl Serve {
    pub(crate) fn run(&self, registry: &Registry, out: &mut dyn Write) -> Result<u8, Error> {
        let configuration = match &self.config {
            Some(file) => super::config::read(file, registry)?,
            None => SchedulerConfiguration::new(registry.known()),
        };
        if !configuration.extenders.is_empty() {
            return Err(Error::Extenders);
        }
        let setup = Setup::new(&configuration, registry).map_err(Error::Setup)?;
        let files = Files::read(&self.files, self.seed)?;
        // The cluster's API is answered by these threads, too.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let ended = runtime.block_on(self.serve(&configuration, setup, files, out));
        runtime.shutdown_timeout(Duration::from_secs(1));
        ended
    }

    async fn serve(
        &self,
        configuration: &SchedulerConfiguration,
        setup: Setup,
        files: Files,
        out: &mut dyn Write,
    ) -> Result<u8, Error> {
        let mut stop = stopping::Signals::listen().map_err(Error::Signals)?;
        let clock = Clock::at_speed(self.speed);
        let cluster =
            SharedCluster::new(Cluster::new(behaviour(files.seed())), move || clock.now());
        let seed = files.seed();
        let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // Before the recording: one that was begun and comes to nothing is in the way of the next.
        let ports = Ports::on_loopback(loopback(self.port)).await.map_err(Error::Serving)?;
        let listener = match self.api_port.map(loopback) {
            Some(address) => Some(Listener::bind(address, &cluster).await.map_err(Error::Api)?),
            None => None,
        };
        let recorder = self.recording.begin(|| {
            Header::new(Source::Serve, configuration.to_json(), seed).starting(clock.now())
        })?;
        let keeper = Keeper::start(cluster.clone(), clock, files)?;
        let client = Client::new(cluster.service(), "default");
        let health = Arc::new(Health::new());
        let on_synced = {
            let health = Arc::clone(&health);
            move || health.on_handlers_synced()
        };
        let mut engine = Engine::start(Parts {
            client,
            setup,
            clock,
            limits: Limits { qps: 0.0, ..Limits::default() },
            leadership: Leadership::always(),
            seed,
            verifies_wakeups: true,
            recorder,
            on_synced: Box::new(on_synced),
        })?;
        let running = Running::new(engine.questions().clone(), Leadership::always(), configuration);
        let running = Arc::new(running);
        let harbour =
            Harbour { running: running.clone(), cluster: cluster.clone(), speed: self.speed };
        let served = Served {
            source: running,
            health: Arc::clone(&health),
            process: Arc::new(ProcessMetrics::default()),
            more: serving::shown(Arc::new(harbour)),
        };
        let serving = ports.serve(served);
        if let Some(address) = serving.insecure_address() {
            writeln!(out, "dashboard  http://{address}/")?;
        }
        if let Some(listener) = &listener {
            let address = listener.address();
            writeln!(
                out,
                "kubectl    alias kubectl='kubectl --kubeconfig=/dev/null --server=http://{address}'"
            )?;
        }
        out.flush()?;
        engine.watch();
        let _ = engine.orders().send(Orders::Schedule);
        let (closing, closed) = tokio::sync::oneshot::channel::<()>();
        let api = tokio::spawn(async move {
            if let Some(listener) = listener {
                let closed = async { drop(closed.await) };
                listener.serve(closed).await;
            }
        });
        stop.wait().await;
        tracing::info!("stopping");
        health.on_shutdown();
        drop(closing);
        engine.finish(false).await;
        serving.shutdown().await;
        // A panic there has been told.
        let _ = api.await;
        drop(keeper);
        engine.end().await?;
        Ok(FINE)
    }
}

/// How the cluster behaves: it is looked at by people, and goes on for long.
fn behaviour(seed: u64) -> embedded::Config {
    embedded::Config {
        seed,
        reports_containers: true,
        changes_kept: 200_000,
        finished_pods_kept: 1_000,
        ..embedded::Config::default()
    }
}

fn speed(text: &str) -> Result<f64, String> {
    let speed: f64 = text.parse().map_err(|_| "expected a number, such as 10".to_owned())?;
    match (0.01..=1000.0).contains(&speed) {
        true => Ok(speed),
        false => Err("must be between 0.01 and 1000".to_owned()),
    }
}
