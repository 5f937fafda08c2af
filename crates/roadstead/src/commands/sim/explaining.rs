//! Why a pod is where it is at the end of a run, and how it came there.

use std::collections::BTreeSet;
use std::io::{self, Write};

use roadstead_model::Text;
use roadstead_scheduler::document::nearest;
use roadstead_sim::{Explanation, History, JournalLimits, Outcome, PodKey};
use serde::Serialize;

use crate::error::Error;

/// What is known of a pod at the end of a run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explained {
    namespace: String,
    name: String,
    /// Absent if it is gone.
    explanation: Option<Explanation>,
    history: Option<History>,
}

/// An outcome, and the pods that were asked about.
#[derive(Serialize)]
pub(crate) struct WithExplanations<'a> {
    #[serde(flatten)]
    pub(crate) outcome: &'a Outcome,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) explanations: &'a [Explained],
}

/// Of a run that ends, whatever was asked for can be kept.
pub(crate) fn limits() -> JournalLimits {
    JournalLimits { finished: 1_000_000, pods: 1_000_000, ..JournalLimits::default() }
}

/// Explains the pods of these names, which are `[NAMESPACE/]POD`, by what `ask` says of them.
pub(crate) fn explain(
    mut ask: impl FnMut(&PodKey) -> (Option<Explanation>, Option<History>),
    outcome: &Outcome,
    names: &[String],
) -> Result<Vec<Explained>, Error> {
    let mut all = Vec::new();
    for written in names {
        let (namespace, name) = written.split_once('/').unwrap_or(("default", written));
        let key = PodKey { namespace: Text::unshared(namespace), name: Text::unshared(name) };
        let (explanation, history) = ask(&key);
        if explanation.is_none() && history.is_none() {
            let near = near(outcome, namespace, name);
            return Err(Error::UnknownPod { name: format!("{namespace}/{name}"), near });
        }
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        all.push(Explained { namespace, name, explanation, history });
    }
    Ok(all)
}

impl Explained {
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { namespace, name, explanation, history } = self;
        match explanation {
            Some(explanation) => write!(out, "{explanation}")?,
            None => writeln!(out, "{namespace}/{name} is gone.")?,
        }
        if let Some(history) = history {
            writeln!(out, "What happened to it:")?;
            history.lines().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        Ok(())
    }
}

/// Names that may have been meant: those of the same name elsewhere, those that begin alike, and
/// the one that is spelt most alike.
fn near(outcome: &Outcome, namespace: &str, name: &str) -> Vec<String> {
    let full = |namespace: &str, name: &str| format!("{namespace}/{name}");
    let pods = || outcome.pods.iter().map(|pod| (pod.namespace.as_str(), pod.name.as_str()));
    let elsewhere = pods().filter(|(_, other)| *other == name);
    let longer = pods().filter(|(other, long)| *other == namespace && long.starts_with(name));
    let here: Vec<&str> =
        pods().filter(|(other, _)| *other == namespace).map(|pod| pod.1).collect();
    let alike = nearest(name, here).map(|alike| (namespace, alike));
    let all = elsewhere.chain(alike).chain(longer).map(|(namespace, name)| full(namespace, name));
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(name.clone())).take(MOST_NEAR).collect()
}

const MOST_NEAR: usize = 3;
