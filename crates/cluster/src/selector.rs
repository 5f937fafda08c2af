//! Which labels a selector of an API object means.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeSelector, NodeSelectorRequirement};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

type LabelMap = BTreeMap<String, String>;

/// Whether a selector picks these labels. An empty one picks everything.
pub(crate) fn selects(selector: &LabelSelector, labels: Option<&LabelMap>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key));
    selector.match_labels.iter().flatten().all(|(key, wanted)| value(key) == Some(wanted))
        && selector
            .match_expressions
            .iter()
            .flatten()
            .all(|e| holds(&e.operator, value(&e.key), e.values.as_deref().unwrap_or_default()))
}

/// Whether some term of a node selector picks the node.
pub(crate) fn selects_node(selector: &NodeSelector, node: &Node) -> bool {
    let value = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    let holds_for = |r: &NodeSelectorRequirement, value| {
        holds(&r.operator, value, r.values.as_deref().unwrap_or_default())
    };
    selector.node_selector_terms.iter().any(|term| {
        let expressions = term.match_expressions.as_deref().unwrap_or_default();
        let fields = term.match_fields.as_deref().unwrap_or_default();
        !(expressions.is_empty() && fields.is_empty())
            && expressions.iter().all(|r| holds_for(r, value(&r.key)))
            && fields
                .iter()
                .all(|r| r.key == "metadata.name" && holds_for(r, node.metadata.name.as_ref()))
    })
}

fn holds(operator: &str, value: Option<&String>, values: &[String]) -> bool {
    let number = |text: &String| text.parse::<i64>().ok();
    match operator {
        "In" => value.is_some_and(|v| values.contains(v)),
        "NotIn" => value.is_none_or(|v| !values.contains(v)),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" | "Lt" => match (value.and_then(number), values.first().and_then(number)) {
            (Some(value), Some(bound)) if operator == "Gt" => value > bound,
            (Some(value), Some(bound)) => value < bound,
            _ => false,
        },
        _ => false,
    }
}
