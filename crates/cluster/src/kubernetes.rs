//! A real cluster, through its API server.
//!
//! What it shows and what it answers comes as a stream of [`Input`]s; what a scheduler wants done
//! goes to it as [`Command`](roadstead_scheduler::Command)s.

mod connecting;
mod counting;
pub mod election;
mod watching;
pub mod writing;

use roadstead_model::Text;

pub use self::connecting::{ConnectError, ConnectOptions, connect, connect_and_tell};
pub use self::counting::{Answered, OnAnswer};
pub use self::watching::{KindStatus, WatchOptions, WatchPhase, Watching, watch};
use crate::Object;

/// What a scheduler hears from its cluster.
#[derive(Clone, Debug)]
pub enum Input {
    /// An object is there, new or changed.
    Set(Object),
    /// An object is gone. What was last seen of it, or its identity alone if it went while nobody
    /// was looking.
    Gone(Object),
    /// Everything that was there at the start has been shown.
    Synced,
    /// What came of a binding; for [`Scheduler::bound`](roadstead_scheduler::Scheduler::bound).
    Bound {
        /// The pod's uid.
        pod: Text,
        /// Why it failed, if it did.
        result: Result<(), String>,
    },
    /// What came of a write; for [`Scheduler::written`](roadstead_scheduler::Scheduler::written).
    Written {
        /// The uid of the pod that needs it.
        pod: Text,
        /// Why it failed, if it did.
        result: Result<(), String>,
    },
    /// What came of an eviction; for
    /// [`Scheduler::evicted`](roadstead_scheduler::Scheduler::evicted).
    Evicted {
        /// The uid of the pod that needs the room.
        preemptor: Text,
        /// Why it failed, if it did.
        result: Result<(), String>,
    },
}
