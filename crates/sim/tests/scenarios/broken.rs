//! What is said of scenarios that are wrong: each message whole.

use std::io;

use roadstead_cluster::manifests;
use roadstead_sim::{Input, Scenario};

/// The files beside the scenario: one that is wrong, and no other.
fn beside(name: &str) -> io::Result<String> {
    match name {
        "wrong.yaml" => Ok("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {}\n".into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// A scenario with this in its spec.
fn spec(text: &str) -> String {
    let head = "apiVersion: sim.roadstead.dev/v1\nkind: Scenario\nmetadata: {name: test}\nspec:\n";
    format!("{head}{}\n", text.trim_matches('\n'))
}

fn whole(text: &str) -> String {
    format!("{}\n", text.trim_matches('\n'))
}

#[test]
fn a_broken_scenario_is_refused_with_line_field_reason_and_way_out() {
    #[rustfmt::skip]
    let rows: Vec<(&str, String, &str)> = vec![
        ("an unknown field", spec(r#"
  fleet: [{name: a, count: 1}]
"#), r#"
error: unknown field "spec.fleet"
 --> test.yaml:5:3
5 |   fleet: [{name: a, count: 1}]
  |   ^^^^^ did you mean `fleets`?
"#),
        ("a wrong type and a missing capacity", spec(r#"
  fleets:
  - name: a
    count: many
"#), r#"
error: spec.fleets[0].capacity: Required value: what each node has, such as {cpu: 4, memory: 16Gi}
 --> test.yaml:6:5
6 |   - name: a
  |     ^^^^^^^

error: spec.fleets[0].count: Invalid value: "many": must be an integer
 --> test.yaml:7:12
7 |     count: many
  |            ^^^^
"#),
        ("a negative time", spec(r#"
  timeline:
  - at: -5s
    cordon: {node: a-0}
"#), r#"
error: spec.timeline[0].at: Invalid value: -5s: must not be negative
 --> test.yaml:6:9
6 |   - at: -5s
  |         ^^^
"#),
        ("a duration without a unit", spec(r#"
  stop: {after: 30}
"#), r#"
error: spec.stop.after: Invalid value: 30: must be a duration such as "15s"
 --> test.yaml:5:17
5 |   stop: {after: 30}
  |                 ^^
"#),
        ("another version", whole(r#"
apiVersion: sim.roadstead.dev/v2
kind: Scenario
metadata: {name: test}
"#), r#"
error: apiVersion: Unsupported value: "sim.roadstead.dev/v2": expected "sim.roadstead.dev/v1"
 --> test.yaml:1:13
1 | apiVersion: sim.roadstead.dev/v2
  |             ^^^^^^^^^^^^^^^^^^^^ did you mean `sim.roadstead.dev/v1`?
"#),
        ("another kind", whole(r#"
apiVersion: sim.roadstead.dev/v1
kind: Scenery
metadata: {name: test}
"#), r#"
error: kind: Unsupported value: "Scenery": expected "Scenario"
 --> test.yaml:2:7
2 | kind: Scenery
  |       ^^^^^^^
"#),
        ("no name", whole(r#"
apiVersion: sim.roadstead.dev/v1
kind: Scenario
spec: {}
"#), r#"
error: metadata.name: Required value: a name for the scenario
 --> test.yaml:1:1
1 | apiVersion: sim.roadstead.dev/v1
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"#),
        ("two fleets of one name", spec(r#"
  fleets:
  - {name: a, count: 1, capacity: {cpu: 1}}
  - {name: a, count: 2, capacity: {cpu: 1}}
"#), r#"
error: spec.fleets[1].name: `a` is the name of spec.fleets[0] already
 --> test.yaml:7:12
7 |   - {name: a, count: 2, capacity: {cpu: 1}}
  |            ^
"#),
        ("no fleet at all", spec(r#"
  fleets:
  - {name: a, count: 0, capacity: {cpu: 1}}
"#), r#"
error: spec.fleets[0].count: Invalid value: 0: must be 1 or more
 --> test.yaml:6:22
6 |   - {name: a, count: 0, capacity: {cpu: 1}}
  |                      ^
"#),
        ("a capacity that is no quantity", spec(r#"
  fleets:
  - {name: a, count: 1, capacity: {cpu: 4x}}
"#), r#"
error: spec.fleets[0].capacity.cpu: `4x` is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
 --> test.yaml:6:41
6 |   - {name: a, count: 1, capacity: {cpu: 4x}}
  |                                         ^^
"#),
        ("a name that a node cannot have", spec(r#"
  fleets:
  - {name: Pier, count: 3, capacity: {cpu: 4}}
"#), r#"
error: spec.fleets[0].name: `Pier-2` is not a name: expected at most 253 lower case letters, digits, `-` and `.`, with a letter or digit at both ends of each part
 --> test.yaml:6:12
6 |   - {name: Pier, count: 3, capacity: {cpu: 4}}
  |            ^^^^
"#),
        ("an effect that there is not", spec(r#"
  fleets:
  - name: a
    count: 1
    capacity: {cpu: 4}
    taints: [{key: x, effect: NoRun}]
"#), r#"
error: spec.fleets[0].taints[0].effect: unsupported value `NoRun`, expected `NoSchedule`, `PreferNoSchedule`, `NoExecute`
 --> test.yaml:9:31
9 |     taints: [{key: x, effect: NoRun}]
  |                               ^^^^^
"#),
        ("a misspelt action", spec(r#"
  timeline:
  - at: 1m
    codron: {node: a-0}
"#), r#"
error: unknown field "spec.timeline[0].codron"
 --> test.yaml:7:5
7 |     codron: {node: a-0}
  |     ^^^^^^ did you mean `cordon`?
"#),
        ("no action", spec(r#"
  timeline:
  - at: 1m
"#), r#"
error: spec.timeline[0]: Required value: one of `apply`, `delete`, `scale`, `cordon`, `uncordon`, `drain`, `failNode`, `label`, `unlabel`, `taint`, `untaint`
 --> test.yaml:6:5
6 |   - at: 1m
  |     ^^^^^^
"#),
        ("two actions", spec(r#"
  timeline:
  - at: 1m
    cordon: {node: a-0}
    drain: {node: a-0}
"#), r#"
error: spec.timeline[0].drain: must not be given together with `cordon`
 --> test.yaml:8:5
8 |     drain: {node: a-0}
  |     ^^^^^
"#),
        ("no time", spec(r#"
  timeline:
  - drain: {node: a-0}
"#), r#"
error: spec.timeline[0].at: Required value: when it happens, from the start, such as 30s
 --> test.yaml:6:5
6 |   - drain: {node: a-0}
  |     ^^^^^^^^^^^^^^^^^^
"#),
        ("again for ever", spec(r#"
  timeline:
  - {at: 1s, every: 5s, drain: {node: a-0}}
"#), r#"
error: spec.timeline[0].every: needs `spec.stop.after`: nothing else ends the run
 --> test.yaml:6:21
6 |   - {at: 1s, every: 5s, drain: {node: a-0}}
  |                     ^^
"#),
        ("no node", spec(r#"
  timeline:
  - at: 1m
    failNode: {recoverAfter: 0s}
"#), r#"
error: spec.timeline[0].failNode: Required value: one of `node`, `nodes`, `selector`
 --> test.yaml:7:5
7 |     failNode: {recoverAfter: 0s}
  |     ^^^^^^^^

error: spec.timeline[0].failNode.recoverAfter: Invalid value: 0s: must be longer than no time
 --> test.yaml:7:30
7 |     failNode: {recoverAfter: 0s}
  |                              ^^
"#),
        ("a file that is not there", spec(r#"
  timeline:
  - at: 1m
    apply: {file: gone.yaml}
"#), r#"
error: spec.timeline[0].apply.file: Invalid value: "gone.yaml": cannot be read: entity not found; it is looked for beside the scenario
 --> test.yaml:7:19
7 |     apply: {file: gone.yaml}
  |                   ^^^^^^^^^
"#),
        ("a file that is wrong", spec(r#"
  timeline:
  - at: 1m
    apply:
      file: wrong.yaml
"#), r#"
error: spec.timeline[0].apply.file: wrong.yaml: document 1 (Pod web): spec.containers: required value
 --> test.yaml:8:13
8 |       file: wrong.yaml
  |             ^^^^^^^^^^
"#),
        ("an object of an unknown kind", spec(r#"
  timeline:
  - at: 1m
    apply:
      objects:
      - {apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}
"#), r#"
error: spec.timeline[0].apply.objects[0].kind: no cluster here keeps a `example.com/v1 Boat`
 --> test.yaml:9:44
9 |       - {apiVersion: example.com/v1, kind: Boat, metadata: {name: a}}
  |                                            ^^^^
"#),
        ("a broken object", spec(r#"
  timeline:
  - at: 1m
    apply:
      objects:
      - apiVersion: v1
        kind: Pod
        metadata: {name: web}
        spec:
          containers:
          - name: main
            resources: {requests: {cpu: lots}}
"#), r#"
error: spec.timeline[0].apply.objects[0].spec.containers[0].resources.requests.cpu: `lots` is not a quantity: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
  --> test.yaml:15:41
15 |             resources: {requests: {cpu: lots}}
   |                                         ^^^^
"#),
        ("a kind that cannot be scaled", spec(r#"
  timeline:
  - at: 1m
    scale: {kind: Deploymnt, name: web, replicas: -1}
"#), r#"
error: spec.timeline[0].scale.kind: Unsupported value: "Deploymnt": expected one of Deployment, ReplicaSet, StatefulSet, Job
 --> test.yaml:7:19
7 |     scale: {kind: Deploymnt, name: web, replicas: -1}
  |                   ^^^^^^^^^ did you mean `Deployment`?

error: spec.timeline[0].scale.replicas: Invalid value: -1: must not be negative
 --> test.yaml:7:51
7 |     scale: {kind: Deploymnt, name: web, replicas: -1}
  |                                                   ^^
"#),
        ("a kind that cannot be deleted", spec(r#"
  timeline:
  - at: 1m
    delete: {kind: Secret, name: a}
"#), r#"
error: spec.timeline[0].delete.kind: Unsupported value: "Secret": expected one of Namespace, PriorityClass, StorageClass, CSIDriver, Node, CSINode, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, VolumeAttachment, Service, PodDisruptionBudget, Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job, Pod, Lease, Event
 --> test.yaml:7:20
7 |     delete: {kind: Secret, name: a}
  |                    ^^^^^^
"#),
        ("a namespace of a node", spec(r#"
  timeline:
  - at: 1m
    delete: {kind: Node, name: a, namespace: b}
"#), r#"
error: spec.timeline[0].delete.namespace: Invalid value: "b": a Node has no namespace
 --> test.yaml:7:46
7 |     delete: {kind: Node, name: a, namespace: b}
  |                                              ^
"#),
        ("a workload without an end", spec(r#"
  workloads:
  - name: w
    arrivals: {constant: {rate: 1/s}}
"#), r#"
error: spec.workloads[0].count: Required value: how many pods come; or give `stop` or `spec.stop.after`, or they come for ever
 --> test.yaml:6:5
6 |   - name: w
  |     ^^^^^^^
"#),
        ("a workload without a number", spec(r#"
  workloads:
  - name: w
"#), r#"
error: spec.workloads[0].count: Required value: how many pods come; or give `arrivals`
 --> test.yaml:6:5
6 |   - name: w
  |     ^^^^^^^
"#),
        ("a rate that is none", spec(r#"
  workloads:
  - name: w
    count: 1
    arrivals: {poisson: {rate: 2/d}}
"#), r#"
error: spec.workloads[0].arrivals.poisson.rate: Invalid value: "2/d": must be a number above 0 and one of /s, /m and /h, such as "2/s"
 --> test.yaml:8:32
8 |     arrivals: {poisson: {rate: 2/d}}
  |                                ^^^
"#),
        ("two ways to arrive", spec(r#"
  workloads:
  - name: w
    count: 1
    arrivals: {poisson: {rate: 2/s}, constant: {rate: 2/s}}
"#), r#"
error: spec.workloads[0].arrivals.poisson: must not be given together with `constant`
 --> test.yaml:8:16
8 |     arrivals: {poisson: {rate: 2/s}, constant: {rate: 2/s}}
  |                ^^^^^^^
"#),
        ("a burst of nothing", spec(r#"
  workloads:
  - name: w
    count: 1
    arrivals: {burst: {size: 0}}
"#), r#"
error: spec.workloads[0].arrivals.burst.every: Required value: a time such as 1m
 --> test.yaml:8:16
8 |     arrivals: {burst: {size: 0}}
  |                ^^^^^

error: spec.workloads[0].arrivals.burst.size: Invalid value: 0: must be 1 or more
 --> test.yaml:8:30
8 |     arrivals: {burst: {size: 0}}
  |                              ^
"#),
        ("a stop before the start", spec(r#"
  workloads:
  - {name: w, start: 5m, stop: 1m, arrivals: {constant: {rate: 1/s}}}
"#), r#"
error: spec.workloads[0].stop: Invalid value: 60s: must be after the start at 300s
 --> test.yaml:6:32
6 |   - {name: w, start: 5m, stop: 1m, arrivals: {constant: {rate: 1/s}}}
  |                                ^^
"#),
        ("a template that is wrong", spec(r#"
  workloads:
  - name: w
    count: 1
    template:
      spec: {nodeSelectr: {a: b}}
"#), r#"
error: spec.workloads[0].template.spec.nodeSelectr: unknown field
 --> test.yaml:9:14
9 |       spec: {nodeSelectr: {a: b}}
  |              ^^^^^^^^^^^
"#),
        ("weights that are all zero", spec(r#"
  workloads:
  - name: w
    count: 1
    sizes:
    - {weight: 0, requests: {cpu: 1}}
"#), r#"
error: spec.workloads[0].sizes: one of the weights must be more than 0
 --> test.yaml:8:5
8 |     sizes:
  |     ^^^^^
"#),
        ("a range upside down", spec(r#"
  workloads:
  - name: w
    count: 1
    sizes:
    - {requests: {cpu: {min: 4, max: 2}, memory: -1Gi}}
"#), r#"
error: spec.workloads[0].sizes[0].requests.cpu.max: Invalid value: 2: must be at least the min of 4
 --> test.yaml:9:38
9 |     - {requests: {cpu: {min: 4, max: 2}, memory: -1Gi}}
  |                                      ^

error: spec.workloads[0].sizes[0].requests.memory: Invalid value: "-1Gi": must not be negative
 --> test.yaml:9:50
9 |     - {requests: {cpu: {min: 4, max: 2}, memory: -1Gi}}
  |                                                  ^^^^
"#),
        ("times that cannot be drawn", spec(r#"
  workloads:
  - name: w
    count: 1
    runs: {lognormal: {median: -1s, sigma: 11}}
"#), r#"
error: spec.workloads[0].runs.lognormal.median: Invalid value: -1s: must be longer than no time
 --> test.yaml:8:32
8 |     runs: {lognormal: {median: -1s, sigma: 11}}
  |                                ^^^

error: spec.workloads[0].runs.lognormal.sigma: Invalid value: 11.0: must be between 0 and 10
 --> test.yaml:8:44
8 |     runs: {lognormal: {median: -1s, sigma: 11}}
  |                                            ^^
"#),
        ("a distribution that there is not", spec(r#"
  workloads:
  - name: w
    count: 1
    runs: {exponentail: {mean: 1s}}
"#), r#"
error: unknown field "spec.workloads[0].runs.exponentail"
 --> test.yaml:8:12
8 |     runs: {exponentail: {mean: 1s}}
  |            ^^^^^^^^^^^ did you mean `exponential`?
"#),
        ("both ways to stop", spec(r#"
  stop: {after: 1m, atQuiet: true}
"#), r#"
error: spec.stop.atQuiet: must not be true when `after` is given
 --> test.yaml:5:30
5 |   stop: {after: 1m, atQuiet: true}
  |                              ^^^^
"#),
        ("a label that is none", spec(r#"
  timeline:
  - at: 1m
    label: {node: a, set: {disk: not valid}}
"#), r#"
error: spec.timeline[0].label.set.disk: `not valid` is not a label value
 --> test.yaml:7:34
7 |     label: {node: a, set: {disk: not valid}}
  |                                  ^^^^^^^^^
"#),
        ("everything at once", spec(r#"
  sed: 4
  fleets:
  - {name: a, count: -1, capacity: {cpu: 1}}
  workloads:
  - {name: w, count: 3, start: soon}
  timeline:
  - {at: 1m, uncordon: {}}
"#), r#"
error: unknown field "spec.sed"
 --> test.yaml:5:3
5 |   sed: 4
  |   ^^^ did you mean `seed`?

error: spec.fleets[0].count: Invalid value: -1: must be 1 or more
 --> test.yaml:7:22
7 |   - {name: a, count: -1, capacity: {cpu: 1}}
  |                      ^^

error: spec.workloads[0].start: Invalid value: "soon": time: invalid duration "soon"
 --> test.yaml:9:32
9 |   - {name: w, count: 3, start: soon}
  |                                ^^^^

error: spec.timeline[0].uncordon: Required value: one of `node`, `nodes`, `selector`
  --> test.yaml:11:14
11 |   - {at: 1m, uncordon: {}}
   |              ^^^^^^^^
"#),
    ];
    for (name, text, expected) in rows {
        let error = Scenario::read("test.yaml", &text, &beside).expect_err(name);
        assert_eq!(error.to_string(), expected.trim_matches('\n'), "{name}");
    }
}

#[test]
fn scenarios_among_manifests_keep_their_lines() {
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n\
                apiVersion: sim.roadstead.dev/v1\nkind: Scenario\nmetadata: {name: x}\nspec: {sed: 1}\n---\n\
                apiVersion: sim.roadstead.dev/v1\nkind: Scenary\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: 7}\n";
    let error = Input::sort_out(manifests::parse("mixed.yaml", text)).expect_err("it is wrong");
    assert_eq!(
        error.to_string(),
        "error: unknown field \"spec.sed\"\n --> mixed.yaml:8:8\n8 | spec: {sed: 1}\n  |        \
         ^^^ did you mean `seed`?\n\n\
         error: kind: Unsupported value: \"Scenary\": expected \"Scenario\"\n  --> mixed.yaml:11:7\n\
         11 | kind: Scenary\n   |       ^^^^^^^ did you mean `Scenario`?\n\n\
         error: mixed.yaml: document 4 (Pod b): spec.containers: invalid type: integer `7`, \
         expected a sequence"
    );
}

#[test]
fn two_scenarios_of_one_name_are_one_too_many() {
    let one = "apiVersion: sim.roadstead.dev/v1\nkind: Scenario\nmetadata: {name: x}\n";
    let mut both = manifests::parse("a.yaml", one);
    both.extend(manifests::parse("b.yaml", one));
    let error = Input::sort_out(both).expect_err("they are called the same");
    assert_eq!(
        error.to_string(),
        "error: metadata.name: `x` is the name of a scenario in a.yaml already\n --> b.yaml:3:18\n\
         3 | metadata: {name: x}\n  |                  ^"
    );
}
