//! Leader election by a Lease, as kube-scheduler does it.
//!
//! [`Elector`] decides, [`Election`] carries out what it decides, and [`Leadership`] is what
//! everybody else asks.

mod announcing;
mod elector;
mod leadership;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::Read;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use roadstead_scheduler::config::LeaderElection;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::announcing::Announcer;
pub use self::elector::{Action, Claim, Elector, News, Record, Settings, Standing};
pub use self::leadership::Leadership;

/// Takes part in an election until it is told to stop, or loses the lease.
#[derive(Debug)]
pub struct Election {
    leadership: Leadership,
    identity: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Durations with which no election works.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// A duration is not positive.
    #[error("leaderElection.{0}: must be greater than zero")]
    NotPositive(&'static str),
    /// Others would take the lease over while its holder still acts on it.
    #[error("leaderElection.leaseDuration: must be greater than `RenewDeadline`")]
    LeaseTooShort,
    /// The leader could try only once.
    #[error(
        "leaderElection.renewDeadline: must be greater than 1.2 times `RetryPeriod`, or a leader \
         could not try twice to renew its lease"
    )]
    DeadlineTooShort,
}

impl Settings {
    /// The durations of a configuration.
    ///
    /// # Errors
    /// Durations with which no election works.
    pub fn from_config(config: &LeaderElection) -> Result<Self, ElectionError> {
        let read = |name, duration: roadstead_scheduler::config::Duration| {
            let positive = duration.to_std().filter(|duration| !duration.is_zero());
            positive.ok_or(ElectionError::NotPositive(name))
        };
        let settings = Self {
            lease_duration: read("leaseDuration", config.lease_duration)?,
            renew_deadline: read("renewDeadline", config.renew_deadline)?,
            retry_period: read("retryPeriod", config.retry_period)?,
        };
        if settings.lease_duration <= settings.renew_deadline {
            return Err(ElectionError::LeaseTooShort);
        }
        if settings.renew_deadline <= settings.retry_period.mul_f64(elector::JITTER) {
            return Err(ElectionError::DeadlineTooShort);
        }
        Ok(settings)
    }
}

impl Election {
    /// Takes part in the election for the lease that the configuration names, and records Events of
    /// it under the name of `reporter`. To be called within a tokio runtime. The client must not
    /// repeat requests by itself.
    ///
    /// # Errors
    /// Durations with which no election works.
    pub fn start(
        client: Client,
        config: &LeaderElection,
        identity: String,
        reporter: &str,
    ) -> Result<Self, ElectionError> {
        let settings = Settings::from_config(config)?;
        let leadership = Leadership::none();
        let (stop, stopped) = oneshot::channel();
        let seed = RandomState::new().hash_one(&identity);
        let now = Instant::now().into_std();
        let announcer = Announcer {
            client: client.clone(),
            reporter: reporter.to_owned(),
            identity: identity.clone(),
        };
        let candidate = Candidate {
            leases: Api::namespaced(client, &config.resource_namespace),
            announcer,
            leads: false,
            name: config.resource_name.clone(),
            elector: Elector::new(settings, identity.clone(), seed, now),
            lease: None,
            leadership: leadership.clone(),
        };
        let task = tokio::spawn(candidate.run(stopped));
        Ok(Self { leadership, identity, stop, task })
    }

    /// Whether we lead.
    #[must_use]
    pub fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Under which name we take part.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Stops, and gives the lease up if we have it, for another to lead at once. Nothing may be
    /// written from here on.
    pub async fn release(self) {
        // It fails if the task has ended already, having lost.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

/// A name that nobody else has: the host's, and a random uuid.
#[must_use]
pub fn identity(hostname: &str) -> String {
    format!("{hostname}_{}", random_uuid())
}

/// What this host is called, as it knows itself.
#[must_use]
pub fn hostname() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let known = [read("/proc/sys/kernel/hostname"), read("/etc/hostname")];
    let given = std::env::var("HOSTNAME").unwrap_or_default();
    let names = known.into_iter().chain([given]).map(|name| name.trim().to_owned());
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_owned())
}

/// A random uuid, version 4.
pub(super) fn random_uuid() -> String {
    let mut bytes = [0; 16];
    let source = std::fs::File::open("/dev/urandom");
    if source.and_then(|mut source| source.read_exact(&mut bytes)).is_err() {
        // The standard library seeds its hash maps from the system's randomness.
        let halves = [RandomState::new().hash_one(0), RandomState::new().hash_one(1)];
        bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
        bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Does what an elector says.
struct Candidate {
    leases: Api<Lease>,
    announcer: Announcer,
    /// Whether it was announced that we lead.
    leads: bool,
    name: String,
    elector: Elector,
    /// As it was last read or written: its version goes with the next write.
    lease: Option<Lease>,
    leadership: Leadership,
}

impl Candidate {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut news = News::Nothing;
        let mut is_stopped = false;
        loop {
            let action = self.elector.step(Instant::now().into_std(), news);
            self.publish();
            let end = match &action {
                Action::End => return self.announce_end().await,
                Action::Wait(until) => Instant::from_std(*until),
                _ => Instant::from_std(self.elector.deadline()),
            };
            let request = async {
                match action {
                    Action::Read => self.read().await,
                    Action::Create(claim) => self.write(claim, true).await,
                    Action::Update(claim) => self.write(claim, false).await,
                    Action::Wait(_) | Action::End => std::future::pending().await,
                }
            };
            news = tokio::select! {
                biased;
                _ = &mut stopped, if !is_stopped => { is_stopped = true; News::Stop }
                news = request => news,
                // An elector that waits takes no failure amiss.
                () = tokio::time::sleep_until(end) => News::Failed,
            };
        }
    }

    /// Tells the others in this process where we stand, and the world if we have begun to lead.
    fn publish(&mut self) {
        self.leadership.renewed_slowly(self.elector.slow_renewals());
        if self.elector.standing() == Standing::Leading
            && !self.leads
            && let Some(lease) = self.lease.clone()
        {
            self.leads = true;
            // The next renewal does not wait for it.
            tokio::spawn(self.announcer.clone().announce(lease, "became leader"));
        }
        match (self.elector.standing(), self.elector.renewed_at(), self.elector.holds_until()) {
            (Standing::Leading, Some(sent), Some(until)) => self.leadership.renewed(sent, until),
            (standing, ..) => self.leadership.over(standing),
        }
    }

    async fn announce_end(self) {
        if let Some(lease) = self.lease.filter(|_| self.leads) {
            self.announcer.announce(lease, "stopped leading").await;
        }
    }

    async fn read(&mut self) -> News {
        match self.leases.get_opt(&self.name).await {
            Ok(Some(lease)) => {
                let record = record_of(&lease);
                self.lease = Some(lease);
                News::Read(record)
            }
            Ok(None) => News::Absent,
            Err(_) => News::Failed,
        }
    }

    async fn write(&mut self, claim: Claim, is_new: bool) -> News {
        let now = MicroTime(Timestamp::now());
        let mut lease = match &self.lease {
            Some(lease) if !is_new => lease.clone(),
            _ => Lease::default(),
        };
        lease.metadata.name = Some(self.name.clone());
        // What somebody else wrote beside it, such as a strategy, stays.
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(claim.holder);
        spec.lease_duration_seconds = Some(claim.seconds);
        spec.lease_transitions = Some(claim.transitions);
        spec.acquire_time = Some(claim.acquired.unwrap_or_else(|| now.clone()));
        spec.renew_time = Some(now);
        let parameters = PostParams::default();
        let written = match is_new {
            true => self.leases.create(&parameters, &lease).await,
            false => self.leases.replace(&self.name, &parameters, &lease).await,
        };
        match written {
            Ok(lease) => {
                let record = record_of(&lease);
                self.lease = Some(lease);
                News::Written(record)
            }
            Err(_) => News::Failed,
        }
    }
}

fn record_of(lease: &Lease) -> Record {
    let absent = LeaseSpec::default();
    let spec = lease.spec.as_ref().unwrap_or(&absent);
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        seconds: spec.lease_duration_seconds.unwrap_or(0),
        transitions: spec.lease_transitions.unwrap_or(0),
        acquired: spec.acquire_time.clone(),
        renewed: spec.renew_time.clone(),
    }
}
