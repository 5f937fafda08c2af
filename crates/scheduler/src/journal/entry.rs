//! What a journal has to tell, in words and as data.

use std::fmt;
use std::time::Duration;

use roadstead_queue::Time;
use serde::{Serialize, Serializer};

/// What happened to a pod, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// The pod's namespace.
    pub namespace: String,
    /// Its name there.
    pub name: String,
    /// When it was first queued.
    #[serde(serialize_with = "seconds")]
    pub queued: Time,
    /// How many entries had to go: the oldest but the first.
    pub dropped: u32,
    /// The others: that it was queued, and the newest.
    pub entries: Vec<Entry>,
}

impl History {
    /// The entries, oldest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// One line for each entry, with the time since the pod was queued, for people.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let dropped = match self.dropped {
            0 => None,
            1 => Some("     …     1 entry is no longer kept".to_owned()),
            number => Some(format!("     …     {number} entries are no longer kept")),
        };
        let line = |entry: &Entry| {
            let since = entry.at - self.queued;
            format!("{:>9}  {}", format!("+{}", span(since)), entry.what)
        };
        let (queued, others) = self.entries.split_at(1.min(self.entries.len()));
        queued.iter().map(line).chain(dropped).chain(others.iter().map(line))
    }
}

/// Something that happened to a pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When; of what was repeated, the first time. Seconds since the epoch that the scheduler's
    /// owner chose.
    #[serde(serialize_with = "seconds")]
    pub at: Time,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What may happen to a pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "what")]
#[non_exhaustive]
pub enum What {
    /// It came into the queue.
    Queued {
        /// The event that brought it.
        event: String,
    },
    /// A gate holds it.
    Gated {
        /// The gate's plugin.
        by: String,
        /// Why the gates were asked.
        cause: String,
    },
    /// An attempt began.
    Popped {
        /// Its number.
        attempt: u32,
        /// Whether its backoff had not ended.
        early: bool,
    },
    /// A plugin refused nodes, all for one reason.
    Refused {
        /// The plugin; empty where no single one did.
        plugin: String,
        /// The reason.
        reason: String,
        /// How many nodes.
        nodes: u32,
    },
    /// Something went wrong.
    Failed {
        /// What.
        message: String,
    },
    /// A rejector was asked whether an event is worth a retry.
    Hint {
        /// The event.
        event: String,
        /// The rejector.
        plugin: String,
        /// Its answer.
        verdict: HintWord,
        /// How often it was asked and said so, until something else happened.
        times: u32,
        /// The last time.
        #[serde(serialize_with = "seconds")]
        until: Time,
        /// Whether the question was about all pods like this one.
        for_class: bool,
    },
    /// It came to another place of the queue.
    Moved {
        /// The place.
        to: Destination,
        /// Why.
        cause: String,
        /// The plugin whose hint found that worth a retry.
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// The end of its backoff.
        #[serde(serialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
    },
    /// A node is kept for it.
    Nominated {
        /// The node.
        node: String,
    },
    /// Others are to make room for it.
    Preempting {
        /// Where.
        node: String,
        /// How many.
        victims: u32,
    },
    /// It is to make room for another.
    PreemptedBy {
        /// The other's namespace and name.
        pod: String,
    },
    /// A node was found for it.
    Placed,
    /// It was bound.
    Bound {
        /// To this node.
        node: String,
        /// After so many attempts.
        attempts: u32,
    },
    /// It left the queue: it was deleted, or somebody else bound it.
    Deleted,
}

/// A hint's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HintWord {
    /// The event may help.
    Queue,
    /// It cannot.
    Skip,
    /// The hint failed, which counts as `Queue`.
    Error,
}

/// A place of the queue that a pod comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "they are called after the places of the queue")]
pub enum Destination {
    Active,
    Backoff,
    ErrorBackoff,
    Unschedulable,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued { event } => write!(f, "queued ({event})"),
            Self::Gated { by, cause } => write!(f, "held by {by} ({cause})"),
            Self::Popped { attempt, early: false } => write!(f, "attempt {attempt}"),
            Self::Popped { attempt, early: true } => {
                write!(f, "attempt {attempt}, before its backoff ended: nothing else was ready")
            }
            Self::Refused { plugin, reason, nodes } => {
                let by = if plugin.is_empty() { "rejected" } else { plugin };
                write!(f, "  {by}: {nodes} {reason}")
            }
            Self::Failed { message } => write!(f, "  failed: {message}"),
            Self::Hint { event, plugin, verdict, times, .. } => {
                let verdict = match verdict {
                    HintWord::Queue => "worth a retry",
                    HintWord::Skip => "no help",
                    HintWord::Error => "failed, which counts as worth a retry",
                };
                write!(f, "  {event}: {plugin} says {verdict}")?;
                if *times > 1 { write!(f, " ({times} times)") } else { Ok(()) }
            }
            Self::Moved { to, cause, by, until: _ } => {
                let words = match to {
                    Destination::Active => "ready to be tried",
                    Destination::Backoff => "backs off",
                    Destination::ErrorBackoff => "backs off after an error",
                    Destination::Unschedulable => "waits for an event",
                };
                match by {
                    Some(by) => write!(f, "{words} ({cause}, for {by})"),
                    None => write!(f, "{words} ({cause})"),
                }
            }
            Self::Nominated { node } => write!(f, "{node} is kept for it"),
            Self::Preempting { node, victims: 1 } => write!(f, "1 pod is to leave {node} for it"),
            Self::Preempting { node, victims } => {
                write!(f, "{victims} pods are to leave {node} for it")
            }
            Self::PreemptedBy { pod } => write!(f, "is to make room for {pod}"),
            Self::Placed => f.write_str("a node was found"),
            Self::Bound { node, attempts: 1 } => write!(f, "bound to {node} after 1 attempt"),
            Self::Bound { node, attempts } => {
                write!(f, "bound to {node} after {attempts} attempts")
            }
            Self::Deleted => f.write_str("left the queue"),
        }
    }
}

/// How long, in the largest unit that says it well.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 if duration.subsec_millis() != 0 => {
            let text = format!("{:.3}", duration.as_secs_f64());
            format!("{}s", text.trim_end_matches('0'))
        }
        0..60 => format!("{seconds}s"),
        60..3600 if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        _ => format!("{}h{}m", seconds / 3600, seconds / 60 % 60),
    }
}

pub(crate) fn seconds<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_nanos() as f64 / 1e9)
}

pub(crate) fn optional_seconds<S: Serializer>(
    time: &Option<Time>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => seconds(time, to),
        None => to.serialize_none(),
    }
}
