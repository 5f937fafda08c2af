//! How the program comes to its end.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::time::Duration;

use roadstead_cluster::kubernetes::writing::Writer;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep};

use crate::driver::Questions;

/// The signals that end the program.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the first.
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Lets bindings under way come to their end, and writes what is to be written, for a bounded time.
pub(crate) async fn finish(questions: &Questions, writer: Writer) {
    let until = Instant::now() + FOR_BINDINGS;
    while Instant::now() < until {
        match questions.ask(|scheduler, _| scheduler.bindings()).await {
            Some(0) | None => break,
            Some(_) => sleep(BETWEEN_LOOKS).await,
        }
    }
    let given_up = writer.drain(FOR_WRITES).await;
    if given_up > 0 {
        tracing::warn!("{given_up} writes were given up");
    }
}

/// What decides between equally good nodes: another in each run.
pub(crate) fn seed() -> u64 {
    RandomState::new().hash_one("seed")
}

/// A pod has thirty seconds to end by default.
const FOR_BINDINGS: Duration = Duration::from_secs(15);
const FOR_WRITES: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
