//! API objects as JSON: made, created, read from manifests and taken away.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use http::{Method, Request};
use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::{Outcome, While};

/// A node that is ready.
pub(crate) fn node(name: &str, cpu: &str, memory: &str) -> Value {
    let resources = json!({"cpu": cpu, "memory": memory, "pods": "110"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    })
}

/// A pod of the default namespace with one container.
pub(crate) fn pod(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{
                "name": "main",
                "image": "registry.example.com/pause:1",
                "resources": {"requests": {"cpu": cpu, "memory": memory}},
            }],
        },
    })
}

/// A priority class.
pub(crate) fn priority_class(name: &str, value: i32, preemption: &str) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": preemption,
    })
}

/// Reads the objects of a file of YAML documents.
pub(crate) fn read_manifest(path: &Path) -> Outcome<Vec<Value>> {
    let text = fs::read_to_string(path).during(path.display())?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).during(path.display())?;
    Ok(objects.into_iter().filter(|object| !object.is_null()).collect())
}

/// Creates an object with its status.
pub(crate) async fn create(client: &Client, object: &Value) -> Outcome {
    let collection = collection_of(object)?;
    let text = serde_json::to_vec(object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let deadline = Instant::now() + ADMISSION_PATIENCE;
    loop {
        match call(client, Method::POST, &collection, "application/json", text.clone()).await {
            Ok(_) => break,
            // Admission learns of a class a moment after it was created.
            Err(error)
                if error.to_string().contains("no PriorityClass") && Instant::now() < deadline =>
            {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => {
                return Err(format!("cannot create {} {name}: {error}", object["kind"]).into());
            }
        }
    }
    // A node alone takes its status from whoever creates it.
    if object["kind"] != "Node" && !object["status"].is_null() {
        let status = json!({"status": object["status"]});
        merge(client, &format!("{collection}/{name}/status"), &status).await?;
    }
    Ok(())
}

/// Creates many objects, a few dozen at a time.
pub(crate) async fn create_all(client: &Client, objects: &[Value]) -> Outcome {
    stream::iter(objects)
        .map(|object| create(client, object))
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await
}

/// Creates many objects though the server may be away for a while, or answer for what it did
/// before.
pub(crate) async fn create_all_patiently(client: &Client, objects: &[Value]) -> Outcome {
    stream::iter(objects)
        .map(|object| async move {
            let deadline = Instant::now() + CREATE_PATIENCE;
            loop {
                match create(client, object).await {
                    Err(error) if error.to_string().contains("already exists") => return Ok(()),
                    Err(_) if Instant::now() < deadline => {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    other => return other,
                }
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_for_each(|()| async { Ok(()) })
        .await
}

/// Merges `patch` into the object at `path`.
pub(crate) async fn merge(client: &Client, path: &str, patch: &Value) -> Outcome {
    let text = serde_json::to_vec(patch)?;
    call(client, Method::PATCH, path, "application/merge-patch+json", text).await.map(drop)
}

/// Reads what is at `path`.
pub(crate) async fn read(client: &Client, path: &str) -> Outcome<Value> {
    call(client, Method::GET, path, "application/json", Vec::new()).await
}

/// Deletes the object at `path`, at once.
pub(crate) async fn delete(client: &Client, path: &str) -> Outcome {
    let path = format!("{path}?gracePeriodSeconds=0");
    match call(client, Method::DELETE, &path, "application/json", Vec::new()).await {
        Err(error) if error.to_string().contains("not found") => Ok(()),
        other => other.map(drop),
    }
}

/// Takes away every object that a case may have made.
pub(crate) async fn wipe(client: &Client) -> Outcome {
    for kind in KINDS {
        let collection = match kind.namespaced {
            true => format!("{}/{}", kind.root(), kind.plural),
            false => kind.collection("default"),
        };
        let list: List = serde_json::from_value(read(client, &collection).await?)?;
        stream::iter(list.items)
            .map(|item| take_away(client, kind, item.metadata))
            .buffer_unordered(AT_ONCE)
            .try_for_each(|()| async { Ok(()) })
            .await?;
    }
    Ok(())
}

async fn take_away(client: &Client, kind: &Kind, metadata: Metadata) -> Outcome {
    if metadata.name.starts_with("system-") {
        return Ok(());
    }
    let namespace = metadata.namespace.as_deref().unwrap_or("default");
    let path = format!("{}/{}", kind.collection(namespace), metadata.name);
    // Whoever would take them away is not here.
    if metadata.finalizers.is_some() {
        merge(client, &path, &json!({"metadata": {"finalizers": null}})).await?;
    }
    delete(client, &path).await
}

#[derive(Deserialize)]
struct List {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    finalizers: Option<Vec<String>>,
}

async fn call(
    client: &Client,
    method: Method,
    path: &str,
    content: &str,
    body: Vec<u8>,
) -> Outcome<Value> {
    let request =
        Request::builder().method(method).uri(path).header("content-type", content).body(body)?;
    Ok(client.request(request).await?)
}

fn collection_of(object: &Value) -> Outcome<String> {
    let kind = KINDS
        .iter()
        .find(|kind| object["kind"] == kind.kind && object["apiVersion"] == kind.version)
        .ok_or_else(|| {
            format!("no case knows the kind {} of {}", object["kind"], object["apiVersion"])
        })?;
    Ok(kind.collection(object["metadata"]["namespace"].as_str().unwrap_or("default")))
}

struct Kind {
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
}

impl Kind {
    const fn of(
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        namespaced: bool,
    ) -> Kind {
        Kind { version, kind, plural, namespaced }
    }

    fn root(&self) -> String {
        let root = if self.version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}", self.version)
    }

    fn collection(&self, namespace: &str) -> String {
        match self.namespaced {
            true => format!("{}/namespaces/{namespace}/{}", self.root(), self.plural),
            false => format!("{}/{}", self.root(), self.plural),
        }
    }
}

/// In the order in which a case takes them away: pods before what they use.
const KINDS: &[Kind] = &[
    Kind::of("v1", "Pod", "pods", true),
    Kind::of("v1", "Node", "nodes", false),
    Kind::of("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true),
    Kind::of("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", true),
    Kind::of("resource.k8s.io/v1", "ResourceSlice", "resourceslices", false),
    Kind::of("resource.k8s.io/v1", "DeviceClass", "deviceclasses", false),
    Kind::of("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false),
    Kind::of("storage.k8s.io/v1", "StorageClass", "storageclasses", false),
    Kind::of("storage.k8s.io/v1", "CSINode", "csinodes", false),
    Kind::of("storage.k8s.io/v1", "CSIDriver", "csidrivers", false),
    Kind::of("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true),
    Kind::of("v1", "PersistentVolume", "persistentvolumes", false),
    Kind::of("v1", "Service", "services", true),
    Kind::of("events.k8s.io/v1", "Event", "events", true),
];

const AT_ONCE: usize = 32;
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);
const CREATE_PATIENCE: Duration = Duration::from_secs(60);
