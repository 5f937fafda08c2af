//! What this process asks of the API server, as client-go's metrics tell it.

use std::collections::BTreeMap;
use std::time::Duration;

use roadstead_cluster::kubernetes::Answered;
use roadstead_scheduler::Exposition;

/// The requests so far.
#[derive(Debug, Default)]
pub(super) struct Requests {
    counts: BTreeMap<Counted, u64>,
    durations: BTreeMap<Timed, Distribution>,
    waits: BTreeMap<Timed, Distribution>,
}

/// What requests are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Counted {
    code: String,
    host: String,
    method: String,
}

/// What their times are told by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    host: String,
    verb: String,
}

/// How many seconds requests took or waited.
#[derive(Clone, Debug, Default)]
struct Distribution {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

const BOUNDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

impl Requests {
    /// A request was answered, or was not.
    pub(super) fn on_request(&mut self, answered: &Answered<'_>) {
        let code = answered.status.as_ref().map_or("<error>", |status| status.as_str());
        let (method, host) = (answered.method.to_string(), answered.host.to_owned());
        let counted = Counted { code: code.to_owned(), host: host.clone(), method: method.clone() };
        *self.counts.entry(counted).or_default() += 1;
        let timed = Timed { host, verb: method };
        for (times, time) in
            [(&mut self.durations, answered.took), (&mut self.waits, answered.waited)]
        {
            if let Some(time) = time {
                times.entry(timed.clone()).or_default().observe(time);
            }
        }
    }

    pub(super) fn expose(&self, out: &mut Exposition) {
        let name = "rest_client_rate_limiter_duration_seconds";
        let help = "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and \
                    host.";
        expose_times(out, name, help, &self.waits);
        let name = "rest_client_request_duration_seconds";
        let help = "[ALPHA] Request latency in seconds. Broken down by verb, and host.";
        expose_times(out, name, help, &self.durations);

        let name = "rest_client_requests_total";
        let help = "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.";
        if !self.counts.is_empty() {
            out.begin(name, help, "counter");
        }
        for (Counted { code, host, method }, count) in &self.counts {
            out.sample(name, &[("code", code), ("host", host), ("method", method)], *count as f64);
        }
    }
}

fn expose_times(
    out: &mut Exposition,
    name: &str,
    help: &str,
    times: &BTreeMap<Timed, Distribution>,
) {
    if !times.is_empty() {
        out.begin(name, help, "histogram");
    }
    for (Timed { host, verb }, Distribution { counts, count, sum }) in times {
        let buckets = BOUNDS.into_iter().zip(counts.iter().copied());
        out.histogram(name, &[("host", host), ("verb", verb)], buckets, *count, *sum);
    }
}

impl Distribution {
    fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        if let Some(count) = self.counts.get_mut(BOUNDS.partition_point(|bound| *bound < seconds)) {
            *count += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Method, StatusCode};

    #[test]
    fn requests_are_told_as_client_go_tells_them() {
        let mut requests = Requests::default();
        let mut out = Exposition::default();
        requests.expose(&mut out);
        assert_eq!(out.into_text(), "", "nothing is listed until it is used");

        let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        let (created, ok) = (Some(StatusCode::CREATED), Some(StatusCode::OK));
        #[rustfmt::skip]
        let rows = [
            (&Method::POST, created, seconds(0.003), seconds(0.0)),
            (&Method::POST, created, seconds(0.3),   seconds(0.02)),
            (&Method::POST, None,    seconds(90.0),  seconds(0.0)),
            (&Method::GET,  ok,      None,           None),
        ];
        for (method, status, took, waited) in rows {
            let host = "10.0.0.1:443";
            requests.on_request(&Answered { method, host, status, took, waited });
        }
        let mut out = Exposition::default();
        requests.expose(&mut out);
        let text = out.into_text();
        let kinds: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        assert_eq!(
            kinds,
            [
                "# TYPE rest_client_rate_limiter_duration_seconds histogram",
                "# TYPE rest_client_request_duration_seconds histogram",
                "# TYPE rest_client_requests_total counter",
            ]
        );
        let lines = |start: &str| -> Vec<&str> {
            text.lines().filter_map(|line| line.strip_prefix(start)).collect()
        };
        assert_eq!(
            lines("rest_client_request_duration_seconds_bucket{host=\"10.0.0.1:443\","),
            [
                "verb=\"POST\",le=\"0.005\"} 1",
                "verb=\"POST\",le=\"0.025\"} 1",
                "verb=\"POST\",le=\"0.1\"} 1",
                "verb=\"POST\",le=\"0.25\"} 1",
                "verb=\"POST\",le=\"0.5\"} 2",
                "verb=\"POST\",le=\"1\"} 2",
                "verb=\"POST\",le=\"2\"} 2",
                "verb=\"POST\",le=\"4\"} 2",
                "verb=\"POST\",le=\"8\"} 2",
                "verb=\"POST\",le=\"15\"} 2",
                "verb=\"POST\",le=\"30\"} 2",
                "verb=\"POST\",le=\"60\"} 2",
                "verb=\"POST\",le=\"+Inf\"} 3",
            ]
        );
        assert_eq!(
            lines("rest_client_rate_limiter_duration_seconds_count"),
            ["{host=\"10.0.0.1:443\",verb=\"POST\"} 3"]
        );
        assert_eq!(
            lines("rest_client_requests_total{code="),
            [
                "\"200\",host=\"10.0.0.1:443\",method=\"GET\"} 1",
                "\"201\",host=\"10.0.0.1:443\",method=\"POST\"} 2",
                "\"<error>\",host=\"10.0.0.1:443\",method=\"POST\"} 1",
            ]
        );
    }
}
