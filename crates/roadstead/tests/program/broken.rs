//! Broken manifests, and the exact message for each.

use crate::testing::{folder, run_in, write};

#[test]
fn each_broken_manifest_has_its_message() {
    let folder = folder("broken");
    for (name, file, text, expected) in BROKEN {
        write(&folder, file, text);
        let said = run_in(&folder, &["sim", file]);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{name}");
        let expected: String = expected.lines().map(|line| format!("error: {line}\n")).collect();
        assert_eq!(said.err, expected, "{name}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let said = run_in(&folder("absent"), &["sim", "absent.yaml"]);
    assert_eq!(said.code, 1);
    assert!(said.err.starts_with("error: absent.yaml: cannot read: "), "{}", said.err);
}

#[test]
fn all_that_is_wrong_with_several_files_is_told_at_once() {
    let folder = folder("several");
    write(&folder, "a.yaml", "{apiVersion: v1, kind: Node, metadata: {name: A}}");
    write(&folder, "b.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {}}");
    write(&folder, "c.yaml", "{apiVersion: v1, kind: Node, metadata: {name: fine}}");
    let said = run_in(&folder, &["sim", "."]);
    assert_eq!(said.code, 1);
    let files: Vec<_> = said.err.lines().filter_map(|line| line.split(':').nth(1)).collect();
    assert_eq!(files, [" ./a.yaml", " ./b.yaml"], "{}", said.err);
}

/// What is wrong, the file, what is in it, and what is said of it line by line.
const BROKEN: &[(&str, &str, &str, &str)] = &[
    (
        "a tab for indentation",
        "it.yaml",
        "kind: Pod\n\tapiVersion: v1",
        "it.yaml:1: document 1: while scanning a plain scalar, found a tab at line 1, column 7",
    ),
    ("no kind", "it.yaml", "apiVersion: v1", "it.yaml: document 1: kind: required value"),
    (
        "no apiVersion",
        "it.yaml",
        "kind: Pod",
        "it.yaml: document 1 (Pod): apiVersion: required value",
    ),
    (
        "no object",
        "it.yaml",
        "just words",
        "it.yaml: document 1: expected an object with apiVersion and kind",
    ),
    (
        "a bare list",
        "it.yaml",
        "[1, 2]",
        "it.yaml: document 1: expected an object with apiVersion and kind",
    ),
    (
        "half a JSON",
        "it.json",
        r#"{"kind": "Pod","#,
        "it.json:1: document 1: EOF while parsing a value at line 1 column 15",
    ),
    (
        "a List without items",
        "it.yaml",
        "{apiVersion: v1, kind: List}",
        "it.yaml: document 1: items: required value: a list of objects",
    ),
    (
        "a misspelt field",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}], nodeNam: x}}",
        "it.yaml: document 1 (Pod a): spec.nodeNam: unknown field",
    ),
    (
        "words for a number",
        "it.yaml",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: three, selector: {}, template: {}}}",
        r#"it.yaml: document 1 (Deployment a): spec.replicas: invalid type: string "three", expected i32"#,
    ),
    (
        "no name",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {}, spec: {containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod): metadata.name: required value: a name or generateName",
    ),
    (
        "a name with capitals",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: Web_1}, spec: {containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod Web_1): metadata.name: `Web_1` is not a name: expected at most 253 lower case letters, digits, `-` and `.`, with a letter or digit at both ends of each part",
    ),
    (
        "no containers",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}",
        "it.yaml: document 1 (Pod a): spec.containers: required value",
    ),
    (
        "two containers of one name",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}, {name: c}]}}",
        "it.yaml: document 1 (Pod a): spec.containers[1].name: duplicate container `c`",
    ),
    (
        "no quantity",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: lots}}}]}}",
        "it.yaml: document 1 (Pod a): spec.containers[0].resources.requests.cpu: `lots` is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        "a negative request",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: -1}}}]}}",
        "it.yaml: document 1 (Pod a): spec.containers[0].resources.requests.cpu: must not be negative, got `-1`",
    ),
    (
        "a request above its limit",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}",
        "it.yaml: document 1 (Pod a): spec.containers[0].resources.requests.cpu: must be at most the limit `1`, got `2`",
    ),
    (
        "a priority class that is not there",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priorityClassName: vip, containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): no PriorityClass with name vip was found",
    ),
    (
        "a priority without a class",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 7, containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name",
    ),
    (
        "a toleration of everything that asks for a value",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {tolerations: [{operator: Equal}], containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): spec.tolerations[0].operator: must be `Exists` when there is no key",
    ),
    (
        "a toleration with an unknown operator",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {tolerations: [{key: a, operator: Sometimes}], containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): spec.tolerations[0].operator: unsupported value `Sometimes`, expected `Equal`, `Exists`, `Lt`, `Gt`",
    ),
    (
        "a spread without any skew",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}], containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): spec.topologySpreadConstraints[0].maxSkew: must be at least 1, got 0",
    ),
    (
        "pod affinity without a topology",
        "it.yaml",
        r#"{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: ""}]}}, containers: [{name: c}]}}"#,
        "it.yaml: document 1 (Pod a): spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: required value",
    ),
    (
        "node affinity with an unknown operator",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}, containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: unsupported value `Near`, expected `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`",
    ),
    (
        "a port that is none",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 70000}]}]}}",
        "it.yaml: document 1 (Pod a): spec.containers[0].ports[0].hostPort: must be 1 to 65535, got 70000",
    ),
    (
        "a run time that is none",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {roadstead.dev/run-seconds: soon}}, spec: {containers: [{name: c}]}}",
        "it.yaml: document 1 (Pod a): metadata.annotations.roadstead.dev/run-seconds: must be a number of seconds, got `soon`",
    ),
    (
        "a label key with a blank",
        "it.yaml",
        r#"{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {"a b": c}}, spec: {containers: [{name: c}]}}"#,
        "it.yaml: document 1 (Pod a): metadata.labels: `a b` is not a label key",
    ),
    (
        "the same pod twice",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}",
        r#"it.yaml: document 2 (Pod a): pods "default/a" already exists"#,
    ),
    (
        "a taint with an unknown effect",
        "it.yaml",
        "{apiVersion: v1, kind: Node, metadata: {name: a}, spec: {taints: [{key: a, effect: Never}]}}",
        "it.yaml: document 1 (Node a): spec.taints[0].effect: unsupported value `Never`, expected `NoSchedule`, `PreferNoSchedule`, `NoExecute`",
    ),
    (
        "a node with an amount that is none",
        "it.yaml",
        "{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {memory: 8GB}}}",
        "it.yaml: document 1 (Node a): status.capacity.memory: `8GB` is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\nit.yaml: document 1 (Node a): status.allocatable.memory: `8GB` is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        "a deployment that does not select its pods",
        "it.yaml",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c}]}}}}",
        "it.yaml: document 1 (Deployment a): spec.template.metadata.labels: are not what spec.selector selects",
    ),
    (
        "a negative number of replicas",
        "it.yaml",
        "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: -1, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}}}",
        "it.yaml: document 1 (Deployment a): spec.replicas: must be at least 0, got -1",
    ),
    (
        "a job whose pods never end",
        "it.yaml",
        "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c}]}}}}",
        "it.yaml: document 1 (Job a): spec.template.spec.restartPolicy: unsupported value `Always`, expected `OnFailure`, `Never`",
    ),
    (
        "a priority reserved for the system",
        "it.yaml",
        "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: top}, value: 2000000000}",
        "it.yaml: document 1 (PriorityClass top): value: must be at most 1000000000, got 2000000000",
    ),
    (
        "a budget that says two things",
        "it.yaml",
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: a}, spec: {minAvailable: 1, maxUnavailable: 1}}",
        "it.yaml: document 1 (PodDisruptionBudget a): spec: minAvailable and maxUnavailable cannot be both set",
    ),
    (
        "a file with nothing in it",
        "it.yaml",
        "# nothing",
        "nothing to schedule: it.yaml holds no objects and no scenario",
    ),
    (
        "the same key twice",
        "it.yaml",
        "{apiVersion: v1, kind: Pod, kind: Pod, metadata: {name: a}}",
        "it.yaml:1: document 1: duplicate field `kind`",
    ),
];
