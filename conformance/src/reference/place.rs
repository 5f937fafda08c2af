//! Where pods wait, and how they get there (section 6).

use super::Reference;
use super::record::Record;
use super::requeue::Strategy;
use crate::trace::PodName;

/// Where a pod waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Active,
    /// After a rejection.
    Backoff,
    /// After an error; never popped from.
    ErrorBackoff,
    Pool,
}

/// Where a pod that enters active comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Backoff,
    Elsewhere,
}

/// Placing, section 6.
impl Reference {
    /// Whether it was added, and not held by a gate.
    pub(super) fn enter_active(&mut self, mut record: Record, label: &str, origin: Origin) -> bool {
        // With popping from backoff the gates were asked on the way into backoff.
        if !(self.pop_from_backoff && origin == Origin::Backoff) {
            record.ask_gates();
        }
        if record.is_gated {
            if matches!(self.place_of(&record.name()), None | Some(Place::Pool)) {
                self.enter_pool(record, label);
            }
            return false;
        }
        let pod = record.pod.clone();
        self.put(Place::Active, record);
        self.count("active", label);
        if matches!(label, "UnschedulablePodAdd" | "UnschedulablePodUpdate") {
            self.nominator.add(&pod, None);
        }
        true
    }

    /// Whether it was added, and not held by a gate.
    pub(super) fn enter_backoff(&mut self, mut record: Record, label: &str) -> bool {
        if self.pop_from_backoff {
            record.ask_gates();
            if record.is_gated {
                self.enter_pool(record, label);
                return false;
            }
        }
        let place = if record.has_rejector() { Place::Backoff } else { Place::ErrorBackoff };
        self.put(place, record);
        self.count("backoff", label);
        true
    }

    pub(super) fn enter_pool(&mut self, record: Record, label: &str) {
        if self.place_of(&record.name()) != Some(Place::Pool) {
            self.count("unschedulable", label);
        }
        self.put(Place::Pool, record);
    }

    /// Where it landed.
    pub(super) fn requeue(
        &mut self,
        now_ms: u64,
        record: Record,
        strategy: Strategy,
        label: &str,
    ) -> Place {
        let name = record.name();
        match strategy {
            Strategy::Skip => self.enter_pool(record, label),
            Strategy::AfterBackoff if self.backoff.lasts(&record, now_ms) => {
                self.enter_backoff(record, label);
            }
            Strategy::AfterBackoff | Strategy::Immediately => {
                self.enter_active(record, label, Origin::Elsewhere);
            }
        }
        self.place_of(&name).expect("a requeued pod is somewhere")
    }

    /// Puts a pod in its one place, from wherever it was.
    pub(super) fn put(&mut self, place: Place, record: Record) {
        self.remove(&record.name());
        self.waiting.push((place, record));
    }

    pub(super) fn remove(&mut self, name: &PodName) -> Option<Record> {
        let index = self.waiting.iter().position(|(_, record)| record.is_named(name))?;
        Some(self.waiting.remove(index).1)
    }

    pub(super) fn get(&self, name: &PodName) -> Option<&(Place, Record)> {
        self.waiting.iter().find(|(_, record)| record.is_named(name))
    }

    pub(super) fn get_mut(&mut self, name: &PodName) -> Option<&mut (Place, Record)> {
        self.waiting.iter_mut().find(|(_, record)| record.is_named(name))
    }

    pub(super) fn place_of(&self, name: &PodName) -> Option<Place> {
        self.get(name).map(|(place, _)| *place)
    }

    pub(super) fn count(&mut self, queue: &str, label: &str) {
        *self.incoming.entry(format!("{queue}/{label}")).or_default() += 1;
    }
}
