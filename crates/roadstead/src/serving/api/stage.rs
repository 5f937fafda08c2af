//! What the API shows and changes: a scheduler, wherever it runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use roadstead_queue::Time;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::driver::Question;
use crate::observing::Observed;
use crate::serving::{Answer, Unavailable};

/// A scheduler that can be asked, and what may be done beside asking.
///
/// `run`, `serve` and a replay each bring one. Nothing here waits for long: what takes time is a
/// future, and whoever waits for one waits for a bounded time.
pub(crate) trait Stage: Send + Sync + 'static {
    /// Has the scheduler's thread run a question between two cycles. The answer is there once the
    /// question was handed over; what it found out it sends itself. See [`ask`](dyn Stage::ask).
    fn put(&self, question: Question) -> Answer<()>;

    /// How things stand that the scheduler itself does not know.
    fn standing(&self) -> Standing;

    /// The way to change the cluster, where there is one.
    fn changes(&self) -> Option<Arc<dyn Changes>> {
        None
    }

    /// The way through recorded time, where there is one.
    fn replay(&self) -> Option<Arc<dyn Replay>> {
        None
    }
}

impl dyn Stage {
    /// Asks the scheduler, on its own thread.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Observed, Time) -> R + Send + 'static,
    ) -> Result<R, Unavailable> {
        let (sender, receiver) = oneshot::channel();
        let put = self.put(Box::new(move |scheduler, now| {
            // Whoever asked may not wait any more.
            let _ = sender.send(question(scheduler, now));
        }));
        let answer = async {
            put.await?;
            receiver.await.map_err(|_| Unavailable("the scheduler has stopped".to_owned()))
        };
        let answered = tokio::time::timeout(PATIENCE, answer).await;
        answered.unwrap_or_else(|_| {
            Err(Unavailable("the scheduler is too busy to answer; try again".to_owned()))
        })
    }
}

/// How things stand around a scheduler.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Standing {
    pub(crate) mode: Mode,
    pub(crate) epoch: Epoch,
    /// How many seconds of the scheduler's time pass in one of ours; 0 while it stands still.
    pub(crate) speed: f64,
    /// Whether this instance schedules, and not another.
    pub(crate) leads: bool,
}

/// Which command runs the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Mode {
    Run,
    Serve,
    Replay,
}

/// When the scheduler's time was 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Epoch {
    /// At the beginning of 1970.
    Unix,
    /// When it was started.
    Start,
}

/// Changes a cluster that is there to be changed.
pub(crate) trait Changes: Send + Sync {
    /// Creates or updates what the text says, all of it or nothing.
    fn apply(&self, manifests: Manifests) -> Change<Applied>;

    /// Takes a node away with all that runs on it. The answer is what was deleted: `Node a`.
    fn delete_node(&self, name: &str) -> Change<String>;

    /// Takes a pod away. The answer is what was deleted: `Pod default/web`.
    fn delete_pod(&self, namespace: &str, name: &str) -> Change<String>;
}

/// Objects as somebody wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Manifests {
    /// Documents, of which a list may be one.
    Yaml(String),
    /// One document.
    Json(String),
}

/// What came of manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Applied {
    /// By kind and name: `Pod default/web`.
    pub(crate) created: Vec<String>,
    pub(crate) updated: Vec<String>,
    pub(crate) unchanged: usize,
}

/// Goes to and fro in time that was recorded.
pub(crate) trait Replay: Send + Sync {
    /// From when to when there is a recording, and where it is now.
    fn span(&self) -> Span;

    /// Goes to a time within it.
    fn seek(&self, at: Time) -> Change<()>;
}

/// A stretch of recorded time, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Span {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) at: f64,
}

/// A change that is under way.
pub(crate) type Change<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send>>;

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// What was asked is wrong; every problem that there is.
    Wrong(Vec<String>),
    /// What was meant is not there.
    NotFound(String),
    /// It cannot be done now.
    Conflict(String),
    /// Nobody answers.
    Unavailable(String),
}

/// How long whoever asks waits for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
