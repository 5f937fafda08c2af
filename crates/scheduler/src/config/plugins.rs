//! What a profile enables and disables, and how that is merged into the defaults.

use serde::{Deserialize, Serialize};

use super::known::Point;

/// The plugins of a profile, point by point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(missing_docs, reason = "each is the point of its name")]
pub struct Plugins {
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub pre_enqueue: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub queue_sort: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub pre_filter: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub filter: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub post_filter: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub pre_score: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub score: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub reserve: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub permit: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub pre_bind: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub bind: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub post_bind: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub placement_generate: PluginSet,
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub placement_score: PluginSet,
    /// Plugins that join every point they can.
    #[serde(skip_serializing_if = "PluginSet::is_empty")]
    pub multi_point: PluginSet,
}

/// What is enabled and disabled at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginSet {
    /// Besides the defaults, or in their place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enabled: Vec<Plugin>,
    /// Of the defaults; `*` for all of them. What is also enabled is not disabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disabled: Vec<Plugin>,
}

/// A plugin in such a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its weight where nodes are scored; 0 and none are 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

impl Plugins {
    /// What is enabled and disabled at `point` itself.
    #[must_use]
    pub fn at(&self, point: Point) -> &PluginSet {
        match point {
            Point::PreEnqueue => &self.pre_enqueue,
            Point::QueueSort => &self.queue_sort,
            Point::PreFilter => &self.pre_filter,
            Point::Filter => &self.filter,
            Point::PostFilter => &self.post_filter,
            Point::PreScore => &self.pre_score,
            Point::Score => &self.score,
            Point::Reserve => &self.reserve,
            Point::Permit => &self.permit,
            Point::PreBind => &self.pre_bind,
            Point::Bind => &self.bind,
            Point::PostBind => &self.post_bind,
            Point::PlacementGenerate => &self.placement_generate,
            Point::PlacementScore => &self.placement_score,
        }
    }

    /// The names of all that are enabled anywhere, each once: those that are to be made.
    #[must_use]
    pub fn enabled(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let sets = Point::ALL.into_iter().map(|point| self.at(point));
        for plugin in std::iter::once(&self.multi_point).chain(sets).flat_map(|set| &set.enabled) {
            if !names.contains(&plugin.name.as_str()) {
                names.push(plugin.name.as_str());
            }
        }
        names
    }

    /// Merges this into the plugins of the default profile, which are all at `multiPoint`, and
    /// says for each entry of the merged `multiPoint` which of ours it was.
    pub(super) fn merge_into(&mut self, defaults: &Self) -> Vec<Option<usize>> {
        let (merged, origins) = self.multi_point.merged_into(&defaults.multi_point.enabled);
        self.multi_point = merged;
        origins
    }
}

impl PluginSet {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.enabled.is_empty() && self.disabled.is_empty()
    }

    pub(super) fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|plugin| plugin.name == name)
    }

    /// The defaults that are not disabled, each replaced by ours of its name, then the rest of
    /// ours. Of several of one name the last is the replacement, and the others stay, for
    /// expansion to refuse.
    fn merged_into(&self, defaults: &[Plugin]) -> (Self, Vec<Option<usize>>) {
        let mut merged: Vec<(Plugin, Option<usize>)> = Vec::new();
        let mut placed = vec![false; self.enabled.len()];
        if !self.disables("*") {
            for default in defaults.iter().filter(|default| !self.disables(&default.name)) {
                match self.enabled.iter().rposition(|own| own.name == default.name) {
                    Some(index) => {
                        placed[index] = true;
                        merged.push((self.enabled[index].clone(), Some(index)));
                    }
                    None => merged.push((default.clone(), None)),
                }
            }
        }
        let rest = self.enabled.iter().enumerate().filter(|(index, _)| !placed[*index]);
        merged.extend(rest.map(|(index, own)| (own.clone(), Some(index))));
        // A weight means nothing here, and upstream drops it.
        let disabled = |plugin: &Plugin| Plugin { name: plugin.name.clone(), weight: None };
        let (enabled, origins) = merged.into_iter().unzip();
        (Self { enabled, disabled: self.disabled.iter().map(disabled).collect() }, origins)
    }
}
