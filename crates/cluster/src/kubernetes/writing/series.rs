//! Which Events are one: the series of client-go's recorder.
//!
//! What happens again within six minutes becomes a series of the Event that is there: the second
//! time is written at once, later ones are only counted, and the count is written every half hour
//! and when six minutes have passed without another. The note is not part of what makes two Events
//! one, so a series keeps its first note.
//!
//! client-go's Events also count as different when the pod's resource version differs, which the
//! scheduler does not keep. A pod whose condition changed between two failures has two Events there
//! and one series of two here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use roadstead_model::Text;
use roadstead_scheduler::Record;

/// What makes two Events one, besides the reporter, who is the same for the same pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventKey {
    regarding: Text,
    related: Option<Text>,
    reason: &'static str,
    action: &'static str,
    is_warning: bool,
}

/// An Event as it is to be written.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What it says.
    pub record: Record,
    /// Its name.
    pub name: String,
    /// When it first happened.
    pub first: Timestamp,
    /// How often it happened and when last, if more than once.
    pub series: Option<(i32, Timestamp)>,
    /// Whether it is on the server already, as far as we know.
    pub is_written: bool,
    /// How often it was sent in vain.
    pub tries: u32,
}

/// The Events of late.
#[derive(Debug)]
pub(super) struct Series {
    events: BTreeMap<EventKey, Entry>,
    /// How many may be kept that are written.
    most_kept: usize,
    /// When to look for series that are over.
    sweep: Option<Instant>,
    /// The last number that a name was made of.
    last_name: i64,
}

#[derive(Debug)]
struct Entry {
    draft: Draft,
    /// By our own clock.
    last: Instant,
    written: Instant,
    /// Whether it waits to be written, or is being written.
    is_due: bool,
    /// Whether what was sent says that it is a series.
    is_series_sent: bool,
    /// Whether there is more to tell than what was written.
    is_behind: bool,
    is_over: bool,
}

impl Series {
    pub(super) fn new(most_kept: usize) -> Self {
        Self { events: BTreeMap::new(), most_kept, sweep: None, last_name: 0 }
    }

    /// Notes what happened. Returns its key if it has to be written now, and that is not under
    /// way.
    pub(super) fn note(
        &mut self,
        now: Instant,
        wall: Timestamp,
        record: Record,
    ) -> Option<EventKey> {
        self.sweep.get_or_insert(now + SWEEP);
        let key = EventKey::of(&record);
        if let Some(entry) = self.events.get_mut(&key).filter(|entry| now < entry.last + FINISH) {
            let is_second = entry.draft.series.is_none();
            let count = entry.draft.series.map_or(2, |(count, _)| count.saturating_add(1));
            entry.draft.series = Some((count, wall));
            entry.last = now;
            entry.is_over = false;
            entry.is_behind = true;
            let is_due = is_second && !entry.is_due;
            entry.is_due |= is_second;
            return is_due.then_some(key);
        }
        // Names are made of the time; no two are the same.
        self.last_name = (wall.as_nanosecond() as i64).max(self.last_name + 1);
        let name = name_of(&record, self.last_name);
        let draft = Draft { record, name, first: wall, series: None, is_written: false, tries: 0 };
        let entry = Entry {
            draft,
            last: now,
            written: now,
            is_due: true,
            is_series_sent: false,
            is_behind: true,
            is_over: false,
        };
        // One that is over and still to be written is written no more.
        let was_due = self.events.insert(key.clone(), entry).is_some_and(|old| old.is_due);
        (!was_due).then_some(key)
    }

    /// What to send. Nothing happens to it until [`written`](Self::written).
    pub(super) fn draft(&mut self, key: &EventKey) -> Option<Draft> {
        let entry = self.events.get_mut(key)?;
        entry.is_behind = false;
        entry.is_series_sent = entry.draft.series.is_some();
        Some(entry.draft.clone())
    }

    /// It was sent, and is there. Returns whether it has to be written again: it became a series
    /// meanwhile.
    pub(super) fn written(&mut self, now: Instant, key: &EventKey) -> bool {
        let Some(entry) = self.events.get_mut(key) else { return false };
        entry.draft.is_written = true;
        entry.draft.tries = 0;
        entry.written = now;
        entry.is_due = entry.draft.series.is_some() && !entry.is_series_sent;
        if entry.is_due {
            return true;
        }
        // A pod is bound once: what says so has no series, and there are many of them.
        if entry.is_over || entry.draft.record.reason == "Scheduled" {
            self.events.remove(key);
        } else if self.events.len() > self.most_kept {
            self.forget_quietest();
        }
        false
    }

    /// It was sent in vain and will be sent again; returns how often it was sent.
    pub(super) fn failed(&mut self, key: &EventKey) -> u32 {
        let Some(entry) = self.events.get_mut(key) else { return u32::MAX };
        entry.is_behind = true;
        entry.draft.tries += 1;
        entry.draft.tries
    }

    /// It is given up.
    pub(super) fn drop_event(&mut self, key: &EventKey) {
        self.events.remove(key);
    }

    /// Ends the series in which nothing has happened for long. Returns those with something left
    /// to write.
    pub(super) fn on_time(&mut self, now: Instant) -> Vec<EventKey> {
        if self.sweep.is_none_or(|sweep| now < sweep) {
            return Vec::new();
        }
        let mut due = Vec::new();
        self.events.retain(|key, entry| {
            if entry.is_due {
                return true;
            }
            let is_silent = now >= entry.last + FINISH;
            let is_old = now >= entry.written + REFRESH;
            if entry.is_behind && (is_silent || is_old) {
                entry.is_due = true;
                entry.is_over = is_silent;
                due.push(key.clone());
                return true;
            }
            !is_silent
        });
        self.sweep = (!self.events.is_empty()).then_some(now + SWEEP);
        due
    }

    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        self.sweep
    }

    /// Makes room by ending the quietest series early: a quarter at once, for this looks at all.
    fn forget_quietest(&mut self) {
        let idle = self.events.values().filter(|entry| !entry.is_due);
        let mut times: Vec<Instant> = idle.map(|entry| entry.last).collect();
        let quarter = times.len() / 4;
        if times.is_empty() {
            return;
        }
        let (_, &mut limit, _) = times.select_nth_unstable(quarter);
        self.events.retain(|_, entry| entry.is_due || entry.last > limit);
    }
}

impl EventKey {
    fn of(record: &Record) -> Self {
        Self {
            regarding: record.regarding.uid.clone(),
            related: record.related.as_ref().map(|pod| pod.uid.clone()),
            reason: record.reason,
            action: record.action,
            is_warning: record.is_warning,
        }
    }
}

fn name_of(record: &Record, number: i64) -> String {
    let name = format!("{}.{number:x}", record.regarding.name);
    if name.len() > LONGEST_NAME { super::super::election::random_uuid() } else { name }
}

const LONGEST_NAME: usize = 253;

const FINISH: Duration = Duration::from_secs(6 * 60);
const REFRESH: Duration = Duration::from_secs(30 * 60);
const SWEEP: Duration = Duration::from_secs(60);
