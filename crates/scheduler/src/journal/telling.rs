//! A journal's records as people read them.

use roadstead_queue::PluginId;

use super::book::Book;
use super::classes::Classes;
use super::entry::{Destination, Entry, HintWord, History, What};
use super::names::Names;
use super::pods::Kept;
use super::record::{Kind, Record};

/// A journal that is being read.
pub(super) struct Reading<'a> {
    pub(super) book: &'a Book,
    pub(super) names: &'a Names,
    pub(super) classes: &'a Classes,
}

impl Reading<'_> {
    /// What happened to a pod.
    pub(super) fn tell(&self, kept: &Kept) -> History {
        let event = self.names.word(kept.event).to_owned();
        let mut entries = vec![Entry { at: kept.queued, what: What::Queued { event } }];
        self.tell_records(kept, &mut entries);
        History {
            namespace: kept.key.namespace.to_string(),
            name: kept.key.name.to_string(),
            queued: kept.queued,
            dropped: kept.ring.dropped(),
            entries,
        }
    }

    /// Why the pod was last rejected, or what went wrong with it.
    pub(super) fn last_word(&self, kept: &Kept) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        for record in kept.ring.iter().rev() {
            let name = self.names.word(record.name);
            match record.kind {
                Kind::Failed if words.is_empty() => return Some(name.to_owned()),
                Kind::Refused => words.push(format!("{} {name}", record.number)),
                Kind::Popped | Kind::PoppedEarly if !words.is_empty() => break,
                _ => {}
            }
        }
        words.reverse();
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The pod's own records, and what hints said of its class whenever it was in the pool.
    fn tell_records(&self, kept: &Kept, entries: &mut Vec<Entry>) {
        let mut refused: Vec<Option<PluginId>> = Vec::new();
        let records: Vec<&Record> = kept.ring.iter().collect();
        let mut rest = &records[..];
        while let [record, next @ ..] = rest {
            entries.push(self.entry(kept, record, false));
            rest = next;
            match record.kind {
                Kind::Popped | Kind::PoppedEarly => refused.clear(),
                Kind::Refused => refused.push(record.plugin),
                Kind::Gated => refused = vec![record.plugin],
                _ => {}
            }
            if !record.kind.is_stay() {
                continue;
            }
            let hints = next.iter().take_while(|next| next.kind.is_hint()).count();
            let (own, next) = next.split_at(hints);
            rest = next;
            let end = next.iter().find(|next| next.kind.ends_stay()).map(|next| next.number);
            let said = self.classes.between(kept.class, record.number, end, &refused);
            let said = said.map(|record| self.entry(kept, record, true));
            let own = own.iter().map(|record| self.entry(kept, record, false));
            let mut said: Vec<Entry> = said.chain(own).collect();
            // Stable: what was said at one time stays in its order.
            said.sort_by_key(|entry| entry.at);
            entries.append(&mut said);
        }
    }

    fn entry(&self, kept: &Kept, record: &Record, for_class: bool) -> Entry {
        let name = || self.names.word(record.name).to_owned();
        let plugin =
            || record.plugin.map_or("", |plugin| self.book.plugins.name(plugin)).to_owned();
        let hint = |verdict| What::Hint {
            event: name(),
            plugin: plugin(),
            verdict,
            times: record.number,
            until: record.until(),
            for_class,
        };
        let by = record.plugin.map(|plugin| self.book.plugins.name(plugin).to_owned());
        let moved = |to, until| What::Moved { to, cause: name(), by, until };
        let backoff = Some(record.until()).filter(|_| record.until_ms > 0);
        let what = match record.kind {
            Kind::Gated => What::Gated { by: plugin(), cause: name() },
            Kind::Popped => What::Popped { attempt: record.number, early: false },
            Kind::PoppedEarly => What::Popped { attempt: record.number, early: true },
            Kind::Refused => {
                What::Refused { plugin: plugin(), reason: name(), nodes: record.number }
            }
            Kind::Failed => What::Failed { message: name() },
            Kind::HintQueue => hint(HintWord::Queue),
            Kind::HintSkip => hint(HintWord::Skip),
            Kind::HintError => hint(HintWord::Error),
            Kind::MovedToActive => moved(Destination::Active, None),
            Kind::MovedToBackoff => moved(Destination::Backoff, backoff),
            Kind::MovedToErrorBackoff => moved(Destination::ErrorBackoff, backoff),
            Kind::MovedToUnschedulable => moved(Destination::Unschedulable, None),
            Kind::Nominated => What::Nominated { node: name() },
            Kind::Preempting => What::Preempting { node: name(), victims: record.number },
            Kind::PreemptedBy => What::PreemptedBy { pod: name() },
            Kind::Placed => What::Placed,
            Kind::Bound => What::Bound {
                node: kept.node.as_ref().map_or_else(String::new, ToString::to_string),
                attempts: record.number,
            },
            Kind::Deleted => What::Deleted,
        };
        Entry { at: record.at, what }
    }
}
