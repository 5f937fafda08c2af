//! Replays single decisions of the real scheduler: where a pod may go, which events bring it
//! back, and who must make room for it.

mod case;
mod chosen;
mod hint;
mod outcome;
mod place;
mod preempt;
mod report;
mod scene;

use roadstead_scheduler::plugins;

pub use case::{Case, Cases};
pub use report::{DecisionReport, Mismatch};

/// What a replay of decisions looks at.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only what this plugin says, by itself: other plugins need not even exist.
    pub only: Option<String>,
}

/// Runs cases against the plugins of the default profile.
///
/// # Errors
///
/// A case that cannot be read, or that holds an object that is none.
pub fn replay_decisions(
    cases: Cases,
    selection: &Selection,
) -> Result<DecisionReport, crate::TraceError> {
    let mut report = DecisionReport::default();
    for case in cases {
        let (case, at) = case?;
        if selection.only.as_deref().is_some_and(|only| !case.may_concern(only)) {
            continue;
        }
        let mut plugins = case.plugins();
        if let Some(only) = &selection.only {
            plugins.retain(|name| name == only);
        }
        if let Some(missing) = plugins.iter().find(|name| !exists(name)) {
            report.not_yet(missing);
            continue;
        }
        let result = match &case {
            Case::Place(case) => place::replay(case, selection),
            Case::Hint(case) => hint::replay(case),
            Case::Preempt(case) => preempt::replay(case),
        };
        match result {
            Ok(verdict) => report.add(case.name(), &plugins, verdict),
            Err(what) => return Err(at.error(format!("case `{}`: {what}", case.name()))),
        }
    }
    Ok(report)
}

/// How a case came out.
enum Verdict {
    Same,
    /// Different on purpose, by the rule of this id.
    Chosen(&'static str),
    Different(Mismatch),
}

impl From<Result<(), Mismatch>> for Verdict {
    fn from(compared: Result<(), Mismatch>) -> Self {
        compared.map_or_else(Self::Different, |()| Self::Same)
    }
}

fn exists(plugin: &str) -> bool {
    plugins::DEFAULT.iter().any(|(name, ..)| *name == plugin)
}
