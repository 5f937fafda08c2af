//! `roadstead run`: schedule a Kubernetes cluster.

mod leading;
mod options;
pub(super) mod source;

use std::io::Write;
use std::sync::Arc;

use roadstead_cluster::kubernetes::election::{self, Election, Leadership};
use roadstead_cluster::kubernetes::writing::Limits;
use roadstead_cluster::kubernetes::{OnAnswer, connect_and_tell};
use roadstead_recording::{Header, Source};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::{Registry, Setup};

pub(crate) use self::options::Run;
use crate::clock::Clock;
use crate::engine::{Engine, Parts};
use crate::error::Error;
use crate::serving::{self, Ports, ProcessMetrics, Served};
use crate::{FAILED, FINE, stopping};

impl Run {
    pub(crate) fn run(&self, registry: &Registry, out: &mut dyn Write) -> Result<u8, Error> {
        let configuration = self.configuration(registry)?;
        if let Some(file) = &self.write_config_to {
            let written = std::fs::write(file, configuration.to_yaml());
            let name = || file.to_string_lossy().into_owned();
            written.map_err(|error| Error::Unwritable { file: name(), error })?;
            writeln!(out, "{}: written", file.display())?;
            return Ok(FINE);
        }
        let setup = self.setup(&configuration, registry)?;
        // One thread for all I/O, beside the scheduler's own: it waits for the API server most of
        // the time, and threads that wake each other cost more than they bring.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Threads)?;
        let ended = runtime.block_on(self.schedule(configuration, setup));
        runtime.shutdown_timeout(std::time::Duration::from_secs(1));
        ended
    }

    async fn schedule(
        &self,
        configuration: SchedulerConfiguration,
        setup: Setup,
    ) -> Result<u8, Error> {
        let mut stop = stopping::Signals::listen().map_err(Error::Signals)?;
        let process = Arc::new(ProcessMetrics::default());
        let counted = Arc::clone(&process);
        let on_answer: OnAnswer = Arc::new(move |answered| counted.on_request(answered));
        let connection = self.connection(&configuration);
        let client = connect_and_tell(&connection, on_answer).await.map_err(Error::Connect)?;
        // Before the recording: one that was begun and comes to nothing is in the way of the next.
        let ports = Ports::open(&self.serving, Some(client.clone())).await;
        let ports = ports.map_err(Error::Serving)?;
        let (clock, seed) = (Clock::new(), stopping::seed());
        let recorder = self.recording.begin(|| {
            Header::new(Source::Run, configuration.to_json(), seed)
                .starting(clock.now())
                .with_leftover_after(setup.queue.leftover_after)
        })?;
        let elections = &configuration.leader_election;
        let identity = election::identity(&election::hostname());
        let election = match elections.leader_elect {
            true => {
                let reporter = setup.profiles.first().map_or("", |(name, _)| name.as_str());
                let started = Election::start(client.clone(), elections, identity, reporter);
                Some(started.map_err(Error::Election)?)
            }
            false => None,
        };
        let leadership = election.as_ref().map_or_else(Leadership::always, Election::leadership);
        let health = Arc::new(leading::health(elections));

        let on_synced = {
            let health = Arc::clone(&health);
            move || {
                tracing::info!("everything in the cluster is known");
                health.on_handlers_synced();
            }
        };
        let mut engine = Engine::start(Parts {
            client: client.clone(),
            setup,
            clock,
            limits: Limits::from_config(&configuration.client_connection),
            leadership: leadership.clone(),
            seed,
            verifies_wakeups: self.verify_wakeups,
            recorder,
            on_synced: Box::new(on_synced),
        })?;

        let source =
            source::Running::new(engine.questions().clone(), leadership.clone(), &configuration);
        let source = Arc::new(source);
        let served = Served {
            source: source.clone(),
            health: Arc::clone(&health),
            process: Arc::clone(&process),
            more: serving::shown(source),
        };
        let serving = ports.serve(served);
        for (scheme, address) in
            [("https", serving.secure_address()), ("http", serving.insecure_address())]
        {
            if let Some(address) = address {
                tracing::info!("serving {scheme}://{address}");
            }
        }
        let delays = configuration.delay_cache_until_active && elections.leader_elect;
        if delays {
            tokio::select! {
                () = leading::wait(&leadership) => {}
                () = stop.wait() => return Ok(FINE),
            }
        }
        engine.watch();

        let lost = leading::follow(&leadership, elections, engine.orders(), &health, &process);
        let code = tokio::select! {
            () = lost => {
                // Others lead by now, and nothing may be written any more.
                tracing::error!("the lease was lost: stopping");
                FAILED
            }
            () = stop.wait() => {
                tracing::info!("stopping");
                FINE
            }
        };
        health.on_shutdown();
        engine.finish(code == FINE).await;
        if let (FINE, Some(election)) = (code, election) {
            election.release().await;
        }
        serving.shutdown().await;
        engine.end().await?;
        Ok(code)
    }
}
