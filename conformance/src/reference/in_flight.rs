//! The in-flight list: attempts under way and what happened meanwhile (section 10).

use std::sync::Arc;

use crate::subject::Change;
use crate::trace::{Pod, PodName, Uid};

/// Markers and events in order of arrival. An attempt sees the events after its marker.
#[derive(Clone, Default)]
pub(super) struct InFlight(Vec<Entry>);

#[derive(Clone)]
enum Entry {
    Marker(Arc<Pod>),
    Event(Change),
}

impl InFlight {
    pub(super) fn begin(&mut self, pod: &Arc<Pod>) {
        self.0.push(Entry::Marker(pod.clone()));
    }

    pub(super) fn keep(&mut self, change: Change) {
        self.0.push(Entry::Event(change));
    }

    /// Removes the attempt of a uid, if there is one, and the events that nobody sees any more.
    pub(super) fn end(&mut self, uid: &Uid) {
        self.0.retain(|entry| !entry.is_marker_of(uid));
        let first = self.0.iter().position(|entry| matches!(entry, Entry::Marker(_)));
        self.0.drain(..first.unwrap_or(self.0.len()));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, uid: &Uid) -> bool {
        self.0.iter().any(|entry| entry.is_marker_of(uid))
    }

    /// The events that the attempt of a uid saw, oldest first; `None` if it is not under way.
    pub(super) fn since(&self, uid: &Uid) -> Option<impl Iterator<Item = &Change>> {
        let marker = self.0.iter().position(|entry| entry.is_marker_of(uid))?;
        Some(self.0[marker..].iter().filter_map(|entry| match entry {
            Entry::Event(change) => Some(change),
            Entry::Marker(_) => None,
        }))
    }

    /// A name for each attempt, in the order of the pops.
    pub(super) fn names(&self) -> Vec<PodName> {
        let name = |entry: &Entry| match entry {
            Entry::Marker(pod) => Some(pod.full_name()),
            Entry::Event(_) => None,
        };
        self.0.iter().filter_map(name).collect()
    }

    pub(super) fn events(&self) -> usize {
        self.0.iter().filter(|entry| matches!(entry, Entry::Event(_))).count()
    }

    pub(super) fn check_invariants(&self) {
        let starts_with_event = matches!(self.0.first(), Some(Entry::Event(_)));
        assert!(!starts_with_event, "an event is kept that nobody sees");
        let mut uids: Vec<_> = self.0.iter().filter_map(Entry::uid).collect();
        uids.sort();
        assert!(uids.is_sorted_by(|a, b| a < b), "a uid is in flight twice: {uids:?}");
    }
}

impl Entry {
    fn uid(&self) -> Option<&Uid> {
        match self {
            Self::Marker(pod) => Some(&pod.uid),
            Self::Event(_) => None,
        }
    }

    fn is_marker_of(&self, uid: &Uid) -> bool {
        self.uid() == Some(uid)
    }
}
