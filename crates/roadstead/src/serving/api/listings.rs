//! Listings of the queue: made in steps, and kept for whoever asks page by page.
//!
//! The scheduler's thread looks at some pods at a time and at rows of the page alone; the rest is
//! done here. A listing of which a part was handed out is kept for a while, so that all pages of it
//! together cost one look at each pod.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use roadstead_queue::Time;
use roadstead_scheduler::listing::{Mark, QueueItem, QueueListing, QueueQuery, QueueSurvey};

use super::problem::Problem;
use super::stage::{PATIENCE, Stage};
use crate::observing;

/// The listings that are under way.
pub(super) struct Listings {
    /// The last one that was made, and when that began. Whoever makes one holds it: one is made at
    /// a time, and who waited for it may have it.
    latest: tokio::sync::Mutex<Option<(Instant, Weak<QueueListing>)>>,
    kept: Mutex<Kept>,
}

struct Kept {
    numbers: u64,
    /// The oldest first.
    listings: VecDeque<(u64, Opened)>,
}

/// A listing, and how much of it was handed out.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) listing: Arc<QueueListing>,
    pub(super) given: usize,
}

/// Rows of a listing.
pub(super) struct Rows {
    pub(super) now: Time,
    pub(super) items: Vec<QueueItem>,
    /// How much of the listing is handed out with them.
    pub(super) given: usize,
}

impl Listings {
    pub(super) fn new() -> Self {
        let kept = Kept { numbers: 0, listings: VecDeque::new() };
        Self { latest: tokio::sync::Mutex::new(None), kept: Mutex::new(kept) }
    }

    /// Lists what waits, as it was when this was asked or later.
    pub(super) async fn make(
        &self,
        stage: &dyn Stage,
        query: QueueQuery,
    ) -> Result<Arc<QueueListing>, Problem> {
        let asked = Instant::now();
        let turn = tokio::time::timeout(PATIENCE, self.latest.lock()).await;
        let mut latest =
            turn.map_err(|_| Problem::unavailable("too many lists are asked for; try again"))?;
        if let Some((began, listing)) = &*latest
            && *began >= asked
            && let Some(listing) = listing.upgrade().filter(|other| *other.query() == query)
        {
            return Ok(listing);
        }
        let began = Instant::now();
        let mut survey = QueueSurvey::new(query);
        loop {
            let step = move |scheduler: &mut observing::Observed, _| {
                let is_over = scheduler.survey_queue(&mut survey, SLOTS_AT_ONCE);
                (survey, is_over)
            };
            let is_over;
            (survey, is_over) = stage.ask(step).await?;
            if is_over {
                break;
            }
        }
        let listing = tokio::task::spawn_blocking(move || survey.finish()).await;
        let listing =
            Arc::new(listing.map_err(|_| Problem::unavailable("the server is stopping"))?);
        *latest = Some((began, Arc::downgrade(&listing)));
        Ok(listing)
    }

    /// Keeps a listing of which there is more, for a while. The number is what it is had back by,
    /// once.
    pub(super) fn keep(self: &Arc<Self>, opened: Opened) -> u64 {
        let mut kept = self.kept();
        kept.numbers += 1;
        let number = kept.numbers;
        if kept.listings.len() >= MOST_KEPT {
            kept.listings.pop_front();
        }
        kept.listings.push_back((number, opened));
        let listings = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT_FOR).await;
            if let Some(listings) = listings.upgrade() {
                listings.take(number);
            }
        });
        number
    }

    /// The listing of that number, if it is kept, of that query, and was handed out up to there.
    pub(super) fn go_on(&self, number: u64, query: &QueueQuery, mark: &Mark) -> Option<Opened> {
        self.take(number).filter(|Opened { listing, given }| {
            listing.query() == query && listing.mark(*given).as_ref() == Some(mark)
        })
    }

    fn take(&self, number: u64) -> Option<Opened> {
        let listings = &mut self.kept().listings;
        let at = listings.iter().position(|(known, _)| *known == number)?;
        listings.remove(at).map(|(_, opened)| opened)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opened {
    /// The next rows, at most so many; fewer if many pods have left since. `None` if the scheduler
    /// is another one now: a recording that was gone back in.
    pub(super) async fn rows(
        &self,
        stage: &dyn Stage,
        limit: usize,
    ) -> Result<Option<Rows>, Problem> {
        let end = self.listing.len().min(self.given.saturating_add(MOST_LOOKS * limit));
        let mut rows = Rows { now: Time::ZERO, items: Vec::new(), given: self.given };
        loop {
            let missing = (limit - rows.items.len()).min(ROWS_AT_ONCE);
            let next = rows.given..end.min(rows.given + missing);
            rows.given = next.end;
            let listing = self.listing.clone();
            let found = stage.ask(move |scheduler, now| {
                (scheduler.queue_rows(&listing, next, observing::journal(scheduler)), now)
            });
            let (found, now) = found.await?;
            let Some(found) = found else { return Ok(None) };
            rows.items.extend(found);
            rows.now = now;
            if rows.items.len() >= limit || rows.given >= end {
                return Ok(Some(rows));
            }
        }
    }
}

/// What the scheduler's thread does at once: about a millisecond of work.
const SLOTS_AT_ONCE: usize = 4096;
const ROWS_AT_ONCE: usize = 250;
/// How many pods are looked for a row that is wanted, where many have left.
const MOST_LOOKS: usize = 4;
const MOST_KEPT: usize = 4;
const KEPT_FOR: Duration = Duration::from_secs(30);
