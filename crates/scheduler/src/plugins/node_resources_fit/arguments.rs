//! The plugin's arguments: what they may be, and in which words they are refused.

use std::fmt::Display;

use roadstead_model::{World, label_key_errors};
use serde::Deserialize;
use serde_json::Value;

use super::{Ignored, NodeResourcesFit};
use crate::framework::BrokenLine;
use crate::plugins::ArgumentError;
use crate::plugins::resource_allocation::{Resource, ResourceArgument, Strategy};

/// The plugin as a profile wants it; null means as it is by default.
pub(super) fn read(
    arguments: &Value,
    world: &mut World,
) -> Result<NodeResourcesFit, ArgumentError> {
    let arguments = Option::<Arguments>::deserialize(arguments)
        .map_err(|error| wrong(String::new(), error.to_string()))?;
    arguments.unwrap_or_default().into_plugin(world)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Arguments {
    ignored_resources: Option<Vec<String>>,
    ignored_resource_groups: Option<Vec<String>>,
    scoring_strategy: Option<StrategyArguments>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct StrategyArguments {
    r#type: Option<String>,
    resources: Option<Vec<ResourceArgument>>,
    requested_to_capacity_ratio: Option<RatioArguments>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RatioArguments {
    shape: Option<Vec<Point>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Point {
    utilization: Option<i32>,
    score: Option<i32>,
}

impl Arguments {
    fn into_plugin(self, world: &mut World) -> Result<NodeResourcesFit, ArgumentError> {
        let names = self.ignored_resources.unwrap_or_default();
        for (at, name) in names.iter().enumerate() {
            check_name(name, || format!("ignoredResources[{at}]"))?;
        }
        let groups = self.ignored_resource_groups.unwrap_or_default();
        for (at, group) in groups.iter().enumerate() {
            let path = || format!("ignoredResourceGroups[{at}]");
            if group.contains('/') {
                let detail = "resource group name can't contain '/'";
                return Err(wrong(path(), invalid(format_args!("{group:?}"), detail)));
            }
            check_name(group, path)?;
        }
        let strategy = self.scoring_strategy.unwrap_or_else(|| StrategyArguments {
            r#type: Some(LEAST_ALLOCATED.into()),
            ..StrategyArguments::default()
        });
        let (strategy, resources) = strategy.read()?;
        let mut texts = |list: &[String]| list.iter().map(|text| world.text(text)).collect();
        let ignored = Ignored { names: texts(&names), groups: texts(&groups) };
        let weighed = |(name, weight): &(String, i64)| (Resource::named(name, world), *weight);
        Ok(NodeResourcesFit {
            ignored,
            strategy,
            resources: resources.iter().map(weighed).collect(),
        })
    }
}

impl StrategyArguments {
    fn read(self) -> Result<(Strategy, Vec<(String, i64)>), ArgumentError> {
        let wrong = |path: String, message| wrong(format!("scoringStrategy.{path}"), message);
        let name = self.r#type.unwrap_or_default();
        if ![LEAST_ALLOCATED, MOST_ALLOCATED, RATIO].contains(&&*name) {
            let supported = format!("{LEAST_ALLOCATED:?}, {MOST_ALLOCATED:?}, {RATIO:?}");
            let message = format!("Unsupported value: {name:?}: supported values: {supported}");
            return Err(wrong("type".into(), message));
        }
        let resources = ResourceArgument::weights(self.resources);
        for (at, (name, weight)) in resources.iter().enumerate() {
            if !(1..=100).contains(weight) {
                let detail = format!("resource weight of {name} not in valid range (0, 100]");
                return Err(wrong(format!("resources[{at}].weight"), invalid(weight, &detail)));
            }
        }
        let strategy = match (&*name, self.requested_to_capacity_ratio) {
            (RATIO, Some(ratio)) => {
                let shape = ratio.line().map_err(|error| {
                    wrong(format!("requestedToCapacityRatio.{}", error.path), error.message)
                })?;
                Strategy::RequestedToCapacityRatio(shape)
            }
            (RATIO, None) => {
                let message = format!("Required value: must be specified when type is {RATIO}");
                return Err(wrong("requestedToCapacityRatio".into(), message));
            }
            (_, Some(_)) => {
                let message = format!("Forbidden: must be nil when type is not {RATIO}");
                return Err(wrong("requestedToCapacityRatio".into(), message));
            }
            (MOST_ALLOCATED, None) => Strategy::MostAllocated,
            (_, None) => Strategy::LeastAllocated,
        };
        Ok((strategy, resources))
    }
}

impl RatioArguments {
    fn line(self) -> Result<BrokenLine, ArgumentError> {
        let points: Vec<(i64, i64)> = self
            .shape
            .unwrap_or_default()
            .iter()
            .map(|point| {
                (
                    point.utilization.unwrap_or_default().into(),
                    point.score.unwrap_or_default().into(),
                )
            })
            .collect();
        if points.is_empty() {
            let message = "Required value: at least one point must be specified";
            return Err(wrong("shape".into(), message.into()));
        }
        let wrong = |at, field, value, detail| {
            Err(wrong(format!("shape[{at}].{field}"), invalid(value, detail)))
        };
        if let Some(at) = points.windows(2).position(|pair| pair[0].0 >= pair[1].0) {
            let detail = "values must be sorted in increasing order";
            return wrong(at + 1, "utilization", points[at + 1].0, detail);
        }
        for (at, (utilization, score)) in points.iter().enumerate() {
            if !(0..=100).contains(utilization) {
                return wrong(at, "utilization", *utilization, "not in valid range [0, 100]");
            }
            if !(0..=10).contains(score) {
                return wrong(at, "score", *score, "not in valid range [0, 10]");
            }
        }
        // Profiles give scores from 0 to 10.
        Ok(BrokenLine::new(points.into_iter().map(|(at, score)| (at, score * 10)).collect()))
    }
}

fn check_name(name: &str, path: impl Fn() -> String) -> Result<(), ArgumentError> {
    match label_key_errors(name).first() {
        None => Ok(()),
        Some(detail) => Err(wrong(path(), invalid(format_args!("{name:?}"), detail))),
    }
}

fn wrong(path: String, message: String) -> ArgumentError {
    ArgumentError { path, message }
}

fn invalid(value: impl Display, detail: &str) -> String {
    format!("Invalid value: {value}: {detail}")
}

const LEAST_ALLOCATED: &str = "LeastAllocated";
const MOST_ALLOCATED: &str = "MostAllocated";
const RATIO: &str = "RequestedToCapacityRatio";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bad_arguments() {
        let ignored = |names: Value| json!({"ignoredResources": names});
        let groups = |names: Value| json!({"ignoredResourceGroups": names});
        let strategy = |strategy: Value| json!({"scoringStrategy": strategy});
        let weight = |weight: i64| {
            let resource = json!({"name": "cpu", "weight": weight});
            strategy(json!({"type": MOST_ALLOCATED, "resources": [resource]}))
        };
        let ratio = |points: &[[i32; 2]]| {
            let point = |[at, score]: &[i32; 2]| json!({"utilization": at, "score": score});
            let shape: Vec<Value> = points.iter().map(point).collect();
            strategy(json!({"type": RATIO, "requestedToCapacityRatio": {"shape": shape}}))
        };
        let idle_ratio = json!({"type": LEAST_ALLOCATED, "requestedToCapacityRatio": {}});
        #[rustfmt::skip]
        let rows = [
            (ignored(json!(["cpu", "a/b/c"])),   "ignoredResources[1]: Invalid value: \"a/b/c\": a valid label key must consist of"),
            (groups(json!(["a/b"])),             "ignoredResourceGroups[0]: Invalid value: \"a/b\": resource group name can't contain '/'"),
            (groups(json!([""])),                "ignoredResourceGroups[0]: Invalid value: \"\": name part must be non-empty"),
            (json!({"ignored": []}),             ": unknown field `ignored`, expected one of"),
            (strategy(json!({})),                "scoringStrategy.type: Unsupported value: \"\": supported values: \"LeastAllocated\", \"MostAllocated\", \"RequestedToCapacityRatio\""),
            (strategy(json!({"type": "Least"})), "scoringStrategy.type: Unsupported value: \"Least\": supported values: "),
            (weight(-1),                         "scoringStrategy.resources[0].weight: Invalid value: -1: resource weight of cpu not in valid range (0, 100]"),
            (weight(101),                        "scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]"),
            (strategy(json!({"type": RATIO})),   "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio"),
            (strategy(idle_ratio),               "scoringStrategy.requestedToCapacityRatio: Forbidden: must be nil when type is not RequestedToCapacityRatio"),
            (ratio(&[]),                         "scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point must be specified"),
            (ratio(&[[0, 1], [50, 2], [50, 3]]), "scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: 50: values must be sorted in increasing order"),
            (ratio(&[[0, 1], [101, 2]]),         "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 101: not in valid range [0, 100]"),
            (ratio(&[[-1, 1]]),                  "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: Invalid value: -1: not in valid range [0, 100]"),
            (ratio(&[[0, 11]]),                  "scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: not in valid range [0, 10]"),
        ];
        for (arguments, expected) in rows {
            let error = read(&arguments, &mut World::new()).err();
            let error = error.unwrap_or_else(|| panic!("{arguments} should be an error"));
            let text = format!("{}: {}", error.path, error.message);
            assert!(text.starts_with(expected), "{arguments}: {text}");
        }
    }

    #[test]
    fn good_arguments() {
        for arguments in [
            Value::Null,
            json!({}),
            json!({"ignoredResources": null, "scoringStrategy": null}),
            json!({"ignoredResources": ["example.com/x"], "ignoredResourceGroups": ["example.com"]}),
            json!({"scoringStrategy": {"type": MOST_ALLOCATED, "resources": [{"name": "cpu", "weight": 0}]}}),
        ] {
            assert!(read(&arguments, &mut World::new()).is_ok(), "{arguments}");
        }
    }
}
