//! What is recorded.

use roadstead_cluster::Object;
use roadstead_model::Text;
use roadstead_queue::Time;

/// What came of a command: why it failed, if it did.
pub type Answer = Result<(), String>;

/// Something that the owner of a scheduler did with it, or what came out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The cluster showed an object, new or changed.
    Set(Object),
    /// The cluster showed that an object is gone.
    Gone(Object),
    /// A binding was answered.
    Bound {
        /// The pod's uid.
        uid: Text,
        /// What came of it.
        result: Answer,
    },
    /// A write was answered.
    Written {
        /// The uid of the pod that needs it.
        uid: Text,
        /// What came of it.
        result: Answer,
    },
    /// An eviction was answered.
    Evicted {
        /// The uid of the pod that needs the room.
        preemptor: Text,
        /// What came of it.
        result: Answer,
    },
    /// The scheduler was to do what is due by time alone.
    OnTime,
    /// A scheduling cycle.
    Cycle,
    /// Pods were looked for that sleep though they could be placed, among so many classes.
    Verify {
        /// How many.
        budget: u64,
    },
    /// Something went wrong outside of the scheduler.
    Trouble(String),
    /// The scheduler decided: so many commands came out since the last mark.
    Decided {
        /// How many.
        commands: u64,
        /// The end of the [digest](crate::Digest) of all commands so far.
        digest: u16,
    },
    /// The recording came to its end in good order.
    Ended {
        /// How many commands came out in all.
        commands: u64,
        /// The digest of all of them.
        digest: u64,
    },
}

/// A step, and when it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Its number, from 0.
    pub number: u64,
    /// The time that the scheduler was told.
    pub at: Time,
    /// What happened.
    pub step: Step,
}
