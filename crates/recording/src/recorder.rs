//! Writing a recording while a scheduler runs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roadstead_queue::Time;
use roadstead_scheduler::Command;

use crate::block;
use crate::digest::Digest;
use crate::encoding::encode;
use crate::error::RecordError;
use crate::header::{FORMAT, Header};
use crate::reader::MAGIC;
use crate::step::Step;

/// Writes a recording.
///
/// The owner of a scheduler tells it each call, before or after it is made, and the commands that
/// come out. Compressing and writing are done on another thread; if that cannot keep up for long,
/// the owner waits for it. What was told is in the file after a second at most. Dropping the
/// recorder writes the rest, but the recording then lacks its end: see [`finish`](Self::finish).
#[derive(Debug)]
pub struct Recorder {
    steps: SyncSender<(Time, Step)>,
    thread: Option<JoinHandle<io::Result<Written>>>,
    digest: Digest,
    has_failed: bool,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// How many steps.
    pub steps: u64,
    /// How long they were before they were compressed.
    pub raw_bytes: u64,
    /// How long the file is.
    pub bytes: u64,
}

impl Recorder {
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// There is a file of that name, or it cannot be written.
    pub fn create(file: &Path, header: &Header) -> Result<Self, RecordError> {
        let name = || file.to_string_lossy().into_owned();
        let unwritable = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { file: name() },
            _ => RecordError::Unwritable { file: name(), error },
        };
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // What pods are told in their environment is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(file).map_err(unwritable)?;
        let begun = begin(header).map_err(unwritable)?;
        out.write_all(&begun).map_err(unwritable)?;
        Self::start(out, begun.len() as u64).map_err(unwritable)
    }

    /// Goes on writing to a file that has so many bytes.
    fn start(out: File, bytes: u64) -> io::Result<Self> {
        let (steps, told) = sync_channel(WAITING_STEPS);
        let writer = Writer {
            out,
            raw: Vec::new(),
            first: None,
            last: Time::ZERO,
            written: Written { bytes, ..Written::default() },
        };
        let thread =
            thread::Builder::new().name("recorder".to_owned()).spawn(move || writer.run(&told))?;
        Ok(Self { steps, thread: Some(thread), digest: Digest::default(), has_failed: false })
    }

    /// Takes down a step.
    pub fn step(&mut self, at: Time, step: Step) {
        // The other side is gone only if writing has failed.
        if !self.has_failed && self.steps.send((at, step)).is_err() {
            self.has_failed = true;
        }
    }

    /// Takes down what came out of the scheduler.
    pub fn decided(&mut self, at: Time, commands: &[Command]) {
        if commands.is_empty() {
            return;
        }
        commands.iter().for_each(|command| self.digest.add(command));
        let (commands, digest) = (commands.len() as u64, self.digest.end());
        self.step(at, Step::Decided { commands, digest });
    }

    /// Whether writing has failed. Nothing is recorded any more, and [`finish`](Self::finish) says
    /// why.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Ends the recording in good order.
    ///
    /// # Errors
    /// Something could not be written. What was before is in the file.
    pub fn finish(mut self, at: Time) -> io::Result<Written> {
        let (commands, digest) = (self.digest.commands(), self.digest.value());
        self.step(at, Step::Ended { commands, digest });
        self.join()
    }

    fn join(&mut self) -> io::Result<Written> {
        // The other side ends when nobody can send any more.
        self.steps = sync_channel(0).0;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(_)) => Err(io::Error::other("the recorder's thread has panicked")),
            None => Ok(Written::default()),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Whoever wants to know calls `finish`.
        let _ = self.join();
    }
}

/// The beginning of a recording.
fn begin(header: &Header) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(header)?;
    let length =
        u32::try_from(json.len()).map_err(|_| io::Error::other("the configuration is too long"))?;
    let mut bytes = MAGIC.to_vec();
    for word in [FORMAT, length, crc32fast::hash(&json)] {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.extend_from_slice(&json);
    Ok(bytes)
}

/// The other side: collects steps, and writes them block by block.
struct Writer {
    out: File,
    raw: Vec<u8>,
    /// When the first step of the block was told.
    first: Option<Instant>,
    /// The time of the last step of the block.
    last: Time,
    written: Written,
}

impl Writer {
    fn run(mut self, told: &Receiver<(Time, Step)>) -> io::Result<Written> {
        loop {
            let wait = self
                .first
                .map_or(LONGEST_OPEN, |first| LONGEST_OPEN.saturating_sub(first.elapsed()));
            match told.recv_timeout(wait) {
                Ok((at, step)) => self.add(at, &step)?,
                Err(RecvTimeoutError::Timeout) => self.close()?,
                Err(RecvTimeoutError::Disconnected) => {
                    self.close()?;
                    return Ok(self.written);
                }
            }
        }
    }

    fn add(&mut self, at: Time, step: &Step) -> io::Result<()> {
        let first = *self.first.get_or_insert_with(Instant::now);
        encode(&mut self.raw, self.last, at, step)?;
        self.last = at;
        self.written.steps += 1;
        if self.raw.len() >= FULL || first.elapsed() >= LONGEST_OPEN {
            self.close()?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        if self.first.take().is_none() {
            return Ok(());
        }
        let block = block::pack(&self.raw)?;
        self.out.write_all(&block)?;
        self.written.raw_bytes += self.raw.len() as u64;
        self.written.bytes += block.len() as u64;
        self.raw.clear();
        self.last = Time::ZERO;
        Ok(())
    }
}

const FULL: usize = 256 << 10;
/// A process that dies loses no more than this.
const LONGEST_OPEN: Duration = Duration::from_secs(1);
/// How much may wait to be written until the owner of the scheduler has to wait.
const WAITING_STEPS: usize = 8192;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_full_ends_the_recording_and_nothing_else() {
        let full = OpenOptions::new().write(true).open("/dev/full").expect("it is there");
        let mut recorder = Recorder::start(full, 0).expect("a thread");
        let until = Instant::now() + Duration::from_secs(30);
        while !recorder.has_failed() {
            assert!(Instant::now() < until, "it is noticed");
            recorder.step(Time::ZERO, Step::Trouble("a long story ".repeat(1000)));
        }
        // It may be told more.
        recorder.step(Time::ZERO, Step::Cycle);
        let error = recorder.finish(Time::ZERO).expect_err("nothing was written");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
