//! Replays records of the real scheduler, and compares queues with each other.
//!
//! A [`Trace`] is what kube-scheduler's own queue did, step by step. [`replay`] runs it against
//! any queue that implements [`Subject`] and says where the two part. [`Reference`] is the queue
//! in its plainest form, an executable specification: it is slow, it agrees with every trace,
//! and so it can stand in for the real one where there is no trace, in [`compare`] over the
//! sequences that [`from_seed`] and [`from_bytes`] make up.
//!
//! Between the two stands [`Caller`]: what happens *around* a queue (the clock, the versions of
//! pods, the attempts under way) is the same for every subject and is written once.
//!
//! Single decisions are another kind of record: a [`Case`] is a small cluster and a pod, and what
//! the real scheduler's plugins said about them. [`replay_decisions`] asks Roadstead's.

mod caller;
mod compare;
mod decisions;
mod difference;
mod random;
mod reference;
mod replay;
mod roadstead;
mod subject;
mod trace;

pub use caller::Caller;
pub use compare::{Divergence, compare};
pub use decisions::{Case, Cases, DecisionReport, Mismatch, Selection, replay_decisions};
pub use difference::Difference;
pub use random::{Bytes, Sequence, Source, SplitMix64, from_bytes, from_seed, sequence};
pub use reference::Reference;
pub use replay::{Failing, LeftOut, Report, replay};
pub use roadstead::Roadstead;
pub use subject::{Change, Failure, Object, PodUpdate, Popped, Reach, Subject};
pub use trace::{
    Action, AlreadyQueued, End, Event, Header, Hint, HintResult, Labels, Op, Outcome, Pending, Pod,
    PodName, PodState, Quirk, Rule, State, Step, Trace, TraceError, Traces, Uid,
};
