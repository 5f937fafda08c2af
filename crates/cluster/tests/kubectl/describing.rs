//! `kubectl describe`: an object with what belongs to it.

use crate::testing::{NODES, Server, good};

const SHOP: &str = "
kind: Deployment
apiVersion: apps/v1
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      nodeName: pier
      containers: [{name: main, image: shop, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
---
kind: Pod
apiVersion: v1
metadata: {name: waiting, uid: 11111111-1111-4111-8111-111111111111}
spec: {containers: [{name: main, image: app}]}
---
kind: Event
apiVersion: events.k8s.io/v1
metadata: {name: waiting.1}
regarding: {kind: Pod, apiVersion: v1, name: waiting, namespace: default, uid: 11111111-1111-4111-8111-111111111111}
type: Warning
reason: FailedScheduling
action: Scheduling
note: no berth is free
reportingController: default-scheduler
reportingInstance: roadstead
eventTime: '2026-01-01T00:00:00.000000Z'
---
kind: Event
apiVersion: events.k8s.io/v1
metadata: {name: other.1}
regarding: {kind: Pod, apiVersion: v1, name: other, namespace: default}
type: Normal
reason: Elsewhere
action: Scheduling
note: of another pod
reportingController: default-scheduler
reportingInstance: roadstead
eventTime: '2026-01-01T00:00:00.000000Z'
";

#[test]
fn descriptions_have_what_belongs_to_the_object() {
    let Some(server) = Server::start("describing", &format!("{NODES}{SHOP}")) else { return };
    server.check(&[
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        good(
            "describe pod waiting",
            &[
                "Name: waiting",
                "Status: Pending",
                "Warning FailedScheduling",
                "default-scheduler no berth is free",
            ],
        ),
        good(
            "describe pods -l app=shop",
            &["Node: pier", "State: Running", "Ready: True", "Controlled By: ReplicaSet/shop-"],
        ),
        good(
            "describe node pier",
            &[
                "Name: pier",
                "Roles: worker",
                "Non-terminated Pods: (2 in total)",
                "cpu 1 (12%)",
                "memory 2Gi (12%)",
            ],
        ),
        good(
            "describe deployment shop",
            &[
                "Replicas: 2 desired | 2 updated | 2 total | 2 available | 0 unavailable",
                "Available True MinimumReplicasAvailable",
                "Progressing True NewReplicaSetAvailable",
                "NewReplicaSet: shop-",
            ],
        ),
        good("describe rs -l app=shop", &["Pods Status: 2 Running / 0 Waiting"]),
        good("describe ns default", &["Status: Active"]),
        good("describe pc system-node-critical", &["Value: 2000001000"]),
    ]);
    let described = server.kubectl("describe pod waiting", "").stdout;
    assert!(!described.contains("Elsewhere"), "an Event of another pod:\n{described}");
}
