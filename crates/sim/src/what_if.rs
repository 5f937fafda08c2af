//! What would have been: a recorded run's inputs under another configuration.
//!
//! The rules are those of docs/replay.md: what came from outside comes again, what followed from
//! the recorded scheduler's own decisions follows from the other one's.

mod claims;
mod comparison;
mod course;
mod learning;
mod lifespans;
mod pods;
mod sent;

use std::io::{Read, Seek};

use roadstead_queue::Time;
use roadstead_recording::{ReadError, Reader};
use roadstead_scheduler::Setup;

use comparison::Compared;
pub use comparison::{
    Baseline, ChangeCounts, Comparison, Placement, PlacementChange, PodComparison,
};

use crate::outcome::Seconds;
use crate::replay::Replay;
use course::Course;
use learning::Learned;

/// What the runs of a comparison are made of.
pub struct Setups {
    /// Three times the [setup of the recording](crate::setup_of): it is replayed, run under the
    /// rules, and run so with other luck.
    pub recorded: [Setup; 3],
    /// The one to compare with it.
    pub other: Setup,
}

/// Replays a recording as it was, then runs what came from outside under another setup, and
/// compares where and when pods were placed; all of it up to `until`, if that is given. So that it
/// is known what the comparison is worth, the recorded setup is run in the same way.
///
/// # Errors
/// The recording cannot be read.
pub fn what_if<R: Read + Seek>(
    reader: Reader<R>,
    setups: Setups,
    until: Option<Time>,
) -> Result<Comparison, ReadError> {
    let Setups { recorded: [recorded, unchanged, lucky], other } = setups;
    let mut replay = Replay::new(reader, recorded, ());
    let learned = Learned::from(&mut replay, until)?;
    let (ending, difference) = (replay.ending(), replay.difference());
    let mut reader = replay.into_reader();
    let (start, seed) = (reader.header().start(), reader.header().seed);
    let mut run = |setup, seed| {
        reader.rewind();
        let course = Course::new(&learned, start, seed, setup).run(&mut reader)?;
        Ok::<_, ReadError>(Compared::of(&learned, &course, start))
    };
    let [other, unchanged, lucky] = [run(other, seed)?, run(unchanged, seed)?, run(lucky, !seed)?];
    Ok(Comparison {
        duration: Seconds::of(learned.end - start),
        counts: other.counts,
        recorded_evictions: learned.lives.values().filter(|life| life.is_evicted()).count(),
        other_evictions: other.evictions,
        unchanged: Baseline::of(&unchanged),
        other_seed: Baseline::of(&lucky),
        pods: other.pods,
        ending,
        difference,
    })
}
