//! Volumes that wait for their first consumer: the scheduler chooses, others provide.

use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use crate::failure::{Outcome, check};
use crate::objects::{create, create_all, merge, pod, read};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let client = &world.client;
    world.nodes(3, "4", "16Gi").await?;
    create_all(
        client,
        &[
            class("static", "kubernetes.io/no-provisioner"),
            class("dynamic", "csi.example.com"),
            local_volume("small", "1Gi", "node-1"),
            local_volume("large", "8Gi", "node-2"),
            claim("static", "5Gi"),
            claim("dynamic", "5Gi"),
        ],
    )
    .await?;
    let _scheduler = world.scheduler().await?;
    create_all(client, &[with_claim("static"), with_claim("dynamic")]).await?;

    // Only the large volume is large enough: the scheduler reserves it for the claim.
    let volume = wait_for(client, "/api/v1/persistentvolumes/large", |volume| {
        volume["spec"]["claimRef"]["name"] == "static"
    })
    .await?;
    check(
        volume["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"] == "yes",
        || format!("the volume is not marked as bound by a controller: {volume}"),
    )?;
    // There is none for the other: it asks for one on the node of its choice.
    let claim = wait_for(client, &path("dynamic"), |claim| {
        claim["metadata"]["annotations"][SELECTED].is_string()
    })
    .await?;
    let selected = claim["metadata"]["annotations"][SELECTED].as_str().unwrap_or_default();
    let bound = world.ledger.book().bound();
    check(bound == 0, || "a pod was bound before its volume".to_owned())?;

    // As the controller of volumes does.
    bind(client, "static", "large").await?;
    create(client, &local_volume("provisioned", "5Gi", selected)).await?;
    bind(client, "dynamic", "provisioned").await?;
    world.until_bound(2, Duration::from_secs(30)).await?;
    let book = world.ledger.book();
    let homes = (book.home("static"), book.home("dynamic"));
    check(homes == (Some("node-2"), Some(selected)), || {
        format!("the pods are on {homes:?} instead of node-2 and {selected}")
    })?;
    Ok(String::new())
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    })
}

fn local_volume(name: &str, size: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "static",
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
            ]}]}},
        },
        "status": {"phase": "Available"},
    })
}

/// A claim for a volume of the class of its own name.
fn claim(name: &str, size: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Pending"},
    })
}

/// A pod that uses the claim of its own name.
fn with_claim(name: &str) -> Value {
    let mut pod = pod(name, "100m", "100Mi");
    pod["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
    pod
}

async fn bind(client: &Client, claim: &str, volume: &str) -> Outcome {
    let uid = read(client, &path(claim)).await?["metadata"]["uid"].clone();
    let reference = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": claim,
        "uid": uid,
    });
    let volume_path = format!("/api/v1/persistentvolumes/{volume}");
    merge(client, &volume_path, &json!({"spec": {"claimRef": reference}})).await?;
    let bound = json!({
        "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": volume},
    });
    merge(client, &path(claim), &bound).await?;
    let status = format!("{}/status", path(claim));
    merge(client, &status, &json!({"status": {"phase": "Bound"}})).await
}

async fn wait_for(client: &Client, path: &str, met: impl Fn(&Value) -> bool) -> Outcome<Value> {
    let mut object = Value::Null;
    for _ in 0..200 {
        object = read(client, path).await?;
        if met(&object) {
            return Ok(object);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("the scheduler did not write to {path}: {object}").into())
}

fn path(claim: &str) -> String {
    format!("/api/v1/namespaces/default/persistentvolumeclaims/{claim}")
}

const SELECTED: &str = "volume.kubernetes.io/selected-node";
