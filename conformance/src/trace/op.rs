//! The operations of a trace and what they return.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Event, Labels, Pod, PodName};

/// Something that is done to a queue, or to the clock beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// A new unscheduled pod arrives.
    Add {
        /// The pod.
        pod: Pod,
    },
    /// The next pod is taken without waiting.
    Pop {},
    /// An attempt failed: its pod goes back.
    Reject {
        /// Whose attempt.
        pod: PodName,
        /// The plugins that rejected it.
        unschedulable: Vec<String>,
        /// The plugins that it waits for.
        pending: Vec<String>,
        /// The scheduling cycle that the caller reports, the queue's current one if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cycle: Option<i64>,
    },
    /// An attempt needs no more events.
    Done {
        /// Whose attempt.
        pod: PodName,
    },
    /// An unscheduled pod changed.
    Update {
        /// Its new version.
        pod: Pod,
    },
    /// An unscheduled pod is gone.
    Delete {
        /// Which.
        pod: PodName,
    },
    /// A cluster event.
    Event {
        /// What happened.
        event: Event,
        /// The new object's labels; absent: there is no new object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        labels: Option<Labels>,
        /// The old object's labels; absent: there is no old object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_labels: Option<Labels>,
        /// Only pods of at most this priority are looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_priority: Option<i32>,
    },
    /// Another pod was bound.
    AssignedAdd {
        /// That pod.
        pod: Pod,
    },
    /// Another pod, bound before, changed.
    AssignedUpdate {
        /// Its new version.
        pod: Pod,
    },
    /// These pods are forced active.
    Activate {
        /// Which.
        pods: Vec<PodName>,
    },
    /// A pod is nominated to a node.
    Nominate {
        /// Which.
        pod: PodName,
        /// Where; absent: to the node that its status names, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<String>,
    },
    /// A pod's nomination ends.
    Unnominate {
        /// Whose.
        pod: PodName,
    },
    /// Who is nominated to a node?
    Nominated {
        /// Which.
        node: String,
    },
    /// The clock moves, nothing else happens.
    Advance {
        /// By how much.
        ms: u64,
    },
    /// What the one-second timer does.
    FlushBackoff {},
    /// What the thirty-second timer does.
    FlushUnschedulable {},
}

impl fmt::Display for Op {
    /// As a line of a trace has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// What an operation returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: most operations, a pop that would block, a reject that was accepted.
    Nothing,
    /// The pod that a pop took.
    Popped(PodName),
    /// Why a reject was refused.
    Refused(AlreadyQueued),
    /// Who is nominated, sorted by name.
    Nominated(Vec<PodName>),
}

impl Outcome {
    /// Reads the `result` of `op`, or says what it should have been.
    pub(super) fn read(op: &Op, value: Value) -> Result<Self, String> {
        let read = match (op, value) {
            (Op::Nominated { .. }, names @ Value::Array(_)) => {
                serde_json::from_value(names).map(Self::Nominated)
            }
            (Op::Nominated { .. }, _) => return Err("expected a list of names".to_owned()),
            (_, Value::Null) => Ok(Self::Nothing),
            (Op::Pop {}, name) => serde_json::from_value(name).map(Self::Popped),
            (Op::Reject { .. }, kind) => serde_json::from_value(kind).map(Self::Refused),
            (_, other) => return Err(format!("expected null, found {other}")),
        };
        read.map_err(|error| error.to_string())
    }
}

impl fmt::Display for Outcome {
    /// As the `result` of a line of a trace has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Nothing => Ok("null".to_owned()),
            Self::Popped(name) => serde_json::to_string(name),
            Self::Refused(kind) => serde_json::to_string(kind),
            Self::Nominated(names) => serde_json::to_string(names),
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

/// Why a queue does not take a rejected pod back: one of that name came in meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AlreadyQueued {
    /// It is in active.
    #[serde(rename = "already-active")]
    Active,
    /// It is in backoff.
    #[serde(rename = "already-backoff")]
    Backoff,
    /// It is in the unschedulable pool, gated or not.
    #[serde(rename = "already-unschedulable")]
    Unschedulable,
}
