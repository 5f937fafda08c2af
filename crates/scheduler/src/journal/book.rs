//! What is written down of pods.

use roadstead_queue::Plugins;

use super::JournalLimits;
use super::names::NameId;
use super::notes::{Came, Note};
use super::pods::Pods;
use super::record::{Kind, Record};

/// All that a journal keeps of single pods.
pub(super) struct Book {
    pub(super) plugins: Plugins,
    pub(super) pods: Pods,
}

impl Book {
    pub(super) fn new(limits: JournalLimits) -> Self {
        Self { plugins: Plugins::new(), pods: Pods::new(limits) }
    }

    pub(super) fn write(&mut self, note: Note) {
        match note {
            Note::Came(arrival, came) => self.pods.arrive(arrival, came == Came::Anew),
            Note::Was(incarnation, record) => self.write_record(incarnation, record),
            Note::Pooled(incarnation, record, class) => {
                let Some(kept) = self.pods.get_mut(incarnation) else { return };
                kept.class = class;
                kept.ring.push(record);
            }
            Note::Refused(incarnation, record, plugin) => {
                let Some(kept) = self.pods.get_mut(incarnation) else { return };
                kept.ring.push(Record { plugin: self.plugins.id(plugin), ..record });
            }
            Note::Bound { incarnation, at, node, attempts: number } => {
                let Some(kept) = self.pods.get_mut(incarnation) else { return };
                kept.node = Some(node);
                kept.ring.push(Record { number, ..Record::new(Kind::Bound, at) });
            }
        }
    }

    fn write_record(&mut self, incarnation: u64, record: Record) {
        let Some(kept) = self.pods.get_mut(incarnation) else { return };
        match record.kind {
            Kind::Popped | Kind::PoppedEarly => {
                kept.attempts = kept.attempts.saturating_add(1);
                kept.ring.push(Record { number: kept.attempts, ..record });
            }
            kind if kind.is_hint() => kept.ring.push_hint(record),
            Kind::Placed | Kind::Deleted => {
                kept.ring.push(record);
                self.pods.leave(incarnation);
            }
            _ => kept.ring.push(record),
        }
    }

    /// Every word that anything speaks of.
    pub(super) fn words(&self) -> impl Iterator<Item = NameId> {
        self.pods
            .iter()
            .flat_map(|kept| kept.ring.iter().map(|record| record.name).chain([kept.event]))
    }
}
