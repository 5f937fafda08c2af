//! What makes pods, and what limits their disruption.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PodTemplateSpec, ReplicationController};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Findings, pod};
use crate::selector::selects;

pub(super) fn deployment(found: &mut Findings, deployment: &Deployment) {
    let Some(spec) = &deployment.spec else { return found.required("spec") };
    found.at_least("spec.replicas", spec.replicas.map(i64::from), 0);
    template(found, Some(&spec.selector), &spec.template, RUNS_ON);
    if let Some(strategy) = &spec.strategy {
        let kinds = ["RollingUpdate", "Recreate"];
        found.one_of("spec.strategy.type", strategy.type_.as_deref(), &kinds);
        if let Some(rolling) = &strategy.rolling_update {
            share(found, "spec.strategy.rollingUpdate.maxSurge", rolling.max_surge.as_ref());
            let most = rolling.max_unavailable.as_ref();
            share(found, "spec.strategy.rollingUpdate.maxUnavailable", most);
        }
    }
}

pub(super) fn replica_set(found: &mut Findings, set: &ReplicaSet) {
    let Some(spec) = &set.spec else { return found.required("spec") };
    found.at_least("spec.replicas", spec.replicas.map(i64::from), 0);
    match &spec.template {
        None => found.required("spec.template"),
        Some(made) => template(found, Some(&spec.selector), made, RUNS_ON),
    }
}

pub(super) fn replication_controller(found: &mut Findings, it: &ReplicationController) {
    let Some(spec) = &it.spec else { return found.required("spec") };
    found.at_least("spec.replicas", spec.replicas.map(i64::from), 0);
    let selector = LabelSelector { match_labels: spec.selector.clone(), match_expressions: None };
    match &spec.template {
        None => found.required("spec.template"),
        Some(made) => template(found, Some(&selector), made, RUNS_ON),
    }
}

pub(super) fn stateful_set(found: &mut Findings, set: &StatefulSet) {
    let Some(spec) = &set.spec else { return found.required("spec") };
    found.at_least("spec.replicas", spec.replicas.map(i64::from), 0);
    let policies = ["OrderedReady", "Parallel"];
    found.one_of("spec.podManagementPolicy", spec.pod_management_policy.as_deref(), &policies);
    template(found, Some(&spec.selector), &spec.template, RUNS_ON);
    for (i, claim) in spec.volume_claim_templates.iter().flatten().enumerate() {
        let name = claim.metadata.name.as_deref().unwrap_or_default();
        found.label_name(format_args!("spec.volumeClaimTemplates[{i}].metadata.name"), name);
        let at = format_args!("spec.volumeClaimTemplates[{i}].spec");
        super::storage::claim_spec(found, &at, claim.spec.as_ref());
    }
}

pub(super) fn daemon_set(found: &mut Findings, set: &DaemonSet) {
    let Some(spec) = &set.spec else { return found.required("spec") };
    template(found, Some(&spec.selector), &spec.template, RUNS_ON);
}

pub(super) fn job(found: &mut Findings, job: &Job) {
    let Some(spec) = &job.spec else { return found.required("spec") };
    found.at_least("spec.parallelism", spec.parallelism.map(i64::from), 0);
    found.at_least("spec.completions", spec.completions.map(i64::from), 0);
    found.at_least("spec.backoffLimit", spec.backoff_limit.map(i64::from), 0);
    let ttl = spec.ttl_seconds_after_finished.map(i64::from);
    found.at_least("spec.ttlSecondsAfterFinished", ttl, 0);
    let mode = spec.completion_mode.as_deref();
    found.one_of("spec.completionMode", mode, &["NonIndexed", "Indexed"]);
    if mode == Some("Indexed") && spec.completions.is_none() {
        found.add("spec.completions", "required value when completionMode is `Indexed`");
    }
    template(found, None, &spec.template, &["OnFailure", "Never"]);
}

pub(super) fn budget(found: &mut Findings, budget: &PodDisruptionBudget) {
    let Some(spec) = &budget.spec else { return found.required("spec") };
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        found.add("spec", "minAvailable and maxUnavailable cannot be both set");
    }
    share(found, "spec.minAvailable", spec.min_available.as_ref());
    share(found, "spec.maxUnavailable", spec.max_unavailable.as_ref());
    if let Some(selector) = &spec.selector {
        found.selector(&"spec.selector", selector);
    }
}

/// Policies of pods that are to run for ever.
const RUNS_ON: &[&str] = &["Always"];

fn template(
    found: &mut Findings,
    selector: Option<&LabelSelector>,
    template: &PodTemplateSpec,
    policies: &[&str],
) {
    let meta = template.metadata.as_ref();
    let labels = meta.and_then(|meta| meta.labels.as_ref());
    found.labels(&"spec.template.metadata.labels", labels);
    let annotations = meta.and_then(|meta| meta.annotations.as_ref());
    pod::annotations(found, &"spec.template.metadata.annotations", annotations);
    if let Some(selector) = selector {
        found.selector(&"spec.selector", selector);
        let empty = selector.match_labels.as_ref().is_none_or(|l| l.is_empty())
            && selector.match_expressions.as_ref().is_none_or(|e| e.is_empty());
        if empty {
            found.required("spec.selector");
        } else if !selects(selector, labels) {
            found.add("spec.template.metadata.labels", "are not what spec.selector selects");
        }
    }
    let Some(spec) = &template.spec else { return found.required("spec.template.spec") };
    let policy = spec.restart_policy.as_deref().unwrap_or("Always");
    found.one_of("spec.template.spec.restartPolicy", Some(policy), policies);
    pod::validate_spec(found, &"spec.template.spec", spec);
}

/// A count, or a share of one.
fn share(found: &mut Findings, field: &str, value: Option<&IntOrString>) {
    match value {
        Some(IntOrString::Int(count)) => found.at_least(field, Some((*count).into()), 0),
        Some(IntOrString::String(text)) => {
            let percent = text.strip_suffix('%').and_then(|digits| digits.parse::<u32>().ok());
            if percent.is_none() {
                found.add(field, format!("must be a count or a percentage, got `{text}`"));
            }
        }
        None => {}
    }
}
