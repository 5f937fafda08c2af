//! Get, create, update, patch and delete.

use std::time::Duration;

use roadstead_queue::Time;
use serde_json::{Value, json};

use super::accepting::Form;
use super::patching::Patch;
use super::query::{Query, Version};
use super::routing::{Subresource, Target};
use super::selection::Selection;
use super::status::{self, Refusal};
use super::tables::table;
use super::{Answer, Call, SharedCluster, body, core_events, protobuf, strictness};
use crate::embedded::{Cluster, DeleteOptions, Propagation};
use crate::{ApiError, Key, Kind, Object};

pub(super) fn get(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let key = call.target.key();
    let object = cluster.with(|cluster, _| {
        if let Version::Numbered(asked) = call.query.version
            && asked > cluster.version()
        {
            return Err(Refusal::too_large_version(asked, cluster.version()));
        }
        Ok(cluster.object(&key).cloned().ok_or(ApiError::NotFound(key))?)
    })?;
    let document = match call.form {
        Form::Table => {
            let metadata = json!({ "resourceVersion": object.version().to_string() });
            let (included, now) = (call.query.included, cluster.now());
            table(&call.target, &[object], included, now, &metadata)?
        }
        _ => call.target.json_of(&object)?,
    };
    Ok(body::json(200, &document))
}

pub(super) fn create(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let given = read_json(call)?;
    let object = read_object(&call.target, &given)?;
    let warnings = strictness::check(call.query.strictness, &call.target, &given)?;
    let made = write(cluster, call.query.dry_run, |cluster, now| Ok(cluster.create(now, object)?))?;
    answer(call, 201, &made, &warnings)
}

pub(super) fn update(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let given = read_json(call)?;
    let key = call.target.key();
    let warnings = strictness::check(call.query.strictness, &call.target, &given)?;
    let (code, object) = write(cluster, call.query.dry_run, |cluster, now| {
        let is_new = cluster.object(&key).is_none();
        if is_new && can_be_made_by_update(key.kind) && call.target.subresource.is_none() {
            return Ok((201, cluster.create(now, read_named(&call.target, &given)?)?));
        }
        Ok((200, replace(cluster, now, &call.target, |_| Ok(given.clone()))?))
    })?;
    answer(call, code, &object, &warnings)
}

pub(super) fn patch(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let patch = Patch::read(call)?;
    let mut warnings = Vec::new();
    let object = write(cluster, call.query.dry_run, |cluster, now| {
        replace(cluster, now, &call.target, |old| {
            let patched = patch.apply(old)?;
            warnings = strictness::check(call.query.strictness, &call.target, &patched)?;
            Ok(patched)
        })
    })?;
    answer(call, 200, &object, &warnings)
}

fn answer(call: &Call<'_>, code: u16, object: &Object, warnings: &[String]) -> Answer {
    let mut response = body::json(code, &call.target.json_of(object)?);
    strictness::warn(&mut response, warnings);
    Ok(response)
}

pub(super) fn delete(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let (options, is_dry) = delete_options(call)?;
    let key = call.target.key();
    let (before, after) = write(cluster, is_dry, |cluster, now| {
        let before = cluster.object(&key).cloned();
        cluster.delete(now, &key, &options)?;
        Ok((before, cluster.object(&key).cloned()))
    })?;
    match (after, before) {
        // It is still there, and on its way out.
        (Some(object), _) => answer(call, 200, &object, &[]),
        (None, Some(object)) if is_told_when_deleted(key.kind) => answer(call, 200, &object, &[]),
        (None, before) => {
            let uid = before.as_ref().map(Object::uid).unwrap_or_default();
            let mut details = json!({ "name": key.name, "kind": key.kind.plural(), "uid": uid });
            if !key.kind.group().is_empty() {
                details["group"] = key.kind.group().into();
            }
            Ok(status::success(200, Some(details)))
        }
    }
}

pub(super) fn delete_collection(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let (options, is_dry) = delete_options(call)?;
    let selection = Selection::of(call)?;
    let (version, deleted) = write(cluster, is_dry, |cluster, now| {
        let found = cluster.objects(selection.kind).filter(|object| selection.has(object));
        let found: Vec<Object> = found.cloned().collect();
        for object in &found {
            match cluster.delete(now, &object.key(), &options) {
                // The owner of one may have been another.
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
        }
        Ok((cluster.version(), found))
    })?;
    let items: Vec<Value> =
        deleted.iter().map(|object| call.target.json_of(object)).collect::<Result<_, _>>()?;
    Ok(body::json(
        200,
        &json!({
            "kind": format!("{}List", call.target.kind.name()),
            "apiVersion": call.target.version,
            "metadata": { "resourceVersion": version.to_string() },
            "items": items,
        }),
    ))
}

/// Changes the cluster, or for a dry run a copy of it.
pub(super) fn write<R>(
    cluster: &SharedCluster,
    is_dry: bool,
    act: impl FnOnce(&mut Cluster, Time) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    cluster.with(
        |cluster, now| {
            if is_dry { act(&mut cluster.clone(), now) } else { act(cluster, now) }
        },
    )
}

/// Puts a new object, or a part of it, in the place of one that is there.
pub(super) fn replace(
    cluster: &mut Cluster,
    now: Time,
    target: &Target,
    change: impl FnOnce(&Value) -> Result<Value, Refusal>,
) -> Result<Object, Refusal> {
    let key = target.key();
    let old = cluster.object(&key).cloned().ok_or_else(|| ApiError::NotFound(key.clone()))?;
    let old_json = target.json_of(&old)?;
    let mut new = change(&old_json)?;
    keep_other_parts(target, &old_json, &mut new);
    let object = read_named(target, &new)?;
    let given = object.metadata().resource_version.as_deref().unwrap_or_default();
    if given.is_empty() && needs_version(key.kind) {
        let why = "Invalid value: 0: must be specified for an update".to_owned();
        let errors = [("metadata.resourceVersion".to_owned(), why)];
        return Err(Refusal::invalid(key.kind.name(), &key, &errors));
    }
    if target.subresource == Some(Subresource::Resize) {
        return Ok(cluster.resize(now, object)?);
    }
    Ok(cluster.update(now, object)?)
}

/// A write goes to the object or to one of its parts; the rest stays.
fn keep_other_parts(target: &Target, old: &Value, new: &mut Value) {
    let Some(fields) = new.as_object_mut() else { return };
    let has_status = Subresource::all(target.kind).iter().any(|(_, p)| *p == Subresource::Status);
    match target.subresource {
        Some(Subresource::Status) => {
            let status = fields.remove("status");
            let mut metadata = fields.remove("metadata").unwrap_or_default();
            if let Some(metadata) = metadata.as_object_mut() {
                match old.pointer("/metadata/ownerReferences") {
                    Some(owners) => drop(metadata.insert("ownerReferences".into(), owners.clone())),
                    None => drop(metadata.remove("ownerReferences")),
                }
            }
            let mut kept = old.as_object().cloned().unwrap_or_default();
            kept.insert("metadata".to_owned(), metadata);
            match status {
                Some(status) => drop(kept.insert("status".to_owned(), status)),
                None => drop(kept.remove("status")),
            }
            *fields = kept;
        }
        _ if has_status => match old.get("status") {
            Some(status) => drop(fields.insert("status".to_owned(), status.clone())),
            None => drop(fields.remove("status")),
        },
        _ => {}
    }
}

pub(super) fn read_json(call: &Call<'_>) -> Result<Value, Refusal> {
    read_body(call.content_type, call.body)
}

/// What a client sent, whichever way it is written.
pub(super) fn read_body(content_type: &str, body: &[u8]) -> Result<Value, Refusal> {
    let read = match content_type {
        "application/json" => serde_json::from_slice(body).map_err(|error| error.to_string()),
        protobuf::MEDIA => protobuf::read(body),
        other => {
            let accepted = ["application/json", protobuf::MEDIA];
            return Err(Refusal::unsupported_media(other, &accepted));
        }
    };
    read.map_err(|error| {
        Refusal::bad_request(format!("the object provided is unrecognized: {error}"))
    })
}

/// The object of a request whose path names it.
fn read_named(target: &Target, value: &Value) -> Result<Object, Refusal> {
    let object = read_object(target, value)?;
    let wanted = target.name.as_deref().unwrap_or_default();
    if object.name() != wanted {
        let message = format!(
            "the name of the object ({}) does not match the name on the URL ({wanted})",
            object.name()
        );
        return Err(Refusal::bad_request(message));
    }
    Ok(object)
}

fn read_object(target: &Target, value: &Value) -> Result<Object, Refusal> {
    let kind = target.kind;
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("kind").is_empty() {
        return Err(Refusal::bad_request("Object 'Kind' is missing"));
    }
    if (text("apiVersion"), text("kind")) != (target.version, kind.name()) {
        let message = format!(
            "the kind in the data ({}, {}) does not match the expected one ({}, {})",
            text("apiVersion"),
            text("kind"),
            target.version,
            kind.name()
        );
        return Err(Refusal::bad_request(message));
    }
    let kept = target.is_core_event().then(|| core_events::from_core(value.clone()));
    let mut object = Object::from_json(kind, kept.as_ref().unwrap_or(value)).map_err(|error| {
        let (name, path) = (kind.name(), error.path().to_string());
        let version = target.version.rsplit('/').next().unwrap_or_default();
        let reason = error.into_inner();
        Refusal::bad_request(format!(
            "{name} in version \"{version}\" cannot be handled as a {name}: {path}: {reason}"
        ))
    })?;
    if let Some(namespace) = &target.namespace {
        let given = object.metadata().namespace.as_deref().unwrap_or_default();
        if !given.is_empty() && given != namespace {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the \
                 request",
            ));
        }
        object.metadata_mut().namespace = Some(namespace.clone());
    }
    Ok(object)
}

/// What the body and the query say about a deletion, and whether it is only tried.
fn delete_options(call: &Call<'_>) -> Result<(DeleteOptions, bool), Refusal> {
    let body = if call.body.is_empty() { Value::Null } else { read_json(call)? };
    options_of(&body, &call.query)
}

/// Those options, from a body that is read.
pub(super) fn options_of(body: &Value, query: &Query) -> Result<(DeleteOptions, bool), Refusal> {
    let grace = match body.get("gracePeriodSeconds").filter(|value| !value.is_null()) {
        Some(value) => Some(value.as_u64().ok_or_else(|| {
            Refusal::bad_request(format!("gracePeriodSeconds: invalid value `{value}`"))
        })?),
        None => query.grace_period_seconds,
    };
    let precondition = |field: &str| {
        let value = body.get("preconditions").and_then(|given| given.get(field));
        value.and_then(Value::as_str).filter(|value| !value.is_empty())
    };
    let version = match precondition("resourceVersion") {
        Some(text) => Some(text.parse().map_err(|_| {
            Refusal::bad_request(format!("preconditions.resourceVersion: invalid value `{text}`"))
        })?),
        None => None,
    };
    let asked = body.get("propagationPolicy").and_then(Value::as_str);
    let propagation = match asked.or(query.propagation.as_deref()) {
        None | Some("" | "Background") => Propagation::Background,
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        Some(other) => {
            let message = format!("propagationPolicy: unsupported value `{other}`");
            return Err(Refusal::bad_request(message));
        }
    };
    let dry_run = body.get("dryRun").and_then(Value::as_array);
    let is_dry = query.dry_run || dry_run.is_some_and(|parts| parts.iter().any(|p| p == "All"));
    let options = DeleteOptions {
        uid: precondition("uid").map(str::to_owned),
        resource_version: version,
        grace_period: grace.map(Duration::from_secs),
        propagation,
    };
    Ok((options, is_dry))
}

/// Kinds that an update makes where there is none, as upstream's strategies say.
fn can_be_made_by_update(kind: Kind) -> bool {
    matches!(kind, Kind::Lease | Kind::Event)
}

/// Kinds that are updated from a known version only.
fn needs_version(kind: Kind) -> bool {
    matches!(kind, Kind::Lease | Kind::PodDisruptionBudget)
}

/// Kinds of which a deletion shows what it deleted.
fn is_told_when_deleted(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Pod
            | Kind::PersistentVolume
            | Kind::PersistentVolumeClaim
            | Kind::StorageClass
            | Kind::CSIDriver
            | Kind::CSINode
            | Kind::VolumeAttachment
    )
}

/// What requests about a part of a pod need of it.
pub(super) fn named_key(target: &Target, body: &Value) -> Result<Key, Refusal> {
    let given = body.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let name = match &target.name {
        Some(name) if given.is_empty() || given == name => name,
        Some(name) => {
            let message = format!("name in URL does not match name in body: {name}, {given}");
            return Err(Refusal::bad_request(message));
        }
        None if given.is_empty() => {
            return Err(Refusal::bad_request("metadata.name: required value"));
        }
        None => given,
    };
    Ok(target.kind.key(target.namespace.as_deref().unwrap_or_default(), name))
}
