//! The scheduler under test: Roadstead, or kube-scheduler, started with the same flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use serde_json::{Value, json};

use crate::certificates::{Authority, User};
use crate::control_plane::free_port;
use crate::failure::{Outcome, While, check};
use crate::process::Process;

/// Which scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// `roadstead run`.
    Roadstead,
    /// The original.
    KubeScheduler,
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// The directory of etcd, kube-apiserver, kube-scheduler and kubectl.
    pub(crate) servers: PathBuf,
    /// Roadstead's own.
    pub(crate) roadstead: PathBuf,
}

/// How a scheduler is started.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The profiles of its configuration; one with the default name if empty.
    pub(crate) profiles: Vec<Value>,
    /// Lease, renewal and retry in seconds; no leader election if absent.
    pub(crate) lease_seconds: Option<[u32; 3]>,
    /// Where the API server is, or what stands before it.
    pub(crate) url: String,
    /// As whom it calls.
    pub(crate) user: User,
    /// Its configuration, if it has one already; then that says whether to elect a leader.
    pub(crate) config_file: Option<PathBuf>,
}

/// A running scheduler.
pub(crate) struct Scheduler {
    /// Its process.
    pub(crate) process: Process,
    /// Its port on loopback.
    pub(crate) port: u16,
}

impl Scheduler {
    /// Starts it, and returns when it says that it is ready.
    pub(crate) async fn start(
        kind: Kind,
        programs: &Programs,
        authority: &Authority,
        directory: &Path,
        name: &str,
        settings: &Settings,
    ) -> Outcome<Scheduler> {
        let port = free_port()?;
        let kubeconfig =
            authority.kubeconfig(&format!("{name}.kubeconfig"), settings.user, &settings.url)?;
        let config = match &settings.config_file {
            Some(file) => file.clone(),
            None => {
                let config = directory.join(format!("{name}.config.yaml"));
                fs::write(&config, configuration(&kubeconfig, settings).to_string())
                    .during(config.display())?;
                config
            }
        };

        let mut arguments = vec![
            format!("--config={}", config.display()),
            format!("--authentication-kubeconfig={}", kubeconfig.display()),
            format!("--authorization-kubeconfig={}", kubeconfig.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
        ];
        match settings.lease_seconds {
            None if settings.config_file.is_some() => {}
            None => arguments.push("--leader-elect=false".to_owned()),
            Some([lease, renew, retry]) => arguments.extend([
                "--leader-elect=true".to_owned(),
                format!("--leader-elect-lease-duration={lease}s"),
                format!("--leader-elect-renew-deadline={renew}s"),
                format!("--leader-elect-retry-period={retry}s"),
            ]),
        }
        let program = match kind {
            Kind::KubeScheduler => programs.servers.join("kube-scheduler"),
            Kind::Roadstead => {
                arguments.insert(0, "run".to_owned());
                arguments.push(format!("--kubeconfig={}", kubeconfig.display()));
                programs.roadstead.clone()
            }
        };
        let log = directory.join(format!("{name}.log"));
        let process = Process::start(name, &program, &arguments, &log)?;
        let mut scheduler = Scheduler { process, port };
        scheduler.wait_until_ready().await?;
        Ok(scheduler)
    }

    async fn wait_until_ready(&mut self) -> Outcome {
        let mut config = Config::new(format!("https://127.0.0.1:{}", self.port).parse()?);
        // It signs its certificate itself.
        config.accept_invalid_certs = true;
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let began = Instant::now();
        loop {
            self.process.must_run()?;
            let request = http::Request::get("/readyz").body(Vec::new())?;
            let answer = client.request_text(request).await;
            if answer.as_ref().is_ok_and(|text| text == "ok") {
                return Ok(());
            }
            check(began.elapsed() < START_PATIENCE, || {
                format!("the scheduler is not ready after {START_PATIENCE:?}: {answer:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn configuration(kubeconfig: &Path, settings: &Settings) -> Value {
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        // As good as no limit: what is tested and measured is not the client's patience.
        "clientConnection": {"kubeconfig": kubeconfig, "qps": 100_000, "burst": 100_000},
    });
    if !settings.profiles.is_empty() {
        config["profiles"] = json!(settings.profiles);
    }
    config
}

const START_PATIENCE: Duration = Duration::from_secs(60);
