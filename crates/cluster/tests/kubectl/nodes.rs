//! Cordon, drain, taint.

use crate::testing::{NODES, Server, bad, good};

const CREW: &str = "
kind: ReplicaSet
apiVersion: apps/v1
metadata: {name: crew}
spec:
  replicas: 2
  selector: {matchLabels: {app: crew}}
  template:
    metadata: {labels: {app: crew}}
    spec: {nodeName: pier, containers: [{name: main, image: crew}]}
---
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: agent}]}
---
kind: Pod
apiVersion: v1
metadata: {name: lone}
spec: {nodeName: quay, containers: [{name: main, image: app}]}
---
kind: Pod
apiVersion: v1
metadata: {name: guarded, labels: {app: guarded}}
spec: {nodeName: quay, containers: [{name: main, image: app}]}
---
kind: PodDisruptionBudget
apiVersion: policy/v1
metadata: {name: guard}
spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}
";

#[test]
fn nodes_are_cordoned_tainted_and_drained() {
    let Some(server) = Server::start("nodes", &format!("{NODES}{CREW}")) else { return };
    server.bind_daemons();
    server.check(&[
        good("wait --for=condition=Ready pod --all --timeout=30s", &["pod/guarded condition met"]),
        good("cordon pier", &["node/pier cordoned"]),
        good("cordon pier", &["node/pier already cordoned"]),
        good("get nodes", &["pier Ready,SchedulingDisabled"]),
        good("uncordon pier", &["node/pier uncordoned"]),
        good("taint nodes quay gpu=true:PreferNoSchedule", &["node/quay tainted"]),
        bad("taint nodes quay gpu=true:PreferNoSchedule", "", &["already has gpu"]),
        good("get node quay -o jsonpath={.spec.taints[*].key}", &["gpu"]),
        good("taint nodes quay gpu-", &["node/quay untainted"]),
        good("label node quay zone=a", &["node/quay labeled"]),
        // A pod that nobody would make again is not drained without saying so.
        bad("drain quay --ignore-daemonsets", "", &["declare no controller", "default/lone"]),
        bad(
            "drain quay --ignore-daemonsets --force --timeout=2s",
            "",
            &["Cannot evict pod as it would violate the pod's disruption budget"],
        ),
        bad("get pod lone", "", &["not found"]),
        good("get pod guarded", &["guarded 1/1 Running"]),
        good("delete pdb guard", &["deleted"]),
        good(
            "drain quay --ignore-daemonsets --force --timeout=30s",
            &["evicting pod default/guarded", "pod/guarded evicted", "node/quay drained"],
        ),
        good("get pods --field-selector=spec.nodeName=quay", &["agent-"]),
        bad("get pod guarded", "", &["not found"]),
    ]);
}
