//! Metrics of the process, beside those of the scheduler in it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

use roadstead_cluster::kubernetes::Answered;
use roadstead_scheduler::Exposition;

use super::features;
use super::requests::Requests;

/// What the process is, what it uses, whether it leads, and what it asks of the API server.
#[derive(Debug, Default)]
pub(crate) struct ProcessMetrics {
    leases: Mutex<BTreeMap<String, Lease>>,
    requests: Mutex<Requests>,
}

/// A lease that the process has or wants.
#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    is_held: bool,
    slow_renewals: u64,
}

impl ProcessMetrics {
    /// Whether this instance holds a lease.
    pub(crate) fn on_lease(&self, name: &str, is_held: bool) {
        lock(&self.leases).entry(name.to_owned()).or_default().is_held = is_held;
    }

    /// How often the lease had to be read to be renewed, since the start.
    pub(crate) fn on_slow_renewals(&self, name: &str, times: u64) {
        lock(&self.leases).entry(name.to_owned()).or_default().slow_renewals = times;
    }

    /// A request to the API server was answered, or was not.
    pub(crate) fn on_request(&self, answered: &Answered<'_>) {
        lock(&self.requests).on_request(answered);
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let name = "roadstead_build_info";
        out.begin(name, "A metric with a constant '1' value: what was built.", "gauge");
        let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
        let labels = [("platform", platform.as_str()), ("version", env!("CARGO_PKG_VERSION"))];
        out.sample(name, &labels, 1.0);
        expose_kubernetes(out, &platform);

        let name = "leader_election_master_status";
        let help = "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 \
                    indicates backup, 1 indicates master. 'name' is the string used to identify \
                    the lease. Please make sure to group by name.";
        out.begin(name, help, "gauge");
        let leases = lock(&self.leases);
        for (lease, Lease { is_held, .. }) in leases.iter() {
            out.sample(name, &[("name", lease)], f64::from(u8::from(*is_held)));
        }
        let name = "leader_election_slowpath_total";
        let help = "[ALPHA] Total number of slow path exercised in renewing leader leases. 'name' is \
                    the string used to identify the lease. Please make sure to group by name.";
        if leases.values().any(|lease| lease.slow_renewals > 0) {
            out.begin(name, help, "counter");
        }
        for (lease, Lease { slow_renewals, .. }) in leases.iter() {
            if *slow_renewals > 0 {
                out.sample(name, &[("name", lease)], *slow_renewals as f64);
            }
        }
        drop(leases);

        lock(&self.requests).expose(out);
        features::expose(out);
        self.expose_start(out);
        expose_use(out);
    }

    pub(super) fn expose_start(&self, out: &mut Exposition) {
        let stat = read("stat");
        // Seconds since the epoch at which the machine started.
        let machine = fs::read_to_string("/proc/stat").unwrap_or_default();
        let machine = machine.lines().find_map(|line| line.strip_prefix("btime "));
        let machine = machine.and_then(|text| text.trim().parse::<f64>().ok());
        if let (Some(ticks), Some(machine)) = (field(&stat, START_TIME), machine) {
            let help = "[ALPHA] Start time of the process since unix epoch in seconds.";
            let name = "process_start_time_seconds";
            out.begin(name, help, "gauge");
            out.sample(name, &[], machine + ticks / TICKS_A_SECOND);
        }
    }

    /// Forgets what was counted.
    pub(super) fn reset(&self) {
        *lock(&self.requests) = Requests::default();
    }
}

/// The release of Kubernetes that this is exact to, as other builds of it say so: with what it is
/// behind a plus. What is not known of a build is empty.
fn expose_kubernetes(out: &mut Exposition, platform: &str) {
    let name = "kubernetes_build_info";
    let help = "[BETA] A metric with a constant '1' value labeled by major, minor, git version, git \
                commit, git tree state, build date, Go version, and compiler from which Kubernetes \
                was built, and platform on which it is running.";
    out.begin(name, help, "gauge");
    let labels = [
        ("build_date", ""),
        ("compiler", "rustc"),
        ("git_commit", ""),
        ("git_tree_state", ""),
        ("git_version", concat!("v1.36.4+roadstead-", env!("CARGO_PKG_VERSION"))),
        ("go_version", ""),
        ("major", "1"),
        ("minor", "36"),
        ("platform", platform),
    ];
    out.sample(name, &labels, 1.0);
}

/// What the process uses, as far as the machine tells: nothing outside Linux.
fn expose_use(out: &mut Exposition) {
    let mut put = |name: &str, help: &str, kind: &str, value: Option<f64>| {
        if let Some(value) = value {
            out.begin(name, help, kind);
            out.sample(name, &[], value);
        }
    };
    let (stat, status, limits) = (read("stat"), read("status"), read("limits"));
    let ticks = field(&stat, USER_TIME).zip(field(&stat, SYSTEM_TIME));
    put(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        "counter",
        ticks.map(|(user, system)| (user + system) / TICKS_A_SECOND),
    );
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
    // One of them reads the directory.
    let open = open.map(|count| count - 1.0);
    put("process_open_fds", "Number of open file descriptors.", "gauge", open);
    let most = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let most = most.and_then(|line| line.split_whitespace().next()?.parse().ok());
    put("process_max_fds", "Maximum number of open file descriptors.", "gauge", most);
    let kilobytes = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? * 1024.0)
    };
    let resident = kilobytes("VmRSS:");
    put("process_resident_memory_bytes", "Resident memory size in bytes.", "gauge", resident);
    let all = kilobytes("VmSize:");
    put("process_virtual_memory_bytes", "Virtual memory size in bytes.", "gauge", all);
}

fn read(file: &str) -> String {
    fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default()
}

/// A field of `/proc/self/stat`, counted from 1 as its manual does. The second is the program's
/// name, which may hold blanks and brackets.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number - 3)?.parse().ok()
}

const USER_TIME: usize = 14;
const SYSTEM_TIME: usize = 15;
const START_TIME: usize = 22;

/// The unit of times in `/proc`: the same on every machine that Linux tells them on.
const TICKS_A_SECOND: f64 = 100.0;

/// What is behind the lock is whole whatever its holder did.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_name_does_not_confuse_the_fields_after_it() {
        let stat = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 150 50 13 14 15 16 17 18 4200 20";
        assert_eq!(field(stat, USER_TIME), Some(150.0));
        assert_eq!(field(stat, SYSTEM_TIME), Some(50.0));
        assert_eq!(field(stat, START_TIME), Some(4200.0));
        assert_eq!(field("", USER_TIME), None);
    }

    #[test]
    fn what_was_counted_is_exposed_by_its_labels() {
        let process = ProcessMetrics::default();
        process.on_lease("roadstead", true);
        process.on_lease("other", false);
        process.on_slow_renewals("roadstead", 3);
        process.on_slow_renewals("other", 0);
        let mut out = Exposition::default();
        process.expose(&mut out);
        let text = out.into_text();
        for line in [
            "leader_election_master_status{name=\"other\"} 0",
            "leader_election_master_status{name=\"roadstead\"} 1",
            "leader_election_slowpath_total{name=\"roadstead\"} 3",
            "kubernetes_feature_enabled{name=\"SchedulerQueueingHints\",stage=\"\"} 1",
            "kubernetes_feature_enabled{name=\"OpportunisticBatching\",stage=\"BETA\"} 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("slowpath_total{name=\"other\"}"), "it has no series until used");
        assert!(text.contains("\nkubernetes_build_info{build_date=\"\",compiler=\"rustc\","));
        assert!(text.contains(",git_version=\"v1.36.4+roadstead-"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_says_what_it_uses() {
        let mut out = Exposition::default();
        ProcessMetrics::default().expose(&mut out);
        let text = out.into_text();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|value| value.parse::<f64>().ok()).expect(name)
        };
        assert!(value("process_resident_memory_bytes") > 1e6);
        assert!(value("process_virtual_memory_bytes") > value("process_resident_memory_bytes"));
        assert!((3.0..1e4).contains(&value("process_open_fds")));
        assert!(value("process_max_fds") >= value("process_open_fds"));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.expect("it is after 1970").as_secs_f64();
        assert!((now - 3600.0..now + 2.0).contains(&value("process_start_time_seconds")));
        assert!(value("process_cpu_seconds_total") < 3600.0);
    }
}
