//! Any pod that is known, by a part of its name.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;
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

/// Some of all pods at a time: each pod belongs to one part, whatever comes and goes in between.
#[derive(Debug)]
pub struct Parts {
    // Names come with a hash, so that what is not in a part costs no look at its letters.
    hasher: DefaultHashBuilder,
    pods_each: usize,
    next: usize,
    /// 0 until the first was looked at.
    all: usize,
}

/// A search for pods that is under way.
#[derive(Debug)]
pub struct PodSearch {
    text: String,
    limit: usize,
    parts: Parts,
    /// The first of what was found so far.
    found: Vec<PodKey>,
}

impl PodSearch {
    /// Looks for pods in whose namespace and name a text occurs, at most so many: those first that
    /// are called so, then those whose name begins so. About `pods_each` are looked at in a step.
    #[must_use]
    pub fn new(text: String, limit: usize, pods_each: usize) -> Self {
        Self { text, limit, parts: Parts::new(pods_each), found: Vec::new() }
    }
}

impl<V: Observer> Scheduler<V> {
    /// Looks at the next part of all pods; what was found, if that was the last. The journal knows
    /// some pods that are gone.
    pub fn search_pods(&self, search: &mut PodSearch, journal: &Journal) -> Option<Vec<KnownPod>> {
        let text = &search.text;
        let is_meant = |key: &PodKey| super::contains(&key.namespace, &key.name, text);
        let (known, gone) = self.next_part(&mut search.parts, journal, is_meant);
        let mut first = First::new(search.limit, None);
        for key in known.chain(&gone).chain(&search.found) {
            let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
            let rank = match name.strip_prefix(text.as_str()) {
                Some("") => 0,
                Some(_) => 1,
                None => 2,
            };
            let key_of = Key { value: Value::Number(rank), reversed: false, namespace, name };
            first.offer(key_of, key);
        }
        search.found = first.finish().0.into_iter().cloned().collect();
        if !search.parts.is_over() {
            return None;
        }
        let known = |key: &PodKey| KnownPod {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            place: self.whereabouts_name(key),
        };
        Some(search.found.iter().map(known).collect())
    }

    /// The names in the next part of all pods that somebody wants; apart from them those of which
    /// only the journal knows.
    pub fn next_part<'a>(
        &'a self,
        parts: &mut Parts,
        journal: &'a Journal,
        is_wanted: impl Fn(&PodKey) -> bool + Copy + 'a,
    ) -> (impl Iterator<Item = &'a PodKey>, Vec<PodKey>) {
        if parts.all == 0 {
            parts.all = self.known_pods().len() / parts.pods_each + 1;
        }
        let (hasher, part, all) = (parts.hasher.clone(), parts.next, parts.all);
        parts.next += 1;
        let is_in = move |key: &&PodKey| {
            (hasher.hash_one(*key) >> 32) as usize % all == part && is_wanted(key)
        };
        // Few are wanted, and to know whether a pod is gone costs more than to look at its name.
        let mut gone = journal.finished();
        gone.retain(|key| is_in(&key) && !self.is_known(key));
        (self.known_pods().filter(is_in), gone)
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

impl Parts {
    /// About so many pods in each.
    #[must_use]
    pub fn new(pods_each: usize) -> Self {
        let pods_each = pods_each.max(1);
        Self { hasher: DefaultHashBuilder::default(), pods_each, next: 0, all: 0 }
    }

    /// Whether there are no more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.all > 0 && self.next >= self.all
    }
}
