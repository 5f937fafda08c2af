//! Whether the process lives, and whether it is ready: the checks, and how they are told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use roadstead_scheduler::Exposition;

/// The state that the checks look at. The program tells it what happens; probes ask it.
#[derive(Debug)]
pub(crate) struct Health {
    lease: Option<Lease>,
    handlers_synced: AtomicBool,
    shutting_down: AtomicBool,
    tallies: Mutex<BTreeMap<(&'static str, &'static str), Tally>>,
}

/// The lease of leader election, as far as health goes.
#[derive(Debug)]
struct Lease {
    name: String,
    duration: Duration,
    /// When it was last renewed, while this instance holds it.
    renewed: Mutex<Option<Instant>>,
}

/// How often a check passed and failed, and how it went last.
#[derive(Debug, Default)]
struct Tally {
    passed: u64,
    failed: u64,
    passes: bool,
}

impl Health {
    /// Of a process that elects no leader.
    pub(crate) fn new() -> Self {
        Self {
            lease: None,
            handlers_synced: AtomicBool::new(false),
            shutting_down: AtomicBool::new(false),
            tallies: Mutex::default(),
        }
    }

    /// Of a process that takes part in the election for a lease.
    pub(crate) fn with_leader_election(lease: impl Into<String>, duration: Duration) -> Self {
        let lease = Lease { name: lease.into(), duration, renewed: Mutex::new(None) };
        Self { lease: Some(lease), ..Self::new() }
    }

    /// This instance took or renewed its lease.
    pub(crate) fn on_lease_renewed(&self, at: Instant) {
        if let Some(lease) = &self.lease {
            *lock(&lease.renewed) = Some(at);
        }
    }

    /// This instance gave up its lease, or lost it.
    pub(crate) fn on_lease_lost(&self) {
        if let Some(lease) = &self.lease {
            *lock(&lease.renewed) = None;
        }
    }

    /// Every kind of object was listed and told to the scheduler.
    pub(crate) fn on_handlers_synced(&self) {
        self.handlers_synced.store(true, Ordering::Release);
    }

    /// The process begins to stop.
    pub(crate) fn on_shutdown(&self) {
        self.shutting_down.store(true, Ordering::Release);
    }

    /// The checks of an endpoint, in the order in which they are told.
    pub(super) fn checks(&self, endpoint: Endpoint) -> &'static [Check] {
        use Check::{HandlersSynced, LeaderElection, Ping, Shutdown};
        match (endpoint, self.lease.is_some()) {
            (Endpoint::Healthz, true) => &[LeaderElection],
            (Endpoint::Healthz, false) | (Endpoint::Livez, _) => &[Ping],
            (Endpoint::Readyz, true) => &[LeaderElection, Shutdown, HandlersSynced],
            (Endpoint::Readyz, false) => &[Shutdown, HandlersSynced],
        }
    }

    /// Runs a check.
    pub(super) fn check(&self, check: Check, now: Instant) -> Result<(), String> {
        match check {
            Check::Ping => Ok(()),
            Check::LeaderElection => self.lease.as_ref().map_or(Ok(()), |lease| lease.check(now)),
            Check::Shutdown if self.shutting_down.load(Ordering::Acquire) => {
                Err("process is shutting down".to_owned())
            }
            Check::HandlersSynced if !self.handlers_synced.load(Ordering::Acquire) => {
                Err("waiting for handlers to sync".to_owned())
            }
            Check::Shutdown | Check::HandlersSynced => Ok(()),
        }
    }

    /// Runs the checks of an endpoint, except those that were excluded, and tells what came of it.
    pub(super) fn report(&self, endpoint: Endpoint, excluded: &[String], now: Instant) -> Report {
        let mut unknown: Vec<_> = excluded.iter().map(String::as_str).collect();
        let mut text = String::new();
        let mut failures = Vec::new();
        for check in self.checks(endpoint) {
            let name = check.name();
            if excluded.iter().any(|excluded| excluded == name) {
                unknown.retain(|excluded| *excluded != name);
                text.push_str(&format!("[+]{name} excluded: ok\n"));
                continue;
            }
            let result = self.check(*check, now);
            self.count(*check, endpoint, result.is_ok());
            match result {
                Ok(()) => text.push_str(&format!("[+]{name} ok\n")),
                // Anybody may ask; who may ask for the single check is told why.
                Err(why) => {
                    text.push_str(&format!("[-]{name} failed: reason withheld\n"));
                    failures.push(format!("{name}: {why}"));
                }
            }
        }
        unknown.dedup();
        if !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
            let names = names.join(", ");
            text.push_str(&format!(
                "warn: some health checks cannot be excluded: no matches for {names}\n"
            ));
        }
        let verdict = if failures.is_empty() { "passed" } else { "failed" };
        text.push_str(&format!("{} check {verdict}\n", endpoint.name()));
        Report { text, failures }
    }

    /// How often the checks passed and failed, in Prometheus' text format.
    pub(super) fn expose_slis(&self, out: &mut Exposition) {
        let tallies = lock(&self.tallies);
        let help = "[STABLE] This metric records the result of a single healthcheck.";
        out.begin("kubernetes_healthcheck", help, "gauge");
        for ((name, kind), tally) in tallies.iter() {
            let value = f64::from(u8::from(tally.passes));
            out.sample("kubernetes_healthcheck", &[("name", name), ("type", kind)], value);
        }
        let help = "[STABLE] This metric records the results of all healthcheck.";
        out.begin("kubernetes_healthchecks_total", help, "counter");
        for ((name, kind), tally) in tallies.iter() {
            for (status, count) in [("error", tally.failed), ("success", tally.passed)] {
                let labels = [("name", *name), ("status", status), ("type", *kind)];
                if count > 0 {
                    out.sample("kubernetes_healthchecks_total", &labels, count as f64);
                }
            }
        }
    }

    /// Forgets how the checks went.
    pub(super) fn reset_slis(&self) {
        lock(&self.tallies).clear();
    }

    fn count(&self, check: Check, endpoint: Endpoint, passes: bool) {
        let mut tallies = lock(&self.tallies);
        let tally = tallies.entry((check.name(), endpoint.name())).or_default();
        tally.passes = passes;
        tally.passed += u64::from(passes);
        tally.failed += u64::from(!passes);
    }
}

impl Lease {
    /// A standby is healthy. A leader is not, once it should long have lost its lease and did not
    /// notice.
    fn check(&self, now: Instant) -> Result<(), String> {
        let renewed = *lock(&self.renewed);
        let limit = self.duration + EXPIRED_LEASE_TOLERANCE;
        match renewed {
            Some(renewed) if now.saturating_duration_since(renewed) > limit => {
                Err(format!("failed election to renew leadership on lease {}", self.name))
            }
            _ => Ok(()),
        }
    }
}

/// For how long a leader may go on past the end of its lease before it counts as broken.
const EXPIRED_LEASE_TOLERANCE: Duration = Duration::from_secs(20);

/// What an endpoint answers.
#[derive(Debug)]
pub(super) struct Report {
    /// A line a check, and the verdict.
    pub(super) text: String,
    /// The checks that failed, with the reason: for the log.
    pub(super) failures: Vec<String>,
}

/// Who asks: each has its own checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Healthz,
    Livez,
    Readyz,
}

impl Endpoint {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }
}

/// Something that can be wrong with the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    Ping,
    LeaderElection,
    Shutdown,
    HandlersSynced,
}

impl Check {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::LeaderElection => "leaderElection",
            Self::Shutdown => "shutdown",
            Self::HandlersSynced => "sched-handler-sync",
        }
    }
}

/// What is behind the lock is whole whatever its holder did.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_is_unhealthy_once_its_lease_has_long_run_out() {
        let health = Health::with_leader_election("kube-system/roadstead", Duration::from_secs(15));
        let start = Instant::now();
        let after =
            |seconds| health.check(Check::LeaderElection, start + Duration::from_secs(seconds));
        assert_eq!(after(1000), Ok(()), "a standby has no lease to renew");

        health.on_lease_renewed(start);
        assert_eq!(after(35), Ok(()));
        let why = "failed election to renew leadership on lease kube-system/roadstead";
        assert_eq!(after(36), Err(why.to_owned()));

        health.on_lease_lost();
        assert_eq!(after(36), Ok(()));
    }

    #[test]
    fn excluded_checks_are_not_run_and_unknown_ones_are_named() {
        let health = Health::new();
        let excluded = ["sched-handler-sync".to_owned(), "etcd".to_owned()];
        let report = health.report(Endpoint::Readyz, &excluded, Instant::now());
        assert!(report.failures.is_empty());
        assert_eq!(
            report.text,
            "[+]shutdown ok\n[+]sched-handler-sync excluded: ok\n\
             warn: some health checks cannot be excluded: no matches for \"etcd\"\n\
             readyz check passed\n"
        );
    }
}
