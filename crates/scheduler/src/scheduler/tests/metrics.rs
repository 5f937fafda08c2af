//! What kube-scheduler's metrics say of what happened.

use serde_json::json;

use super::*;

mod plugins;

impl TestCluster {
    /// The samples whose names begin so, without buckets.
    pub(super) fn samples(&self, name: &str) -> Vec<String> {
        let text = self.scheduler.queue().observer().0.expose(&self.scheduler);
        let is_wanted = |line: &&str| line.starts_with(name) && !line.contains("_bucket{");
        text.lines().filter(is_wanted).map(str::to_owned).collect()
    }
}

#[test]
fn attempts_are_counted_by_their_ends() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("web", "cpu=1", json!({}));
    c.refuses = true;
    c.pod("unlucky", "cpu=1", json!({}));
    c.pod("large", "cpu=4", json!({"spec": {"schedulerName": "batch"}}));
    assert_eq!(
        c.samples("scheduler_schedule_attempts_total"),
        [
            "scheduler_schedule_attempts_total{profile=\"batch\",result=\"unschedulable\"} 1",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"error\"} 1",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"scheduled\"} 1",
        ]
    );
    assert_eq!(
        c.samples("scheduler_pod_scheduling_attempts"),
        ["scheduler_pod_scheduling_attempts_sum 1", "scheduler_pod_scheduling_attempts_count 1"]
    );
    assert_eq!(
        c.samples("scheduler_preemption_attempts_total"),
        ["scheduler_preemption_attempts_total 1"]
    );
}

#[test]
fn gauges_say_where_pods_are() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("web", "cpu=1", json!({}));
    c.pod("large", "cpu=4", json!({}));
    c.pod("gated", "cpu=1", json!({"spec": {"schedulingGates": [{"name": "g"}]}}));
    assert_eq!(
        c.samples("scheduler_pending_pods"),
        [
            "scheduler_pending_pods{queue=\"active\"} 0",
            "scheduler_pending_pods{queue=\"backoff\"} 0",
            "scheduler_pending_pods{queue=\"gated\"} 1",
            "scheduler_pending_pods{queue=\"unschedulable\"} 1",
        ]
    );
    assert_eq!(
        c.samples("scheduler_unschedulable_pods"),
        [
            "scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"default-scheduler\"} 1",
            "scheduler_unschedulable_pods{plugin=\"SchedulingGates\",profile=\"default-scheduler\"} 1",
        ]
    );
    assert_eq!(
        c.samples("scheduler_cache_size"),
        [
            "scheduler_cache_size{type=\"assumed_pods\"} 0",
            "scheduler_cache_size{type=\"nodes\"} 1",
            "scheduler_cache_size{type=\"pods\"} 1",
        ]
    );
    assert_eq!(
        c.samples("scheduler_queue_incoming_pods_total"),
        [
            "scheduler_queue_incoming_pods_total{event=\"ScheduleAttemptFailure\",queue=\"unschedulable\"} 1",
            "scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue=\"active\"} 2",
            "scheduler_queue_incoming_pods_total{event=\"UnschedulablePodAdd\",queue=\"unschedulable\"} 1",
        ]
    );
}

#[test]
fn victims_are_counted() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.pod("a", "cpu=1", json!({"spec": {"priority": 1}}));
    c.pod("b", "cpu=1", json!({"spec": {"priority": 1}}));
    c.pod("high", "cpu=2", json!({"spec": {"priority": 9}}));
    c.after(12);
    assert_eq!(
        c.samples("scheduler_preemption_victims"),
        ["scheduler_preemption_victims_sum 2", "scheduler_preemption_victims_count 1"]
    );
}

#[test]
fn buckets_are_kube_schedulers() {
    let c = TestCluster::new();
    let text = c.scheduler.queue().observer().0.expose(&c.scheduler);
    let bounds = |name: &str| -> Vec<&str> {
        let start = format!("{name}_bucket{{");
        let buckets = text.lines().filter(|line| line.starts_with(&start));
        buckets.filter_map(|line| line.split('"').nth(1)).collect()
    };
    assert_eq!(bounds("scheduler_pod_scheduling_attempts"), ["1", "2", "4", "8", "16", "+Inf"]);
    assert_eq!(
        bounds("scheduler_preemption_victims"),
        ["1", "2", "4", "8", "16", "32", "64", "+Inf"]
    );
    assert_eq!(bounds("scheduler_scheduling_algorithm_duration_seconds").len(), 16);
}

#[test]
fn what_pods_request_and_may_use_is_told_by_pod_and_resource() {
    let mut c = TestCluster::new();
    assert_eq!(crate::expose_pod_resources(&c.scheduler), "");
    c.node("one", "cpu=2 memory=8Gi");
    let limits = json!({"cpu": "2", "example.com/gpu": "0"});
    let container = json!({"name": "main", "resources": {
        "requests": {"cpu": "500m", "memory": "1Gi"}, "limits": limits}});
    c.pod("web", "", json!({"spec": {"priority": 7, "containers": [container]}}));
    c.pod("large", "cpu=4", json!({}));
    c.pod("foreign", "cpu=1", json!({"spec": {"schedulerName": "another"}}));
    c.pod("done", "cpu=1", json!({"spec": {"nodeName": "one"}, "status": {"phase": "Failed"}}));
    let text = crate::expose_pod_resources(&c.scheduler);
    let kinds: Vec<_> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    assert_eq!(
        kinds,
        ["# TYPE kube_pod_resource_limit gauge", "# TYPE kube_pod_resource_request gauge"]
    );
    let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        samples,
        [
            "kube_pod_resource_limit{namespace=\"default\",node=\"one\",pod=\"web\",\
             priority=\"7\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 2",
            "kube_pod_resource_request{namespace=\"default\",node=\"\",pod=\"foreign\",\
             priority=\"0\",resource=\"cpu\",scheduler=\"another\",unit=\"cores\"} 1",
            "kube_pod_resource_request{namespace=\"default\",node=\"\",pod=\"large\",\
             priority=\"0\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 4",
            "kube_pod_resource_request{namespace=\"default\",node=\"one\",pod=\"web\",\
             priority=\"7\",resource=\"cpu\",scheduler=\"default-scheduler\",unit=\"cores\"} 0.5",
            "kube_pod_resource_request{namespace=\"default\",node=\"one\",pod=\"web\",\
             priority=\"7\",resource=\"memory\",scheduler=\"default-scheduler\",\
             unit=\"bytes\"} 1073741824",
        ]
    );
}

#[test]
fn a_metric_that_nothing_was_observed_of_is_not_there() {
    let mut c = TestCluster::new();
    let text = c.scheduler.queue().observer().0.expose(&c.scheduler);
    assert!(!text.contains("scheduler_schedule_attempts_total"), "{text}");
    assert!(text.contains("# TYPE scheduler_preemption_attempts_total counter\n"), "{text}");

    c.node("one", "cpu=2 memory=8Gi");
    c.pod("web", "cpu=1", json!({}));
    let mut metrics = c.scheduler.queue().observer().0.clone();
    let attempts = "scheduler_schedule_attempts_total{";
    assert!(metrics.expose(&c.scheduler).contains(attempts));
    metrics.reset();
    assert!(!metrics.expose(&c.scheduler).contains(attempts));
}
