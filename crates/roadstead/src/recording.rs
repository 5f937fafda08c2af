//! Recording what a scheduler is told, for `roadstead replay`.

use std::path::PathBuf;

use roadstead_queue::Time;
use roadstead_recording::{Header, Recorder, Step};
use roadstead_scheduler::Command;

use crate::error::Error;

/// The option of every command that runs a scheduler.
#[derive(clap::Args)]
pub(crate) struct RecordOptions {
    /// Record everything that the scheduler is told in a new file, for `roadstead replay`: all
    /// objects that it looks at, with what pods have in their environment. The file is readable by
    /// its owner alone.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

impl RecordOptions {
    /// Begins the recording, if there is to be one.
    pub(crate) fn begin(&self, header: impl FnOnce() -> Header) -> Result<Option<Recorder>, Error> {
        let begin = |file: &PathBuf| Recorder::create(file, &header()).map_err(Error::Record);
        self.record.as_ref().map(begin).transpose()
    }
}

/// Where a driver records to, if anywhere. A recording that fails ends, and the scheduler goes on.
#[derive(Default)]
pub(crate) struct Recording(Option<Recorder>);

impl Recording {
    pub(crate) fn new(recorder: Option<Recorder>) -> Self {
        Self(recorder)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Takes down a call.
    pub(crate) fn step(&mut self, now: Time, step: impl FnOnce() -> Step) {
        if let Some(recorder) = &mut self.0 {
            recorder.step(now, step());
            if recorder.has_failed() {
                self.end(now);
            }
        }
    }

    /// Takes down what came out.
    pub(crate) fn decided(&mut self, now: Time, commands: &[Command]) {
        if let Some(recorder) = &mut self.0 {
            recorder.decided(now, commands);
        }
    }

    /// Ends the recording.
    pub(crate) fn end(&mut self, now: Time) {
        match self.0.take().map(|recorder| recorder.finish(now)) {
            Some(Ok(written)) => {
                tracing::info!(steps = written.steps, bytes = written.bytes, "recorded");
            }
            Some(Err(error)) => tracing::error!("the recording ends here: cannot write: {error}"),
            None => {}
        }
    }
}
