//! Rows of what makes pods, and of their disruption budgets.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ReplicationController;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::cells::{Clock, containers, duration, labels, selector};
use super::{AGE, Column, NAME, number, text, wide};

pub(super) const DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready"),
    text("Up-to-date"),
    text("Available"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) const REPLICA_SET: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) const STATEFUL_SET: &[Column] =
    &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")];

pub(super) const DAEMON_SET: &[Column] = &[
    NAME,
    number("Desired"),
    number("Current"),
    number("Ready"),
    number("Up-to-date"),
    number("Available"),
    text("Node Selector"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) const JOB: &[Column] = &[
    NAME,
    text("Status"),
    text("Completions"),
    text("Duration"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
];

pub(super) const BUDGET: &[Column] =
    &[NAME, text("Min Available"), text("Max Unavailable"), number("Allowed Disruptions"), AGE];

pub(super) fn deployment(it: &Deployment, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let status = it.status.clone().unwrap_or_default();
    let [names, images] = containers(Some(&spec.template));
    vec![
        it.metadata.name.as_deref().unwrap_or_default().into(),
        format!("{}/{}", status.ready_replicas.unwrap_or(0), spec.replicas.unwrap_or(1)).into(),
        status.updated_replicas.unwrap_or(0).into(),
        status.available_replicas.unwrap_or(0).into(),
        age.into(),
        names.into(),
        images.into(),
        selector(Some(&spec.selector)).into(),
    ]
}

pub(super) fn replica_set(it: &ReplicaSet, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let status = it.status.clone().unwrap_or_default();
    let [names, images] = containers(spec.template.as_ref());
    vec![
        it.metadata.name.as_deref().unwrap_or_default().into(),
        spec.replicas.unwrap_or(1).into(),
        status.replicas.into(),
        status.ready_replicas.unwrap_or(0).into(),
        age.into(),
        names.into(),
        images.into(),
        selector(Some(&spec.selector)).into(),
    ]
}

pub(super) fn replication_controller(it: &ReplicationController, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let status = it.status.clone().unwrap_or_default();
    let [names, images] = containers(spec.template.as_ref());
    vec![
        it.metadata.name.as_deref().unwrap_or_default().into(),
        spec.replicas.unwrap_or(1).into(),
        status.replicas.into(),
        status.ready_replicas.unwrap_or(0).into(),
        age.into(),
        names.into(),
        images.into(),
        labels(spec.selector.as_ref()).into(),
    ]
}

pub(super) fn stateful_set(it: &StatefulSet, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let ready = it.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    let [names, images] = containers(Some(&spec.template));
    [
        it.metadata.name.clone().unwrap_or_default(),
        format!("{ready}/{}", spec.replicas.unwrap_or(1)),
        age.to_owned(),
        names,
        images,
    ]
    .map(Value::from)
    .into()
}

pub(super) fn daemon_set(it: &DaemonSet, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let status = it.status.clone().unwrap_or_default();
    let [names, images] = containers(Some(&spec.template));
    let pod = spec.template.spec.as_ref();
    vec![
        it.metadata.name.as_deref().unwrap_or_default().into(),
        status.desired_number_scheduled.into(),
        status.current_number_scheduled.into(),
        status.number_ready.into(),
        status.updated_number_scheduled.unwrap_or(0).into(),
        status.number_available.unwrap_or(0).into(),
        labels(pod.and_then(|pod| pod.node_selector.as_ref())).into(),
        age.into(),
        names.into(),
        images.into(),
        selector(Some(&spec.selector)).into(),
    ]
}

pub(super) fn job(it: &Job, clock: Clock) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let status = it.status.clone().unwrap_or_default();
    let done = status.succeeded.unwrap_or(0);
    let completions = match (spec.completions, spec.parallelism) {
        (Some(all), _) => format!("{done}/{all}"),
        (None, Some(parallelism)) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        (None, _) => format!("{done}/1"),
    };
    let took = match (&status.start_time, &status.completion_time) {
        (None, _) => String::new(),
        (start, None) => clock.since(start.as_ref()),
        (Some(start), Some(end)) => duration(end.0.as_second() - start.0.as_second()),
    };
    let is = |kind: &str| {
        status.conditions.iter().flatten().any(|c| c.type_ == kind && c.status == "True")
    };
    let state = if is("Complete") {
        "Complete"
    } else if is("Failed") {
        "Failed"
    } else if it.metadata.deletion_timestamp.is_some() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|kind| is(kind))
            .unwrap_or("Running")
    };
    let [names, images] = containers(Some(&spec.template));
    [
        it.metadata.name.clone().unwrap_or_default(),
        state.to_owned(),
        completions,
        took,
        clock.age(&it.metadata),
        names,
        images,
        selector(spec.selector.as_ref()),
    ]
    .map(Value::from)
    .into()
}

pub(super) fn budget(it: &PodDisruptionBudget, age: &str) -> Vec<Value> {
    let spec = it.spec.clone().unwrap_or_default();
    let amount = |amount: Option<IntOrString>| match amount {
        Some(IntOrString::Int(number)) => number.to_string(),
        Some(IntOrString::String(text)) => text,
        None => "N/A".to_owned(),
    };
    let allowed = it.status.as_ref().and_then(|status| status.disruptions_allowed).unwrap_or(0);
    vec![
        it.metadata.name.as_deref().unwrap_or_default().into(),
        amount(spec.min_available).into(),
        amount(spec.max_unavailable).into(),
        allowed.into(),
        age.into(),
    ]
}
