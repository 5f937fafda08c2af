//! Which pods are of one class.

use roadstead_model::{Pod, World};
use serde_json::{Value, json};

/// A pod with something in every field that could matter.
fn full_pod() -> Value {
    json!({
        "metadata": {
            "name": "web-0", "namespace": "default", "uid": "uid-0", "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2024-01-08T10:00:00Z",
            "labels": {"app": "web", "rev": "1"}, "annotations": {"note": "first"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-rs", "controller": true}]
        },
        "spec": {
            "schedulerName": "default-scheduler", "priority": 5, "preemptionPolicy": "PreemptLowerPriority",
            "nodeSelector": {"disk": "ssd"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]}
            },
            "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                           "labelSelector": {"matchLabels": {"app": "web"}}}],
            "containers": [{"name": "main", "image": "web:1", "command": ["serve"],
                            "env": [{"name": "A", "value": "1"}],
                            "ports": [{"containerPort": 80, "hostPort": 8080}],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}}],
            "overhead": {"cpu": "10m"},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp", "emptyDir": {}}],
            "schedulingGates": [{"name": "gate"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu-0"}],
            "hostNetwork": true, "hostUsers": false,
            "schedulingGroup": {"podGroupName": "group"}
        },
        "status": {"phase": "Pending"}
    })
}

fn pod(world: &mut World, api: &Value) -> Pod {
    Pod::from_api(&serde_json::from_value(api.clone()).expect("an API pod"), world).expect("a pod")
}

/// The full pod with one field changed.
fn changed(path: &str, value: &Value) -> Value {
    let mut api = full_pod();
    let (parent, field) = path.rsplit_once('/').expect("a path");
    let parent = if parent.is_empty() { &mut api } else { api.pointer_mut(parent).expect(path) };
    match (parent, field.parse::<usize>()) {
        (Value::Array(list), Ok(index)) if index == list.len() => list.push(value.clone()),
        (Value::Array(list), Ok(index)) => list[index] = value.clone(),
        (parent, _) => parent[field] = value.clone(),
    }
    api
}

#[test]
fn fields_that_matter_make_another_class() {
    let rows = [
        ("/metadata/namespace", json!("other")),
        ("/metadata/labels/rev", json!("2")),
        ("/metadata/ownerReferences/0/name", json!("web2")),
        ("/metadata/ownerReferences/0/kind", json!("StatefulSet")),
        ("/metadata/ownerReferences/0/controller", json!(false)),
        ("/spec/schedulerName", json!("other")),
        ("/spec/priority", json!(6)),
        ("/spec/preemptionPolicy", json!("Never")),
        ("/spec/nodeSelector/disk", json!("hdd")),
        (
            "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchExpressions/0/key",
            json!("tpu"),
        ),
        (
            "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight",
            json!(2),
        ),
        (
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/topologyKey",
            json!("rack"),
        ),
        (
            "/spec/affinity/podAffinity",
            json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}),
        ),
        ("/spec/tolerations/0/effect", json!("NoExecute")),
        ("/spec/tolerations/1", json!({"key": "more"})),
        ("/spec/topologySpreadConstraints/0/maxSkew", json!(2)),
        ("/spec/topologySpreadConstraints/0/matchLabelKeys", json!(["rev"])),
        ("/spec/topologySpreadConstraints/0/nodeTaintsPolicy", json!("Honor")),
        ("/spec/containers/0/image", json!("web:2")),
        ("/spec/containers/0/ports/0/hostPort", json!(8081)),
        ("/spec/containers/0/ports/0/protocol", json!("UDP")),
        ("/spec/containers/0/resources/requests/cpu", json!("2")),
        ("/spec/containers/0/resources/requests/example.com~1gpu", json!("1")),
        ("/spec/containers/0/resources/limits/example.com~1gpu", json!("1")),
        ("/spec/containers/0/resources/limits/cpu", json!("3")),
        ("/spec/containers/0/restartPolicyRules", json!([{"action": "RestartAllContainers"}])),
        (
            "/spec/initContainers",
            json!([{"name": "side", "image": "side:1", "restartPolicy": "Always"}]),
        ),
        ("/spec/resources", json!({"requests": {"cpu": "3"}})),
        ("/spec/overhead/cpu", json!("20m")),
        ("/spec/volumes/0/persistentVolumeClaim/claimName", json!("other")),
        ("/spec/volumes/2", json!({"name": "disk", "gcePersistentDisk": {"pdName": "d"}})),
        ("/spec/volumes/2", json!({"name": "scratch", "ephemeral": {}})),
        ("/spec/volumes/2", json!({"name": "model", "image": {"reference": "model:1"}})),
        ("/spec/schedulingGates/0/name", json!("other")),
        ("/spec/resourceClaims/0/resourceClaimName", json!("gpu-1")),
        ("/spec/hostUsers", json!(true)),
        ("/spec/schedulingGroup/podGroupName", json!("other")),
    ];
    let mut world = World::new();
    let plain = pod(&mut world, &full_pod());
    for (path, value) in rows {
        // `~1` is a slash in a JSON pointer's last part, which is a plain key here.
        let path = path.replace("example.com~1gpu", "example.com|gpu");
        let text = changed(&path, &value).to_string().replace("example.com|gpu", "example.com/gpu");
        let other = pod(&mut world, &serde_json::from_str(&text).expect("JSON"));
        assert_ne!(other.class.id(), plain.class.id(), "{path} = {value}");
        assert_ne!(other.spec(), plain.spec(), "{path} = {value}");
    }
}

#[test]
fn fields_that_do_not_matter_leave_the_class() {
    let rows = [
        ("/metadata/name", json!("web-1")),
        ("/metadata/uid", json!("uid-1")),
        ("/metadata/resourceVersion", json!("2")),
        ("/metadata/generation", json!(2)),
        ("/metadata/creationTimestamp", json!("2024-01-09T10:00:00Z")),
        ("/metadata/deletionTimestamp", json!("2024-01-09T10:00:00Z")),
        ("/metadata/annotations/note", json!("second")),
        ("/metadata/ownerReferences/0/uid", json!("uid-rs2")),
        ("/spec/nodeName", json!("node-1")),
        ("/spec/containers/0/name", json!("other")),
        ("/spec/containers/0/command", json!(["other"])),
        ("/spec/containers/0/env/0/value", json!("2")),
        ("/spec/containers/0/ports/0/containerPort", json!(81)),
        ("/spec/containers/0/resources/limits/cpu", json!("2000m")),
        ("/spec/containers/0/resources/requests/cpu", json!("1000m")),
        (
            "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/0/labelSelector",
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}),
        ),
        ("/spec/volumes/0/name", json!("renamed")),
        ("/spec/volumes/1", json!({"name": "tmp", "configMap": {"name": "c"}})),
        ("/status/phase", json!("Running")),
        ("/status/nominatedNodeName", json!("node-1")),
        ("/status/startTime", json!("2024-01-09T10:00:00Z")),
        ("/status/conditions", json!([{"type": "PodScheduled", "status": "False"}])),
        ("/status/resourceClaimStatuses", json!([{"name": "gpu", "resourceClaimName": "x"}])),
    ];
    let mut world = World::new();
    let plain = pod(&mut world, &full_pod());
    for (path, value) in rows {
        let other = pod(&mut world, &changed(path, &value));
        assert_eq!(other.class, plain.class, "{path} = {value}");
        assert_eq!(other.class.id(), plain.class.id(), "{path} = {value}");
    }
}

#[test]
fn what_is_a_pods_own_is_kept_beside_the_class() {
    let mut world = World::new();
    let plain = pod(&mut world, &full_pod());
    let bound = pod(&mut world, &changed("/spec/nodeName", &json!("node-1")));
    assert_eq!(bound.node_name.as_deref(), Some("node-1"));
    assert_eq!(
        (plain.name.as_str(), plain.uid.as_str(), plain.namespace().as_str()),
        ("web-0", "uid-0", "default")
    );
    assert_eq!((plain.node_name, plain.generation, plain.deleted), (None, 1, None));
    assert_ne!(plain.created, None);
}

#[test]
fn a_class_that_nobody_holds_is_gone_and_its_number_with_it() {
    let mut world = World::new();
    let first = pod(&mut world, &full_pod());
    let (id, weak) = (first.class.id(), first.class.downgrade());
    let second = pod(&mut world, &full_pod());
    drop(first);
    assert_eq!(weak.upgrade().map(|class| class.id()), Some(id));
    drop(second);
    assert!(!weak.is_alive() && weak.upgrade().is_none());
    assert_ne!(pod(&mut world, &full_pod()).class.id(), id);
}

#[test]
fn nothing_piles_up_from_pods_that_are_gone() {
    let mut world = World::new();
    let held = pod(&mut world, &full_pod());
    world.sweep();
    let before = world.size();
    for i in 0..5_000 {
        pod(&mut world, &changed("/metadata/labels/rev", &json!(format!("rev-{i}"))));
    }
    world.sweep();
    assert_eq!(world.size(), before);
    assert_eq!(pod(&mut world, &full_pod()).class, held.class);
}
