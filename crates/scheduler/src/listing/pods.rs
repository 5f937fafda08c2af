//! Any pod that is known, by a part of its name.

use serde::Serialize;

use super::PlaceName;
use super::order::{First, Key, Value};
use crate::journal::Journal;
use crate::observer::Observer;
use crate::scheduler::{PodKey, Scheduler};

/// A pod that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// A place of the queue, or `binding`, `bound`, `gone`, or `notOurs` if another scheduler is to
    /// place it.
    pub place: &'static str,
}

impl<V: Observer> Scheduler<V> {
    /// Pods in whose namespace and name a text occurs, at most so many: those first that are called
    /// so, then those whose name begins so. The journal knows some that are gone.
    #[must_use]
    pub fn find_pods(&self, text: &str, limit: usize, journal: &Journal) -> Vec<KnownPod> {
        let mut first = First::new(limit, None);
        let gone = journal.pods().filter(|key| !self.is_known(key));
        for key in self.known_pods().chain(gone) {
            let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
            if !super::contains(namespace, name, text) {
                continue;
            }
            let rank = match name.strip_prefix(text) {
                Some("") => 0,
                Some(_) => 1,
                None => 2,
            };
            let key_of = Key { value: Value::Number(rank), reversed: false, namespace, name };
            first.offer(key_of, key);
        }
        let known = |key: &PodKey| KnownPod {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            place: self.whereabouts_name(key),
        };
        first.finish().0.into_iter().map(known).collect()
    }

    fn whereabouts_name(&self, key: &PodKey) -> &'static str {
        let Some((pod, profile)) = self.known_pod(key) else { return "gone" };
        if self.cache().is_assumed(&pod.uid) {
            return "binding";
        }
        if self.cache().node_of(&pod.uid).is_some() {
            return "bound";
        }
        match self.queue().place(key) {
            Some(place) => PlaceName::of(place).as_str(),
            None if profile.is_none() => "notOurs",
            None => PlaceName::InFlight.as_str(),
        }
    }
}
