//! Where a pod may go and how good it is there: as recorded, and as Roadstead says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use roadstead_scheduler::framework::Status;
use serde::Deserialize;

use super::report::{Mismatch, compare};

/// What came of filtering and scoring.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome {
    pub(super) pre_filter: Option<Refusal>,
    pub(super) filter: BTreeMap<String, Option<Refusal>>,
    pub(super) scores: BTreeMap<String, BTreeMap<String, i64>>,
    pub(super) totals: BTreeMap<String, i64>,
    pub(super) message: Option<String>,
    pub(super) rejected_by: Option<BTreeSet<String>>,
}

/// Who refuses, and in which words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refusal {
    pub(super) plugin: String,
    pub(super) code: String,
    pub(super) reasons: Vec<String>,
}

impl Outcome {
    /// All plugins that it names.
    pub(super) fn plugins(&self) -> BTreeSet<String> {
        let refusals = self.pre_filter.iter().chain(self.filter.values().flatten());
        let refusing = refusals.map(|refusal| &refusal.plugin).filter(|name| !name.is_empty());
        let scoring = self.scores.values().flat_map(BTreeMap::keys);
        let named = refusing.chain(scoring).chain(self.rejected_by.iter().flatten());
        named.cloned().chain(self.failing().map(str::to_owned)).collect()
    }

    /// The plugin whose scoring failed: `running PreScore plugin "NodeAffinity": …`.
    fn failing(&self) -> Option<&str> {
        let message = self.message.as_deref().filter(|_| self.rejected_by.is_none())?;
        message.split('"').nth(1)
    }

    /// Whether `got` is the same in every respect.
    pub(super) fn compare(&self, got: &Self) -> Result<(), Mismatch> {
        self.compare_pre_filter(got)?;
        for (node, expected) in &self.filter {
            compare_filter(node, expected.as_ref(), got.refusal(node))?;
        }
        let unexpected = got.filter.keys().find(|node| !self.filter.contains_key(*node));
        if let Some(node) = unexpected {
            return Err(Mismatch::new("", format!("filter.{node}"), "nothing", "an answer"));
        }
        for node in self.scores.keys().chain(got.scores.keys()) {
            self.compare_scores(got, node, |_| true)?;
        }
        compare("", "totals", &self.totals, &got.totals)?;
        compare("", "message", &self.message, &got.message)?;
        compare("", "rejected_by", &self.rejected_by, &got.rejected_by)
    }

    /// Whether `got`, which one plugin said all by itself, is what that plugin says here.
    pub(super) fn compare_part(&self, got: &Self, plugin: &str) -> Result<(), Mismatch> {
        if let Some(refusal) = &self.pre_filter {
            let is_its = refusal.plugin == plugin;
            return if is_its { self.compare_pre_filter(got) } else { Ok(()) };
        }
        self.compare_pre_filter(got)?;
        let left_out = format!("node(s) didn't satisfy plugin(s) [{plugin}]");
        for (node, expected) in &self.filter {
            let is_its = expected.as_ref().is_none_or(|it| {
                it.plugin == plugin || (it.plugin.is_empty() && it.reasons == [left_out.as_str()])
            });
            if is_its {
                compare_filter(node, expected.as_ref(), got.refusal(node))?;
            }
        }
        for node in self.scores.keys() {
            self.compare_scores(got, node, |name| name == plugin)?;
        }
        if self.failing() == Some(plugin) {
            compare(plugin, "message", &self.message, &got.message)?;
        }
        Ok(())
    }

    fn refusal(&self, node: &str) -> Option<&Refusal> {
        self.filter.get(node).and_then(Option::as_ref)
    }

    fn compare_pre_filter(&self, got: &Self) -> Result<(), Mismatch> {
        let plugin = self.pre_filter.as_ref().or(got.pre_filter.as_ref()).map(|it| &*it.plugin);
        let [expected, got] =
            [self, got].map(|it| shown(it.pre_filter.as_ref(), "no PreFilter refuses"));
        if expected == got {
            return Ok(());
        }
        Err(Mismatch::new(plugin.unwrap_or_default(), "pre_filter", expected, got))
    }

    fn compare_scores(
        &self,
        got: &Self,
        node: &str,
        is_compared: impl Fn(&str) -> bool,
    ) -> Result<(), Mismatch> {
        let none = BTreeMap::new();
        let [expected, got] = [self, got].map(|it| it.scores.get(node).unwrap_or(&none));
        for plugin in expected.keys().chain(got.keys()).filter(|name| is_compared(name)) {
            let field = format!("scores.{node}.{plugin}");
            compare(plugin, field, &expected.get(plugin), &got.get(plugin))?;
        }
        Ok(())
    }
}

fn compare_filter(
    node: &str,
    expected: Option<&Refusal>,
    got: Option<&Refusal>,
) -> Result<(), Mismatch> {
    if expected == got {
        return Ok(());
    }
    let plugin = expected.or(got).map_or("", |refusal| &refusal.plugin);
    let [expected, got] = [expected, got].map(|it| shown(it, "fits"));
    Err(Mismatch::new(plugin, format!("filter.{node}"), expected, got))
}

fn shown(refusal: Option<&Refusal>, none: &str) -> String {
    refusal.map_or_else(|| none.to_owned(), ToString::to_string)
}

impl From<&Status> for Refusal {
    fn from(status: &Status) -> Self {
        let mut reasons: Vec<String> = status.reasons().iter().map(ToString::to_string).collect();
        reasons.sort_unstable();
        Self { plugin: status.plugin().into(), code: status.code().name().into(), reasons }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plugin, code, reasons } = self;
        write!(f, "{plugin} {code} {reasons:?}")
    }
}
