//! `kubectl get`: every kind, as an API server prints it.

use crate::testing::{NODES, Server, bad, good};

const HARBOUR: &str = "
{kind: Namespace, apiVersion: v1, metadata: {name: dock}}
---
{kind: PriorityClass, apiVersion: scheduling.k8s.io/v1, metadata: {name: urgent}, value: 1000}
---
kind: StorageClass
apiVersion: storage.k8s.io/v1
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
---
{kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: disk.example.com}, spec: {}}
---
kind: CSINode
apiVersion: storage.k8s.io/v1
metadata: {name: pier}
spec: {drivers: [{name: disk.example.com, nodeID: pier}]}
---
kind: PersistentVolume
apiVersion: v1
metadata: {name: hold}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: slow
  csi: {driver: disk.example.com, volumeHandle: hold}
---
kind: PersistentVolumeClaim
apiVersion: v1
metadata: {name: goods}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources: {requests: {storage: 1Gi}}
---
kind: Service
apiVersion: v1
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80}, {port: 443, nodePort: 30443}]}
---
kind: PodDisruptionBudget
apiVersion: policy/v1
metadata: {name: keep}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
kind: Deployment
apiVersion: apps/v1
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeName: pier, containers: [{name: main, image: nginx}, {name: log, image: fluent}]}
---
kind: StatefulSet
apiVersion: apps/v1
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {nodeName: quay, containers: [{name: main, image: postgres}]}
---
kind: DaemonSet
apiVersion: apps/v1
metadata: {name: agent, namespace: dock}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: agent}]}
---
kind: Job
apiVersion: batch/v1
metadata: {name: count}
spec:
  completions: 1
  template:
    metadata: {annotations: {roadstead.dev/run-seconds: '0'}}
    spec: {nodeName: pier, restartPolicy: Never, containers: [{name: main, image: perl}]}
---
kind: ReplicationController
apiVersion: v1
metadata: {name: old}
spec:
  replicas: 0
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: main, image: old}]}
---
kind: Pod
apiVersion: v1
metadata: {name: gated, labels: {tier: back}}
spec: {schedulingGates: [{name: example.com/quota}], containers: [{name: main, image: app}]}
---
kind: Lease
apiVersion: coordination.k8s.io/v1
metadata: {name: scheduler, namespace: kube-system}
spec: {holderIdentity: somebody}
---
kind: Event
apiVersion: events.k8s.io/v1
metadata: {name: gated.1}
regarding: {kind: Pod, apiVersion: v1, name: gated, namespace: default}
type: Warning
reason: FailedScheduling
action: Scheduling
note: no berth is free
reportingController: default-scheduler
reportingInstance: roadstead
eventTime: '2026-01-01T00:00:00.000000Z'
";

#[test]
fn every_kind_has_the_columns_of_an_api_server() {
    let Some(server) = Server::start("tables", &format!("{NODES}{HARBOUR}")) else { return };
    server.bind_daemons();
    server.check(&[
        good(
            "wait --for=condition=complete job/count --timeout=30s",
            &["job.batch/count condition met"],
        ),
        good("wait --for=condition=available deploy/web --timeout=30s", &["condition met"]),
        good("wait --for=condition=Ready pod/db-0 --timeout=30s", &["pod/db-0 condition met"]),
        good(
            "wait --for=jsonpath={.status.numberReady}=2 ds/agent -n dock --timeout=30s",
            &["met"],
        ),
        good("get pods", &["NAME READY STATUS RESTARTS AGE", "db-0 1/1 Running 0"]),
        good("get pods -l app=web", &["2/2 Running 0"]),
        good("get pods gated", &["gated 0/1 SchedulingGated 0"]),
        good("get pods -l job-name=count", &["0/1 Completed 0"]),
        good(
            "get pods -o wide",
            &["AGE IP NODE NOMINATED NODE READINESS GATES", "<none> quay <none> <none>"],
        ),
        good("get pods -A", &["NAMESPACE NAME READY STATUS", "dock agent-", "default db-0 1/1"]),
        good("get pods --field-selector=spec.nodeName=quay", &["db-0"]),
        good(
            "get pods --no-headers -o custom-columns=N:.metadata.name,S:.status.phase",
            &["db-0 Running"],
        ),
        good(
            "get nodes",
            &["NAME STATUS ROLES AGE VERSION", "pier Ready worker", "v1.36.4", "quay Ready <none>"],
        ),
        good(
            "get nodes -o wide",
            &[
                "INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME",
                "10.0.0.1 <none> Linux 6.1 (amd64) fake://1",
                "<none> <none> <unknown> <unknown> <unknown>",
            ],
        ),
        good("get deploy", &["NAME READY UP-TO-DATE AVAILABLE AGE", "web 2/2 2 2"]),
        good(
            "get deploy -o wide",
            &["CONTAINERS IMAGES SELECTOR", "main,log nginx,fluent app=web"],
        ),
        good("get rs", &["NAME DESIRED CURRENT READY AGE", " 2 2 2 "]),
        good("get rc", &["NAME DESIRED CURRENT READY AGE", "old 0 0 0"]),
        good("get sts", &["NAME READY AGE", "db 1/1"]),
        good("get sts -o wide", &["main postgres"]),
        good(
            "get ds -n dock",
            &[
                "NAME DESIRED CURRENT READY UP-TO-DATE AVAILABLE NODE SELECTOR AGE",
                "agent 2 2 2 2 2 <none>",
            ],
        ),
        good("get jobs", &["NAME STATUS COMPLETIONS DURATION AGE", "count Complete 1/1"]),
        good(
            "get svc -o wide",
            &[
                "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE SELECTOR",
                "front ClusterIP <none> <none> 80/TCP,443:30443/TCP",
                "app=web",
            ],
        ),
        good(
            "get pvc",
            &[
                "NAME STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS VOLUMEATTRIBUTESCLASS AGE",
                "goods Pending",
                "fast <unset>",
            ],
        ),
        good(
            "get pv",
            &[
                "NAME CAPACITY ACCESS MODES RECLAIM POLICY STATUS CLAIM STORAGECLASS \
                 VOLUMEATTRIBUTESCLASS REASON AGE",
                "hold 5Gi RWO,ROX Retain Available slow <unset>",
            ],
        ),
        good(
            "get sc",
            &[
                "NAME PROVISIONER RECLAIMPOLICY VOLUMEBINDINGMODE ALLOWVOLUMEEXPANSION AGE",
                "fast (default) disk.example.com Delete WaitForFirstConsumer false",
            ],
        ),
        good("get csidrivers", &["disk.example.com true false false <unset> false <none>"]),
        good("get csinodes", &["NAME DRIVERS AGE", "pier 1"]),
        good("get volumeattachments", &["No resources found"]),
        good("get csistoragecapacities", &["No resources found in default namespace."]),
        good(
            "get pdb",
            &["NAME MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE", "keep 1 N/A 1"],
        ),
        good(
            "get pc",
            &[
                "NAME VALUE GLOBAL-DEFAULT AGE PREEMPTIONPOLICY",
                "urgent 1000 false",
                "system-node-critical 2000001000 false",
                "PreemptLowerPriority",
            ],
        ),
        good("get ns", &["NAME STATUS AGE", "dock Active"]),
        good("get leases -n kube-system", &["NAME HOLDER AGE", "scheduler somebody"]),
        good(
            "get events",
            &[
                "LAST SEEN TYPE REASON OBJECT MESSAGE",
                "Warning FailedScheduling pod/gated no berth is free",
            ],
        ),
        good(
            "get events.events.k8s.io -o wide",
            &[
                "SUBOBJECT SOURCE MESSAGE FIRST SEEN COUNT NAME",
                "default-scheduler, roadstead",
                "1 gated.1",
            ],
        ),
        good("events --for=pod/gated", &["FailedScheduling", "Pod/gated no berth is free"]),
        good(
            "get all",
            &[
                "pod/db-0",
                "service/front",
                "deployment.apps/web",
                "job.batch/count",
                "statefulset.apps/db",
            ],
        ),
        good("get deploy,sts", &["deployment.apps/web", "statefulset.apps/db"]),
        good("get pods,nodes --show-labels", &["tier=back", "kubernetes.io/hostname=pier"]),
    ]);
}

#[test]
fn objects_come_as_documents_names_and_in_order() {
    let Some(server) = Server::start("documents", &format!("{NODES}{HARBOUR}")) else { return };
    server.check(&[
        good("get pod gated -o yaml", &["apiVersion: v1", "kind: Pod", "name: gated"]),
        good("get pods -o json", &["\"kind\": \"List\"", "\"apiVersion\": \"v1\""]),
        good("get nodes -o name", &["node/pier node/quay"]),
        good("get nodes --sort-by=.metadata.name", &["NAME STATUS ROLES AGE VERSION", "pier"]),
        good("get pc --sort-by=.value --no-headers", &["urgent 1000 false"]),
        good(
            "get event gated.1 -o yaml",
            &["apiVersion: v1", "involvedObject:", "message: no berth"],
        ),
        good("get event.v1.events.k8s.io gated.1 -o yaml", &["regarding:", "note: no berth"]),
        good("get nodes -o jsonpath={.items[*].metadata.name}", &["pier quay"]),
        good("get pods --chunk-size=1 -A", &["agent-", "gated"]),
        bad("get pod nobody", "", &["Error from server (NotFound): pods \"nobody\" not found"]),
        bad("get pods --field-selector=spec.colour=red", "", &["field label not supported"]),
    ]);
    let sorted = server.kubectl("get pc --sort-by=.value --no-headers", "").stdout;
    let names: Vec<&str> = sorted.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["urgent", "system-cluster-critical", "system-node-critical"]);
}
