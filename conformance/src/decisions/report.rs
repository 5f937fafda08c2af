//! What a replay of decisions found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Verdict;

/// How the cases came out.
#[derive(Clone, Debug, Default)]
pub struct DecisionReport {
    /// How many were replayed, those not yet possible included.
    pub cases: usize,
    /// Those that came out differently, by name.
    pub differences: Vec<(String, Mismatch)>,
    /// How many differ on purpose, by the rule's id.
    pub chosen: BTreeMap<&'static str, usize>,
    /// How many need a plugin that there is not yet, by that plugin.
    pub not_yet: BTreeMap<String, usize>,
    /// How many name a plugin, and how many of them differ because of it.
    pub plugins: BTreeMap<String, (usize, usize)>,
}

impl DecisionReport {
    /// Adds what was found elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.differences.extend(other.differences);
        for (id, count) in other.chosen {
            *self.chosen.entry(id).or_default() += count;
        }
        for (plugin, count) in other.not_yet {
            *self.not_yet.entry(plugin).or_default() += count;
        }
        for (plugin, (cases, differences)) in other.plugins {
            let of_plugin = self.plugins.entry(plugin).or_default();
            of_plugin.0 += cases;
            of_plugin.1 += differences;
        }
    }

    pub(super) fn not_yet(&mut self, plugin: &str) {
        self.cases += 1;
        *self.not_yet.entry(plugin.to_owned()).or_default() += 1;
    }

    pub(super) fn add(&mut self, case: &str, plugins: &BTreeSet<String>, verdict: Verdict) {
        self.cases += 1;
        for plugin in plugins {
            self.plugins.entry(plugin.clone()).or_default().0 += 1;
        }
        match verdict {
            Verdict::Same => {}
            Verdict::Chosen(id) => *self.chosen.entry(id).or_default() += 1,
            Verdict::Different(mismatch) => {
                if !mismatch.plugin.is_empty() {
                    self.plugins.entry(mismatch.plugin.clone()).or_default().1 += 1;
                }
                self.differences.push((case.to_owned(), mismatch));
            }
        }
    }
}

impl fmt::Display for DecisionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (case, mismatch) in &self.differences {
            writeln!(f, "case `{case}`\n{mismatch}\n")?;
        }
        for (plugin, (cases, differences)) in &self.plugins {
            writeln!(f, "{plugin}: {cases} cases, {differences} differences")?;
        }
        for (plugin, cases) in &self.not_yet {
            writeln!(f, "{plugin}: not yet, {cases} cases need it")?;
        }
        for (id, cases) in &self.chosen {
            writeln!(f, "{cases} cases differ by choice: {id}")?;
        }
        let Self { cases, differences, chosen, not_yet, .. } = self;
        let chosen: usize = chosen.values().sum();
        let not_yet: usize = not_yet.values().sum();
        let differences = differences.len();
        write!(f, "{cases} cases, {differences} differences, {chosen} chosen, {not_yet} not yet")
    }
}

/// The first thing that came out differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The plugin that it is about; empty where it is about several.
    plugin: String,
    field: String,
    expected: String,
    got: String,
}

impl Mismatch {
    pub(super) fn new(
        plugin: &str,
        field: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
    ) -> Self {
        Self {
            plugin: plugin.to_owned(),
            field: field.into(),
            expected: expected.into(),
            got: got.into(),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, expected, got, .. } = self;
        write!(f, "    {field}:\n        expected {expected}\n        got      {got}")
    }
}

/// Whether two values of a field are equal.
pub(super) fn compare<T: PartialEq + fmt::Debug>(
    plugin: &str,
    field: impl Into<String>,
    expected: &T,
    got: &T,
) -> Result<(), Mismatch> {
    if expected == got {
        return Ok(());
    }
    Err(Mismatch::new(plugin, field, format!("{expected:?}"), format!("{got:?}")))
}
