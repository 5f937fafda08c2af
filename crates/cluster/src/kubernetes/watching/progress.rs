//! How far the watches of a cluster are.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::Kind;

/// How a kind fares.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindStatus {
    /// The kind.
    pub kind: Kind,
    /// What is being done.
    pub phase: WatchPhase,
    /// What went wrong last, until something goes well again.
    pub error: Option<String>,
    /// How many objects there are.
    pub objects: usize,
    /// How often all of them were listed.
    pub lists: u64,
    /// How often a watch was taken up where it had ended.
    pub resumed: u64,
}

/// What is being done about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchPhase {
    /// It was not shown yet.
    Waiting,
    /// It is being listed.
    Listing,
    /// It was listed, and is being watched or about to be.
    Watching,
    /// The server does not have it. It is asked again now and then.
    Missing,
}

/// What the tasks of all kinds share.
#[derive(Debug)]
pub(super) struct Progress {
    statuses: Mutex<Vec<KindStatus>>,
    /// How many kinds have not been shown yet.
    unseen: watch::Sender<usize>,
}

impl Progress {
    pub(super) fn new(kinds: &[Kind]) -> Self {
        let waiting = |kind: &Kind| KindStatus {
            kind: *kind,
            phase: WatchPhase::Waiting,
            error: None,
            objects: 0,
            lists: 0,
            resumed: 0,
        };
        Self {
            statuses: Mutex::new(kinds.iter().map(waiting).collect()),
            unseen: watch::Sender::new(kinds.len()),
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        *self.unseen.borrow() == 0
    }

    pub(super) fn statuses(&self) -> Vec<KindStatus> {
        self.lock().clone()
    }

    pub(super) fn update(&self, kind: Kind, change: impl FnOnce(&mut KindStatus)) {
        if let Some(status) = self.lock().iter_mut().find(|status| status.kind == kind) {
            change(status);
        }
    }

    /// One more kind was shown for the first time; whether it was the last.
    pub(super) fn seen_first(&self) -> bool {
        let mut is_last = false;
        self.unseen.send_modify(|unseen| {
            *unseen -= 1;
            is_last = *unseen == 0;
        });
        is_last
    }

    /// Waits until all kinds but one were shown.
    pub(super) async fn others_seen(&self) {
        // It fails if nobody can count down any more, and this holds who can.
        let _ = self.unseen.subscribe().wait_for(|unseen| *unseen <= 1).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KindStatus>> {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
