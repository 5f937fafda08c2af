//! Pods, and the pods that workloads make from a template.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use k8s_openapi::api::core::v1::{
    Affinity, Container, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec, ResourceRequirements,
    Toleration, TopologySpreadConstraint,
};
use roadstead_model::{Quantity, is_extended_resource};

use super::{Findings, PREEMPTION_POLICIES, TAINT_EFFECTS, is_label_value, is_qualified_name};
use crate::embedded::{EXIT_CODE, RUN_SECONDS};

pub(super) fn validate(found: &mut Findings, pod: &Pod) {
    annotations(found, &"metadata.annotations", pod.metadata.annotations.as_ref());
    match &pod.spec {
        None => found.required("spec"),
        Some(spec) => validate_spec(found, &"spec", spec),
    }
}

pub(super) fn annotations(
    found: &mut Findings,
    path: &dyn Display,
    annotations: Option<&BTreeMap<String, String>>,
) {
    if let Some(text) = annotations.and_then(|a| a.get(RUN_SECONDS))
        && run_seconds(text).is_none()
    {
        let reason = format!("must be a number of seconds, got `{text}`");
        found.add(format!("{path}.{RUN_SECONDS}"), reason);
    }
    if let Some(text) = annotations.and_then(|a| a.get(EXIT_CODE))
        && text.parse::<u8>().is_err()
    {
        let reason = format!("must be 0 to 255, got `{text}`");
        found.add(format!("{path}.{EXIT_CODE}"), reason);
    }
}

/// How long the annotation says that a pod runs.
pub(crate) fn run_seconds(text: &str) -> Option<std::time::Duration> {
    text.parse().ok().and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok())
}

pub(super) fn validate_spec(found: &mut Findings, at: &dyn Display, spec: &PodSpec) {
    if spec.containers.is_empty() {
        found.required(format!("{at}.containers"));
    }
    let mut names = BTreeSet::new();
    for (i, container) in spec.containers.iter().enumerate() {
        validate_container(found, &format_args!("{at}.containers[{i}]"), container, &mut names);
    }
    for (i, container) in spec.init_containers.iter().flatten().enumerate() {
        validate_container(found, &format_args!("{at}.initContainers[{i}]"), container, &mut names);
    }
    if let Some(resources) = &spec.resources {
        validate_resources(found, &format_args!("{at}.resources"), resources);
    }
    found.quantities(&format_args!("{at}.overhead"), spec.overhead.as_ref());
    found.labels(&format_args!("{at}.nodeSelector"), spec.node_selector.as_ref());
    let policies = ["Always", "OnFailure", "Never"];
    found.one_of(format_args!("{at}.restartPolicy"), spec.restart_policy.as_deref(), &policies);
    let policy = spec.preemption_policy.as_deref();
    found.one_of(format_args!("{at}.preemptionPolicy"), policy, PREEMPTION_POLICIES);
    let grace = spec.termination_grace_period_seconds;
    found.at_least(format_args!("{at}.terminationGracePeriodSeconds"), grace, 0);
    for (i, toleration) in spec.tolerations.iter().flatten().enumerate() {
        validate_toleration(found, &format_args!("{at}.tolerations[{i}]"), toleration);
    }
    if let Some(affinity) = &spec.affinity {
        validate_affinity(found, &format_args!("{at}.affinity"), affinity);
    }
    let constraints = spec.topology_spread_constraints.as_deref().unwrap_or_default();
    for (i, constraint) in constraints.iter().enumerate() {
        let at = format_args!("{at}.topologySpreadConstraints[{i}]");
        validate_spread(found, &at, constraint, &constraints[..i]);
    }
    let mut gates = BTreeSet::new();
    for (i, gate) in spec.scheduling_gates.iter().flatten().enumerate() {
        let field = format_args!("{at}.schedulingGates[{i}].name");
        if !is_qualified_name(&gate.name) {
            found.add(field, format!("`{}` is not a qualified name", gate.name));
        } else if !gates.insert(&gate.name) {
            found.add(field, format!("duplicate gate `{}`", gate.name));
        }
    }
    let mut volumes = BTreeSet::new();
    for (i, volume) in spec.volumes.iter().flatten().enumerate() {
        let field = format_args!("{at}.volumes[{i}].name");
        if !volumes.insert(&volume.name) {
            found.add(field, format!("duplicate volume `{}`", volume.name));
        } else {
            found.label_name(field, &volume.name);
        }
    }
}

fn validate_container<'a>(
    found: &mut Findings,
    at: &dyn Display,
    container: &'a Container,
    names: &mut BTreeSet<&'a str>,
) {
    found.label_name(format_args!("{at}.name"), &container.name);
    if !names.insert(&container.name) {
        found.add(format!("{at}.name"), format!("duplicate container `{}`", container.name));
    }
    if let Some(resources) = &container.resources {
        validate_resources(found, &format_args!("{at}.resources"), resources);
    }
    for (i, port) in container.ports.iter().flatten().enumerate() {
        let at = format_args!("{at}.ports[{i}]");
        for (field, number) in
            [("containerPort", Some(port.container_port)), ("hostPort", port.host_port)]
        {
            if let Some(number) = number
                && !(1..=65535).contains(&number)
                && !(field == "hostPort" && number == 0)
            {
                found.add(format!("{at}.{field}"), format!("must be 1 to 65535, got {number}"));
            }
        }
        found.one_of(
            format_args!("{at}.protocol"),
            port.protocol.as_deref(),
            &["TCP", "UDP", "SCTP"],
        );
    }
}

fn validate_resources(found: &mut Findings, at: &dyn Display, resources: &ResourceRequirements) {
    found.quantities(&format_args!("{at}.limits"), resources.limits.as_ref());
    for (name, amount) in resources.requests.iter().flatten() {
        let field = format_args!("{at}.requests.{name}");
        let Some(request) = found.quantity(field, &amount.0) else { continue };
        let limit = resources.limits.as_ref().and_then(|limits| limits.get(name));
        let Some(limit) = limit.and_then(|limit| Quantity::parse(&limit.0).ok()) else {
            if is_extended_resource(name) && limit.is_none() {
                found.add(field, "must have a limit: an extended resource is not overcommitted");
            }
            continue;
        };
        if request > limit {
            found.add(field, format!("must be at most the limit `{limit}`, got `{request}`"));
        } else if request != limit && is_extended_resource(name) {
            found.add(field, format!("must equal the limit `{limit}`, got `{request}`"));
        }
    }
}

fn validate_toleration(found: &mut Findings, at: &dyn Display, toleration: &Toleration) {
    let operator = toleration.operator.as_deref();
    found.one_of(format_args!("{at}.operator"), operator, &["Equal", "Exists", "Lt", "Gt"]);
    let key = toleration.key.as_deref().unwrap_or_default();
    if key.is_empty() && operator != Some("Exists") {
        found.add(format!("{at}.operator"), "must be `Exists` when there is no key");
    }
    if !key.is_empty() && !is_qualified_name(key) {
        found.add(format!("{at}.key"), format!("`{key}` is not a label key"));
    }
    let value = toleration.value.as_deref().unwrap_or_default();
    let wrong = match operator {
        Some("Exists") if !value.is_empty() => {
            Some("must be absent when operator is `Exists`".to_owned())
        }
        Some(order @ ("Lt" | "Gt")) if value.parse::<i64>().is_err() => {
            Some(format!("must be a whole number when operator is `{order}`, got `{value}`"))
        }
        Some("Equal") | None if !is_label_value(value) => {
            Some(format!("`{value}` is not a label value"))
        }
        _ => None,
    };
    if let Some(wrong) = wrong {
        found.add(format!("{at}.value"), wrong);
    }
    let effect = toleration.effect.as_deref().filter(|effect| !effect.is_empty());
    found.one_of(format_args!("{at}.effect"), effect, TAINT_EFFECTS);
    if toleration.toleration_seconds.is_some() && effect != Some("NoExecute") {
        found.add(format!("{at}.effect"), "must be `NoExecute` when tolerationSeconds is set");
    }
}

fn validate_affinity(found: &mut Findings, at: &dyn Display, affinity: &Affinity) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    if let Some(node) = &affinity.node_affinity {
        let at = format_args!("{at}.nodeAffinity");
        if let Some(required) = &node.required_during_scheduling_ignored_during_execution {
            let at = format_args!("{at}.{REQUIRED}.nodeSelectorTerms");
            if required.node_selector_terms.is_empty() {
                found.required(at);
            }
            for (i, term) in required.node_selector_terms.iter().enumerate() {
                node_term(found, &format_args!("{at}[{i}]"), term);
            }
        }
        let preferred = node.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        for (i, term) in preferred.enumerate() {
            let at = format_args!("{at}.{PREFERRED}[{i}]");
            weight(found, &at, term.weight);
            node_term(found, &format_args!("{at}.preference"), &term.preference);
        }
    }
    let pods = affinity.pod_affinity.as_ref().map(|a| {
        (
            "podAffinity",
            &a.required_during_scheduling_ignored_during_execution,
            &a.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let anti = affinity.pod_anti_affinity.as_ref().map(|a| {
        (
            "podAntiAffinity",
            &a.required_during_scheduling_ignored_during_execution,
            &a.preferred_during_scheduling_ignored_during_execution,
        )
    });
    for (name, required, preferred) in pods.into_iter().chain(anti) {
        for (i, term) in required.iter().flatten().enumerate() {
            pod_term(found, &format_args!("{at}.{name}.{REQUIRED}[{i}]"), term);
        }
        for (i, term) in preferred.iter().flatten().enumerate() {
            let at = format_args!("{at}.{name}.{PREFERRED}[{i}]");
            weight(found, &at, term.weight);
            pod_term(found, &format_args!("{at}.podAffinityTerm"), &term.pod_affinity_term);
        }
    }
}

fn weight(found: &mut Findings, at: &dyn Display, weight: i32) {
    if !(1..=100).contains(&weight) {
        found.add(format!("{at}.weight"), format!("must be 1 to 100, got {weight}"));
    }
}

fn node_term(found: &mut Findings, at: &dyn Display, term: &NodeSelectorTerm) {
    const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    for (i, r) in term.match_expressions.iter().flatten().enumerate() {
        let values = r.values.as_deref().unwrap_or_default();
        let at = format_args!("{at}.matchExpressions[{i}]");
        found.expression(&at, &r.key, &r.operator, values, OPERATORS);
    }
    for (i, r) in term.match_fields.iter().flatten().enumerate() {
        let at = format_args!("{at}.matchFields[{i}]");
        found.one_of(format_args!("{at}.key"), Some(&r.key), &["metadata.name"]);
        found.one_of(format_args!("{at}.operator"), Some(&r.operator), &["In", "NotIn"]);
        if r.values.as_ref().is_none_or(|values| values.len() != 1) {
            found.add(format!("{at}.values"), "must be one name");
        }
    }
}

fn pod_term(found: &mut Findings, at: &dyn Display, term: &PodAffinityTerm) {
    if term.topology_key.is_empty() {
        found.required(format!("{at}.topologyKey"));
    } else if !is_qualified_name(&term.topology_key) {
        let reason = format!("`{}` is not a label key", term.topology_key);
        found.add(format!("{at}.topologyKey"), reason);
    }
    if let Some(selector) = &term.label_selector {
        found.selector(&format_args!("{at}.labelSelector"), selector);
    }
    if let Some(selector) = &term.namespace_selector {
        found.selector(&format_args!("{at}.namespaceSelector"), selector);
    }
}

fn validate_spread(
    found: &mut Findings,
    at: &dyn Display,
    constraint: &TopologySpreadConstraint,
    earlier: &[TopologySpreadConstraint],
) {
    found.at_least(format_args!("{at}.maxSkew"), Some(constraint.max_skew.into()), 1);
    if constraint.topology_key.is_empty() {
        found.required(format!("{at}.topologyKey"));
    }
    let field = format_args!("{at}.whenUnsatisfiable");
    let when = &constraint.when_unsatisfiable;
    found.one_of(field, Some(when), &["DoNotSchedule", "ScheduleAnyway"]);
    if let Some(least) = constraint.min_domains {
        found.at_least(format_args!("{at}.minDomains"), Some(least.into()), 1);
        if when == "ScheduleAnyway" {
            found.add(format!("{at}.minDomains"), "needs whenUnsatisfiable `DoNotSchedule`");
        }
    }
    if earlier
        .iter()
        .any(|e| e.topology_key == constraint.topology_key && e.when_unsatisfiable == *when)
    {
        let pair = format!("{}, {when}", constraint.topology_key);
        found.add(at, format!("duplicate constraint `{pair}`"));
    }
    if let Some(selector) = &constraint.label_selector {
        found.selector(&format_args!("{at}.labelSelector"), selector);
    }
    for (name, policy) in [
        ("nodeAffinityPolicy", &constraint.node_affinity_policy),
        ("nodeTaintsPolicy", &constraint.node_taints_policy),
    ] {
        found.one_of(format_args!("{at}.{name}"), policy.as_deref(), &["Honor", "Ignore"]);
    }
}
