//! Notes on their way into the book.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::book::Book;
use super::notes::{AT_ONCE, Note};

/// Has notes written down: by a thread of its own, or at once.
pub(super) struct Writing {
    desk: Arc<Desk>,
    writer: Option<JoinHandle<()>>,
}

struct Desk {
    tray: Mutex<Tray>,
    /// Whoever holds this writes, so that notes are written in their order.
    book: Mutex<Book>,
}

#[derive(Default)]
struct Tray {
    notes: VecDeque<Vec<Note>>,
    /// Memory for more of them.
    paper: Vec<Vec<Note>>,
    /// Whether the writer must be woken. While there is much to do it looks by itself: to wake
    /// somebody takes longer than all the rest.
    sleeps: bool,
    is_over: bool,
}

impl Writing {
    /// Notes are written down as they are handed over.
    pub(super) fn at_once(book: Book) -> Self {
        let desk = Desk { tray: Mutex::default(), book: Mutex::new(book) };
        Self { desk: Arc::new(desk), writer: None }
    }

    /// A thread writes them down. Where none can be had, it is as if it had not been asked for.
    pub(super) fn by_thread(book: Book) -> Self {
        let mut writing = Self::at_once(book);
        let desk = writing.desk.clone();
        let thread = thread::Builder::new().name("journal".to_owned());
        writing.writer = thread.spawn(move || desk.work()).ok();
        writing
    }

    /// Memory for notes.
    pub(super) fn paper(&self) -> Vec<Note> {
        let paper = self.desk.tray().paper.pop();
        paper.unwrap_or_else(|| Vec::with_capacity(AT_ONCE))
    }

    pub(super) fn take(&self, notes: Vec<Note>) {
        let mut tray = self.desk.tray();
        tray.notes.push_back(notes);
        let (waiting, sleeps) = (tray.notes.len(), std::mem::take(&mut tray.sleeps));
        drop(tray);
        match &self.writer {
            // A writer that cannot keep up is helped.
            Some(_) if waiting > MOST_WAITING => drop(self.desk.write()),
            Some(writer) if sleeps => writer.thread().unpark(),
            Some(_) => {}
            None => drop(self.desk.write()),
        }
    }

    /// The book, with all notes that were handed over.
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.desk.write()
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.desk.tray().is_over = true;
            writer.thread().unpark();
            // It ends in any case, and what it had to say nobody will read.
            let _ = writer.join();
        }
    }
}

impl Desk {
    fn work(&self) {
        loop {
            let mut tray = self.tray();
            if tray.is_over {
                return;
            }
            tray.sleeps = tray.notes.is_empty();
            let sleeps = tray.sleeps;
            drop(tray);
            if sleeps {
                thread::park();
            } else {
                drop(self.write());
                thread::park_timeout(BETWEEN_LOOKS);
            }
        }
    }

    fn write(&self) -> MutexGuard<'_, Book> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(mut notes) = self.tray().notes.pop_front() else { return book };
            for note in notes.drain(..) {
                book.write(note);
            }
            let mut tray = self.tray();
            if tray.paper.len() < MOST_PAPER {
                tray.paper.push(notes);
            }
        }
    }

    fn tray(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many bundles of notes may wait for the writer.
const MOST_WAITING: usize = 128;
const MOST_PAPER: usize = 64;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
