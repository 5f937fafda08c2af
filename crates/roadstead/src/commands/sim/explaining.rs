//! Why pods are where they are at the end of a run, and how they came there.

use roadstead_sim::{JournalLimits, Outcome, Simulation};
use serde::Serialize;

use crate::error::Error;
use crate::explained::{self, Explained};

/// An outcome, and the pods that were asked about.
#[derive(Serialize)]
pub(super) struct WithExplanations<'a> {
    #[serde(flatten)]
    pub(super) outcome: &'a Outcome,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) explanations: &'a [Explained],
}

/// Of a run that ends, whatever was asked for can be kept.
pub(super) fn limits() -> JournalLimits {
    JournalLimits { finished: 1_000_000, pods: 1_000_000, ..JournalLimits::default() }
}

/// Explains the pods of these names, which are `[NAMESPACE/]POD`.
pub(super) fn explain(
    simulation: &mut Simulation,
    outcome: &Outcome,
    names: &[String],
) -> Result<Vec<Explained>, Error> {
    let mut all = Vec::new();
    for written in names {
        let (namespace, name) = explained::split(written, "default");
        let key = explained::key(namespace, name);
        let (explanation, history) = (simulation.explain(&key), simulation.history(&key));
        let found = Explained::new(&key, explanation, history).ok_or_else(|| {
            let pods = outcome.pods.iter().map(|pod| (&*pod.namespace, &*pod.name));
            let near = explained::near(pods, namespace, name);
            Error::UnknownPod { name: format!("{namespace}/{name}"), near }
        });
        all.push(found?);
    }
    Ok(all)
}
