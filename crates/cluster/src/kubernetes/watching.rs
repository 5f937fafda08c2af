//! What the cluster shows: every kind that a scheduler looks at, listed and watched.
//!
//! A task a kind reads what there is, then what happens. The list is streamed where the server can
//! do that, and read page by page where it cannot. A watch that ends is taken up where it ended;
//! one that is too far behind begins with a list again, and then only what differs from what was
//! told before is told. For that a task keeps the name, uid and version of each object, and no
//! object.
//!
//! It is not built on `kube::runtime::watcher`: that one has no fallback where streamed lists are
//! refused, repeats a watch for ever whose version the server calls expired before it has begun,
//! and drops deletions that come during a streamed list.

mod backoff;
mod decoding;
mod failure;
mod feed;
mod known;
mod progress;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use self::feed::Feed;
use self::progress::Progress;
pub use self::progress::{KindStatus, WatchPhase};
use super::Input;
use crate::Notice;

/// How a cluster is watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Whether lists are asked for as streams. Where the server refuses, they are read in pages
    /// all the same. On by default.
    pub streaming_lists: bool,
    /// How many objects a page of a list has: 500 by default.
    pub page_size: u32,
    /// How long a watch lasts at least before the server ends it and it is taken up again: five
    /// minutes by default. Each lasts up to twice as long, so that they do not all end at once.
    pub watch_timeout: Duration,
    /// How long the answer to a request may take to begin, and a page of a list to come: one
    /// minute by default.
    pub request_timeout: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            streaming_lists: true,
            page_size: 500,
            watch_timeout: Duration::from_secs(300),
            request_timeout: Duration::from_secs(60),
        }
    }
}

/// Starts to watch a cluster: every kind of [`Notice::KINDS`] is told as [`Input::Set`] and
/// [`Input::Gone`], with one [`Input::Synced`] when all of them have been shown. Pods come after
/// all the rest.
///
/// Whoever receives slowly slows the watches down: nothing is dropped and nothing piles up. The
/// watches end when the receiver is closed or the returned [`Watching`] is dropped.
///
/// # Panics
/// Outside of a tokio runtime.
pub fn watch(client: Client, inputs: mpsc::Sender<Input>, options: WatchOptions) -> Watching {
    let progress = Arc::new(Progress::new(Notice::KINDS));
    let start = |kind| {
        let feed =
            Feed::new(kind, client.clone(), inputs.clone(), options.clone(), progress.clone());
        tokio::spawn(feed.run())
    };
    let tasks = Notice::KINDS.iter().copied().map(start).collect();
    Watching { tasks, progress }
}

/// The watches of a cluster. They end when it is dropped.
#[derive(Debug)]
#[must_use = "the watches end when it is dropped"]
pub struct Watching {
    tasks: Vec<JoinHandle<()>>,
    progress: Arc<Progress>,
}

impl Watching {
    /// Whether every kind that the server has was shown once.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.progress.is_synced()
    }

    /// Whether all watches are at work. They stop for good if nobody receives any more.
    #[must_use]
    pub fn is_running(&self) -> bool {
        !self.tasks.iter().any(JoinHandle::is_finished)
    }

    /// How each kind fares, in the order of [`Notice::KINDS`].
    #[must_use]
    pub fn statuses(&self) -> Vec<KindStatus> {
        self.progress.statuses()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
