//! What the API server would refuse and a scheduler relies on, field by field.
//!
//! Not everything: what only a kubelet or a controller that is absent here reads goes through.

mod pod;
mod storage;
mod workload;

use std::collections::BTreeMap;
use std::fmt::Display;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as ApiQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use roadstead_model::Quantity;

pub(crate) use self::pod::run_seconds;
use crate::{FieldError, Kind, Object};

/// Everything that is wrong with an object.
pub(crate) fn validate(object: &Object) -> Vec<FieldError> {
    let mut found = Findings::default();
    metadata(&mut found, object.kind(), object.metadata());
    match object {
        Object::Pod(pod) => pod::validate(&mut found, pod),
        Object::Node(node) => validate_node(&mut found, node),
        Object::PriorityClass(class) => priority_class(&mut found, class),
        Object::Deployment(deployment) => workload::deployment(&mut found, deployment),
        Object::ReplicaSet(set) => workload::replica_set(&mut found, set),
        Object::ReplicationController(it) => workload::replication_controller(&mut found, it),
        Object::StatefulSet(set) => workload::stateful_set(&mut found, set),
        Object::DaemonSet(set) => workload::daemon_set(&mut found, set),
        Object::Job(job) => workload::job(&mut found, job),
        Object::PodDisruptionBudget(budget) => workload::budget(&mut found, budget),
        Object::PersistentVolume(volume) => storage::volume(&mut found, volume),
        Object::PersistentVolumeClaim(claim) => storage::claim(&mut found, claim),
        Object::StorageClass(class) => storage::class(&mut found, class),
        _ => {}
    }
    found.0
}

/// The errors found so far. Fields are given as what prints them: most are never printed.
#[derive(Default)]
pub(crate) struct Findings(Vec<FieldError>);

impl Findings {
    fn add(&mut self, field: impl Display, reason: impl Into<String>) {
        self.0.push(FieldError::new(field.to_string(), reason));
    }

    fn required(&mut self, field: impl Display) {
        self.add(field, "required value");
    }

    /// Refuses a value that is not one of `allowed`. An absent one has a default.
    fn one_of(&mut self, field: impl Display, value: Option<&str>, allowed: &[&str]) {
        if let Some(value) = value
            && !allowed.contains(&value)
        {
            self.add(field, format!("unsupported value `{value}`, expected {}", words(allowed)));
        }
    }

    fn at_least(&mut self, field: impl Display, value: Option<i64>, least: i64) {
        if let Some(value) = value
            && value < least
        {
            self.add(field, format!("must be at least {least}, got {value}"));
        }
    }

    /// A name as a label of the domain name system.
    fn label_name(&mut self, field: impl Display, name: &str) {
        if name.is_empty() {
            self.required(field);
        } else if !is_dns_label(name) {
            self.add(field, format!("`{name}` is not a name: {LABEL_RULE}"));
        }
    }

    fn quantity(&mut self, field: impl Display, text: &str) -> Option<Quantity> {
        match Quantity::parse(text) {
            Ok(quantity) if quantity < Quantity::ZERO => {
                self.add(field, format!("must not be negative, got `{text}`"));
                None
            }
            Ok(quantity) => Some(quantity),
            Err(error) => {
                self.add(field, format!("`{text}` is not a quantity: {error}"));
                None
            }
        }
    }

    fn quantities(&mut self, path: &dyn Display, amounts: Option<&BTreeMap<String, ApiQuantity>>) {
        for (name, amount) in amounts.into_iter().flatten() {
            self.quantity(format_args!("{path}.{name}"), &amount.0);
        }
    }

    fn labels(&mut self, path: &dyn Display, labels: Option<&BTreeMap<String, String>>) {
        for (key, value) in labels.into_iter().flatten() {
            if !is_qualified_name(key) {
                self.add(path, format!("`{key}` is not a label key"));
            }
            if !is_label_value(value) {
                self.add(format!("{path}.{key}"), format!("`{value}` is not a label value"));
            }
        }
    }

    fn selector(&mut self, path: &dyn Display, selector: &LabelSelector) {
        self.labels(&format_args!("{path}.matchLabels"), selector.match_labels.as_ref());
        for (i, e) in selector.match_expressions.iter().flatten().enumerate() {
            let at = format_args!("{path}.matchExpressions[{i}]");
            let values = e.values.as_deref().unwrap_or_default();
            self.expression(&at, &e.key, &e.operator, values, LABEL_OPERATORS);
        }
    }

    fn expression(
        &mut self,
        at: &dyn Display,
        key: &str,
        operator: &str,
        values: &[String],
        allowed: &[&str],
    ) {
        if !is_qualified_name(key) {
            self.add(format!("{at}.key"), format!("`{key}` is not a label key"));
        }
        self.one_of(format_args!("{at}.operator"), Some(operator), allowed);
        let field = format_args!("{at}.values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                self.add(field, format!("must be given when operator is `{operator}`"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                self.add(field, format!("must be absent when operator is `{operator}`"));
            }
            "Gt" | "Lt" if values.len() != 1 || values[0].parse::<i64>().is_err() => {
                self.add(field, format!("must be one whole number when operator is `{operator}`"));
            }
            _ => {}
        }
    }
}

fn metadata(found: &mut Findings, kind: Kind, meta: &ObjectMeta) {
    match meta.name.as_deref() {
        None | Some("") => found.add("metadata.name", "required value: a name or generateName"),
        Some(name) if kind == Kind::Namespace || kind == Kind::Service => {
            found.label_name("metadata.name", name);
        }
        Some(name) if !is_dns_subdomain(name) => {
            found.add("metadata.name", format!("`{name}` is not a name: {SUBDOMAIN_RULE}"));
        }
        Some(_) => {}
    }
    match meta.namespace.as_deref() {
        Some(namespace) if kind.is_namespaced() => {
            found.label_name("metadata.namespace", namespace);
        }
        Some(namespace) if !namespace.is_empty() => {
            let reason = format!("not allowed on a {}, got `{namespace}`", kind.name());
            found.add("metadata.namespace", reason);
        }
        _ => {}
    }
    found.labels(&"metadata.labels", meta.labels.as_ref());
    for key in meta.annotations.iter().flat_map(BTreeMap::keys) {
        if !is_qualified_name(&key.to_lowercase()) {
            found.add("metadata.annotations", format!("`{key}` is not an annotation key"));
        }
    }
}

fn validate_node(found: &mut Findings, node: &Node) {
    if let Some(status) = &node.status {
        found.quantities(&"status.capacity", status.capacity.as_ref());
        found.quantities(&"status.allocatable", status.allocatable.as_ref());
    }
    let taints = node.spec.as_ref().and_then(|s| s.taints.as_deref()).unwrap_or_default();
    for (i, taint) in taints.iter().enumerate() {
        let at = format_args!("spec.taints[{i}]");
        if !is_qualified_name(&taint.key) {
            found.add(format!("{at}.key"), format!("`{}` is not a label key", taint.key));
        }
        if let Some(value) = taint.value.as_deref().filter(|value| !is_label_value(value)) {
            found.add(format!("{at}.value"), format!("`{value}` is not a label value"));
        }
        found.one_of(format_args!("{at}.effect"), Some(&taint.effect), TAINT_EFFECTS);
        if taints[..i].iter().any(|t| t.key == taint.key && t.effect == taint.effect) {
            let pair = format!("{}:{}", taint.key, taint.effect);
            found.add(at, format!("duplicate taint `{pair}`"));
        }
    }
}

fn priority_class(found: &mut Findings, class: &PriorityClass) {
    let name = class.metadata.name.as_deref().unwrap_or_default();
    let value = class.value.unwrap_or(0);
    if name.starts_with("system-") {
        if !SYSTEM_CLASSES.contains(&(name, value)) {
            found.add("metadata.name", format!("`{name}`: names with `system-` are reserved"));
        }
    } else if value > HIGHEST_USER_PRIORITY {
        let reason = format!("must be at most {HIGHEST_USER_PRIORITY}, got {value}");
        found.add("value", reason);
    }
    found.one_of("preemptionPolicy", class.preemption_policy.as_deref(), PREEMPTION_POLICIES);
}

/// The classes that every cluster has.
pub(crate) const SYSTEM_CLASSES: &[(&str, i32)] =
    &[("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

const HIGHEST_USER_PRIORITY: i32 = 1_000_000_000;
const PREEMPTION_POLICIES: &[&str] = &["PreemptLowerPriority", "Never"];
const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
const LABEL_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];
const LABEL_RULE: &str =
    "expected at most 63 lower case letters, digits and `-`, with a letter or digit at both ends";
const SUBDOMAIN_RULE: &str = "expected at most 253 lower case letters, digits, `-` and `.`, with \
                              a letter or digit at both ends of each part";

fn words(allowed: &[&str]) -> String {
    allowed.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_dns_part(text)
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_part)
}

fn is_dns_part(text: &str) -> bool {
    let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-')
}

/// A name with an optional `prefix/`, as keys of labels and resources are.
fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(p, n)| (Some(p), n));
    prefix.is_none_or(is_dns_subdomain) && !name.is_empty() && is_label_value(name)
}

fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge = |c: Option<&u8>| c.is_none_or(u8::is_ascii_alphanumeric);
    bytes.len() <= 63
        && edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(c))
}
