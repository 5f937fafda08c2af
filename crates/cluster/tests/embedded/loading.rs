//! What a cluster makes of manifests: defaults, priorities, dumps of other clusters.

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use roadstead_cluster::embedded::Cluster;
use roadstead_cluster::{Kind, manifests};
use roadstead_queue::Time;

use crate::testing::*;

#[test]
fn a_pod_has_the_defaults_of_the_api_server() {
    let mut c = TestCluster::new();
    c.load(&pod_with("web", "").replace(
        "image: app",
        "image: app, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}",
    ));
    let spec = c.pod("web").spec.clone().unwrap();
    assert_eq!(c.pod("web").metadata.namespace.as_deref(), Some("default"));
    assert_eq!(spec.scheduler_name.as_deref(), Some("default-scheduler"));
    assert_eq!(spec.termination_grace_period_seconds, Some(30));
    assert_eq!(
        (spec.priority, spec.preemption_policy.as_deref()),
        (Some(0), Some("PreemptLowerPriority"))
    );
    let requests = spec.containers[0].resources.clone().unwrap().requests.unwrap();
    assert_eq!((&*requests["cpu"].0, &*requests["memory"].0), ("500m", "1Gi"));
}

#[test]
fn priorities_come_from_classes() {
    let classes = "
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: batch}
value: -5
preemptionPolicy: Never
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 100
globalDefault: true
";
    // The classes come last in the file, and first into the cluster.
    let pods = [
        pod_with("batch", ", priorityClassName: batch"),
        pod_with("system", ", priorityClassName: system-node-critical"),
        pod("plain"),
    ];
    let mut c = TestCluster::new();
    c.load(&format!("{}---{classes}", pods.concat()));
    for (name, class, priority, policy) in [
        ("batch", "batch", -5, "Never"),
        ("system", "system-node-critical", 2_000_001_000, "PreemptLowerPriority"),
        ("plain", "usual", 100, "PreemptLowerPriority"),
    ] {
        let spec = c.pod(name).spec.clone().unwrap();
        assert_eq!(spec.priority_class_name.as_deref(), Some(class), "{name}");
        assert_eq!(spec.priority, Some(priority), "{name}");
        assert_eq!(spec.preemption_policy.as_deref(), Some(policy), "{name}");
    }
}

#[test]
fn label_keys_are_merged_into_affinity_terms() {
    let term = ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
                [{topologyKey: zone, labelSelector: {}, matchLabelKeys: [app, none], mismatchLabelKeys: [app]}, \
                {topologyKey: zone, matchLabelKeys: [app]}]}}";
    let mut c = TestCluster::new();
    c.load(&pod_with("web", term));
    let affinity = c.pod("web").spec.clone().unwrap().affinity.unwrap().pod_anti_affinity.unwrap();
    let terms = affinity.required_during_scheduling_ignored_during_execution.unwrap();
    let merged = terms[0].label_selector.clone().unwrap().match_expressions.unwrap();
    let merged: Vec<_> =
        merged.into_iter().map(|e| (e.key, e.operator, e.values.unwrap())).collect();
    let app = |operator: &str| ("app".to_owned(), operator.to_owned(), vec!["web".to_owned()]);
    assert_eq!(merged, [app("In"), app("NotIn")]);
    assert_eq!(terms[1].label_selector, None, "an absent selector stays absent");
}

#[test]
fn a_node_has_what_its_kubelet_would_say() {
    let mut c = TestCluster::new();
    c.load(&node("pier"));
    let node = c.get::<Node>("pier");
    assert_eq!(node.metadata.labels.as_ref().unwrap()["kubernetes.io/hostname"], "pier");
    let status = node.status.as_ref().unwrap();
    assert_eq!(status.capacity, status.allocatable);
    let ready = &status.conditions.as_ref().unwrap()[0];
    assert_eq!((&*ready.type_, &*ready.status), ("Ready", "True"));
}

#[test]
fn the_dump_of_a_cluster_keeps_what_was_decided_there() {
    let dump = r#"
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: v1
  kind: Node
  metadata: {name: pier, uid: n1, resourceVersion: "881", creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {allocatable: {cpu: "8"}, somethingNew: {a: 1}}
- apiVersion: v1
  kind: Pod
  metadata:
    name: web-abc-1
    namespace: shop
    uid: p1
    resourceVersion: "882"
    creationTimestamp: "2026-01-01T00:00:00Z"
    finalizers: [example.com/kept]
    managedFields: [{manager: kubelet, operation: Update, fieldsV1: {"f:x": {}}}]
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-abc, uid: r1, controller: true}]
  spec:
    nodeName: pier
    priority: 77
    priorityClassName: not-in-the-dump
    brandNew: true
    containers: [{name: main, image: app}]
  status: {phase: Running, startTime: "2026-01-01T00:00:05Z"}
"#;
    let mut cluster = Cluster::new(Default::default());
    let report = cluster.load(Time::from_secs(1_800_000_000), manifests::parse("dump.yaml", dump));
    assert_eq!(report.problems, []);
    assert_eq!(report.loaded, 2);
    assert_eq!(report.ignored_fields, ["Pod spec.brandNew"]);
    let web = cluster.pod("shop", "web-abc-1").unwrap();
    assert_eq!(web.metadata.uid.as_deref(), Some("p1"));
    assert_eq!(web.spec.as_ref().unwrap().priority, Some(77));
    assert_eq!(web.metadata.finalizers, None);
    assert_eq!(phase(web), "Running");
    assert!(cluster.object(&Kind::Namespace.key("", "shop")).is_some(), "its namespace was made");
    assert_ne!(web.metadata.resource_version.as_deref(), Some("882"));
}

#[test]
fn a_dumped_workload_does_not_make_its_pods_again() {
    let mut first = TestCluster::new();
    first.load(
        &[
            node("pier"),
            workload("Deployment", "web", ", replicas: 2"),
            workload("StatefulSet", "db", ", replicas: 2"),
        ]
        .concat(),
    );
    for _ in 0..3 {
        first.bind_all("pier");
    }
    let mut dump = String::new();
    for kind in Kind::ALL {
        for object in first.cluster.objects(*kind) {
            dump.push_str(&object.to_json().unwrap().to_string());
            dump.push('\n');
        }
    }
    let mut second = TestCluster::new();
    let report = second.cluster.load(second.now, manifests::parse("dump.json", &dump));
    assert_eq!(report.problems, []);
    second.settle();
    second.after(60);
    assert_eq!(second.names(), first.names());
    assert!(second.pods().iter().all(|pod| phase(pod) == "Running"));
}

#[test]
fn a_file_is_taken_whole_or_not_at_all_and_others_are_taken() {
    let mut c = TestCluster::new();
    let mut all = manifests::parse("good.yaml", &pod("good"));
    all.extend(manifests::parse(
        "bad.yaml",
        &format!("{}{}", pod("fine"), pod_with("broken", ", restartPolicy: Often")),
    ));
    // Needs a class that the bad file has not.
    all.extend(manifests::parse("needy.yaml", &pod_with("needy", ", priorityClassName: urgent")));
    let report = c.cluster.load(c.now, all);
    let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "bad.yaml: document 2 (Pod broken): spec.restartPolicy: unsupported value `Often`, expected `Always`, `OnFailure`, `Never`",
            "needy.yaml: document 1 (Pod needy): no PriorityClass with name urgent was found",
        ]
    );
    assert_eq!(report.loaded, 1);
    assert_eq!(c.names(), ["good"]);
}

#[test]
fn there_is_one_default_class() {
    let mut c = TestCluster::new();
    let class = |name: &str| {
        object(&format!(
            "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: {name}}}, value: 1, globalDefault: true}}"
        ))
    };
    c.cluster.create(c.now, class("a")).unwrap();
    let error = c.cluster.create(c.now, class("b")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "priorityclasses \"b\" is forbidden: PriorityClass a is already marked as default"
    );
    assert_eq!(c.cluster.list::<PriorityClass>().count(), 3, "two of the system, and one");
}
