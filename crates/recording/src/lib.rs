//! Recordings of a Roadstead scheduler.
//!
//! A scheduler is a state machine: what its owner calls on it, in order and with the times, decides
//! everything that it does. A recording is that: a [`Header`] with the configuration and the seed,
//! and then every call as a [`Step`]. Whoever makes the same calls on a scheduler that was made in
//! the same way gets the same decisions; marks among the steps say which those were.
//!
//! [`Recorder`] writes while a scheduler runs, on a thread of its own; [`Reader`] reads. The file is
//! a sequence of blocks that stand on their own, each with its length and checksum. A block is
//! closed within a second, so that a process which dies loses no more than that, and a reader of
//! what is left says where it was cut.
//!
//! ```
//! use roadstead_queue::Time;
//! use roadstead_recording::{Ending, Header, Reader, Recorder, Source, Step};
//! # let folder = std::env::temp_dir().join(format!("roadstead-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # let file = folder.join("run.rec");
//! let header = Header::new(Source::Sim, serde_json::json!({}), 17);
//! let mut recorder = Recorder::create(&file, &header)?;
//! recorder.step(Time::from_secs(1), Step::Cycle);
//! recorder.finish(Time::from_secs(2))?;
//!
//! let mut reader = Reader::open(&file)?;
//! assert_eq!(reader.header().seed, 17);
//! while let Some(recorded) = reader.next_step()? {
//!     println!("{:?} {:?}", recorded.at, recorded.step);
//! }
//! assert_eq!(reader.ending(), Some(Ending::Complete));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod digest;
mod header;
mod step;

mod block;
mod bytes;
mod encoding;

mod error;
mod reader;
mod recorder;

pub use digest::Digest;
pub use error::{ReadError, RecordError};
pub use header::{FORMAT, Header, Source};
pub use reader::{Ending, Reader};
pub use recorder::{Recorder, Written};
pub use step::{Answer, Recorded, Step};
