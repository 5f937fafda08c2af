//! What happened to each pod: an observer with a good memory, and not too much of it.

mod book;
mod chunks;
mod classes;
mod entry;
mod hearing;
mod names;
mod notes;
mod pods;
mod record;
mod refusals;
mod telling;
mod writing;

use std::cell::RefCell;
use std::fmt;

use roadstead_queue::{Item, Time};

use crate::scheduler::{PodKey, QueuedPod};
use book::Book;
pub use entry::{Destination, Entry, HintWord, History, What};
pub(crate) use entry::{optional_seconds, seconds, span};
use notes::Notes;
use telling::Reading;
use writing::Writing;

/// How much a [`Journal`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// How many entries there are for a pod, besides that it was queued; the oldest go first.
    /// Default 26: with it a waiting pod takes less than 1 KiB.
    pub entries: usize,
    /// Of how many pods anything is kept, finished ones included. Default 200,000.
    pub pods: usize,
    /// How many of them may have left the queue; those that left first are forgotten first.
    /// Default 2,000.
    pub finished: usize,
    /// For how many classes of pods it is kept what hints said of all of them at once. Default
    /// 1,000.
    pub classes: usize,
    /// How many different events, reasons, nodes and other pods entries may speak of. Default
    /// 50,000.
    pub names: usize,
}

impl Default for JournalLimits {
    fn default() -> Self {
        Self { entries: 26, pods: 200_000, finished: 2_000, classes: 1_000, names: 50_000 }
    }
}

/// Keeps what happened to every waiting pod, and to some that have left the queue.
///
/// Everything it keeps has a [limit](JournalLimits). Memory for a pod is taken when the pod comes
/// and twice more when much has happened to it, never when an attempt begins.
pub struct Journal {
    // What was heard is written down when there is much of it, or when somebody wants to read.
    notes: RefCell<Notes>,
}

/// A profile and a class in it.
type ClassKey = u64;

impl Default for Journal {
    fn default() -> Self {
        Self::new(JournalLimits::default())
    }
}

impl Journal {
    /// An empty journal that keeps at most so much.
    #[must_use]
    pub fn new(limits: JournalLimits) -> Self {
        Self::with(limits, Writing::at_once(Book::new(limits)))
    }

    /// The same, and a thread of its own does most of its work, to which it is handed over in
    /// bundles. Whoever reads waits for it.
    #[must_use]
    pub fn with_thread(limits: JournalLimits) -> Self {
        Self::with(limits, Writing::by_thread(Book::new(limits)))
    }

    fn with(limits: JournalLimits, writing: Writing) -> Self {
        Self { notes: RefCell::new(Notes::new(limits, writing)) }
    }

    /// What happened to the pod of that name, if it is known: of several the latest. All pods are
    /// looked through for it.
    #[must_use]
    pub fn history(&self, key: &PodKey) -> Option<History> {
        self.read(|reading| reading.book.pods.find(key).map(|kept| reading.tell(kept)))
    }

    /// All of them, in no particular order.
    #[must_use]
    pub fn histories(&self) -> Vec<History> {
        self.read(|reading| reading.book.pods.iter().map(|kept| reading.tell(kept)).collect())
    }

    /// When the pod was first queued.
    #[must_use]
    pub fn queued(&self, pod: &QueuedPod) -> Option<Time> {
        self.read(|reading| Some(reading.book.pods.get(pod.incarnation())?.queued))
    }

    /// Why the pod was last rejected, or what went wrong with it: of its last attempt that is kept.
    #[must_use]
    pub fn last_word(&self, pod: &QueuedPod) -> Option<String> {
        self.read(|reading| reading.last_word(reading.book.pods.get(pod.incarnation())?))
    }

    /// The names of the pods that have left the queue and of which something is kept, in no
    /// particular order.
    #[must_use]
    pub fn finished(&self) -> Vec<PodKey> {
        self.read(|reading| reading.book.pods.finished())
    }

    /// How many pods came for which there was no room.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.read(|reading| reading.book.pods.untold())
    }

    fn read<R>(&self, look: impl FnOnce(&Reading<'_>) -> R) -> R {
        let mut notes = self.notes.borrow_mut();
        notes.hand_over();
        let book = notes.writing().book();
        look(&Reading { book: &book, names: &notes.names, classes: &notes.classes })
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("pods", &self.read(|reading| reading.book.pods.len()))
            .finish_non_exhaustive()
    }
}

fn class_of(item: &QueuedPod) -> ClassKey {
    // Classes are counted, so they leave room for the profile.
    item.class().unwrap_or_default() ^ u64::from(item.profile().0) << 48
}
