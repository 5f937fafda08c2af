//! Metrics of the process, beside those of the scheduler in it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

use roadstead_scheduler::Exposition;

/// What the process is, what it uses, whether it leads, and what it asks of the API server.
#[derive(Debug, Default)]
pub(crate) struct ProcessMetrics {
    leases: Mutex<BTreeMap<String, bool>>,
    requests: Mutex<BTreeMap<Request, u64>>,
}

/// What requests to an API server are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Request {
    code: String,
    host: String,
    method: String,
}

impl ProcessMetrics {
    /// Whether this instance holds a lease.
    pub(crate) fn on_lease(&self, name: &str, is_held: bool) {
        lock(&self.leases).insert(name.to_owned(), is_held);
    }

    /// A request to the API server was answered with this status, or `<error>` if it was not.
    pub(crate) fn on_request(&self, code: &str, method: &str, host: &str) {
        let [code, host, method] = [code, host, method].map(str::to_owned);
        *lock(&self.requests).entry(Request { code, host, method }).or_default() += 1;
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let name = "roadstead_build_info";
        out.begin(name, "A metric with a constant '1' value: what was built.", "gauge");
        let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
        let labels = [("platform", platform.as_str()), ("version", env!("CARGO_PKG_VERSION"))];
        out.sample(name, &labels, 1.0);

        let name = "leader_election_master_status";
        let help = "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 \
                    indicates backup, 1 indicates master. 'name' is the string used to identify \
                    the lease. Please make sure to group by name.";
        out.begin(name, help, "gauge");
        for (lease, is_held) in lock(&self.leases).iter() {
            out.sample(name, &[("name", lease)], f64::from(u8::from(*is_held)));
        }

        let name = "rest_client_requests_total";
        let help = "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.";
        out.begin(name, help, "counter");
        for (Request { code, host, method }, count) in lock(&self.requests).iter() {
            out.sample(name, &[("code", code), ("host", host), ("method", method)], *count as f64);
        }
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
        lock(&self.requests).clear();
    }
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
        process.on_request("201", "POST", "10.0.0.1:443");
        process.on_request("201", "POST", "10.0.0.1:443");
        let mut out = Exposition::default();
        process.expose(&mut out);
        let text = out.into_text();
        for line in [
            "leader_election_master_status{name=\"other\"} 0",
            "leader_election_master_status{name=\"roadstead\"} 1",
            "rest_client_requests_total{code=\"201\",host=\"10.0.0.1:443\",method=\"POST\"} 2",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
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
