//! How long pods run, by what others of their kind did.

use std::time::Duration;

use hashbrown::HashMap;
use k8s_openapi::api::core::v1::Pod;

/// How long pods ran that finished, by kind.
#[derive(Default)]
pub(super) struct Lifespans(HashMap<String, Vec<Lifespan>>);

/// From when a pod was shown on its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lifespan {
    /// Until it finished.
    pub(super) finished: Duration,
    /// From then until it was cleared away, if it was.
    pub(super) cleared: Option<Duration>,
    pub(super) phase: String,
}

impl Lifespans {
    pub(super) fn add(&mut self, kind: &str, lifespan: Lifespan) {
        self.0.entry_ref(kind).or_default().push(lifespan);
    }

    pub(super) fn sort(&mut self) {
        self.0.values_mut().for_each(|all| all.sort_unstable());
    }

    /// How long a pod runs of which it is known that it ran for `at_least`: by the median of those
    /// of its kind that ran longer. `None` if none did.
    pub(super) fn expected(&self, kind: &str, at_least: Duration) -> Option<&Lifespan> {
        let all = self.0.get(kind)?;
        let longer = &all[all.partition_point(|lifespan| lifespan.finished <= at_least)..];
        longer.get(longer.len() / 2)
    }
}

/// What a pod has in common with others that do the same: who controls it, or else its labels.
pub(super) fn kind_of(pod: &Pod) -> String {
    let metadata = &pod.metadata;
    let owners = metadata.owner_references.iter().flatten();
    let controller = owners.into_iter().find(|owner| owner.controller == Some(true));
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    match controller {
        Some(owner) => owner.uid.clone(),
        None => format!("{namespace} {:?}", metadata.labels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_runs_as_long_as_the_median_of_those_that_ran_longer() {
        let mut lifespans = Lifespans::default();
        for seconds in [50, 10, 40, 20, 30] {
            let finished = Duration::from_secs(seconds);
            let lifespan = Lifespan { finished, cleared: None, phase: "Succeeded".to_owned() };
            lifespans.add("kind", lifespan);
        }
        lifespans.sort();
        let expected = |at_least| {
            let expected = lifespans.expected("kind", Duration::from_secs(at_least));
            expected.map(|lifespan| lifespan.finished.as_secs())
        };
        assert_eq!(
            [expected(0), expected(20), expected(45), expected(50)],
            [Some(30), Some(40), Some(50), None]
        );
        assert_eq!(lifespans.expected("another", Duration::ZERO), None);
    }
}
