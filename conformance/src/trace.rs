//! The trace format, as `TRACES.md` beside the records defines it.

mod event;
mod op;
mod pod;
mod read;
mod state;

pub use event::{Action, Event};
pub use op::{AlreadyQueued, Op, Outcome};
pub use pod::{Labels, Pod, PodName, Uid};
pub use read::{TraceError, Traces};
pub use state::{End, Pending, PodState, State};

use serde::{Deserialize, Serialize};

/// One recorded run of the real queue.
#[derive(Clone, Debug)]
pub struct Trace {
    /// How the queue was configured.
    pub header: Header,
    /// The line of its file that the header stands on.
    pub line: usize,
    /// What was done, in order.
    pub steps: Vec<Step>,
    /// What was left when it was over.
    pub end: End,
    /// The line of its file that the end record stands on.
    pub end_line: usize,
}

/// One operation and what the real queue made of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The line of its file that the step stands on.
    pub line: usize,
    /// What was done.
    pub op: Op,
    /// What it returned.
    pub outcome: Outcome,
    /// The queue right after it.
    pub state: State,
}

/// A queue's whole configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The trace's name, unique among all records.
    pub name: String,
    /// What the trace is there to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What the real queue does in it by mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quirk: Option<Quirk>,
    /// Where the clock starts, in Unix milliseconds.
    pub start_ms: u64,
    /// The backoff after the first failure.
    pub initial_backoff_ms: u64,
    /// The longest backoff; 0 turns backoff off.
    pub max_backoff_ms: u64,
    /// How long a pod may stay in the unschedulable pool before the leftover flush tries it.
    pub max_in_unschedulable_ms: u64,
    /// Whether requeueing asks hints and keeps in-flight events, or goes by the move request cycle.
    pub queueing_hints: bool,
    /// Whether `pop` may take from backoff while active is empty.
    pub pop_from_backoff: bool,
    /// The scheduling gate names that occur.
    pub gates: Vec<String>,
    /// Who registered for what, apart from `SchedulingGates`.
    pub hints: Vec<Hint>,
}

/// Something that the real queue does by mistake and another need not copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Quirk {
    /// It holds one pod in two places at once.
    #[serde(rename = "two places")]
    TwoPlaces,
}

/// One plugin's registrations and the hint it answers all of them with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hint {
    /// The plugin's name, as rejections name it.
    pub plugin: String,
    /// The events that it wants to hear.
    pub events: Vec<Event>,
    /// How it answers.
    pub rule: Rule,
}

/// How a hint answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// Always the same.
    Always {
        /// The answer.
        result: HintResult,
    },
    /// `Queue` when the pod's label and the new object's are both present and equal.
    Label {
        /// The label's key.
        key: String,
    },
    /// It fails, which counts as `Queue`.
    Error {},
}

/// What a hint says about one pod and one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HintResult {
    /// The event may have made the pod schedulable.
    Queue,
    /// It has not.
    Skip,
}
