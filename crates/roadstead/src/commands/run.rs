//! `roadstead run`: schedule a Kubernetes cluster.

mod leading;
mod options;
mod source;
mod stopping;

use std::io::Write;
use std::sync::Arc;

use roadstead_cluster::kubernetes::election::{self, Election, Leadership};
use roadstead_cluster::kubernetes::writing::{Limits, Writer};
use roadstead_cluster::kubernetes::{OnAnswer, WatchOptions, connect_and_tell, watch};
use roadstead_scheduler::config::SchedulerConfiguration;
use roadstead_scheduler::{JournalLimits, Registry, Scheduler, Setup};
use tokio::sync::{mpsc, watch as channel};

pub(crate) use self::options::Run;
use crate::clock::Clock;
use crate::driver::{Driver, Orders};
use crate::error::Error;
use crate::observing;
use crate::serving::{self, ProcessMetrics, Served, Serving};
use crate::{FAILED, FINE};

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
        let on_answer: OnAnswer = Arc::new(move |method, host, status| {
            let code = status.as_ref().map_or("<error>", |status| status.as_str());
            counted.on_request(code, method.as_str(), host);
        });
        let connection = self.connection(&configuration);
        let client = connect_and_tell(&connection, on_answer).await.map_err(Error::Connect)?;
        let elections = &configuration.leader_election;
        let identity = election::identity(&election::hostname());
        let election = match elections.leader_elect {
            true => {
                let started = Election::start(client.clone(), elections, identity);
                Some(started.map_err(Error::Election)?)
            }
            false => None,
        };
        let leadership = election.as_ref().map_or_else(Leadership::always, Election::leadership);
        let health = Arc::new(leading::health(elections));

        let (inputs, heard) = mpsc::channel(WAITING_INPUTS);
        let (orders, ordered) = channel::channel(Orders::Standby);
        let limits = Limits::from_config(&configuration.client_connection);
        let writer = Writer::start(client.clone(), inputs.clone(), limits, leadership.clone());
        let Setup { world, profiles, queue } = setup;
        let observers = observing::observers(JournalLimits::default());
        let on_synced = {
            let health = Arc::clone(&health);
            move || {
                tracing::info!("everything in the cluster is known");
                health.on_handlers_synced();
            }
        };
        let driver = Driver {
            scheduler: Scheduler::new(queue, profiles, observers, stopping::seed()),
            world,
            clock: Clock::new(),
            hands: writer.clone(),
            inputs: heard,
            orders: ordered,
            on_synced: Some(Box::new(on_synced)),
            verifies_wakeups: self.verify_wakeups,
        };
        let (questions, thread) = driver.start().map_err(Error::Threads)?;

        let source = source::Running::new(questions.clone(), leadership.clone(), &configuration);
        let source = Arc::new(source);
        let served = Served {
            source: source.clone(),
            health: Arc::clone(&health),
            process: Arc::clone(&process),
            cluster: Some(client.clone()),
            more: serving::shown(source),
        };
        let serving = Serving::start(&self.serving, served).await.map_err(Error::Serving)?;
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
        let watching = watch(client.clone(), inputs, WatchOptions::default());

        let lost = leading::follow(&leadership, elections, &orders, &health, &process);
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
        // From here on no pod is tried; those under way are seen to while they may be.
        let _ = orders.send(Orders::Finish);
        if code == FINE {
            stopping::finish(&questions, writer.clone()).await;
            if let Some(election) = election {
                election.release().await;
            }
        }
        drop((watching, writer));
        drop(orders);
        serving.shutdown().await;
        let joined = tokio::task::spawn_blocking(|| thread.join()).await;
        match joined {
            Ok(Ok(())) => Ok(code),
            _ => Err(Error::Panicked),
        }
    }
}

/// What the cluster shows waits here for the scheduler; watches wait if there is more.
const WAITING_INPUTS: usize = 1024;
