//! What those who make up sequences want to know, and what must always be true.

use super::Reference;
use super::place::Place;
use super::requeue::Strategy;
use crate::subject::PodUpdate;
use crate::trace::PodName;

impl Reference {
    /// When a pod that waits stops backing off or has been in the pool too long, if ever.
    pub(crate) fn deadline_ms(&self, name: &PodName) -> Option<u64> {
        let (place, record) = self.get(name)?;
        match place {
            Place::Active => None,
            Place::Backoff | Place::ErrorBackoff => self.backoff.end_ms(record),
            Place::Pool => {
                Some(record.untouched_since_ms().saturating_add(self.max_in_unschedulable_ms))
            }
        }
    }

    /// Whether this update would make a record, and stamp it with the time.
    pub(crate) fn is_new_by(&self, update: &PodUpdate) -> bool {
        !self.in_flight.has(&update.new.uid) && self.get(&update.new.full_name()).is_none()
    }

    /// Whether the real queue would lose count of the pod's place by this update (D1): without
    /// popping it goes on with the next kind of change after one has moved the pod to backoff.
    /// That ends well only where the next kind moves the pod too.
    pub(crate) fn is_in_two_places_by(&self, now_ms: u64, update: &PodUpdate) -> bool {
        let Some((Place::Pool, record)) = self.get(&update.new.full_name()) else {
            return false;
        };
        if self.pop_from_backoff || !self.queueing_hints || self.in_flight.has(&update.new.uid) {
            return false;
        }
        let mut record = record.clone();
        record.pod = update.new.clone();
        let lasts = self.backoff.lasts(&record, now_ms);
        let mut is_in_backoff = false;
        for change in update.changes() {
            match self.registrations.worth_requeueing(&record, &change) {
                Strategy::Skip if is_in_backoff => return true,
                // A gate holds it where it is, in backoff, and marks it there.
                Strategy::Immediately if is_in_backoff && !record.pod.gates.is_empty() => {
                    return true;
                }
                Strategy::AfterBackoff if lasts => is_in_backoff = true,
                Strategy::Skip | Strategy::AfterBackoff | Strategy::Immediately => {}
            }
        }
        false
    }

    /// Checks what must be true between any two operations (section 16).
    ///
    /// # Panics
    /// If something of it is not.
    pub fn check_invariants(&self) {
        let mut names: Vec<_> = self.waiting.iter().map(|(_, record)| record.name()).collect();
        names.sort();
        assert!(names.is_sorted_by(|a, b| a < b), "a name waits twice: {names:?}");
        for (place, record) in &self.waiting {
            let name = record.name();
            let is_error = *place == Place::ErrorBackoff;
            assert!(!self.in_flight.has(&record.pod.uid), "{name} waits and is in flight");
            assert!(
                *place == Place::Active || is_error != record.has_rejector(),
                "{name}: {place:?}"
            );
            // Without popping, gates are asked on the way out of backoff, not on the way in.
            let may_be_gated =
                *place == Place::Pool || !self.pop_from_backoff && *place == Place::Backoff;
            assert!(may_be_gated || !record.is_gated, "{name} is gated in {place:?}");
        }
        assert!(self.move_cycle <= self.cycle, "a move request from a cycle to come");
        self.in_flight.check_invariants();
        self.nominator.check_invariants();
    }
}
