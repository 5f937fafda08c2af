//! Every object of the public decision cases can be read.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, DeviceClass, ModelError, Namespace, Node,
    PersistentVolume, PersistentVolumeClaim, Pod, PodChange, PodDisruptionBudget, ReplicaSet,
    ReplicationController, Service, StatefulSet, StorageClass, VolumeAttachment, World,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

#[test]
fn every_object_of_every_case_is_read() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for_each_case(|kind, case| {
        let mut world = World::new();
        for (list, objects) in case["cluster"].as_object().into_iter().flatten() {
            for object in objects.as_array().expect("a list") {
                let kind = read(list, object, &mut world)
                    .unwrap_or_else(|e| panic!("{}: {list}: {e}", case["name"]));
                *kinds.entry(kind).or_default() += 1;
            }
        }
        read("pods", &case["pod"], &mut world).unwrap_or_else(|e| panic!("{}: {e}", case["name"]));
        if kind == "hint" {
            let list = list_of(case["event"]["resource"].as_str().expect("a resource"));
            for version in
                ["old", "new"].iter().map(|v| &case[*v]).filter(|object| !object.is_null())
            {
                read(list, version, &mut world)
                    .unwrap_or_else(|e| panic!("{}: {list}: {e}", case["name"]));
            }
        }
    });
    assert_eq!(kinds.len(), 15, "{kinds:?}");
    assert!(kinds["pods"] > 10_000 && kinds["nodes"] > 5_000, "{kinds:?}");
}

/// The pod and node updates in the hint cases are split as the cases say.
#[test]
fn updates_in_hint_cases_give_the_events_of_the_cases() {
    let mut compared = 0;
    for_each_case(|kind, case| {
        if kind != "hint" || case["old"].is_null() || case["new"].is_null() {
            return;
        }
        let mut world = World::new();
        let resource = case["event"]["resource"].as_str().expect("a resource");
        let action = case["event"]["action"][0].as_str().expect("an action");
        let actions: Vec<u32> = match list_of(resource) {
            "pods" => {
                let [old, new] = ["old", "new"].map(|v| pod(&case[v], &mut world).expect("a pod"));
                Pod::changes(&old, &new).into_iter().map(PodChange::action).collect()
            }
            "nodes" => {
                let [old, new] =
                    ["old", "new"].map(|v| node(&case[v], &mut world).expect("a node"));
                Node::changes(&old, &new).into_iter().map(|change| change.action()).collect()
            }
            _ => return,
        };
        compared += 1;
        assert!(
            actions.contains(&bits(action)),
            "{}: {action} is not among {actions:?}",
            case["name"]
        );
    });
    assert!(compared > 100, "{compared} updates");
}

fn bits(action: &str) -> u32 {
    match action {
        "UpdateNodeAllocatable" => 4,
        "UpdateNodeLabel" => 8,
        "UpdateNodeTaint" => 16,
        "UpdateNodeCondition" => 32,
        "UpdateNodeAnnotation" => 64,
        "UpdateNodeDeclaredFeature" => 128,
        "UpdatePodLabel" => 256,
        "UpdatePodScaleDown" => 512,
        "UpdatePodToleration" => 1024,
        "UpdatePodSchedulingGatesEliminated" => 2048,
        "UpdatePodGeneratedResourceClaim" => 4096,
        "Update" => 8188,
        other => panic!("no update: {other}"),
    }
}

fn list_of(resource: &str) -> &'static str {
    match resource {
        "Pod" | "AssignedPod" | "UnschedulablePod" => "pods",
        "Node" => "nodes",
        "PersistentVolume" => "persistentVolumes",
        "PersistentVolumeClaim" => "persistentVolumeClaims",
        "storage.k8s.io/StorageClass" => "storageClasses",
        "storage.k8s.io/CSINode" => "csiNodes",
        "storage.k8s.io/CSIDriver" => "csiDrivers",
        "storage.k8s.io/CSIStorageCapacity" => "csiStorageCapacities",
        "storage.k8s.io/VolumeAttachment" => "volumeAttachments",
        "resource.k8s.io/DeviceClass" => "deviceClasses",
        other => panic!("no such resource: {other}"),
    }
}

fn read(list: &str, object: &Value, world: &mut World) -> Result<&'static str, ModelError> {
    Ok(match list {
        "pods" => {
            pod(object, world)?;
            "pods"
        }
        "nodes" => {
            node(object, world)?;
            "nodes"
        }
        "namespaces" => Namespace::from_api(&api(object), world).map(|_| "namespaces")?,
        "services" => Service::from_api(&api(object), world).map(|_| "services")?,
        "replicationControllers" => ReplicationController::from_api(&api(object), world)
            .map(|_| "replicationControllers")?,
        "replicaSets" => ReplicaSet::from_api(&api(object), world).map(|_| "replicaSets")?,
        "statefulSets" => StatefulSet::from_api(&api(object), world).map(|_| "statefulSets")?,
        "persistentVolumes" => {
            PersistentVolume::from_api(&api(object), world).map(|_| "persistentVolumes")?
        }
        "persistentVolumeClaims" => PersistentVolumeClaim::from_api(&api(object), world)
            .map(|_| "persistentVolumeClaims")?,
        "storageClasses" => {
            StorageClass::from_api(&api(object), world).map(|_| "storageClasses")?
        }
        "csiNodes" => CsiNode::from_api(&api(object), world).map(|_| "csiNodes")?,
        "csiDrivers" => CsiDriver::from_api(&api(object), world).map(|_| "csiDrivers")?,
        "csiStorageCapacities" => {
            CsiStorageCapacity::from_api(&api(object), world).map(|_| "csiStorageCapacities")?
        }
        "volumeAttachments" => {
            VolumeAttachment::from_api(&api(object), world).map(|_| "volumeAttachments")?
        }
        "podDisruptionBudgets" => {
            PodDisruptionBudget::from_api(&api(object), world).map(|_| "podDisruptionBudgets")?
        }
        "deviceClasses" => DeviceClass::from_api(&api(object), world).map(|_| "deviceClasses")?,
        other => panic!("no such list: {other}"),
    })
}

fn pod(object: &Value, world: &mut World) -> Result<Pod, ModelError> {
    Pod::from_api(&api(object), world)
}

fn node(object: &Value, world: &mut World) -> Result<Node, ModelError> {
    Node::from_api(&api(object), world)
}

fn api<T: DeserializeOwned>(object: &Value) -> T {
    serde_json::from_value(object.clone()).unwrap_or_else(|e| panic!("{e}: {object}"))
}

/// Calls `each` with the kind and the body of every case.
fn for_each_case(mut each: impl FnMut(&str, &Value)) {
    for kind in ["place", "hint", "preempt"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../conformance/data/decisions-{kind}.jsonl.gz"));
        let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).expect("a gzip file of text");
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).expect("a case");
            each(kind, &case[kind]);
        }
    }
}
