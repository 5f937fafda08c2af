//! What a journal hears, and what it notes of it.

use roadstead_queue::{
    Cause, GateVerdict, HintVerdict, Item, Place, Plugins, Time, Transition, Verdict,
};

use super::names::Short;
use super::notes::{Came, Note};
use super::pods::Arrival;
use super::record::{Kind, Record};
use super::refusals::Refusals;
use super::{Journal, class_of};
use crate::diagnosis::Diagnosis;
use crate::events::Object;
use crate::observer::{Happening, Observer};
use crate::scheduler::QueuedPod;

impl roadstead_queue::Observer<QueuedPod, Object> for Journal {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        let notes = self.notes.get_mut();
        let (incarnation, at) = (step.item.incarnation(), step.at);
        let to = match (step.to, step.cause) {
            (_, Cause::Popped) => {
                return notes.note_attempt(incarnation, Record::new(Kind::Popped, at));
            }
            (_, Cause::PoppedFromBackoff) => {
                return notes.note_attempt(incarnation, Record::new(Kind::PoppedEarly, at));
            }
            (None, Cause::Finished) => {
                return notes.note(Note::Was(incarnation, Record::new(Kind::Placed, at)));
            }
            (None, _) => {
                let number = notes.classes.pool_moves();
                let record = Record { number, ..Record::new(Kind::Deleted, at) };
                return notes.note(Note::Was(incarnation, record));
            }
            (Some(to), _) => to,
        };
        let event = notes.cause(step.cause);
        if step.from.is_none() {
            let key = step.item.key().clone();
            let is_new = matches!(step.cause, Cause::Added(_));
            let came = if is_new { Came::Anew } else { Came::Again };
            notes.note(Note::Came(Arrival { key, incarnation, at, event }, came));
            if is_new && to == Place::Active {
                return;
            }
        }
        let is_about_pool = to.is_pool() || step.from.is_some_and(Place::is_pool);
        let number = if is_about_pool { notes.classes.pool_moves() } else { 0 };
        let record = Record { name: event, number, ..Record::of_move(to, step.by, at) };
        notes.note(match to.is_pool() {
            true => Note::Pooled(incarnation, record, class_of(step.item)),
            false => Note::Was(incarnation, record),
        });
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, QueuedPod, Object>) {
        let notes = self.notes.get_mut();
        let kind = match verdict.verdict {
            Verdict::Queue => Kind::HintQueue,
            Verdict::Skip => Kind::HintSkip,
            Verdict::Error(_) => Kind::HintError,
        };
        let name = notes.label(verdict.event.label());
        let plugin = Some(verdict.plugin);
        let record = Record { number: 1, name, plugin, ..Record::new(kind, verdict.at) };
        if verdict.items > 1 {
            notes.classes.hint(class_of(verdict.item), record);
        } else {
            notes.note(Note::Was(verdict.item.incarnation(), record));
        }
    }

    /// What a gate says shows in where the pod comes to.
    fn gate(&mut self, _: &GateVerdict<'_, QueuedPod>) {}
}

impl Observer for Journal {
    fn happened(&mut self, happening: &Happening<'_>) {
        match *happening {
            Happening::Scheduled { incarnation, node, attempts, at, .. } => {
                let node = node.clone();
                self.notes.get_mut().note(Note::Bound { incarnation, at, node, attempts });
            }
            Happening::Rejected { incarnation, diagnosis, at, .. } => {
                self.rejected(incarnation, diagnosis, at);
            }
            Happening::Failed { incarnation, message, at, .. } => {
                self.note(incarnation, message, Record::new(Kind::Failed, at));
            }
            Happening::Nominated { incarnation, node, at, .. } => {
                self.note(incarnation, node, Record::new(Kind::Nominated, at));
            }
            Happening::Preempted { incarnation, node, victims, at, .. } => {
                let number = u32::try_from(victims.len()).unwrap_or(u32::MAX);
                let record = Record { number, ..Record::new(Kind::Preempting, at) };
                self.note(incarnation, node, record);
            }
            Happening::MadeVictim { incarnation, preemptor, at, .. } => {
                let preemptor =
                    Short::of(format_args!("{}/{}", preemptor.namespace(), preemptor.name));
                let record = Record::new(Kind::PreemptedBy, at);
                self.note(incarnation, preemptor.as_str(), record);
            }
            _ => {}
        }
    }

    fn start(&mut self, plugins: &Plugins) {
        self.notes.get_mut().writing().book().plugins = plugins.clone();
    }
}

impl Journal {
    fn rejected(&mut self, incarnation: u64, diagnosis: &Diagnosis, at: Time) {
        let notes = self.notes.get_mut();
        let mut refusals = Refusals::default();
        refusals.read(diagnosis);
        for (plugin, reason, number) in refusals.iter() {
            let name = notes.name(reason);
            let record = Record { name, number, ..Record::new(Kind::Refused, at) };
            notes.note(Note::Refused(incarnation, record, plugin));
        }
    }

    fn note(&mut self, incarnation: u64, word: &str, record: Record) {
        let notes = self.notes.get_mut();
        let name = notes.name(word);
        notes.note(Note::Was(incarnation, Record { name, ..record }));
    }
}
