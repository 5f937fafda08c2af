//! What is told of a replay, beside what the run came to.

use std::io::{self, Read, Seek, Write};
use std::time::Duration;

use roadstead_queue::Time;
use roadstead_recording::{Ending, Source};
use roadstead_scheduler::Journal;
use roadstead_sim::{Difference, Outcome, Replay, Seconds};
use serde::Serialize;

use crate::explained::Explained;
use crate::print::{duration, number};

/// What is told of a replay.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    /// What was recorded.
    source: Source,
    /// The version of the program that recorded.
    program: String,
    steps: u64,
    decisions: u64,
    #[serde(rename = "reproduced")]
    pub(super) is_reproduced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<Differs>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<Cut>,
    /// When the recording ends, where more was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Seconds>,
    /// How many bytes follow its end.
    #[serde(skip_serializing_if = "is_zero")]
    ignored_bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Differs {
    step: u64,
    at: Seconds,
    recorded_decisions: u64,
    decisions: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cut {
    byte: u64,
    of: u64,
    after: Seconds,
}

/// An outcome, and how it was come to.
#[derive(Serialize)]
pub(super) struct WithReplay<'a> {
    pub(super) replay: &'a Told,
    #[serde(flatten)]
    pub(super) outcome: &'a Outcome,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) explanations: &'a [Explained],
}

impl Told {
    /// Of a replay up to some time, or to the end.
    pub(super) fn of<R: Read + Seek>(
        replay: &Replay<Option<Journal>, R>,
        until: Option<Time>,
    ) -> Self {
        let is_past = until.is_some_and(|until| until > replay.now());
        let header = replay.header();
        let differs = |difference: Difference| Differs {
            step: difference.step,
            at: Seconds::of(difference.at),
            recorded_decisions: difference.recorded,
            decisions: difference.replayed,
        };
        let cut = match replay.ending() {
            Some(Ending::Cut { byte, of }) => {
                Some(Cut { byte, of, after: Seconds::of(replay.now() - replay.start()) })
            }
            Some(Ending::Complete) | None => None,
        };
        Self {
            source: header.source,
            program: header.program.clone(),
            steps: replay.steps(),
            decisions: replay.decisions(),
            is_reproduced: replay.difference().is_none(),
            difference: replay.difference().map(differs),
            cut,
            ends_at: is_past.then(|| Seconds::of(replay.now() - replay.start())),
            ignored_bytes: replay.bytes_after_end(),
        }
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let [steps, decisions] = [self.steps, self.decisions].map(number);
        match &self.difference {
            None => {
                writeln!(out, "Reproduced bit for bit: {steps} steps, {decisions} decisions.")?;
            }
            Some(differs) => {
                let Differs { step, at, recorded_decisions, decisions } = differs;
                let [step, recorded, replayed] =
                    [*step, *recorded_decisions, *decisions].map(number);
                let at = in_words(*at);
                writeln!(
                    out,
                    "Not reproduced: step {step}, at {at}, is the first that differs. The recorded \
                     run had come to {recorded} decisions, the replay to {replayed}, and not to \
                     the same.\nRecorded by version {} of the program; this is version {}.",
                    self.program,
                    env!("CARGO_PKG_VERSION")
                )?;
            }
        }
        if let Some(Cut { byte, of, after }) = &self.cut {
            let after = in_words(*after);
            writeln!(
                out,
                "The recording is cut at byte {byte} of {of}, after {after}: whoever recorded was \
                 ended, or the file is not whole. All before that was replayed."
            )?;
        }
        if let Some(at) = self.ends_at {
            writeln!(out, "{}", ends_before(in_words(at)))?;
        }
        if self.ignored_bytes > 0 {
            writeln!(out, "{}", ignored(self.ignored_bytes))?;
        }
        Ok(())
    }
}

/// Where more was asked for than there is.
pub(super) fn ends_before(at: String) -> String {
    format!("The recording ends at {at}, before the time that was asked for.")
}

/// Where something follows the end of a recording.
pub(super) fn ignored(bytes: u64) -> String {
    let bytes = number(bytes);
    format!("{bytes} bytes follow the end of the recording and are ignored; they are none of it.")
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn in_words(seconds: Seconds) -> String {
    duration(Duration::try_from_secs_f64(seconds.get()).unwrap_or(Duration::MAX))
}
