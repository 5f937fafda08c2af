//! What was heard and is not written down yet.

use roadstead_model::Text;
use roadstead_queue::{Cause, Label, Time};

use super::classes::Classes;
use super::names::{NameId, Names, Short};
use super::pods::Arrival;
use super::record::Record;
use super::writing::Writing;
use super::{ClassKey, JournalLimits};

/// Something that was heard of a pod, by its incarnation.
pub(super) enum Note {
    /// It came to the queue, for the first time or again.
    Came(Arrival, Came),
    /// This happened to it.
    Was(u64, Record),
    /// It came to the pool, as one of that class.
    Pooled(u64, Record, ClassKey),
    /// This plugin refused it.
    Refused(u64, Record, &'static str),
    /// It was bound to that node after so many attempts.
    Bound { incarnation: u64, at: Time, node: Text, attempts: u32 },
}

/// How often a pod came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Anew,
    Again,
}

/// Notes, and the words that they have.
///
/// They are written down many at a time, and better by another thread. A scheduler does so much for
/// each pod that what it takes to write would be gone from the processor's caches from one time to
/// the next, the instructions included, and to fetch it takes longer than to do it.
pub(super) struct Notes {
    notes: Vec<Note>,
    pub(super) names: Names,
    pub(super) classes: Classes,
    writing: Writing,
}

impl Notes {
    pub(super) fn new(limits: JournalLimits, writing: Writing) -> Self {
        Self {
            notes: Vec::with_capacity(MOST_NOTES),
            names: Names::new(limits.names),
            classes: Classes::new(limits.classes),
            writing,
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        self.notes.push(note);
        if self.notes.len() >= AT_ONCE {
            self.hand_over();
        }
    }

    /// An attempt began. That takes no memory: nothing is written down.
    pub(super) fn note_attempt(&mut self, incarnation: u64, record: Record) {
        if self.notes.len() == MOST_NOTES {
            self.hand_over();
        }
        self.notes.push(Note::Was(incarnation, record));
    }

    /// Has what was heard written down, now or soon.
    #[cold]
    pub(super) fn hand_over(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        // Copied at once: whatever the writer had its hands on is slow to come back, bit by bit.
        let mut paper = self.writing.paper();
        paper.append(&mut self.notes);
        self.writing.take(paper);
    }

    /// Where it is written down.
    pub(super) fn writing(&self) -> &Writing {
        &self.writing
    }

    /// The number of a cause.
    pub(super) fn cause(&mut self, cause: Cause<'_>) -> NameId {
        match cause {
            Cause::Failure => NameId::FAILURE,
            cause => self.label(cause.label()),
        }
    }

    /// The number of an event.
    pub(super) fn label(&mut self, label: Label<'_>) -> NameId {
        let known = self.names.recent(label.halves());
        known.unwrap_or_else(|| self.name(Short::of(label).as_str()))
    }

    /// The number of a word. Where there is no room, words are forgotten that nobody has any more.
    pub(super) fn name(&mut self, word: &str) -> NameId {
        if let Some(id) = self.names.id(word) {
            return id;
        }
        if !self.names.wants_sweep() {
            return NameId::NONE;
        }
        // What is noted has words, too.
        self.hand_over();
        let book = self.writing.book();
        self.names.keep(book.words().chain(self.classes.words()));
        self.names.id(word).unwrap_or(NameId::NONE)
    }
}

/// How many notes are handed over at once.
pub(super) const AT_ONCE: usize = 64;
/// How many there may be when attempts begin and nothing else happens.
const MOST_NOTES: usize = 4 * AT_ONCE;
