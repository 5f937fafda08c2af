//! A profile ready to be built: which plugins run at each point, in which order.

use std::collections::BTreeMap;

use serde_json::Value;

use super::known::{Known, KnownPlugin, Point, REMOVED};
use super::plugins::{Plugin, PluginSet, Plugins};
use super::{ProfileConfiguration, SchedulerConfiguration};
use crate::document::{Problems, did_you_mean, nearest};

/// A profile in which every point has its plugins, in order, and every plugin its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    scheduler_name: String,
    percentage_of_nodes_to_score: i32,
    plugins: Vec<String>,
    points: BTreeMap<Point, Vec<PointPlugin>>,
    arguments: BTreeMap<String, Value>,
}

/// A plugin at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointPlugin {
    /// Its name.
    pub name: String,
    /// Its weight; 0 where there are no weights.
    pub weight: i64,
}

impl Profile {
    /// The name by which pods choose it.
    #[must_use]
    pub fn scheduler_name(&self) -> &str {
        &self.scheduler_name
    }

    /// The share of nodes that is enough to have found feasible; 0 adapts to their number.
    #[must_use]
    pub fn percentage_of_nodes_to_score(&self) -> i32 {
        self.percentage_of_nodes_to_score
    }

    /// The plugins to be made, each once. One may be at no point at all.
    pub fn plugins(&self) -> impl Iterator<Item = &str> {
        self.plugins.iter().map(String::as_str)
    }

    /// The plugins at a point, in order.
    #[must_use]
    pub fn at(&self, point: Point) -> &[PointPlugin] {
        self.points.get(&point).map_or(&[], Vec::as_slice)
    }

    /// The arguments of a plugin, complete if it is kube-scheduler's own, without `apiVersion`
    /// and `kind`; null if there are none.
    #[must_use]
    pub fn arguments(&self, plugin: &str) -> &Value {
        self.arguments.get(plugin).unwrap_or(&Value::Null)
    }
}

/// Expands all profiles. `origins` says for each profile where in the file the entries of its
/// `multiPoint` are; without it they are where they are.
pub(super) fn expand_all(
    configuration: &SchedulerConfiguration,
    origins: &[Vec<Option<usize>>],
    known: &Known,
    problems: &Problems,
) -> Vec<Profile> {
    let mut profiles: Vec<Profile> = Vec::new();
    for (index, own) in configuration.profiles.iter().enumerate() {
        let path = format!("profiles[{index}]");
        let origins = origins.get(index).map_or(&[][..], Vec::as_slice);
        let points = Expansion { profile: own, path: &path, origins, known, problems }.run();
        let profile = Profile {
            scheduler_name: own.scheduler_name.clone(),
            percentage_of_nodes_to_score: own
                .percentage_of_nodes_to_score
                .unwrap_or(configuration.percentage_of_nodes_to_score),
            plugins: own.plugins.enabled().into_iter().map(str::to_owned).collect(),
            points,
            arguments: arguments(configuration, own, &path, problems),
        };
        if let Some(first) = profiles.first() {
            check_queue_sort(first, &profile, &path, problems);
        }
        profiles.push(profile);
    }
    profiles
}

/// The arguments by plugin. Resources that an extender manages, and that the scheduler is to
/// ignore, replace those that NodeResourcesFit was told to.
fn arguments(
    configuration: &SchedulerConfiguration,
    profile: &ProfileConfiguration,
    path: &str,
    problems: &Problems,
) -> BTreeMap<String, Value> {
    let entry = |config: &super::PluginConfig| (config.name.clone(), config.args.clone());
    let mut arguments: BTreeMap<_, _> = profile.plugin_config.iter().map(entry).collect();
    let managed = configuration.extenders.iter().flat_map(|extender| &extender.managed_resources);
    let ignored: Vec<Value> = managed
        .filter(|resource| resource.ignored_by_scheduler)
        .map(|resource| Value::String(resource.name.clone()))
        .collect();
    if !ignored.is_empty() {
        match arguments.get_mut("NodeResourcesFit").and_then(Value::as_object_mut) {
            Some(fit) => drop(fit.insert("ignoredResources".to_owned(), Value::Array(ignored))),
            None => problems.at(
                &format!("{path}.pluginConfig"),
                "can't find NodeResourcesFitArgs in plugin config",
            ),
        }
    }
    arguments
}

/// All profiles share one queue, so they must sort it alike.
fn check_queue_sort(first: &Profile, own: &Profile, path: &str, problems: &Problems) {
    let point = format!("{path}.plugins.{}", Point::QueueSort);
    let ([first_sort], [own_sort]) = (first.at(Point::QueueSort), own.at(Point::QueueSort)) else {
        return;
    };
    if problems.concern(&point) {
        return;
    }
    let name = &own.scheduler_name;
    if first_sort.name != own_sort.name {
        let (sort, first) = (&own_sort.name, &first_sort.name);
        problems.at(
            &point,
            format!(
                "different queue sort plugins for profile {name:?}: {sort:?}, first: {first:?}"
            ),
        );
    } else if first.arguments(&first_sort.name) != own.arguments(&own_sort.name)
        && !problems.concern(&format!("{path}.pluginConfig"))
    {
        let path = format!("{path}.pluginConfig");
        problems.at(&path, format!("different queue sort plugin args for profile {name:?}"));
    }
}

/// The expansion of one profile.
struct Expansion<'a> {
    profile: &'a ProfileConfiguration,
    path: &'a str,
    origins: &'a [Option<usize>],
    known: &'a Known,
    problems: &'a Problems,
}

impl Expansion<'_> {
    fn run(&self) -> BTreeMap<Point, Vec<PointPlugin>> {
        let mut refused = vec![false; self.plugins().multi_point.enabled.len()];
        let mut points = BTreeMap::new();
        for point in Point::ALL {
            let own = self.enabled_at(point);
            let spread = self.multi_point_at(point, &own, &mut refused);
            points.insert(point, ordered(point, &own, &spread));
        }
        self.check(&points);
        points
    }

    fn plugins(&self) -> &Plugins {
        &self.profile.plugins
    }

    /// The plugins that the point itself enables and that can be there.
    fn enabled_at(&self, point: Point) -> Vec<&Plugin> {
        let mut enabled: Vec<&Plugin> = Vec::new();
        for (i, plugin) in self.plugins().at(point).enabled.iter().enumerate() {
            let path = format!("{}.plugins.{point}.enabled[{i}].name", self.path);
            let name = &plugin.name;
            let interface = interface(point);
            match self.known.plugin(name) {
                // Checking the profile has said so already.
                None if REMOVED.contains(&name.as_str()) => {}
                None => self.does_not_exist(&path, name, point),
                Some(known) if !known.points().contains(&point) => self.problems.hinted(
                    &path,
                    format!("plugin {name:?} does not extend {interface} plugin"),
                    Some(joins(known)),
                ),
                Some(_) if has(&enabled, name) => self
                    .problems
                    .at(&path, format!("plugin {name:?} already registered as {interface:?}")),
                Some(_) => enabled.push(plugin),
            }
        }
        enabled
    }

    /// The plugins that `multiPoint` brings to the point. Whoever is `refused` is so once.
    fn multi_point_at(&self, point: Point, own: &[&Plugin], refused: &mut [bool]) -> Vec<&Plugin> {
        let set: &PluginSet = self.plugins().at(point);
        let mut spread: Vec<&Plugin> = Vec::new();
        if set.disables("*") {
            return spread;
        }
        for (i, plugin) in self.plugins().multi_point.enabled.iter().enumerate() {
            let name = &plugin.name;
            let path = || self.multi_point_path(name);
            let Some(known) = self.known.plugin(name) else {
                if !std::mem::replace(&mut refused[i], true) {
                    self.does_not_exist(&path(), name, point);
                }
                continue;
            };
            if !known.points().contains(&point) || set.disables(name) {
                continue;
            }
            if !has(&spread, name) {
                spread.push(plugin);
            } else if !has(own, name) && !std::mem::replace(&mut refused[i], true) {
                let interface = interface(point);
                self.problems
                    .at(&path(), format!("plugin {name:?} already registered as {interface:?}"));
            }
        }
        spread
    }

    /// Where `multiPoint` names a plugin, for the last time if it does so twice.
    fn multi_point_path(&self, name: &str) -> String {
        let entries = self.plugins().multi_point.enabled.iter().enumerate();
        let index = entries
            .filter(|(_, plugin)| plugin.name == name)
            .map(|(i, _)| self.origins.get(i).copied().flatten().unwrap_or(i))
            .max()
            .unwrap_or_default();
        format!("{}.plugins.multiPoint.enabled[{index}].name", self.path)
    }

    fn does_not_exist(&self, path: &str, name: &str, point: Point) {
        let hint = nearest(name, self.known.plugins().map(KnownPlugin::name)).map(did_you_mean);
        let message = format!("{} {name:?} does not exist", interface(point));
        self.problems.hinted(path, message, hint);
    }

    /// What the points must have between them. A point of which something is known to be wrong
    /// is not counted.
    fn check(&self, points: &BTreeMap<Point, Vec<PointPlugin>>) {
        let name = &self.profile.scheduler_name;
        let require = |point: Point, is_met: fn(usize) -> bool, words: &dyn Fn(usize) -> String| {
            let path = format!("{}.plugins.{point}", self.path);
            let count = points[&point].len();
            if !is_met(count) && !self.problems.concern(&path) {
                self.problems.at(&path, words(count));
            }
        };
        require(Point::QueueSort, |count| count == 1, &|count| {
            format!(
                "only one queue sort plugin required for profile with scheduler name {name:?}, but got {count}"
            )
        });
        require(Point::Bind, |count| count > 0, &|_| {
            format!("at least one bind plugin is needed for profile with scheduler name {name:?}")
        });
        require(Point::PlacementGenerate, |count| count <= 1, &|count| {
            format!(
                "only one placement generate plugin can be enabled for profile with scheduler name {name:?}, but got {count}"
            )
        });
        for point in Point::ALL.into_iter().filter(|point| point.is_weighted()) {
            if could_overflow(points[&point].iter().map(|plugin| plugin.weight)) {
                let path = format!("{}.plugins.{point}", self.path);
                self.problems.at(&path, "total score of Score plugins could overflow");
            }
        }
    }
}

/// First those of the point's own that `multiPoint` would have brought as well, then the others
/// that it brings, then the rest of the point's own.
fn ordered(point: Point, own: &[&Plugin], spread: &[&Plugin]) -> Vec<PointPlugin> {
    let both = own.iter().filter(|plugin| has(spread, &plugin.name));
    let others = spread.iter().filter(|plugin| !has(own, &plugin.name));
    let rest = own.iter().filter(|plugin| !has(spread, &plugin.name));
    let entry = |plugin: &&Plugin| PointPlugin {
        name: plugin.name.clone(),
        weight: match plugin.weight {
            _ if !point.is_weighted() => 0,
            None | Some(0) => 1,
            Some(weight) => i64::from(weight),
        },
    };
    both.chain(others).chain(rest).map(entry).collect()
}

fn has(plugins: &[&Plugin], name: &str) -> bool {
    plugins.iter().any(|plugin| plugin.name == name)
}

/// Whether the best possible score, 100 by every plugin, is too much for 64 bits.
fn could_overflow(weights: impl IntoIterator<Item = i64>) -> bool {
    let total = |total: i64, weight: i64| total.checked_add(weight.checked_mul(100)?);
    weights.into_iter().try_fold(0, total).is_none()
}

fn joins(plugin: &KnownPlugin) -> String {
    let points: Vec<String> = plugin.points().iter().map(Point::to_string).collect();
    format!("it joins {}", points.join(", "))
}

/// What upstream calls the Go interface of a point.
fn interface(point: Point) -> String {
    let name = point.to_string();
    let (first, rest) = name.split_at(1);
    format!("{}{rest}Plugin", first.to_uppercase())
}

#[cfg(test)]
mod tests;
