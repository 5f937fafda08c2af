//! Binding, evicting, scaling.

use http::Response;
use serde_json::{Value, json};

use super::body::ApiBody;
use super::patching::Patch;
use super::routing::Target;
use super::status::{self, Refusal};
use super::verbs::{self, named_key, read_json, write};
use super::{Answer, Call, SharedCluster, body};
use crate::embedded::Binding;
use crate::{ApiError, Object};

pub(super) fn bind(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let body = read_json(call)?;
    let key = named_key(&call.target, &body)?;
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let mut errors = Vec::new();
    if !matches!(text("/target/kind"), "" | "Node") {
        let why = format!("unsupported value `{}`, expected `Node`", text("/target/kind"));
        errors.push(("target.kind".to_owned(), why));
    }
    if text("/target/name").is_empty() {
        errors.push(("target.name".to_owned(), "required value".to_owned()));
    }
    if !errors.is_empty() {
        return Err(Refusal::invalid("Binding", &key, &errors));
    }
    let mut binding = Binding::new(&key.namespace, &key.name, text("/target/name"));
    let uid = text("/metadata/uid");
    if !uid.is_empty() {
        binding = binding.only(uid);
    }
    write(cluster, call.query.dry_run, |cluster, now| {
        cluster.bind(now, &binding).map_err(|error| match error {
            // Upstream tells a pod that is another one from one that cannot be bound.
            ApiError::Conflict { key, reason } if !reason.starts_with("Precondition") => {
                Refusal::conflict("pods/binding", &key, &reason)
            }
            other => other.into(),
        })
    })?;
    Ok(status::success(201, None))
}

pub(super) fn evict(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let body = read_json(call)?;
    let key = named_key(&call.target, &body)?;
    let none = Value::Null;
    let (options, is_dry) =
        verbs::options_of(body.get("deleteOptions").unwrap_or(&none), &call.query)?;
    write(cluster, is_dry, |cluster, now| {
        Ok(cluster.evict(now, &key.namespace, &key.name, &options)?)
    })?;
    Ok(status::success(201, None))
}

pub(super) fn scale(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let key = call.target.key();
    let object = cluster.with(|cluster, _| cluster.object(&key).cloned());
    answer_scale(call, &object.ok_or(ApiError::NotFound(key))?)
}

pub(super) fn set_scale(cluster: &SharedCluster, call: &Call<'_>, is_patch: bool) -> Answer {
    let (patch, given) =
        if is_patch { (Some(Patch::read(call)?), Value::Null) } else { (None, read_json(call)?) };
    let whole = Target { subresource: None, ..call.target.clone() };
    let object = write(cluster, call.query.dry_run, |cluster, now| {
        verbs::replace(cluster, now, &whole, |old| {
            let scale = match &patch {
                Some(patch) => patch.apply(&scale_of(old))?,
                None => given.clone(),
            };
            let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
            let mut new = old.clone();
            new["spec"]["replicas"] = replicas;
            let version = scale.pointer("/metadata/resourceVersion").cloned();
            new["metadata"]["resourceVersion"] = version.unwrap_or_default();
            Ok(new)
        })
    })?;
    answer_scale(call, &object)
}

fn answer_scale(call: &Call<'_>, object: &Object) -> Result<Response<ApiBody>, Refusal> {
    Ok(body::json(200, &scale_of(&call.target.json_of(object)?)))
}

/// How many there are and should be, of an object that is written out.
fn scale_of(object: &Value) -> Value {
    let meta = &object["metadata"];
    // A replication controller's selector is labels and nothing else.
    let labels = object
        .pointer("/spec/selector/matchLabels")
        .or_else(|| object.pointer("/spec/selector"))
        .and_then(Value::as_object);
    let pairs = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| value.as_str().map(|value| format!("{key}={value}")));
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
            "resourceVersion": meta["resourceVersion"],
            "creationTimestamp": meta["creationTimestamp"],
        },
        "spec": { "replicas": object.pointer("/spec/replicas").cloned().unwrap_or_else(|| 1.into()) },
        "status": {
            "replicas": object.pointer("/status/replicas").cloned().unwrap_or_else(|| 0.into()),
            "selector": pairs.collect::<Vec<_>>().join(","),
        },
    })
}
