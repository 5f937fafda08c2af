//! What requests say. Small bodies, made of what they need and nothing else.

use http::Method;
use k8s_openapi::jiff::Timestamp;
use roadstead_model::{PersistentVolume, PersistentVolumeClaim, Pod};
use serde_json::{Map, Value, json};

use super::series::Draft;
use super::status::StatusWrite;
use super::wire::{JSON, MERGE, STRATEGIC, WriteRequest};

pub(super) fn pod_path(pod: &Pod) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace(), pod.name)
}

pub(super) fn binding(pod: &Pod, node: &str) -> WriteRequest {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "namespace": pod.namespace().as_str(),
            "name": pod.name.as_str(),
            "uid": pod.uid.as_str(),
        },
        "target": {"kind": "Node", "name": node},
    });
    request(Method::POST, format!("{}/binding", pod_path(pod)), JSON, &body)
}

/// `since` is when the pod's condition became false, if it does so now; one that was false before
/// keeps its time.
pub(super) fn status(write: &StatusWrite, since: Option<Timestamp>) -> WriteRequest {
    let mut status = Map::new();
    if let Some(condition) = &write.condition {
        let mut fields = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": condition.observed_generation,
        });
        if let Some(since) = since {
            fields["lastTransitionTime"] = seconds(since).into();
        }
        status.insert("conditions".to_owned(), json!([fields]));
    }
    if let Some(node) = &write.nominated_node {
        let node = if node.is_empty() { Value::Null } else { node.as_str().into() };
        status.insert("nominatedNodeName".to_owned(), node);
    }
    // Another pod of that name has another uid, and is left alone.
    let body = json!({"metadata": {"uid": write.pod.uid.as_str()}, "status": status});
    request(Method::PATCH, format!("{}/status", pod_path(&write.pod)), STRATEGIC, &body)
}

pub(super) fn disruption(victim: &Pod, preemptor: &Pod, now: Timestamp) -> WriteRequest {
    let scheduler = &preemptor.spec().scheduler_name;
    let body = json!({
        "metadata": {"uid": victim.uid.as_str()},
        "status": {"conditions": [{
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": format!("{scheduler}: preempting to accommodate a higher priority pod"),
            "observedGeneration": victim.generation,
            "lastTransitionTime": seconds(now),
        }]},
    });
    request(Method::PATCH, format!("{}/status", pod_path(victim)), STRATEGIC, &body)
}

pub(super) fn deletion(pod: &Pod) -> WriteRequest {
    let body = json!({
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": pod.uid.as_str()},
    });
    request(Method::DELETE, pod_path(pod), JSON, &body)
}

pub(super) fn volume_path(volume: &PersistentVolume) -> String {
    format!("/api/v1/persistentvolumes/{}", volume.name)
}

/// Keeps a volume for a claim, if it is still the version that was seen.
pub(super) fn volume(volume: &PersistentVolume) -> WriteRequest {
    let mut body = json!({"metadata": {"resourceVersion": volume.version.as_str()}});
    if let Some(claim) = &volume.claim {
        body["spec"] = json!({"claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.namespace.as_str(),
            "name": claim.name.as_str(),
            "uid": claim.uid.as_ref().map(|uid| uid.as_str()),
        }});
    }
    if volume.is_bound_by_controller {
        body["metadata"]["annotations"] = json!({BOUND_BY_CONTROLLER: "yes"});
    }
    request(Method::PATCH, volume_path(volume), MERGE, &body)
}

/// Whether a volume, as it was read, is kept for the claim.
pub(super) fn is_volume_bound(found: &Value, wanted: &PersistentVolume) -> bool {
    let text = |path| found.pointer(path).and_then(Value::as_str).unwrap_or_default();
    wanted.claim.as_ref().is_some_and(|claim| {
        text("/spec/claimRef/namespace") == claim.namespace.as_str()
            && text("/spec/claimRef/name") == claim.name.as_str()
            && text("/spec/claimRef/uid") == claim.uid.as_ref().map_or("", |uid| uid.as_str())
    })
}

pub(super) fn claim_path(claim: &PersistentVolumeClaim) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.namespace, claim.name)
}

/// Says where a volume is to be made, if the claim is still the version that was seen.
pub(super) fn claim(claim: &PersistentVolumeClaim) -> WriteRequest {
    let mut body = json!({"metadata": {"resourceVersion": claim.version.as_str()}});
    if let Some(node) = &claim.selected_node {
        body["metadata"]["annotations"] = json!({SELECTED_NODE: node.as_str()});
    }
    request(Method::PATCH, claim_path(claim), MERGE, &body)
}

/// Whether a claim, as it was read, has its node.
pub(super) fn is_node_selected(found: &Value, wanted: &PersistentVolumeClaim) -> bool {
    let selected = found["metadata"]["annotations"][SELECTED_NODE].as_str();
    selected.is_some() && selected == wanted.selected_node.as_ref().map(|node| node.as_str())
}

pub(super) fn event_is_new(draft: &Draft, hostname: &str) -> WriteRequest {
    let record = &draft.record;
    // What is done to a victim is told by the preemptor's scheduler.
    let speaker = record.related.as_ref().unwrap_or(&record.regarding);
    let scheduler = speaker.spec().scheduler_name.as_str();
    // The other pod is not named but in the note: no Event of kube-scheduler does, though its code
    // means to.
    let mut body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": namespace_of(draft), "name": draft.name},
        "eventTime": micros(draft.first),
        "reportingController": scheduler,
        "reportingInstance": format!("{scheduler}-{hostname}"),
        "action": record.action,
        "reason": record.reason,
        "regarding": reference(&record.regarding),
        "note": record.note,
        "type": if record.is_warning { "Warning" } else { "Normal" },
    });
    if let Some(series) = series_of(draft) {
        body["series"] = series;
    }
    request(Method::POST, events_path(draft), JSON, &body)
}

pub(super) fn event_again(draft: &Draft) -> WriteRequest {
    let body = json!({"series": series_of(draft)});
    request(Method::PATCH, format!("{}/{}", events_path(draft), draft.name), STRATEGIC, &body)
}

fn series_of(draft: &Draft) -> Option<Value> {
    let (count, last) = draft.series?;
    Some(json!({"count": count, "lastObservedTime": micros(last)}))
}

fn events_path(draft: &Draft) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace_of(draft))
}

fn namespace_of(draft: &Draft) -> &str {
    draft.record.regarding.namespace()
}

fn reference(pod: &Pod) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": pod.namespace().as_str(),
        "name": pod.name.as_str(),
        "uid": pod.uid.as_str(),
    })
}

fn request(method: Method, path: String, content_type: &'static str, body: &Value) -> WriteRequest {
    WriteRequest { method, path, content_type, body: body.to_string().into_bytes() }
}

fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
