//! What went in can be read back: labels, taints, tolerations, node selectors, requests.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as api;
use roadstead_model::{
    Condition, Node, NodeField, NodeSelector, Pod, Taint, TaintEffect, Toleration,
    TolerationOperator, World,
};
use serde_json::json;

#[test]
fn labels() {
    let rows = [json!({}), json!({"a": "1"}), json!({"b": "", "a": "1", "c.example/d": "x_y"})];
    for labels in rows {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels).unwrap();
        assert_eq!(World::new().labels(&labels).to_map(), labels);
    }
}

#[test]
fn taints() {
    let given: api::Node =
        serde_json::from_value(json!({"metadata": {"name": "n"}, "spec": {"taints": [
        {"key": "dedicated", "value": "a", "effect": "NoSchedule"},
        {"key": "spot", "effect": "PreferNoSchedule"},
        {"key": "gone", "value": "", "effect": "NoExecute"},
        {"key": "new", "value": "x", "effect": "Someday"}]}}))
        .unwrap();
    let node = Node::from_api(&given, &mut World::new()).unwrap();
    let back: Vec<_> = node.taints.iter().map(taint).collect();
    let expected = given.spec.unwrap().taints.unwrap().into_iter().map(|mut taint| {
        taint.value.get_or_insert_default();
        taint
    });
    assert_eq!(back, expected.collect::<Vec<_>>());
}

fn taint(taint: &Taint) -> api::Taint {
    api::Taint {
        key: taint.key.to_string(),
        value: Some(taint.value.to_string()),
        effect: taint.effect.as_str().to_owned(),
        time_added: None,
    }
}

#[test]
fn tolerations() {
    let given: api::Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {"containers": [], "tolerations": [
        {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
        {"operator": "Exists", "value": ""},
        {"key": "b", "operator": "Gt", "value": "5", "effect": "NoExecute", "tolerationSeconds": 30},
        {"key": "c", "operator": "Lt", "value": "5"},
        {"key": "d", "operator": "Odd", "value": "", "effect": "Someday"}]}}))
    .unwrap();
    let pod = Pod::from_api(&given, &mut World::new()).unwrap();
    let back: Vec<_> = pod.spec().tolerations.iter().map(toleration).collect();
    assert_eq!(back, given.spec.unwrap().tolerations.unwrap());
}

fn toleration(toleration: &Toleration) -> api::Toleration {
    let operator = match &toleration.operator {
        TolerationOperator::Equal => "Equal",
        TolerationOperator::Exists => "Exists",
        TolerationOperator::Lt => "Lt",
        TolerationOperator::Gt => "Gt",
        TolerationOperator::Other(other) => other,
    };
    api::Toleration {
        key: toleration.key.as_ref().map(ToString::to_string),
        operator: Some(operator.to_owned()),
        value: Some(toleration.value.to_string()),
        effect: toleration.effect.as_ref().map(TaintEffect::as_str).map(str::to_owned),
        toleration_seconds: toleration.seconds,
    }
}

#[test]
fn node_selectors() {
    // Requirements are sorted by key, values sorted: as a canonical author would write them.
    let given: api::NodeSelector = serde_json::from_value(json!({"nodeSelectorTerms": [
        {"matchExpressions": [
            {"key": "a", "operator": "In", "values": ["1", "2"]},
            {"key": "b", "operator": "NotIn", "values": ["3"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
            {"key": "e", "operator": "Gt", "values": ["4"]},
            {"key": "f", "operator": "Lt", "values": ["5"]}]},
        {"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n1"]},
            {"key": "metadata.name", "operator": "NotIn", "values": ["n2"]}]}]}))
    .unwrap();
    let compiled = NodeSelector::from_api(&given, &mut World::new());
    assert_eq!(compiled.error(), None);
    assert_eq!(node_selector(&compiled), given);
}

fn node_selector(selector: &NodeSelector) -> api::NodeSelector {
    let requirement =
        |key: &str, operator: &str, values: Vec<String>| api::NodeSelectorRequirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: Some(values).filter(|values| !values.is_empty()),
        };
    let some = |list: Vec<_>| Some(list).filter(|list| !list.is_empty());
    let terms = selector.terms().iter().map(|term| {
        let expressions = term.expressions.iter().map(|expression| match &expression.condition {
            Condition::In(values) => {
                requirement(&expression.key, "In", values.iter().map(ToString::to_string).collect())
            }
            Condition::NotIn(values) => requirement(
                &expression.key,
                "NotIn",
                values.iter().map(ToString::to_string).collect(),
            ),
            Condition::Exists => requirement(&expression.key, "Exists", vec![]),
            Condition::DoesNotExist => requirement(&expression.key, "DoesNotExist", vec![]),
            Condition::Gt(bound) => requirement(&expression.key, "Gt", vec![bound.to_string()]),
            Condition::Lt(bound) => requirement(&expression.key, "Lt", vec![bound.to_string()]),
        });
        let fields = term.fields.iter().map(|field| match field {
            NodeField::NameIs(name) => requirement("metadata.name", "In", vec![name.to_string()]),
            NodeField::NameIsNot(name) => {
                requirement("metadata.name", "NotIn", vec![name.to_string()])
            }
            NodeField::Always(_) => panic!("no such field was given"),
        });
        api::NodeSelectorTerm {
            match_expressions: some(expressions.collect()),
            match_fields: some(fields.collect()),
        }
    });
    api::NodeSelector { node_selector_terms: terms.collect() }
}

#[test]
fn requests() {
    let rows = [
        json!({}),
        json!({"cpu": "1"}),
        json!({"cpu": "250m", "memory": "1073741824", "ephemeral-storage": "5", "example.com/gpu": "2", "hugepages-2Mi": "4194304"}),
        json!({"example.com/gpu": "0"}),
    ];
    for requests in rows {
        let given: BTreeMap<String, String> = serde_json::from_value(requests.clone()).unwrap();
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}});
        let pod = Pod::from_api(&serde_json::from_value(pod).unwrap(), &mut World::new()).unwrap();
        let total = &pod.requests().total;
        let plain = [("memory", total.memory), ("ephemeral-storage", total.ephemeral_storage)];
        let mut back: BTreeMap<String, String> = plain
            .into_iter()
            .filter(|(_, n)| *n != 0)
            .map(|(name, n)| (name.to_owned(), n.to_string()))
            .collect();
        match total.milli_cpu {
            0 => {}
            milli if milli % 1000 == 0 => {
                drop(back.insert("cpu".to_owned(), (milli / 1000).to_string()))
            }
            milli => drop(back.insert("cpu".to_owned(), format!("{milli}m"))),
        }
        back.extend(
            total.scalars().iter().map(|(name, amount)| (name.to_string(), amount.to_string())),
        );
        assert_eq!(back, given);
    }
}
