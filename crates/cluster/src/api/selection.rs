//! Which objects of a kind a request means: by namespace, labels and fields.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::status::Refusal;
use super::{Call, core_events};
use crate::selector::selects;
use crate::{Kind, Object};

/// Which objects of a kind are meant.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) kind: Kind,
    namespace: Option<String>,
    labels: LabelSelector,
    fields: Vec<FieldTest>,
}

#[derive(Debug)]
struct FieldTest {
    field: String,
    value: String,
    is_equal: bool,
}

impl Selection {
    pub(super) fn of(call: &Call<'_>) -> Result<Self, Refusal> {
        let kind = call.target.kind;
        let mut fields = parse_fields(kind, &call.query.fields)?;
        if let Some(name) = &call.target.name {
            let field = "metadata.name".to_owned();
            fields.push(FieldTest { field, value: name.clone(), is_equal: true });
        }
        let namespace = call.target.namespace.clone();
        Ok(Self { kind, namespace, labels: parse_labels(&call.query.labels)?, fields })
    }

    /// Whether it picks all objects of its kind and namespace.
    pub(super) fn is_everything(&self) -> bool {
        self.labels.match_expressions.is_none() && self.fields.is_empty()
    }

    pub(super) fn has(&self, object: &Object) -> bool {
        let meta = object.metadata();
        object.kind() == self.kind
            && self.namespace.as_ref().is_none_or(|n| meta.namespace.as_ref() == Some(n))
            && selects(&self.labels, meta.labels.as_ref())
            && self.fields.iter().all(|test| {
                let value = field(object, &test.field).unwrap_or_default();
                (value == test.value) == test.is_equal
            })
    }
}

/// The fields that objects of a kind can be picked by.
fn fields_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Pod => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "status.phase",
            "status.nominatedNodeName",
        ],
        Kind::Node => &["spec.unschedulable"],
        Kind::Namespace => &["status.phase"],
        Kind::Event => &[
            "reason",
            "type",
            "reportingController",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
        ],
        _ => &[],
    }
}

fn field<'a>(object: &'a Object, path: &str) -> Option<Cow<'a, str>> {
    let meta = object.metadata();
    let text = match path {
        "metadata.name" => &meta.name,
        "metadata.namespace" => &meta.namespace,
        _ => match object {
            Object::Pod(pod) => {
                let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
                match path {
                    "spec.nodeName" => &spec?.node_name,
                    "spec.restartPolicy" => &spec?.restart_policy,
                    "spec.schedulerName" => &spec?.scheduler_name,
                    "status.phase" => &status?.phase,
                    "status.nominatedNodeName" => &status?.nominated_node_name,
                    _ => return None,
                }
            }
            Object::Node(node) => {
                let off = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
                return Some(Cow::Owned(off.to_string()));
            }
            Object::Namespace(namespace) => &namespace.status.as_ref()?.phase,
            Object::Event(event) => match path {
                "reason" => &event.reason,
                "type" => &event.type_,
                "reportingController" => &event.reporting_controller,
                "regarding.kind" => &event.regarding.as_ref()?.kind,
                "regarding.namespace" => &event.regarding.as_ref()?.namespace,
                "regarding.apiVersion" => &event.regarding.as_ref()?.api_version,
                "regarding.resourceVersion" => &event.regarding.as_ref()?.resource_version,
                "regarding.fieldPath" => &event.regarding.as_ref()?.field_path,
                "regarding.name" => &event.regarding.as_ref()?.name,
                "regarding.uid" => &event.regarding.as_ref()?.uid,
                _ => return None,
            },
            _ => return None,
        },
    };
    text.as_deref().map(Cow::Borrowed)
}

fn parse_fields(kind: Kind, text: &str) -> Result<Vec<FieldTest>, Refusal> {
    let mut tests = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (field, value, is_equal) = if let Some((field, value)) = part.split_once("!=") {
            (field, value, false)
        } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('='))
        {
            (field, value, true)
        } else {
            let message = format!("invalid selector: '{text}'; can't understand '{part}'");
            return Err(Refusal::bad_request(message));
        };
        let kept = if kind == Kind::Event { core_events::kept_field(field) } else { field.into() };
        let common =
            field == "metadata.name" || (field == "metadata.namespace" && kind.is_namespaced());
        if !common && !fields_of(kind).contains(&&*kept) {
            return Err(Refusal::bad_request(format!("field label not supported: {field}")));
        }
        tests.push(FieldTest { field: kept, value: value.to_owned(), is_equal });
    }
    Ok(tests)
}

/// Reads `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1, m<2`.
fn parse_labels(text: &str) -> Result<LabelSelector, Refusal> {
    let mut requirements = Vec::new();
    for part in split_outside_brackets(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        requirements.push(parse_requirement(part).ok_or_else(|| {
            Refusal::bad_request(format!("unable to parse requirement: `{part}` in `{text}`"))
        })?);
    }
    let match_expressions = (!requirements.is_empty()).then_some(requirements);
    Ok(LabelSelector { match_labels: None, match_expressions })
}

fn split_outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
}

fn parse_requirement(part: &str) -> Option<LabelSelectorRequirement> {
    let requirement = |key: &str, operator: &str, values: Vec<&str>| {
        let key = key.trim();
        let is_key =
            !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "()!=<>".contains(c));
        let values: Vec<String> = values.into_iter().map(|value| value.trim().to_owned()).collect();
        is_key.then(|| LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: (!values.is_empty()).then_some(values),
        })
    };
    if let Some(list) = part.strip_suffix(')') {
        let (head, values) = list.split_once('(')?;
        let (key, operator) = head.trim().rsplit_once(char::is_whitespace)?;
        let operator = match operator {
            "in" => "In",
            "notin" => "NotIn",
            _ => return None,
        };
        return requirement(key, operator, values.split(',').collect());
    }
    if let Some((key, value)) = part.split_once("!=") {
        return requirement(key, "NotIn", vec![value]);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return requirement(key, "In", vec![value]);
    }
    for (sign, operator) in [('>', "Gt"), ('<', "Lt")] {
        if let Some((key, value)) = part.split_once(sign) {
            value.trim().parse::<i64>().ok()?;
            return requirement(key, operator, vec![value]);
        }
    }
    match part.strip_prefix('!') {
        Some(key) => requirement(key, "DoesNotExist", Vec::new()),
        None => requirement(part, "Exists", Vec::new()),
    }
}
