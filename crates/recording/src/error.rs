//! What can be wrong with a recording.

use std::io;
use std::time::Duration;

/// Why a recording cannot be begun.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is a file of that name.
    #[error(
        "{file}: there is a file of that name, and recordings overwrite nothing; remove it, or choose another name"
    )]
    Exists {
        /// The file.
        file: String,
    },
    /// It cannot be written.
    #[error("{file}: cannot write: {error}")]
    Unwritable {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
}

/// Why a recording cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read at all.
    #[error("{file}: cannot read: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: io::Error,
    },
    /// It is something else.
    #[error("{file}: this is no recording; one is made by --record FILE of run, serve and sim")]
    NoRecording {
        /// The file.
        file: String,
    },
    /// It is of another version.
    #[error(
        "{file}: a recording of format {found}, and this program reads format {known}; use the \
         version of the program that recorded it"
    )]
    OtherFormat {
        /// The file.
        file: String,
        /// Its format.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// The file ends or is damaged where it says what it is of.
    #[error("{file}: the header is cut or damaged: without it nothing can be replayed")]
    NoHeader {
        /// The file.
        file: String,
    },
    /// A block in the middle is damaged.
    #[error(
        "{file}: damaged at byte {byte} of {of}; the {steps} steps before that can be replayed: stop \
         with --until {}s",
        .after.as_secs_f64()
    )]
    Damaged {
        /// The file.
        file: String,
        /// Where the damaged block begins.
        byte: u64,
        /// How long the file is.
        of: u64,
        /// How many steps are before it.
        steps: u64,
        /// When the last of them was, since the start of the run.
        after: Duration,
    },
    /// A block is whole and does not say what it should.
    #[error(
        "{file}: step {step} is not understood: {problem}; use the version of the program that \
         recorded it"
    )]
    NotUnderstood {
        /// The file.
        file: String,
        /// The number of the step.
        step: u64,
        /// What is wrong with it.
        problem: String,
    },
}
