//! What is told of single plugins.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use super::*;

/// A clock that goes on by a microsecond whenever it is looked at.
fn ticks() -> u64 {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    TICKS.fetch_add(1_000, Ordering::Relaxed)
}

impl TestCluster {
    fn measured() -> Self {
        Self::made_of(Vec::new, Metrics::new(Some(ticks)))
    }

    /// The value of a sample; its labels are written as Prometheus does.
    fn value(&self, sample: &str) -> Option<f64> {
        let line = self.samples(sample).into_iter().find_map(|line| {
            line.strip_prefix(sample).and_then(|rest| rest.strip_prefix(' ')).map(str::to_owned)
        })?;
        line.parse().ok()
    }

    fn evaluations(&self, plugin: &str, point: &str) -> Option<f64> {
        self.value(&format!(
            "scheduler_plugin_evaluation_total{{extension_point=\"{point}\",plugin=\"{plugin}\",\
             profile=\"default-scheduler\"}}"
        ))
    }
}

#[test]
fn plugins_are_counted_as_often_as_they_are_asked() {
    let mut c = TestCluster::new();
    c.scheduler.remember(false);
    assert_eq!(c.evaluations("NodeResourcesFit", "Filter"), Some(0.0), "listed from the start");
    for name in ["one", "two", "three"] {
        c.node(name, "cpu=2 memory=8Gi");
    }
    c.pod("web", "cpu=1", json!({}));
    #[rustfmt::skip]
    let rows = [
        // plugin,                     point,       after one pod, after another like it
        ("NodeResourcesFit",                "PreFilter", Some(1.0), Some(2.0)),
        ("NodeResourcesFit",                "Filter",    Some(3.0), Some(6.0)),
        ("NodeResourcesFit",                "PreScore",  Some(1.0), Some(2.0)),
        ("NodeResourcesFit",                "Score",     Some(3.0), Some(6.0)),
        ("NodeName",                        "Filter",    Some(3.0), Some(6.0)),
        ("NodeName",                        "Score",     None,      None),
        // It has nothing to say of a pod without affinity, and is not asked about nodes.
        ("NodeAffinity",                    "PreFilter", Some(0.0), Some(0.0)),
        ("NodeAffinity",                    "Filter",    Some(0.0), Some(0.0)),
        ("NodeAffinity",                    "Score",     Some(0.0), Some(0.0)),
    ];
    for (plugin, point, first, _) in rows {
        assert_eq!(c.evaluations(plugin, point), first, "{plugin} at {point}, first");
    }
    c.pod("web2", "cpu=1", json!({}));
    for (plugin, point, _, second) in rows {
        assert_eq!(c.evaluations(plugin, point), second, "{plugin} at {point}, second");
    }
}

#[test]
fn what_is_remembered_is_not_counted() {
    let mut c = TestCluster::new();
    for name in ["one", "two", "three"] {
        c.node(name, "cpu=2 memory=8Gi");
    }
    c.pod("web", "cpu=1", json!({}));
    assert_eq!(c.evaluations("NodeResourcesFit", "Filter"), Some(3.0));
    c.pod("web2", "cpu=1", json!({}));
    assert_eq!(c.evaluations("NodeResourcesFit", "Filter"), Some(4.0), "one node has changed");
}

#[test]
fn dry_runs_of_preemption_are_counted() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("low", "cpu=2", json!({"spec": {"priority": 1}}));
    let before = c.evaluations("NodeResourcesFit", "Filter").expect("it is listed");
    c.pod("high", "cpu=2", json!({"spec": {"priority": 9}}));
    let asked = c.evaluations("NodeResourcesFit", "Filter").expect("it is listed") - before;
    assert!(asked >= 3.0, "once in the search, without the victim and with it again: {asked}");
}

#[test]
fn a_tenth_of_the_cycles_is_measured_plugin_by_plugin() {
    let mut c = TestCluster::measured();
    c.node("one", "cpu=900 memory=8Gi pods=900");
    for number in 0..400 {
        c.pod(&format!("web-{number}"), "cpu=1", json!({}));
    }
    let runs = |plugin: &str, point: &str, status: &str| {
        let name = "scheduler_plugin_execution_duration_seconds_count";
        c.value(&format!(
            "{name}{{extension_point=\"{point}\",plugin=\"{plugin}\",status=\"{status}\"}}"
        ))
    };
    let cycles = runs("NodeResourcesFit", "PreFilter", "Success").expect("some were measured");
    assert!((20.0..=60.0).contains(&cycles), "{cycles} of 400");
    for (plugin, point, status) in [
        ("NodeResourcesFit", "Filter", "Success"),
        ("NodeAffinity", "PreFilter", "Skip"),
        ("VolumeBinding", "Reserve", "Success"),
        ("VolumeBinding", "PreBindPreFlight", "Skip"),
        ("DefaultBinder", "Bind", "Success"),
    ] {
        assert_eq!(runs(plugin, point, status), Some(cycles), "{plugin} at {point}");
    }
    let gates = runs("SchedulingGates", "PreEnqueue", "Success").expect("some were measured");
    assert!((10.0..=90.0).contains(&gates), "{gates} of 400");
    let points = "scheduler_framework_extension_point_duration_seconds_count";
    for (point, status) in [("PreEnqueue", "Success"), ("PreBindPreFlight", "Skip")] {
        let labels = format!(
            "{{extension_point=\"{point}\",profile=\"default-scheduler\",status=\"{status}\"}}"
        );
        assert_eq!(c.value(&format!("{points}{labels}")), Some(400.0), "{point}");
    }
}

#[test]
fn without_a_clock_plugins_are_counted_and_not_measured() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=900 memory=8Gi pods=900");
    for number in 0..100 {
        c.pod(&format!("web-{number}"), "cpu=1", json!({}));
    }
    assert_eq!(c.evaluations("NodeResourcesFit", "PreFilter"), Some(100.0));
    assert!(c.samples("scheduler_plugin_execution_duration_seconds").is_empty());
}

#[test]
fn preemptions_are_counted_by_their_ends() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("low", "cpu=2", json!({"spec": {"priority": 1}}));
    c.pod("high", "cpu=2", json!({"spec": {"priority": 9}}));
    assert_eq!(
        c.samples("scheduler_preemption_goroutines_execution_total"),
        ["scheduler_preemption_goroutines_execution_total{result=\"success\"} 1"]
    );
    let count = "scheduler_preemption_goroutines_duration_seconds_count{result=\"success\"}";
    assert_eq!(c.value(count), Some(1.0));
}

/// Name, type, labels and bounds, as the specification has them: `exp` is the first bound, the
/// factor and the number of bounds.
#[test]
fn plugins_metrics_have_kube_schedulers_names_labels_and_buckets() {
    let mut c = TestCluster::measured();
    c.node("one", "cpu=900 memory=8Gi pods=900");
    for number in 0..50 {
        c.pod(&format!("web-{number}"), "cpu=1", json!({"spec": {"priority": 1}}));
    }
    c.pod("high", "cpu=900", json!({"spec": {"priority": 9}}));
    let text = c.scheduler.queue().observer().0.expose(&c.scheduler);
    let exp = |from: f64, factor: f64, bounds: usize| Some((from, factor, bounds));
    #[rustfmt::skip]
    let rows = [
        ("scheduler_plugin_execution_duration_seconds", "histogram", "ALPHA", &["extension_point", "plugin", "status"][..], exp(0.00001, 1.5, 20)),
        ("scheduler_plugin_evaluation_total",           "counter",   "BETA",  &["extension_point", "plugin", "profile"],    None),
        ("scheduler_preemption_goroutines_duration_seconds", "histogram", "ALPHA", &["result"], exp(0.01, 2.0, 20)),
        ("scheduler_preemption_goroutines_execution_total",  "counter",   "ALPHA", &["result"], None),
        ("scheduler_pod_scheduled_after_flush_total",        "counter",   "ALPHA", &[],         None),
    ];
    for (name, kind, stability, labels, buckets) in rows {
        assert!(text.contains(&format!("\n# TYPE {name} {kind}\n")), "{name} is a {kind}");
        assert!(text.contains(&format!("\n# HELP {name} [{stability}] ")), "{name}: {stability}");
        let suffix = if buckets.is_some() { "_bucket" } else { "" };
        let first = format!("{name}{suffix}");
        let samples: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix(&*first))
            .filter(|rest| rest.starts_with(['{', ' ']))
            .collect();
        let found: Vec<&str> = samples[0]
            .split('"')
            .step_by(2)
            .filter_map(|part| part.trim_start_matches(['{', ',']).strip_suffix('='))
            .filter(|label| *label != "le")
            .collect();
        assert_eq!(found, labels, "{name}");
        let Some((from, factor, count)) = buckets else { continue };
        let bounds = samples.iter().take(count + 1);
        let bounds: Vec<&str> =
            bounds.filter_map(|rest| rest.split("le=\"").nth(1)?.split('"').next()).collect();
        assert_eq!(bounds.len(), count + 1, "{name}");
        assert_eq!(bounds.last(), Some(&"+Inf"), "{name}");
        for (place, bound) in bounds[..count].iter().enumerate() {
            let bound: f64 = bound.parse().expect("a number");
            let expected = from * factor.powi(place as i32);
            assert!((bound / expected - 1.0).abs() < 1e-9, "{name}: {bound}, not {expected}");
        }
    }
}
