//! A Roadstead scheduler and a cluster in memory, run in virtual time.
//!
//! [`Simulation`] owns an [embedded cluster](roadstead_cluster::embedded) and a
//! [scheduler](roadstead_scheduler), shows the one what happens in the other, carries out what the
//! scheduler wants done, and lets time jump to the next thing that happens. Days pass in seconds,
//! and equal inputs and seeds give equal outcomes.
//!
//! - A [`Timeline`] is what happens to the cluster from outside; a [`Scenario`] is one that is
//!   written down, and an [`Input`] everything that a run is given.
//! - [`Faults`] make the way between the two take time, and fail.
//! - A [`Replay`] does to a scheduler what a recording says was done to another.
//!   [`what_if`] gives the same inputs to one with another configuration, and compares.
//! - An [`Outcome`] is what a run came to: counts, reasons, every pod's story, and what happened
//!   when, ready to be serialised.

mod input;
pub mod openb;
pub mod scenario;
mod timeline;

mod simulation;

mod replay;
mod what_if;

mod commands;
mod random;
mod transit;

mod outcome;
pub mod report;
mod series;
mod statistics;
mod wakers;

pub use input::{Input, InputError};
pub use outcome::{
    Amount, ConditionOutcome, EventOutcome, Move, NodeOutcome, Outcome, PodCounts, PodOutcome,
    PodState, Point, Quantiles, ReasonCount, Rejector, Seconds, Series, WaitingCounts,
    WaitingPlace,
};
pub use replay::{Difference, Replay, ReplayError, setup_of, setup_with};
pub use roadstead_scheduler::explain::Explanation;
pub use roadstead_scheduler::{History, JournalLimits, PodKey, Setup, SetupError};
pub use scenario::Scenario;
pub use simulation::{Config, End, Progress, RunError, Simulation, Verify};
pub use statistics::{Journal, Noted, Observers};
pub use timeline::{StartingAt, Timeline, Uneventful};
pub use transit::{Delay, Faults};
pub use what_if::{
    Baseline, ChangeCounts, Comparison, Placement, PlacementChange, PodComparison, Setups, what_if,
};
