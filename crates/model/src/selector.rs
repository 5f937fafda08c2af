//! Label selectors, compiled once.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::validity::{aggregate, invalid, invalid_list, label_key_errors, label_value_errors};
use crate::{Labels, Text, World};

/// A label selector: requirements that must all hold.
///
/// An absent selector matches nothing, an empty one everything. One that does not parse matches
/// nothing and keeps the words in which a plugin reports it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Selector(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Nothing,
    All(Box<[Requirement]>),
    Invalid(Box<str>),
}

impl Selector {
    /// The selector that matches nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self(Kind::Nothing)
    }

    /// The selector that matches everything.
    #[must_use]
    pub fn everything() -> Self {
        Self(Kind::All(Box::default()))
    }

    /// Compiles an API selector; `None` matches nothing.
    pub fn from_api(selector: Option<&LabelSelector>, world: &mut World) -> Self {
        let Some(selector) = selector else { return Self::nothing() };
        let mut requirements = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            match Requirement::parse("", key, "In", std::slice::from_ref(value), world) {
                Ok(requirement) => requirements.push(requirement),
                Err(errors) => return Self(Kind::Invalid(aggregate(&errors).into())),
            }
        }
        for expression in selector.match_expressions.iter().flatten() {
            let operator = expression.operator.as_str();
            if !matches!(operator, "In" | "NotIn" | "Exists" | "DoesNotExist") {
                let error = format!("{operator:?} is not a valid label selector operator");
                return Self(Kind::Invalid(error.into()));
            }
            let values = expression.values.as_deref().unwrap_or_default();
            match Requirement::parse("", &expression.key, operator, values, world) {
                Ok(requirement) => requirements.push(requirement),
                Err(errors) => return Self(Kind::Invalid(aggregate(&errors).into())),
            }
        }
        Self::all(requirements)
    }

    /// The selector of label sets that have all these pairs. Nothing is validated, as for a
    /// Service's selector; no pairs match everything.
    #[must_use]
    pub fn from_pairs(pairs: &Labels) -> Self {
        Self::all(
            pairs
                .iter()
                .map(|(key, value)| Requirement::equal(key.clone(), value.clone()))
                .collect(),
        )
    }

    /// This selector with more requirements. Nothing stays nothing, and a parse error stays.
    #[must_use]
    pub fn and(self, more: impl IntoIterator<Item = Requirement>) -> Self {
        match self.0 {
            Kind::All(requirements) => {
                let mut requirements = requirements.into_vec();
                requirements.extend(more);
                Self::all(requirements)
            }
            other => Self(other),
        }
    }

    /// Whether `labels` satisfy every requirement.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        match &self.0 {
            Kind::All(requirements) => requirements.iter().all(|r| r.matches(labels)),
            Kind::Nothing | Kind::Invalid(_) => false,
        }
    }

    /// Whether it restricts nothing, so that it matches everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Kind::All(requirements) if requirements.is_empty())
    }

    /// Whether it is the selector that matches nothing, as an absent one does.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0 == Kind::Nothing
    }

    /// The requirements, sorted by key; `None` for nothing and for a parse error.
    #[must_use]
    pub fn requirements(&self) -> Option<&[Requirement]> {
        match &self.0 {
            Kind::All(requirements) => Some(requirements),
            Kind::Nothing | Kind::Invalid(_) => None,
        }
    }

    /// Why it did not parse, in upstream's words.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match &self.0 {
            Kind::Invalid(error) => Some(error),
            Kind::Nothing | Kind::All(_) => None,
        }
    }

    fn all(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self(Kind::All(requirements.into()))
    }
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    /// The label's key.
    pub key: Text,
    /// What must be true of it.
    pub condition: Condition,
}

/// What a [`Requirement`] asks of a label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    /// Present, with one of these values (sorted).
    In(Box<[Text]>),
    /// Absent, or with none of these values (sorted).
    NotIn(Box<[Text]>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// Present, a number, and greater than this.
    Gt(i64),
    /// Present, a number, and less than this.
    Lt(i64),
}

impl Requirement {
    /// `key = value`.
    #[must_use]
    pub fn equal(key: Text, value: Text) -> Self {
        Self { key, condition: Condition::In(Box::new([value])) }
    }

    /// Compiles a requirement; `path` is the place of the requirement in its object, for errors.
    pub(crate) fn parse(
        path: &str,
        key: &str,
        operator: &str,
        values: &[String],
        world: &mut World,
    ) -> Result<Self, Vec<String>> {
        let child =
            |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let mut errors = Vec::new();
        let key_errors = label_key_errors(key);
        if !key_errors.is_empty() {
            errors.push(invalid(&child("key"), key, &key_errors.join("; ")));
        }
        let list = child("values");
        let condition = match operator {
            "In" | "NotIn" => {
                if values.is_empty() {
                    let detail = "for 'in', 'notin' operators, values set can't be empty";
                    errors.push(invalid_list(&list, values, detail));
                }
                let mut texts = world.texts(values).into_vec();
                texts.sort();
                texts.dedup();
                let texts = texts.into_boxed_slice();
                if operator == "In" { Condition::In(texts) } else { Condition::NotIn(texts) }
            }
            "Gt" | "Lt" => {
                if values.len() != 1 {
                    let detail = "for 'Gt', 'Lt' operators, exactly one value is required";
                    errors.push(invalid_list(&list, values, detail));
                }
                let mut bound = 0;
                for (i, value) in values.iter().enumerate() {
                    match integer(value) {
                        Some(number) => bound = number,
                        None => errors.push(invalid(
                            &format!("{list}[{i}]"),
                            value,
                            "for 'Gt', 'Lt' operators, the value must be an integer",
                        )),
                    }
                }
                if operator == "Gt" { Condition::Gt(bound) } else { Condition::Lt(bound) }
            }
            _ => {
                if !values.is_empty() {
                    let detail = "values set must be empty for exists and does not exist";
                    errors.push(invalid_list(&list, values, detail));
                }
                if operator == "Exists" { Condition::Exists } else { Condition::DoesNotExist }
            }
        };
        for (i, value) in values.iter().enumerate() {
            let value_errors = label_value_errors(value);
            if !value_errors.is_empty() {
                errors.push(invalid(
                    &format!("{list}[{i}][{key}]"),
                    value,
                    &value_errors.join("; "),
                ));
            }
        }
        if errors.is_empty() { Ok(Self { key: world.text(key), condition }) } else { Err(errors) }
    }

    /// Whether `labels` satisfy it.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match (&self.condition, value) {
            (Condition::In(values), Some(value)) => values.contains(value),
            (Condition::NotIn(values), Some(value)) => !values.contains(value),
            (Condition::Exists, value) => value.is_some(),
            (Condition::DoesNotExist, value) => value.is_none(),
            (Condition::Gt(bound), Some(value)) => {
                integer(value).is_some_and(|number| number > *bound)
            }
            (Condition::Lt(bound), Some(value)) => {
                integer(value).is_some_and(|number| number < *bound)
            }
            (Condition::NotIn(_), None) => true,
            (Condition::In(_) | Condition::Gt(_) | Condition::Lt(_), None) => false,
        }
    }
}

/// A label value as Go's `strconv.ParseInt(value, 10, 64)` reads it.
fn integer(value: &str) -> Option<i64> {
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selector(world: &mut World, api: serde_json::Value) -> Selector {
        let api: Option<LabelSelector> = serde_json::from_value(api).expect("a selector");
        Selector::from_api(api.as_ref(), world)
    }

    fn labels(world: &mut World, api: serde_json::Value) -> Labels {
        world.labels(&serde_json::from_value(api).expect("labels"))
    }

    #[test]
    fn matching() {
        let rows = [
            // selector, labels, matches
            (json!(null), json!({}), false),
            (json!(null), json!({"a": "1"}), false),
            (json!({}), json!({}), true),
            (json!({}), json!({"a": "1"}), true),
            (json!({"matchLabels": {"a": "1"}}), json!({"a": "1", "b": "2"}), true),
            (json!({"matchLabels": {"a": "1"}}), json!({"a": "2"}), false),
            (json!({"matchLabels": {"a": "1"}}), json!({}), false),
            (json!({"matchLabels": {"a": "1", "b": "2"}}), json!({"a": "1"}), false),
            (expression("a", "In", &["1", "2"]), json!({"a": "2"}), true),
            (expression("a", "In", &["1", "2"]), json!({"a": "3"}), false),
            (expression("a", "In", &["1", "2"]), json!({}), false),
            (expression("a", "In", &[""]), json!({"a": ""}), true),
            (expression("a", "NotIn", &["1"]), json!({"a": "1"}), false),
            (expression("a", "NotIn", &["1"]), json!({"a": "2"}), true),
            (expression("a", "NotIn", &["1"]), json!({}), true),
            (expression("a", "Exists", &[]), json!({"a": ""}), true),
            (expression("a", "Exists", &[]), json!({"b": ""}), false),
            (expression("a", "DoesNotExist", &[]), json!({"b": ""}), true),
            (expression("a", "DoesNotExist", &[]), json!({"a": ""}), false),
        ];
        for (api, set, expected) in rows {
            let mut world = World::new();
            let (selector, labels) =
                (selector(&mut world, api.clone()), labels(&mut world, set.clone()));
            assert_eq!(selector.matches(&labels), expected, "{api} on {set}");
            assert_eq!(selector.error(), None, "{api}");
        }
    }

    #[test]
    fn absent_and_empty_differ() {
        let mut world = World::new();
        let (absent, empty) = (selector(&mut world, json!(null)), selector(&mut world, json!({})));
        assert!(absent.is_nothing() && !absent.is_empty() && absent.requirements().is_none());
        assert!(empty.is_empty() && !empty.is_nothing() && empty.requirements() == Some(&[]));
    }

    #[test]
    fn parse_errors_keep_upstreams_words_and_match_nothing() {
        let rows = [
            (
                expression("a", "In", &[]),
                "values: Invalid value: []string(nil): for 'in', 'notin' operators, values set can't be empty",
            ),
            (
                expression("a", "Exists", &["1"]),
                "values: Invalid value: []string{\"1\"}: values set must be empty for exists and does not exist",
            ),
            (expression("a", "Gt", &["1"]), "\"Gt\" is not a valid label selector operator"),
            (
                expression("a", "In", &["{{.bad}}"]),
                "values[0][a]: Invalid value: \"{{.bad}}\": a valid label must be",
            ),
            (
                expression("a b", "Exists", &[]),
                "key: Invalid value: \"a b\": name part must consist of",
            ),
            (
                json!({"matchLabels": {"a": "-"}}),
                "values[0][a]: Invalid value: \"-\": a valid label must be",
            ),
        ];
        for (api, expected) in rows {
            let mut world = World::new();
            let selector = selector(&mut world, api.clone());
            let error = selector.error().unwrap_or_else(|| panic!("{api} parsed"));
            assert!(error.starts_with(expected), "{api}: {error}");
            assert!(!selector.matches(&labels(&mut world, json!({"a": "1"}))), "{api}");
        }
    }

    #[test]
    fn a_selector_is_equal_however_it_was_written() {
        let mut world = World::new();
        let one = selector(&mut world, json!({"matchLabels": {"a": "1"}}));
        let two = selector(&mut world, expression("a", "In", &["1", "1"]));
        assert_eq!(one, two);
    }

    #[test]
    fn requirements_are_added_only_to_what_can_match() {
        let mut world = World::new();
        let more = Requirement::equal(world.text("rev"), world.text("2"));
        let set = labels(&mut world, json!({"a": "1", "rev": "2"}));
        let old = labels(&mut world, json!({"a": "1", "rev": "1"}));
        let narrowed = selector(&mut world, json!({"matchLabels": {"a": "1"}})).and([more.clone()]);
        assert!(narrowed.matches(&set) && !narrowed.matches(&old));
        assert!(Selector::nothing().and([more.clone()]).is_nothing());
        let from_empty = Selector::everything().and([more]);
        assert!(from_empty.matches(&set) && !from_empty.matches(&old));
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> serde_json::Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }
}
