//! Volumes and claims, before a pod is bound.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as api;
use roadstead_cluster::api::faults::Fault;
use roadstead_cluster::kubernetes::Input;
use roadstead_model::{BoundClaim, PersistentVolume, PersistentVolumeClaim, Text};
use roadstead_scheduler::Command;
use roadstead_scheduler::framework::Write;
use serde_json::{Value, json};

use crate::testing::*;

const VOLUME: &str = "/api/v1/persistentvolumes/disk";
const CLAIM: &str = "/api/v1/namespaces/default/persistentvolumeclaims/data";

/// A volume and a claim that wait for each other, and what a scheduler would write.
async fn writes(s: &mut Server) -> [Write; 2] {
    let class = json!({
        "kind": "StorageClass", "apiVersion": "storage.k8s.io/v1",
        "metadata": {"name": "lazy"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    s.create("/apis/storage.k8s.io/v1/storageclasses", &class).await;
    let volume = json!({
        "kind": "PersistentVolume", "apiVersion": "v1",
        "metadata": {"name": "disk", "annotations": {"kept": "yes"}},
        "spec": {
            "capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
            "storageClassName": "lazy", "hostPath": {"path": "/disk"},
        },
    });
    s.create("/api/v1/persistentvolumes", &volume).await;
    let claim = json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "lazy",
            "resources": {"requests": {"storage": "5Gi"}},
        },
    });
    s.create("/api/v1/namespaces/default/persistentvolumeclaims", &claim).await;

    let volume: api::PersistentVolume = serde_json::from_value(s.get(VOLUME).await).unwrap();
    let claim: api::PersistentVolumeClaim = serde_json::from_value(s.get(CLAIM).await).unwrap();
    let uid = Text::unshared(claim.metadata.uid.as_deref().unwrap());
    let mut volume = PersistentVolume::from_api(&volume, s.world()).unwrap();
    let mut claim = PersistentVolumeClaim::from_api(&claim, s.world()).unwrap();
    volume.claim = Some(BoundClaim {
        namespace: Text::unshared("default"),
        name: Text::unshared("data"),
        uid: Some(uid),
    });
    volume.is_bound_by_controller = true;
    claim.selected_node = Some(Text::unshared("pier"));
    [Write::BindVolume(Arc::new(volume)), Write::SelectNode(Arc::new(claim))]
}

async fn write(s: &mut Server, write: &Write) -> Result<(), String> {
    let for_pod = unmade("web", s.world());
    s.writer.send(Command::Write { for_pod: for_pod.clone(), write: write.clone() });
    match s.answer().await {
        Input::Written { pod, result } => {
            assert_eq!(pod, for_pod.uid);
            result
        }
        other => panic!("not what came of a write: {other:?}"),
    }
}

fn is_kept(volume: &Value) -> bool {
    let annotations = &volume["metadata"]["annotations"];
    assert_eq!(annotations["kept"], "yes", "what others wrote stays");
    volume["spec"]["claimRef"]["name"] == "data"
        && volume["spec"]["claimRef"]["uid"].is_string()
        && annotations["pv.kubernetes.io/bound-by-controller"] == "yes"
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_kept_for_a_claim_and_a_claim_gets_its_node() {
    let mut s = Server::new();
    let [volume, claim] = writes(&mut s).await;
    assert_eq!(write(&mut s, &claim).await, Ok(()));
    let written = s.get(CLAIM).await;
    assert_eq!(written["metadata"]["annotations"]["volume.kubernetes.io/selected-node"], "pier");
    assert_eq!(write(&mut s, &volume).await, Ok(()));
    assert!(is_kept(&s.get(VOLUME).await));
}

#[tokio::test(start_paused = true)]
async fn a_volume_write_survives_a_bad_network() {
    for fault in [
        Fault::Lost,
        Fault::Dropped,
        Fault::Failed,
        Fault::Conflict,
        Fault::Throttled { retry_after_seconds: 2 },
    ] {
        let mut s = Server::new();
        let [volume, _] = writes(&mut s).await;
        s.faults.strike_next_write(fault);
        assert_eq!(write(&mut s, &volume).await, Ok(()), "{fault:?}");
        assert!(is_kept(&s.get(VOLUME).await), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_somebody_else_changed_is_left_to_the_scheduler() {
    let mut s = Server::new();
    let [volume, _] = writes(&mut s).await;
    s.cluster.with(|cluster, now| {
        let mut changed = (**cluster.get::<api::PersistentVolume>("", "disk").unwrap()).clone();
        changed.metadata.labels.get_or_insert_default().insert("new".into(), "yes".into());
        cluster.update(now, changed).unwrap();
    });
    let error = write(&mut s, &volume).await.unwrap_err();
    assert!(error.contains("the object has been modified"), "{error}");
    assert!(s.get(VOLUME).await["spec"]["claimRef"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_gone_is_an_error() {
    let mut s = Server::new();
    let [volume, _] = writes(&mut s).await;
    let delete = http::Request::delete(VOLUME).body(Vec::new()).unwrap();
    s.client.request_text(delete).await.unwrap();
    let error = write(&mut s, &volume).await.unwrap_err();
    assert_eq!(error, "persistentvolumes \"disk\" not found");
}
