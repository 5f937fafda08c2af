//! The options of `roadstead run`, under kube-scheduler's names.

use std::path::PathBuf;
use std::time::Duration;

use roadstead_cluster::kubernetes::ConnectOptions;
use roadstead_scheduler::config::{self, SchedulerConfiguration};
use roadstead_scheduler::{Registry, Setup};

use crate::commands;
use crate::error::Error;
use crate::recording::RecordOptions;
use crate::serving::ServingOptions;

/// Schedule a Kubernetes cluster, beside kube-scheduler or instead of it.
///
/// Takes kube-scheduler's configuration and options. Pods name their scheduler in
/// spec.schedulerName: those of the profiles here are scheduled, all others are counted on their
/// nodes and otherwise left alone.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The scheduler's configuration: a KubeSchedulerConfiguration. Options that say the same
    /// override it.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Write the complete configuration to a file, and exit.
    #[arg(long, value_name = "FILE")]
    pub(super) write_config_to: Option<PathBuf>,
    /// Try out a sample of the pods that sleep, to find those that should have been woken. What is
    /// found is a defect of a plugin: it is logged, counted in roadstead_missed_wakeups_total, and
    /// the pod is tried again.
    #[arg(long)]
    pub(super) verify_wakeups: bool,
    #[command(flatten)]
    pub(super) recording: RecordOptions,

    /// Kubeconfig file with the way to the API server. Without it, and without --context, a
    /// program that runs in a pod uses its service account; any other uses $KUBECONFIG or
    /// ~/.kube/config.
    #[arg(long, value_name = "FILE", help_heading = CONNECTION)]
    kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig, instead of its current one.
    #[arg(long, value_name = "NAME", help_heading = CONNECTION)]
    context: Option<String>,
    /// The address of the API server, instead of the one that the kubeconfig says.
    #[arg(long, value_name = "URL", help_heading = CONNECTION)]
    master: Option<String>,
    /// Requests a second to the API server; no limit if it is not positive.
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = CONNECTION)]
    kube_api_qps: Option<f64>,
    /// Requests at once to the API server after a pause.
    #[arg(long, value_name = "NUMBER", help_heading = CONNECTION)]
    kube_api_burst: Option<u16>,

    /// How long a pod may stay in the unschedulable pool before it is tried again all the same.
    #[arg(long, value_name = "DURATION", value_parser = positive, help_heading = QUEUE)]
    pod_max_in_unschedulable_pods_duration: Option<Duration>,

    /// Whether to elect a leader among several instances, of which only one schedules.
    #[arg(
        long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", help_heading = ELECTION
    )]
    leader_elect: Option<bool>,
    /// How long others wait after the leader's last renewal before one of them leads.
    #[arg(long, value_name = "DURATION", value_parser = config::Duration::parse, help_heading = ELECTION)]
    leader_elect_lease_duration: Option<config::Duration>,
    /// How long the leader tries to renew its lease before it stops leading.
    #[arg(long, value_name = "DURATION", value_parser = config::Duration::parse, help_heading = ELECTION)]
    leader_elect_renew_deadline: Option<config::Duration>,
    /// How long to wait between tries to take or renew the lease.
    #[arg(long, value_name = "DURATION", value_parser = config::Duration::parse, help_heading = ELECTION)]
    leader_elect_retry_period: Option<config::Duration>,
    /// The kind of object to lock; only leases is supported.
    #[arg(long, value_name = "KIND", help_heading = ELECTION)]
    leader_elect_resource_lock: Option<String>,
    /// The name of the lease.
    #[arg(long, value_name = "NAME", help_heading = ELECTION)]
    leader_elect_resource_name: Option<String>,
    /// The namespace of the lease.
    #[arg(long, value_name = "NAMESPACE", help_heading = ELECTION)]
    leader_elect_resource_namespace: Option<String>,

    #[command(flatten)]
    pub(super) serving: ServingOptions,
}

impl Run {
    /// The configuration of the file, with what the options say.
    pub(super) fn configuration(
        &self,
        registry: &Registry,
    ) -> Result<SchedulerConfiguration, Error> {
        let mut all = match &self.config {
            Some(file) => commands::config::read(file, registry)?,
            None => SchedulerConfiguration::new(registry.known()),
        };
        let connection = &mut all.client_connection;
        set(&mut connection.qps, &self.kube_api_qps);
        set(&mut connection.burst, &self.kube_api_burst.map(i32::from));
        if let Some(file) = &self.kubeconfig {
            connection.kubeconfig = file.to_string_lossy().into_owned();
        }
        let election = &mut all.leader_election;
        set(&mut election.leader_elect, &self.leader_elect);
        set(&mut election.lease_duration, &self.leader_elect_lease_duration);
        set(&mut election.renew_deadline, &self.leader_elect_renew_deadline);
        set(&mut election.retry_period, &self.leader_elect_retry_period);
        set(&mut election.resource_lock, &self.leader_elect_resource_lock);
        set(&mut election.resource_name, &self.leader_elect_resource_name);
        set(&mut election.resource_namespace, &self.leader_elect_resource_namespace);
        Ok(all)
    }

    /// The scheduler that a configuration asks for.
    pub(super) fn setup(
        &self,
        configuration: &SchedulerConfiguration,
        registry: &Registry,
    ) -> Result<Setup, Error> {
        if !configuration.extenders.is_empty() {
            return Err(Error::Extenders);
        }
        let mut setup = Setup::new(configuration, registry).map_err(Error::Setup)?;
        set(&mut setup.queue.leftover_after, &self.pod_max_in_unschedulable_pods_duration);
        Ok(setup)
    }

    /// The way to the API server.
    pub(super) fn connection(&self, configuration: &SchedulerConfiguration) -> ConnectOptions {
        let file = &configuration.client_connection.kubeconfig;
        ConnectOptions {
            kubeconfig: (!file.is_empty()).then(|| PathBuf::from(file)),
            context: self.context.clone(),
            master: self.master.clone(),
        }
    }
}

fn set<T: Clone>(field: &mut T, option: &Option<T>) {
    if let Some(value) = option {
        *field = value.clone();
    }
}

fn positive(text: &str) -> Result<Duration, String> {
    let duration = config::Duration::parse(text)?.to_std();
    let positive = duration.filter(|duration| !duration.is_zero());
    positive.ok_or_else(|| "must be greater than zero".to_owned())
}

const CONNECTION: &str = "API server";
const QUEUE: &str = "Queue";
const ELECTION: &str = "Leader election";

const EXAMPLES: &str = "\
Stops on SIGTERM or SIGINT: tries no more pods, lets bindings under way finish for up to 15 seconds,
gives up its lease, and exits with 0. Exits with 1 if the lease is lost.

Examples:
  roadstead run --kubeconfig ~/.kube/config       schedule the cluster of the current context
  roadstead run --config scheduler.yaml --leader-elect=false
  roadstead run --config scheduler.yaml --write-config-to complete.yaml
  roadstead run --insecure-loopback-port 10251 & curl 127.0.0.1:10251/metrics";
