//! Node selectors: what node affinity of pods and volumes is written in.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1 as api;

use crate::validity::{aggregate, invalid_list, not_supported};
use crate::{Labels, Requirement, Text, World};

/// A compiled node selector: terms of which one must match.
///
/// A term that does not parse never matches; its error matters only if no other term does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSelector {
    terms: Box<[NodeSelectorTerm]>,
    error: Option<Box<str>>,
    node_names: Option<Box<[Text]>>,
}

impl NodeSelector {
    /// Compiles an API node selector. One that does not parse keeps its error.
    pub fn from_api(selector: &api::NodeSelector, world: &mut World) -> Self {
        let (mut terms, mut errors) = (Vec::new(), Vec::new());
        for (i, term) in selector.node_selector_terms.iter().enumerate() {
            if is_empty_term(term) {
                continue;
            }
            match NodeSelectorTerm::parse(&format!("nodeSelectorTerms[{i}]"), term, world) {
                Ok(term) => terms.push(term),
                Err(more) => errors.extend(more),
            }
        }
        Self {
            terms: terms.into(),
            error: (!errors.is_empty()).then(|| aggregate(&errors).into()),
            node_names: node_names(&selector.node_selector_terms, world),
        }
    }

    /// A selector of these terms.
    #[must_use]
    pub fn of_terms(terms: Vec<NodeSelectorTerm>) -> Self {
        // Where every term gives names, a node must have one of them.
        let name = |field: &NodeField| match field {
            NodeField::NameIs(name) => Some(name.clone()),
            NodeField::NameIsNot(_) | NodeField::Always(_) => None,
        };
        let names_of = |term: &NodeSelectorTerm| {
            let mut names = term.fields.iter().filter_map(name);
            let first = names.next()?;
            let is_one = names.all(|other| other == first);
            Some(is_one.then_some(first))
        };
        let names: Option<BTreeSet<Option<Text>>> = terms.iter().map(names_of).collect();
        let node_names = names.filter(|_| !terms.is_empty());
        Self {
            node_names: node_names.map(|names| names.into_iter().flatten().collect()),
            terms: terms.into(),
            error: None,
        }
    }

    /// Whether a node with these labels and this name matches; an unnamed node satisfies every
    /// condition on its name, as for the affinity of volumes.
    #[must_use]
    pub fn matches(&self, labels: &Labels, name: Option<&Text>) -> bool {
        self.terms.iter().any(|term| term.matches(labels, name))
    }

    /// What to report when nothing matched: the parse errors of all terms, in upstream's words.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// The only nodes that can match, where every term gives names, sorted. Empty means that each
    /// term contradicts itself; `None` that there is no such restriction.
    #[must_use]
    pub fn node_names(&self) -> Option<&[Text]> {
        self.node_names.as_deref()
    }

    /// The terms that parsed and are not empty.
    #[must_use]
    pub fn terms(&self) -> &[NodeSelectorTerm] {
        &self.terms
    }
}

/// Conditions on a node that must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeSelectorTerm {
    /// On its labels, sorted by key.
    pub expressions: Box<[Requirement]>,
    /// On its fields.
    pub fields: Box<[NodeField]>,
}

/// A condition on a node's fields. Only `metadata.name` is ever filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeField {
    /// The node has this name.
    NameIs(Text),
    /// The node has another name.
    NameIsNot(Text),
    /// A condition on a field that always reads as empty: it holds everywhere or nowhere.
    Always(bool),
}

impl NodeSelectorTerm {
    /// Whether a node matches; see [`NodeSelector::matches`].
    #[must_use]
    pub fn matches(&self, labels: &Labels, name: Option<&Text>) -> bool {
        self.expressions.iter().all(|requirement| requirement.matches(labels))
            && name.is_none_or(|name| self.fields.iter().all(|field| field.matches(name)))
    }

    fn parse(
        path: &str,
        term: &api::NodeSelectorTerm,
        world: &mut World,
    ) -> Result<Self, Vec<String>> {
        let mut errors = Vec::new();
        let mut expressions = Vec::new();
        for (i, expression) in term.match_expressions.iter().flatten().enumerate() {
            let path = format!("{path}.matchExpressions[{i}]");
            let operator = expression.operator.as_str();
            if !OPERATORS.contains(&operator) {
                errors.push(not_supported(&format!("{path}.operator"), operator, &OPERATORS));
                continue;
            }
            let values = expression.values.as_deref().unwrap_or_default();
            match Requirement::parse(&path, &expression.key, operator, values, world) {
                Ok(requirement) => expressions.push(requirement),
                Err(more) => errors.extend(more),
            }
        }
        expressions.sort();
        expressions.dedup();
        let mut fields = Vec::new();
        for (i, field) in term.match_fields.iter().flatten().enumerate() {
            match NodeField::parse(&format!("{path}.matchFields[{i}]"), field, world) {
                Ok(field) => fields.push(field),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Self { expressions: expressions.into(), fields: fields.into() })
        } else {
            Err(errors)
        }
    }
}

impl NodeField {
    fn matches(&self, node: &Text) -> bool {
        match self {
            Self::NameIs(name) => node == name,
            Self::NameIsNot(name) => node != name,
            Self::Always(holds) => *holds,
        }
    }

    fn parse(
        path: &str,
        field: &api::NodeSelectorRequirement,
        world: &mut World,
    ) -> Result<Self, String> {
        let operator = field.operator.as_str();
        if !FIELD_OPERATORS.contains(&operator) {
            return Err(not_supported(&format!("{path}.operator"), operator, &FIELD_OPERATORS));
        }
        let [value] = field.values.as_deref().unwrap_or_default() else {
            let values = field.values.as_deref().unwrap_or_default();
            return Err(invalid_list(&format!("{path}.values"), values, "must have one element"));
        };
        Ok(match (field.key == NAME, operator == "In") {
            (true, true) => Self::NameIs(world.text(value)),
            (true, false) => Self::NameIsNot(world.text(value)),
            (false, is_equal) => Self::Always(value.is_empty() == is_equal),
        })
    }
}

/// Preferred node affinity: terms with weights.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PreferredNodeTerms {
    /// The terms and their weights, those with weight 0 or without conditions left out. None at all
    /// if one did not parse.
    pub terms: Box<[(NodeSelectorTerm, i32)]>,
    /// Why a term did not parse, in upstream's words: PreScore fails with it.
    pub error: Option<Box<str>>,
}

impl PreferredNodeTerms {
    /// Compiles API terms.
    pub fn from_api(terms: &[api::PreferredSchedulingTerm], world: &mut World) -> Self {
        let (mut parsed, mut errors) = (Vec::new(), Vec::new());
        for (i, term) in terms.iter().enumerate() {
            if term.weight == 0 || is_empty_term(&term.preference) {
                continue;
            }
            match NodeSelectorTerm::parse(&format!("[{i}]"), &term.preference, world) {
                Ok(parsed_term) => parsed.push((parsed_term, term.weight)),
                Err(more) => errors.extend(more),
            }
        }
        if !errors.is_empty() {
            return Self { terms: Box::default(), error: Some(aggregate(&errors).into()) };
        }
        Self { terms: parsed.into(), error: None }
    }

    /// The sum of the weights of the terms that a node matches.
    #[must_use]
    pub fn score(&self, labels: &Labels, name: &Text) -> i64 {
        let matching = self.terms.iter().filter(|(term, _)| term.matches(labels, Some(name)));
        matching.map(|(_, weight)| i64::from(*weight)).sum()
    }
}

fn is_empty_term(term: &api::NodeSelectorTerm) -> bool {
    let is_empty = |list: &Option<Vec<_>>| list.as_ref().is_none_or(Vec::is_empty);
    is_empty(&term.match_expressions) && is_empty(&term.match_fields)
}

/// Names are taken from the terms as written, also from those that do not parse: that is what
/// upstream's NodeAffinity PreFilter does.
fn node_names(terms: &[api::NodeSelectorTerm], world: &mut World) -> Option<Box<[Text]>> {
    if terms.is_empty() {
        return None;
    }
    let mut union = BTreeSet::new();
    for term in terms {
        let mut names: Option<BTreeSet<&String>> = None;
        for field in
            term.match_fields.iter().flatten().filter(|f| f.key == NAME && f.operator == "In")
        {
            let values: BTreeSet<&String> = field.values.iter().flatten().collect();
            names = Some(match names {
                Some(names) => &names & &values,
                None => values,
            });
        }
        union.extend(names?);
    }
    Some(world.texts(union))
}

const NAME: &str = "metadata.name";
const OPERATORS: [&str; 6] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
const FIELD_OPERATORS: [&str; 2] = ["In", "NotIn"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn compile(world: &mut World, terms: Value) -> NodeSelector {
        let api = serde_json::from_value(json!({"nodeSelectorTerms": terms})).unwrap();
        NodeSelector::from_api(&api, world)
    }

    fn label(key: &str, operator: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    fn name(operator: &str, values: &[&str]) -> Value {
        json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]})
    }

    #[test]
    fn terms_that_are_taken_apart_and_put_together_mean_the_same() {
        let rows = [
            json!([label("disk", "In", &["ssd"]), name("In", &["n1"])]),
            json!([name("In", &["n1"]), name("In", &["n2"])]),
            json!([{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n1"]},
                {"key": "metadata.name", "operator": "In", "values": ["n2"]},
            ]}]),
            json!([name("NotIn", &["n1"])]),
        ];
        for terms in rows {
            let selector = compile(&mut World::new(), terms.clone());
            assert_eq!(NodeSelector::of_terms(selector.terms().to_vec()), selector, "{terms}");
        }
    }

    #[test]
    fn matching() {
        let rows = [
            // terms, does node n1 with gpu=2, kernel=0206, disk=ssd match
            (json!([]), false),
            (json!([{}]), false),
            (json!([{"matchExpressions": [], "matchFields": []}]), false),
            (json!([label("disk", "In", &["ssd"])]), true),
            (json!([label("disk", "In", &["hdd"])]), false),
            (json!([label("disk", "In", &["hdd"]), label("gpu", "Exists", &[])]), true),
            (json!([label("none", "NotIn", &["x"])]), true),
            (json!([label("none", "DoesNotExist", &[])]), true),
            (json!([label("gpu", "Gt", &["1"])]), true),
            (json!([label("gpu", "Gt", &["2"])]), false),
            (json!([label("gpu", "Lt", &["3"])]), true),
            (json!([label("kernel", "Gt", &["0204"])]), true),
            (json!([label("disk", "Gt", &["1"])]), false),
            (json!([label("none", "Lt", &["1"])]), false),
            (json!([label("gpu", "Gt", &["-1"])]), false),
            (json!([label("gpu", "Gt", &["two"]), label("disk", "In", &["ssd"])]), true),
            (
                json!([{"matchExpressions": [{"key": "disk", "operator": "Exists"}, {"key": "disk", "operator": "NotIn", "values": ["ssd"]}]}]),
                false,
            ),
            (json!([name("In", &["n1"])]), true),
            (json!([name("In", &["n2"])]), false),
            (json!([name("NotIn", &["n2"])]), true),
            (json!([name("NotIn", &["n1"])]), false),
            (json!([name("In", &["n1", "n2"])]), false),
            (json!([name("Exists", &[])]), false),
            (
                json!([{"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}]),
                false,
            ),
            (json!([{"matchFields": [{"key": "spec.x", "operator": "In", "values": [""]}]}]), true),
            (
                json!([{"matchFields": [{"key": "spec.x", "operator": "NotIn", "values": ["a"]}]}]),
                true,
            ),
        ];
        for (terms, expected) in rows {
            let mut world = World::new();
            let labels =
                serde_json::from_value(json!({"gpu": "2", "kernel": "0206", "disk": "ssd"}))
                    .unwrap();
            let labels = world.labels(&labels);
            let node = world.text("n1");
            assert_eq!(
                compile(&mut world, terms.clone()).matches(&labels, Some(&node)),
                expected,
                "{terms}"
            );
        }
    }

    #[test]
    fn an_unnamed_node_satisfies_what_is_said_about_names() {
        let mut world = World::new();
        let selector = compile(&mut world, json!([name("In", &["n2"])]));
        let labels = world.optional_labels(None);
        assert!(selector.matches(&labels, None));
        assert!(!selector.matches(&labels, Some(&world.text("n1"))));
    }

    #[test]
    fn node_names_are_read_off_every_term() {
        let both = json!({"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": ["n1"]},
            {"key": "metadata.name", "operator": "In", "values": ["n2"]}]});
        let rows: [(Value, Option<&[&str]>); 8] = [
            (json!([]), None),
            (json!([name("In", &["n1"])]), Some(&["n1"])),
            (json!([name("In", &["n1"]), label("a", "Exists", &[])]), None),
            (json!([name("In", &["n1"]), {}]), None),
            (json!([name("In", &["n2"]), name("In", &["n1"])]), Some(&["n1", "n2"])),
            (json!([both]), Some(&[])),
            (json!([both, name("In", &["n3"])]), Some(&["n3"])),
            (json!([name("In", &["n1", "n2"])]), Some(&["n1", "n2"])),
        ];
        for (terms, expected) in rows {
            let selector = compile(&mut World::new(), terms.clone());
            let names =
                selector.node_names().map(|n| n.iter().map(Text::as_str).collect::<Vec<_>>());
            assert_eq!(names.as_deref(), expected, "{terms}");
        }
    }

    #[test]
    fn errors_name_the_place_in_the_list() {
        let mut world = World::new();
        let selector = compile(
            &mut world,
            json!([
                label("a", "Exists", &[]),
                label("gpu", "Gt", &["two"]),
                label("b", "Near", &[]),
                name("Gt", &["1"])
            ]),
        );
        assert_eq!(
            selector.error().unwrap(),
            "[nodeSelectorTerms[1].matchExpressions[0].values[0]: Invalid value: \"two\": for 'Gt', 'Lt' operators, \
             the value must be an integer, nodeSelectorTerms[2].matchExpressions[0].operator: Unsupported value: \
             \"Near\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\", \
             nodeSelectorTerms[3].matchFields[0].operator: Unsupported value: \"Gt\": supported values: \"In\", \"NotIn\"]"
        );
        assert_eq!(compile(&mut world, json!([label("a", "Exists", &[])])).error(), None);
    }

    #[test]
    fn preferred_terms_are_weighed() {
        let mut world = World::new();
        let mut terms = |api: Value| {
            PreferredNodeTerms::from_api(
                &serde_json::from_value::<Vec<_>>(api).unwrap(),
                &mut world,
            )
        };
        let good = terms(json!([
            {"weight": 2, "preference": label("a", "Exists", &[])},
            {"weight": 4, "preference": label("b", "Exists", &[])},
            {"weight": 0, "preference": label("bad key", "Exists", &[])},
            {"weight": 5, "preference": {}},
            {"weight": 8, "preference": label("a", "Exists", &[])}]));
        let bad = terms(json!([{"weight": 1, "preference": label("gpus", "Lt", &["two"])}]));
        let labels = world.labels(&serde_json::from_value(json!({"a": "1"})).unwrap());
        assert_eq!((good.score(&labels, &world.text("n")), good.error), (10, None));
        assert_eq!(
            bad.error.as_deref(),
            Some(
                "[0].matchExpressions[0].values[0]: Invalid value: \"two\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
        );
        assert!(bad.terms.is_empty());
    }
}
