//! The manifests that people have, and what is said of those that are wrong.

use std::fs;
use std::path::PathBuf;

use roadstead_cluster::Kind;
use roadstead_cluster::embedded::Cluster;
use roadstead_cluster::manifests::{self, Manifests};
use roadstead_queue::Time;

use crate::testing::*;

#[test]
fn a_broken_manifest_is_refused_with_file_document_field_and_reason() {
    let pod_of = |spec: &str| {
        format!("{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{{spec}}}}}")
    };
    let main = |more: &str| pod_of(&format!("containers: [{{name: main, image: app{more}}}]"));
    let with = |more: &str| pod_of(&format!("containers: [{{name: main, image: app}}]{more}"));
    let any = |version: &str, kind: &str, rest: &str| {
        format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}{rest}}}")
    };
    let class = |rest: &str| any("scheduling.k8s.io/v1", "PriorityClass", rest);
    let term = |weight: i32| {
        with(&format!(
            ", affinity: {{podAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: {weight}, \
             podAffinityTerm: {{topologyKey: zone}}}}]}}}}"
        ))
    };
    let rows: Vec<(String, &str)> = vec![
        ("hello".into(), "document 1: expected an object with apiVersion and kind"),
        ("apiVersion: v1".into(), "document 1: kind: required value"),
        ("kind: Pod".into(), "document 1 (Pod): apiVersion: required value"),
        ("{apiVersion: v1, kind: List}".into(), "document 1: items: required value: a list of objects"),
        (pod_of("containers: [{name: main}]").replace("{name: web}", "{}"),
            "document 1 (Pod): metadata.name: required value: a name or generateName"),
        (main("").replace("web", "Web"),
            "document 1 (Pod Web): metadata.name: `Web` is not a name: expected at most 253 lower case letters, \
             digits, `-` and `.`, with a letter or digit at both ends of each part"),
        (main("").replace("name: web", "name: web, namespace: a.b"),
            "document 1 (Pod web): metadata.namespace: `a.b` is not a name: expected at most 63 lower case letters, \
             digits and `-`, with a letter or digit at both ends"),
        (main("").replace("name: web", "name: web, labels: {app: -x}"),
            "document 1 (Pod web): metadata.labels.app: `-x` is not a label value"),
        (any("v1", "Pod", ""), "document 1 (Pod x): spec: required value"),
        (pod_of("nodeName: pier"), "document 1 (Pod web): spec.containers: required value"),
        (pod_of("contaners: [{name: main}]"), "document 1 (Pod web): spec.contaners: unknown field"),
        (pod_of("containers: [{name: a}, {name: a}]"),
            "document 1 (Pod web): spec.containers[1].name: duplicate container `a`"),
        (main(", resources: {requests: {cpu: 1x}}"),
            "document 1 (Pod web): spec.containers[0].resources.requests.cpu: `1x` is not a quantity: quantities must \
             match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        (main(", resources: {requests: {memory: -1}}"),
            "document 1 (Pod web): spec.containers[0].resources.requests.memory: must not be negative, got `-1`"),
        (main(", resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}"),
            "document 1 (Pod web): spec.containers[0].resources.requests.cpu: must be at most the limit `1500m`, got `2`"),
        (main(", resources: {requests: {example.com/gpu: 2}}"),
            "document 1 (Pod web): spec.containers[0].resources.requests.example.com/gpu: must have a limit: an \
             extended resource is not overcommitted"),
        (main(", ports: [{containerPort: 80, hostPort: 70000}]"),
            "document 1 (Pod web): spec.containers[0].ports[0].hostPort: must be 1 to 65535, got 70000"),
        (with(", priority: high"),
            "document 1 (Pod web): spec.priority: invalid type: string \"high\", expected i32"),
        (with(", priorityClassName: urgent"),
            "document 1 (Pod web): no PriorityClass with name urgent was found"),
        (with(", tolerations: [{value: x}]"),
            "document 1 (Pod web): spec.tolerations[0].operator: must be `Exists` when there is no key"),
        (with(", tolerations: [{key: gpu, operator: Equal, value: 'true:NoSchedule'}]"),
            "document 1 (Pod web): spec.tolerations[0].value: `true:NoSchedule` is not a label value"),
        (with(", tolerations: [{key: 'gpu=true', operator: Exists}]"),
            "document 1 (Pod web): spec.tolerations[0].key: `gpu=true` is not a label key"),
        (with(", tolerations: [{key: size, operator: Gt, value: big}]"),
            "document 1 (Pod web): spec.tolerations[0].value: must be a whole number when operator is `Gt`, got `big`"),
        (any("v1", "Node", ", spec: {taints: [{key: dock, value: 'a:b', effect: NoSchedule}]}"),
            "document 1 (Node x): spec.taints[0].value: `a:b` is not a label value"),
        (with(", topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"),
            "document 1 (Pod web): spec.topologySpreadConstraints[0].maxSkew: must be at least 1, got 0"),
        (term(0),
            "document 1 (Pod web): spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: \
             must be 1 to 100, got 0"),
        (main("").replace("name: web", "name: web, annotations: {roadstead.dev/run-seconds: soon}"),
            "document 1 (Pod web): metadata.annotations.roadstead.dev/run-seconds: must be a number of seconds, got `soon`"),
        (any("v1", "Node", ", spec: {taints: [{key: dock, effect: Maybe}]}"),
            "document 1 (Node x): spec.taints[0].effect: unsupported value `Maybe`, expected `NoSchedule`, \
             `PreferNoSchedule`, `NoExecute`"),
        (any("v1", "Node", "").replace("name: x", "name: x, namespace: default"),
            "document 1 (Node x): metadata.namespace: not allowed on a Node, got `default`"),
        (class(", value: 2000000000"),
            "document 1 (PriorityClass x): value: must be at most 1000000000, got 2000000000"),
        (class(", value: 1").replace("name: x", "name: system-x"),
            "document 1 (PriorityClass system-x): metadata.name: `system-x`: names with `system-` are reserved"),
        (workload("Deployment", "web", ", replicas: three"),
            "document 1 (Deployment web): spec.replicas: invalid type: string \"three\", expected i32"),
        (workload("Deployment", "web", ", replicas: -1"),
            "document 1 (Deployment web): spec.replicas: must be at least 0, got -1"),
        (workload("ReplicaSet", "web", "").replace("{labels: {app: web}}", "{labels: {app: db}}"),
            "document 1 (ReplicaSet web): spec.template.metadata.labels: are not what spec.selector selects"),
        (workload("Job", "sum", "").replace("Never", "Always"),
            "document 1 (Job sum): spec.template.spec.restartPolicy: unsupported value `Always`, expected `OnFailure`, `Never`"),
        (any("v1", "PersistentVolumeClaim", ", spec: {accessModes: [ReadWriteOnce]}"),
            "document 1 (PersistentVolumeClaim x): spec.resources.requests.storage: required value"),
        (any("v1", "PersistentVolume", ", spec: {capacity: {storage: 1Gi}}"),
            "document 1 (PersistentVolume x): spec.accessModes: required value"),
        (any("storage.k8s.io/v1", "StorageClass", ""),
            "document 1 (StorageClass x): provisioner: required value"),
        (any("policy/v1", "PodDisruptionBudget", ", spec: {minAvailable: 1, maxUnavailable: 1}"),
            "document 1 (PodDisruptionBudget x): spec: minAvailable and maxUnavailable cannot be both set"),
        (format!("{}{}", pod("web"), pod("web")),
            "document 2 (Pod web): pods \"default/web\" already exists"),
        ("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: a}}, {kind: Pod}]}".into(),
            "document 1, item 2 (Pod): apiVersion: required value"),
    ];
    for (text, expected) in rows {
        let mut cluster = Cluster::new(Default::default());
        let before = cluster.version();
        let report = cluster.load(Time::ZERO, manifests::parse("bad.yaml", &text));
        let said: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
        assert_eq!(said, [format!("bad.yaml: {expected}")], "{text}");
        assert_eq!(
            (report.loaded, cluster.version()),
            (0, before),
            "nothing of it was taken: {text}"
        );
    }
}

#[test]
fn a_text_that_does_not_parse_is_refused_with_its_line() {
    for (file, text, line, document) in [
        ("bad.yaml", "apiVersion: v1\nkind: [Pod\n", None, 1),
        ("bad.yaml", "---\nkind: A\n---\nkind: Pod\nkind: Node\n", Some(5), 2),
        ("bad.json", "{\"kind\": \"A\"}\n{\"kind\": }", Some(2), 2),
    ] {
        let found = manifests::parse(file, text);
        let problem =
            found.problems.iter().find(|problem| problem.document == document).expect(text);
        assert!(line.is_none_or(|line| problem.line == Some(line)), "{problem}");
        assert!(problem.line.is_some(), "{problem}");
        assert!(problem.to_string().starts_with(&format!("{file}:")), "{problem}");
    }
}

#[test]
fn one_bad_document_does_not_hide_the_others() {
    let found = manifests::parse("x.yaml", "kind: Pod\n---\n{unclosed\n---\napiVersion: v1\n");
    let documents: Vec<usize> = found.problems.iter().map(|problem| problem.document).collect();
    assert_eq!(documents, [1, 2, 3]);
}

#[test]
fn scalars_are_what_kubectl_takes_them_for() {
    let text = "
apiVersion: v1
kind: Pod
metadata:
  name: web
  creationTimestamp: null
  labels: {version: '1.0', on: 'yes'}
  annotations: {note: \"true\"}
spec:
  hostNetwork: true
  containers:
  - name: main
    image: app
    command: [sh, -c, |
      echo one
      echo two
    ]
    resources: {requests: {cpu: 0.5, memory: 1e3, example.com/gpu: 2}, limits: {example.com/gpu: 2}}
";
    let text =
        text.replace("[sh, -c, |\n      echo one\n      echo two\n    ]", "[sh, -c, 'echo one']");
    let mut c = TestCluster::new();
    c.load(&text);
    let requests = c.pod("web").spec.clone().unwrap().containers[0]
        .resources
        .clone()
        .unwrap()
        .requests
        .unwrap();
    assert_eq!(requests["cpu"].0, "0.5");
    assert_eq!(requests["example.com/gpu"].0, "2");
    assert_eq!(c.pod("web").metadata.labels.as_ref().unwrap()["version"], "1.0");
}

#[test]
fn unknown_kinds_are_named_once_and_left_out() {
    let text = "
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
# nothing but a comment
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: c}}
---
{apiVersion: v1, kind: Service, metadata: {name: d}}
";
    let found = manifests::parse("x.yaml", text);
    assert_eq!(found.unknown_kinds, ["v1 ConfigMap", "serving.knative.dev/v1 Service"]);
    assert_eq!(found.documents.len(), 1);
    assert_eq!(found.documents[0].document, 4, "empty ones do not count");
}

#[test]
fn lists_and_typed_lists_are_unfolded() {
    let list = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}]}"#;
    let typed =
        r#"{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "b"}}]}"#;
    let found = manifests::parse("x.json", &format!("{list}\n{typed}"));
    assert_eq!(found.problems, []);
    let names: Vec<_> =
        found.documents.iter().map(|d| (d.object.kind(), d.object.name())).collect();
    assert_eq!(names, [(Kind::Node, "a"), (Kind::Node, "b")]);
}

#[test]
fn folders_files_and_standard_input_are_read_in_order() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("manifests");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("sub")).unwrap();
    fs::write(folder.join("b.yml"), node("b")).unwrap();
    fs::write(folder.join("a.yaml"), node("a")).unwrap();
    fs::write(
        folder.join("sub/c.json"),
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"c"}}"#,
    )
    .unwrap();
    fs::write(folder.join("notes.txt"), "not a manifest").unwrap();
    let missing = folder.join("missing.yaml");
    let paths = [PathBuf::from("-"), folder.clone(), missing.clone()];
    let found: Manifests = manifests::read(&paths, &mut node("first").as_bytes());
    let names: Vec<_> = found.documents.iter().map(|d| d.object.name()).collect();
    assert_eq!(names, ["first", "a", "b", "c"]);
    assert_eq!(found.documents[0].file, "standard input");
    assert_eq!(found.problems.len(), 1);
    let said = found.problems[0].to_string();
    assert!(said.starts_with(&format!("{}: cannot read: ", missing.display())), "{said}");
}

#[test]
fn documents_of_our_own_groups_stay_text_at_their_place() {
    let yaml = "# a comment\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n--- \
                {kind: Scenario, apiVersion: sim.roadstead.dev/v1}\n---\napiVersion: roadstead.dev/v2\n\
                kind: Tide\n---\napiVersion: notroadstead.dev/v1\nkind: Other\n";
    let found = manifests::parse("mixed.yaml", yaml);
    assert_eq!(found.documents.len(), 1);
    assert_eq!(found.unknown_kinds, ["notroadstead.dev/v1 Other"]);
    let own: Vec<_> = found.own.iter().map(|d| (d.document, &*d.kind, &*d.text)).collect();
    assert_eq!(
        own,
        [
            (2, "Scenario", "\n\n\n\n    {kind: Scenario, apiVersion: sim.roadstead.dev/v1}\n"),
            (3, "Tide", "\n\n\n\n\n   \napiVersion: roadstead.dev/v2\nkind: Tide\n"),
        ]
    );

    let json = "{\"kind\": \"Namespace\", \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"a\"}}\n \
                {\"apiVersion\": \"sim.roadstead.dev/v1\", \"kind\": \"Scenario\"}";
    let found = manifests::parse("mixed.json", json);
    assert_eq!(found.documents.len(), 1);
    let [own] = &found.own[..] else { panic!("one document is our own: {:?}", found.own) };
    let (first, second) = json.split_once('\n').expect("it has two lines");
    assert_eq!(own.text, format!("{}\n{second}", " ".repeat(first.len())));
}
