//! What would have been: a recorded run's inputs under another configuration.
//!
//! The rules are those of docs/replay.md: what came from outside comes again, what followed from
//! the recorded scheduler's own decisions follows from the other one's.

mod claims;
mod comparison;
mod course;
mod learning;
mod pods;

use std::io::{Read, Seek};

use roadstead_queue::Time;
use roadstead_recording::{ReadError, Reader};
use roadstead_scheduler::Setup;

pub use comparison::{ChangeCounts, Comparison, Placement, PlacementChange, PodComparison};

use crate::replay::Replay;
use course::Course;
use learning::Learned;

/// Replays a recording as it was, then runs what came from outside under another setup, and
/// compares where and when pods were placed; all of it up to `until`, if that is given.
///
/// # Errors
/// The recording cannot be read.
pub fn what_if<R: Read + Seek>(
    reader: Reader<R>,
    recorded: Setup,
    other: Setup,
    until: Option<Time>,
) -> Result<Comparison, ReadError> {
    let mut replay = Replay::new(reader, recorded, ());
    let learned = Learned::from(&mut replay, until)?;
    let (ending, difference) = (replay.ending(), replay.difference());
    let mut reader = replay.into_reader();
    reader.rewind();
    let course = Course::new(&learned, reader.header(), other).run(&mut reader)?;
    Ok(Comparison::of(&learned, &course, reader.header().start(), ending, difference))
}
