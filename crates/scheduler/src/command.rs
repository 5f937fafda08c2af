//! What the scheduler wants done.

use std::sync::Arc;

use roadstead_model::{Pod, Text};

use crate::framework::Write;

/// Something to be done to the cluster. The scheduler does nothing itself; what came of a command
/// that can fail comes back as a notification.
#[derive(Clone, Debug)]
pub enum Command {
    /// Bind the pod to the node; the answer is [`Scheduler::bound`](crate::Scheduler::bound).
    Bind {
        /// Whom.
        pod: Arc<Pod>,
        /// Where.
        node: Text,
    },
    /// Write what a pod needs before it is bound; the answer is
    /// [`Scheduler::written`](crate::Scheduler::written).
    Write {
        /// For whom.
        for_pod: Arc<Pod>,
        /// What.
        write: Write,
    },
    /// Write to the pod's status.
    PatchStatus {
        /// Whose.
        pod: Arc<Pod>,
        /// The condition `PodScheduled=False`, if it changes.
        condition: Option<Condition>,
        /// The nominated node, if it changes; empty to clear it.
        nominated_node: Option<Text>,
    },
    /// Give the victim the condition `DisruptionTarget` and delete it; the answer is
    /// [`Scheduler::evicted`](crate::Scheduler::evicted).
    Evict {
        /// Who must go.
        victim: Arc<Pod>,
        /// For whom.
        preemptor: Arc<Pod>,
    },
    /// Record an Event.
    RecordEvent(Record),
}

/// Why a pod is not scheduled, as its condition says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `Unschedulable` or `SchedulerError`.
    pub reason: &'static str,
    /// In full.
    pub message: String,
    /// Of which generation of the pod this is said.
    pub observed_generation: i64,
}

/// An Event to be recorded.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it is about.
    pub regarding: Arc<Pod>,
    /// Who else has a part in it.
    pub related: Option<Arc<Pod>>,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// In a word.
    pub reason: &'static str,
    /// What was being done.
    pub action: &'static str,
    /// In full.
    pub note: String,
}

/// The longest note that an Event takes.
const MAX_NOTE: usize = 1024;

impl Record {
    /// A note that is too long is cut, as kube-scheduler cuts it.
    pub(crate) fn cut(mut note: String) -> String {
        if note.len() > MAX_NOTE {
            let mut end = MAX_NOTE - CUT.len();
            while !note.is_char_boundary(end) {
                end -= 1;
            }
            note.truncate(end);
            note.push_str(CUT);
        }
        note
    }
}

const CUT: &str = " ...";
