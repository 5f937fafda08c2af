//! Clusters with a pod that waits, and the change that ends it.

use serde_json::{Value, json};

use super::super::merge;
use crate::testing;

/// A cluster, a pod that waits there, and the smallest change of it that would place it: in words,
/// and as a patch.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) cluster: Vec<Value>,
    pub(super) pod: Value,
    pub(super) changed: Option<(&'static str, Value)>,
}

pub(super) fn node(name: &str, amounts: &str) -> Value {
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": testing::amounts(&format!("pods=10 {amounts}"))},
    })
}

/// A pod that asks for so much.
pub(super) fn pod(asks: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"},
        "spec": {"containers": [testing::container(asks)]},
    })
}

/// A pod that runs there already.
pub(super) fn on(node: &str, name: &str, asks: &str, more: Value) -> Value {
    let own = json!({"metadata": {"name": name, "uid": format!("uid-{name}")}, "spec": {"nodeName": node}});
    with(with(pod(asks), own), more)
}

pub(super) fn with(mut api: Value, more: Value) -> Value {
    merge(&mut api, more);
    api
}

pub(super) fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

pub(super) fn labels(labels: Value) -> Value {
    json!({"metadata": {"labels": labels}})
}

fn asks(amounts: &str) -> Value {
    spec(json!({"containers": [testing::container(amounts)]}))
}

fn tainted(name: &str, taints: Value) -> Value {
    with(node(name, "cpu=4"), spec(json!({"taints": taints})))
}

fn zoned(name: &str, zone: &str) -> Value {
    with(node(name, "cpu=4"), labels(json!({ZONE: zone})))
}

fn tolerates(key: &str, value: &str) -> Value {
    spec(json!({"tolerations": [{"key": key, "value": value, "effect": "NoSchedule"}]}))
}

fn affinity(kind: &str, terms: Value) -> Value {
    spec(json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}))
}

fn node_affinity(terms: Value) -> Value {
    affinity("nodeAffinity", json!({ "nodeSelectorTerms": terms }))
}

fn near(app: &str, key: &str) -> Value {
    json!({"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key})
}

fn spread(skew: i32, key: &str, action: &str) -> Value {
    spec(json!({"topologySpreadConstraints": [{"maxSkew": skew, "topologyKey": key,
        "whenUnsatisfiable": action, "labelSelector": {"matchLabels": {"app": "web"}}}]}))
}

pub(super) fn app(app: &str) -> Value {
    labels(json!({ "app": app }))
}

fn port(number: i32) -> Value {
    spec(
        json!({"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": number}]}]}),
    )
}

/// Two host ports.
fn ports() -> Value {
    let ports = [8080, 8081].map(|port| json!({"containerPort": port, "hostPort": port}));
    spec(json!({"containers": [{"name": "main", "ports": ports}]}))
}

/// A spread over at least two zones.
fn domains(skew: i32) -> Value {
    let mut constraint = spread(skew, ZONE, "DoNotSchedule");
    constraint["spec"]["topologySpreadConstraints"][0]["minDomains"] = 2.into();
    constraint
}

pub(super) fn uses(claim: &str) -> Value {
    spec(json!({"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}))
}

pub(super) fn claim(name: &str, more: Value) -> Value {
    let api = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Pending"}});
    with(api, more)
}

pub(super) fn bound_claim(name: &str, volume: &str) -> Value {
    let bound = json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": volume}, "status": {"phase": "Bound"}});
    claim(name, bound)
}

pub(super) fn volume(name: &str, claim: &str, more: Value) -> Value {
    let api = json!({"kind": "PersistentVolume", "metadata": {"name": name},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                 "claimRef": {"name": claim, "namespace": "default", "uid": claim}},
        "status": {"phase": "Bound"}});
    with(api, more)
}

pub(super) fn class(mode: &str) -> Value {
    json!({"kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": mode})
}

fn no_volumes() -> Value {
    spec(json!({ "volumes": null }))
}

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const HOST: &str = "kubernetes.io/hostname";

#[rustfmt::skip]
pub(super) fn all() -> Vec<Case> {
    let case = |name, cluster, pod, changed| Case { name, cluster, pod, changed };
    let pod_with = |asks: &str, more: Value| with(pod(asks), more);
    vec![
        case("too little cpu", vec![node("n1", "cpu=1"), node("n2", "cpu=700m")],
            pod("cpu=1300m"), Some(("it asked 300m less cpu", asks("cpu=1")))),
        case("too little memory", vec![node("n1", "cpu=4 memory=3Gi"), on("n1", "db", "memory=2Gi", json!({}))],
            pod("cpu=1 memory=2Gi"), Some(("it asked 1Gi less memory", asks("cpu=1 memory=1Gi")))),
        case("too little of two resources", vec![node("n1", "cpu=1 memory=1Gi")],
            pod("cpu=2 memory=2Gi"), None),
        case("no such resource", vec![node("n1", "cpu=4")],
            pod("cpu=1 gpu=1"), Some(("it asked for no example.com/gpu", asks("cpu=1")))),
        case("too little ephemeral storage", vec![node("n1", "cpu=4 ephemeral-storage=10Gi")],
            pod("ephemeral-storage=12Gi"), Some(("it asked 2Gi less ephemeral-storage", asks("ephemeral-storage=10Gi")))),
        case("too many pods", vec![with(node("n1", "cpu=4"), json!({"status": {"allocatable": {"pods": "1"}}})), on("n1", "db", "", json!({}))],
            pod("cpu=1"), None),
        case("a taint", vec![tainted("n1", json!([{"key": "gpu", "value": "true", "effect": "NoSchedule"}]))],
            pod("cpu=1"), Some(("it tolerated gpu=true:NoSchedule", tolerates("gpu", "true")))),
        case("two taints on one node", vec![tainted("n1", json!([{"key": "gpu", "value": "true", "effect": "NoSchedule"}, {"key": "old", "effect": "NoExecute"}]))],
            pod("cpu=1"), None),
        case("a taint here, too little there", vec![tainted("n1", json!([{"key": "gpu", "value": "true", "effect": "NoSchedule"}])), node("n2", "cpu=1")],
            pod("cpu=2"), Some(("it tolerated gpu=true:NoSchedule", tolerates("gpu", "true")))),
        case("a cordoned node", vec![with(node("n1", "cpu=4"), spec(json!({"unschedulable": true})))],
            pod("cpu=1"), Some(("it tolerated node.kubernetes.io/unschedulable:NoSchedule", spec(json!({"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]}))))),
        case("a node selector", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"nodeSelector": {"disktype": "ssd"}}))), Some(("it did not select nodes by disktype=ssd", spec(json!({"nodeSelector": null}))))),
        case("a node selector of two labels", vec![with(node("n1", "cpu=4"), labels(json!({"disktype": "ssd"})))],
            pod_with("cpu=1", spec(json!({"nodeSelector": {"disktype": "ssd", "arch": "arm64"}}))), Some(("it did not select nodes by arch=arm64", spec(json!({"nodeSelector": {"arch": null}}))))),
        case("node affinity", vec![zoned("n1", "a")],
            pod_with("cpu=1", node_affinity(json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b", "c"]}]}]))), Some(("it had no required node affinity", spec(json!({"affinity": null}))))),
        case("one condition of a node affinity", vec![zoned("n1", "a")],
            pod_with("cpu=1", node_affinity(json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}, {"key": "disktype", "operator": "Exists"}]}]))),
            Some(("its node affinity did not ask for disktype", node_affinity(json!([{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}]))))),
        case("a node of that name", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", node_affinity(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]}]))), Some(("it had no required node affinity", spec(json!({"affinity": null}))))),
        case("a gate", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"schedulingGates": [{"name": "example.com/quota"}]}))), Some(("gate example.com/quota were removed", spec(json!({"schedulingGates": null}))))),
        case("two gates", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"schedulingGates": [{"name": "example.com/quota"}, {"name": "example.com/review"}]}))), Some(("gates example.com/quota and example.com/review were removed", spec(json!({"schedulingGates": null}))))),
        case("a gate, and no room behind it", vec![node("n1", "cpu=1")],
            pod_with("cpu=2", spec(json!({"schedulingGates": [{"name": "example.com/quota"}]}))), None),
        case("a host port that is taken", vec![node("n1", "cpu=4"), on("n1", "db", "", port(8080))],
            pod_with("", port(8080)), Some(("it did not take host port 8080/TCP", spec(json!({"containers": [{"name": "main"}]}))))),
        case("nobody to be near", vec![zoned("n1", "a"), zoned("n2", "b")],
            pod_with("cpu=1", affinity("podAffinity", json!([near("db", ZONE)]))), Some(("it did not ask for a pod labelled app=db near by topology.kubernetes.io/zone", spec(json!({"affinity": null}))))),
        case("company where there is no room", vec![with(node("n1", "cpu=1"), labels(json!({ZONE: "a"}))), on("n1", "db", "cpu=1", app("db")), zoned("n2", "b")],
            pod_with("cpu=1", affinity("podAffinity", json!([near("db", ZONE)]))), Some(("it asked for no cpu", spec(json!({"containers": [{"name": "main", "resources": null}]}))))),
        case("unwanted company", vec![node("n1", "cpu=4"), on("n1", "db", "", app("db"))],
            pod_with("cpu=1", affinity("podAntiAffinity", json!([near("db", HOST)]))), Some(("it did not keep away from pods labelled app=db by kubernetes.io/hostname", spec(json!({"affinity": null}))))),
        case("kept away by others", vec![node("n1", "cpu=4"), on("n1", "db", "", affinity("podAntiAffinity", json!([near("web", HOST)])))],
            pod_with("cpu=1", app("web")), Some(("it were not labelled app=web", labels(json!({"app": null}))))),
        case("spread too unevenly", vec![zoned("n1", "a"), tainted("n2", json!([{"key": "x", "effect": "NoSchedule"}])), with(tainted("n3", json!([{"key": "x", "effect": "NoSchedule"}])), labels(json!({ZONE: "b"}))), on("n1", "w1", "", app("web"))],
            with(pod_with("cpu=1", app("web")), spread(1, ZONE, "DoNotSchedule")), Some(("it tolerated x:NoSchedule", tolerates("x", "")))),
        case("spread that a little more skew allows", vec![zoned("n1", "a"), with(node("n2", ""), labels(json!({ZONE: "b"}))), on("n1", "w1", "", app("web")), on("n1", "w2", "", app("web"))],
            with(pod_with("cpu=1", app("web")), spread(1, ZONE, "DoNotSchedule")), Some(("it allowed a skew of 3 over topology.kubernetes.io/zone", spread(3, ZONE, "DoNotSchedule")))),
        case("no node has the label to spread over", vec![node("n1", "cpu=4")],
            with(pod_with("cpu=1", app("web")), spread(1, "rack", "DoNotSchedule")), Some(("it were scheduled anyway where it spreads badly over rack", spread(1, "rack", "ScheduleAnyway")))),
        case("no such claim", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a claim that is not bound", vec![node("n1", "cpu=4"), class("Immediate"), claim("data", json!({}))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a volume that is elsewhere", vec![node("n1", "cpu=4"), class("Immediate"), bound_claim("data", "pv"),
                volume("pv", "data", spec(json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": HOST, "operator": "In", "values": ["n9"]}]}]}}})))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("no volume to bind", vec![node("n1", "cpu=4"), class("WaitForFirstConsumer"), claim("data", json!({}))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a volume in another zone", vec![zoned("n1", "a"), class("Immediate"), bound_claim("data", "pv"), volume("pv", "data", labels(json!({ZONE: "b"})))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a claim for one pod only", vec![node("n1", "cpu=4"), class("Immediate"), with(bound_claim("data", "pv"), spec(json!({"accessModes": ["ReadWriteOncePod"]}))), volume("pv", "data", json!({})), on("n1", "db", "", uses("data"))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a disk that is in use", vec![node("n1", "cpu=4"), on("n1", "db", "", spec(json!({"volumes": [{"name": "d", "iscsi": {"iqn": "iqn.2024:disk", "lun": 0, "targetPortal": "t"}}]})))],
            pod_with("cpu=1", spec(json!({"volumes": [{"name": "d", "iscsi": {"iqn": "iqn.2024:disk", "lun": 0, "targetPortal": "t"}}]}))), Some(("it did not use disk iqn.2024:disk", no_volumes()))),
        case("too many volumes attached", vec![node("n1", "cpu=4"),
                json!({"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n1", "allocatable": {"count": 0}}]}}),
                class("Immediate"), bound_claim("data", "pv"), volume("pv", "data", spec(json!({"csi": {"driver": "csi.example.com", "volumeHandle": "h"}})))],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a feature that no node declares", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"hostNetwork": true, "hostUsers": false}))), Some(("it did not need UserNamespacesHostNetworkSupport", spec(json!({"hostUsers": true}))))),
        case("a resource claim", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-0"}]}))), Some(("it did not use resource claim gpu", spec(json!({"resourceClaims": null}))))),
        case("an extended resource from devices", vec![node("n1", "cpu=4"), json!({"kind": "DeviceClass", "metadata": {"name": "gpus"}, "spec": {"extendedResourceName": "example.com/gpu"}})],
            pod("cpu=1 gpu=1"), Some(("it asked for no example.com/gpu", asks("cpu=1")))),
        case("nodes that are short of different things", vec![node("n1", "cpu=1 memory=4Gi"), node("n2", "cpu=4 memory=1Gi")],
            pod("cpu=2 memory=2Gi"), Some(("it asked 1 less cpu", asks("cpu=1 memory=2Gi")))),
        case("a full node that is short of cpu too", vec![with(node("n1", "cpu=1"), json!({"status": {"allocatable": {"pods": "1"}}})), on("n1", "db", "", json!({}))],
            pod("cpu=2"), None),
        case("a node selector that is wrong in both labels", vec![node("n1", "cpu=4")],
            pod_with("cpu=1", spec(json!({"nodeSelector": {"disktype": "ssd", "arch": "arm64"}}))), Some(("it had no node selector", spec(json!({"nodeSelector": null}))))),
        case("two host ports that are taken", vec![node("n1", "cpu=4"), on("n1", "db", "", ports())],
            pod_with("", ports()), None),
        case("kept away by others on each node", vec![node("n1", "cpu=4"), node("n2", "cpu=4"), on("n1", "db", "", affinity("podAntiAffinity", json!([near("web", HOST)]))), on("n2", "mail", "", affinity("podAntiAffinity", json!([near("web", HOST)])))],
            pod_with("cpu=1", app("web")), Some(("it were not labelled app=web", labels(json!({"app": null}))))),
        case("unwanted company that keeps it away as well", vec![node("n1", "cpu=4"), on("n1", "db", "", with(app("db"), affinity("podAntiAffinity", json!([near("web", HOST)]))))],
            with(pod_with("cpu=1", app("web")), affinity("podAntiAffinity", json!([near("db", HOST)]))), None),
        case("company by two labels", vec![zoned("n1", "a")],
            pod_with("cpu=1", affinity("podAffinity", json!([near("db", HOST), near("db", ZONE)]))), None),
        case("a spread that is far off", [zoned("n1", "a"), with(node("n2", ""), labels(json!({ZONE: "b"})))].into_iter().chain((0..6).map(|number| on("n1", &format!("w{number}"), "", app("web")))).collect(),
            with(pod_with("cpu=1", app("web")), spread(1, ZONE, "DoNotSchedule")), Some(("it allowed a skew of 7 over topology.kubernetes.io/zone", spread(7, ZONE, "DoNotSchedule")))),
        case("fewer domains than asked for", vec![zoned("n1", "a"), on("n1", "w1", "", app("web"))],
            with(pod_with("cpu=1", app("web")), domains(1)), Some(("it allowed a skew of 2 over topology.kubernetes.io/zone", domains(2)))),
        case("a claim whose volume is gone", vec![node("n1", "cpu=4"), class("Immediate"), bound_claim("data", "pv")],
            pod_with("cpu=1", uses("data")), Some(("it did not use claim data", no_volumes()))),
        case("a gate, and no nodes", vec![],
            pod_with("cpu=1", spec(json!({"schedulingGates": [{"name": "example.com/quota"}]}))), None),
        case("no nodes at all", vec![], pod("cpu=1"), None),
        case("another scheduler", vec![node("n1", "cpu=4")], pod_with("", spec(json!({"schedulerName": "another"}))), None),
    ]
}
