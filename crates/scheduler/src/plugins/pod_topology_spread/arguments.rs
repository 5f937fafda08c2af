//! The plugin's arguments: the constraints of pods that have none.

use roadstead_model::{
    NodeInclusion, Selector, SpreadConstraint, WhenUnsatisfiable, World, label_key_errors,
};
use serde::Deserialize;
use serde_json::Value;

use super::constraints::Defaults;
use super::score::HOSTNAME;
use crate::plugins::ArgumentError;

/// Reads the arguments; null stands for none.
pub(super) fn read(arguments: &Value, world: &mut World) -> Result<Defaults, ArgumentError> {
    let arguments = match arguments {
        Value::Null => Arguments::default(),
        some => Arguments::deserialize(some).map_err(|e| error("", e.to_string()))?,
    };
    let constraints = arguments.default_constraints.unwrap_or_default();
    match arguments.defaulting_type.as_deref().unwrap_or_default() {
        kind @ ("" | "System") => {
            if !constraints.is_empty() {
                let kind = if kind.is_empty() { "System" } else { kind };
                let message =
                    format!("Invalid value: {kind:?}: when .defaultConstraints are not empty");
                return Err(error("defaultingType", message));
            }
            let system = [(HOSTNAME, 3), (ZONE, 5)];
            let soft = WhenUnsatisfiable::ScheduleAnyway;
            let constraints = system.map(|(key, skew)| default_constraint(key, skew, soft, world));
            Ok(Defaults { constraints: constraints.into(), are_systems: true })
        }
        "List" => {
            let constraints = constraints.iter().enumerate().map(|(at, constraint)| {
                constraint.compile(&format!("defaultConstraints[{at}]"), &constraints[..at], world)
            });
            Ok(Defaults { constraints: constraints.collect::<Result<_, _>>()?, are_systems: false })
        }
        other => {
            let message =
                format!("Unsupported value: {other:?}: supported values: \"System\", \"List\"");
            Err(error("defaultingType", message))
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    defaulting_type: Option<String>,
    default_constraints: Option<Vec<Constraint>>,
}

/// A constraint as a pod has it, but without a selector.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Constraint {
    max_skew: i32,
    topology_key: String,
    when_unsatisfiable: String,
    label_selector: Option<Value>,
    min_domains: Option<i32>,
    node_affinity_policy: Option<String>,
    node_taints_policy: Option<String>,
    /// Narrows a selector that is not there.
    #[serde(rename = "matchLabelKeys")]
    _match_label_keys: Option<Vec<String>>,
}

impl Constraint {
    fn compile(
        &self,
        path: &str,
        before: &[Self],
        world: &mut World,
    ) -> Result<SpreadConstraint, ArgumentError> {
        let wrong = |field: &str, message: String| error(&format!("{path}.{field}"), message);
        let (key, action) = (self.topology_key.as_str(), self.when_unsatisfiable.as_str());
        if self.max_skew <= 0 {
            let message = format!("Invalid value: {}: not in valid range (0, Inf)", self.max_skew);
            return Err(wrong("maxSkew", message));
        }
        if key.is_empty() {
            return Err(wrong("topologyKey", EMPTY.to_owned()));
        }
        if let Some(detail) = label_key_errors(key).first() {
            return Err(wrong("topologyKey", format!("Invalid value: {key:?}: {detail}")));
        }
        let when_unsatisfiable = match action {
            "DoNotSchedule" => WhenUnsatisfiable::DoNotSchedule,
            "ScheduleAnyway" => WhenUnsatisfiable::ScheduleAnyway,
            "" => return Err(wrong("whenUnsatisfiable", EMPTY.to_owned())),
            other => {
                let message = format!(
                    "Unsupported value: {other:?}: supported values: \"DoNotSchedule\", \
                     \"ScheduleAnyway\""
                );
                return Err(wrong("whenUnsatisfiable", message));
            }
        };
        if self.label_selector.is_some() {
            return Err(wrong("labelSelector", SELECTOR.to_owned()));
        }
        let is_same = |c: &Self| c.topology_key == key && c.when_unsatisfiable == action;
        if before.iter().any(is_same) {
            return Err(error(path, format!("Duplicate value: \"{{{key}, {action}}}\"")));
        }
        let mut compiled = default_constraint(key, self.max_skew, when_unsatisfiable, world);
        compiled.min_domains = self.min_domains.unwrap_or(compiled.min_domains);
        for (named, policy) in [
            (&self.node_affinity_policy, &mut compiled.node_affinity_policy),
            (&self.node_taints_policy, &mut compiled.node_taints_policy),
        ] {
            match named.as_deref() {
                None => {}
                Some("Honor") => *policy = NodeInclusion::Honor,
                Some(_) => *policy = NodeInclusion::Ignore,
            }
        }
        Ok(compiled)
    }
}

/// A constraint with nothing but what it must have.
fn default_constraint(
    key: &str,
    max_skew: i32,
    when_unsatisfiable: WhenUnsatisfiable,
    world: &mut World,
) -> SpreadConstraint {
    SpreadConstraint {
        max_skew,
        topology_key: world.text(key),
        when_unsatisfiable,
        selector: Selector::nothing(),
        min_domains: 1,
        node_affinity_policy: NodeInclusion::Honor,
        node_taints_policy: NodeInclusion::Ignore,
    }
}

fn error(path: &str, message: String) -> ArgumentError {
    ArgumentError { path: path.to_owned(), message }
}

const ZONE: &str = "topology.kubernetes.io/zone";
const EMPTY: &str = "Required value: can not be empty";
const SELECTOR: &str =
    "Forbidden: constraint must not define a selector, as they deduced for each pod";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bad_arguments_are_named() {
        let list = |constraint: Value| json!({"defaultingType": "List", "defaultConstraints": [constraint]});
        let good =
            json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
        let with = |field: &str, value: Value| {
            let mut constraint = good.clone();
            constraint[field] = value;
            list(constraint)
        };
        let twice = json!({"defaultingType": "List", "defaultConstraints": [good, good]});
        let system = json!({"defaultConstraints": [good]});
        #[rustfmt::skip]
        let rows = [
            (json!({"defaultingType": "Tree"}),         "defaultingType",                          "Unsupported value: \"Tree\": supported values: \"System\", \"List\""),
            (system,                                    "defaultingType",                          "Invalid value: \"System\": when .defaultConstraints are not empty"),
            (with("maxSkew", json!(0)),                 "defaultConstraints[0].maxSkew",           "Invalid value: 0: not in valid range (0, Inf)"),
            (with("topologyKey", json!("")),            "defaultConstraints[0].topologyKey",       "Required value: can not be empty"),
            (with("topologyKey", json!("a b")),         "defaultConstraints[0].topologyKey",       "Invalid value: \"a b\": name part must consist of"),
            (with("whenUnsatisfiable", json!("")),      "defaultConstraints[0].whenUnsatisfiable", "Required value: can not be empty"),
            (with("whenUnsatisfiable", json!("Never")), "defaultConstraints[0].whenUnsatisfiable", "Unsupported value: \"Never\": supported values: \"DoNotSchedule\", \"ScheduleAnyway\""),
            (with("labelSelector", json!({})),          "defaultConstraints[0].labelSelector",     "Forbidden: constraint must not define a selector"),
            (twice,                                     "defaultConstraints[1]",                   "Duplicate value: \"{zone, DoNotSchedule}\""),
            (json!({"defaultType": "List"}),            "",                                        "unknown field `defaultType`"),
        ];
        for (arguments, path, message) in rows {
            let error = read(&arguments, &mut World::new()).err().expect("an error");
            assert_eq!(error.path, path, "{arguments}");
            assert!(error.message.starts_with(message), "{arguments}: {}", error.message);
        }
    }

    #[test]
    fn without_arguments_the_systems_constraints_hold() {
        for arguments in [Value::Null, json!({}), json!({"defaultingType": "System"})] {
            let defaults = read(&arguments, &mut World::new()).expect("good arguments");
            let found: Vec<_> = defaults
                .constraints
                .iter()
                .map(|c| (c.topology_key.as_str(), c.max_skew))
                .collect();
            assert_eq!(found, [(HOSTNAME, 3), (ZONE, 5)], "{arguments}");
        }
    }
}
