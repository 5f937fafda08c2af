//! Why pods are where they are at the end of a run, and how they came there.

use roadstead_sim::{Explanation, History, JournalLimits, Outcome, PodKey};
use serde::Serialize;

use crate::error::{Error, UnknownPod};
use crate::explained::{self, Explained};

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

/// A pod that was asked about, and that there was not.
pub(crate) struct Unknown {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Names that may have been meant.
    pub(crate) near: Vec<String>,
}

impl Unknown {
    /// What is told of them, once everything else was.
    pub(crate) fn tell(all: Vec<Self>) -> Result<(), Error> {
        let tell = |Self { namespace, name, near }: Self| UnknownPod {
            name: format!("{namespace}/{name}"),
            near,
            comes: None,
        };
        UnknownPod::tell(all.into_iter().map(tell).collect())
    }
}

/// Explains the pods of these names, which are `[NAMESPACE/]POD`, by what `ask` says of them. Those
/// that there were not come apart: one wrong name is no reason to withhold the others.
pub(crate) fn explain(
    mut ask: impl FnMut(&PodKey) -> (Option<Explanation>, Option<History>),
    outcome: &Outcome,
    names: &[String],
) -> (Vec<Explained>, Vec<Unknown>) {
    let (mut all, mut unknown) = (Vec::new(), Vec::new());
    for written in names {
        let (namespace, name) = explained::split(written, "default");
        let key = explained::key(namespace, name);
        let (explanation, history) = ask(&key);
        match Explained::new(&key, explanation, history) {
            Some(found) => all.push(found),
            None => {
                let pods = outcome.pods.iter().map(|pod| (&*pod.namespace, &*pod.name));
                let near = explained::near(pods, namespace, name);
                let [namespace, name] = [namespace, name].map(str::to_owned);
                unknown.push(Unknown { namespace, name, near });
            }
        }
    }
    (all, unknown)
}
