//! Whatever a scheduler does is told.

use std::sync::Arc;
use std::time::Duration;

use roadstead_model::{Pod, Text};
use roadstead_queue::{Plugins, Time};

use crate::diagnosis::Diagnosis;
use crate::events::Object;
use crate::framework::Evaluation;
use crate::scheduler::{MissedWakeup, QueuedPod};

/// Hears of everything that happens in a scheduler: what its queue tells, and what it does itself.
///
/// Metrics, journals and statistics are observers. Two of them make one as a pair; `()` hears
/// nothing and costs nothing.
pub trait Observer: roadstead_queue::Observer<QueuedPod, Object> {
    /// Something happened.
    fn happened(&mut self, happening: &Happening<'_>) {
        let _ = happening;
    }

    /// The scheduler is made, with these plugins: their names by number.
    fn start(&mut self, plugins: &Plugins) {
        let _ = plugins;
    }

    /// A clock in nanoseconds, if what things cost is to be told. The scheduler has none.
    fn clock(&self) -> Option<fn() -> u64> {
        None
    }

    /// Whether to tell how often plugins are asked, and with a clock how long they take.
    fn follows_plugins(&self) -> bool {
        false
    }
}

impl Observer for () {}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn happened(&mut self, happening: &Happening<'_>) {
        self.0.happened(happening);
        self.1.happened(happening);
    }

    fn start(&mut self, plugins: &Plugins) {
        self.0.start(plugins);
        self.1.start(plugins);
    }

    fn clock(&self) -> Option<fn() -> u64> {
        self.0.clock().or_else(|| self.1.clock())
    }

    fn follows_plugins(&self) -> bool {
        self.0.follows_plugins() || self.1.follows_plugins()
    }
}

impl<A: Observer> Observer for Option<A> {
    fn happened(&mut self, happening: &Happening<'_>) {
        if let Some(observer) = self {
            observer.happened(happening);
        }
    }

    fn start(&mut self, plugins: &Plugins) {
        if let Some(observer) = self {
            observer.start(plugins);
        }
    }

    fn clock(&self) -> Option<fn() -> u64> {
        self.as_ref().and_then(|observer| observer.clock())
    }

    fn follows_plugins(&self) -> bool {
        self.as_ref().is_some_and(Observer::follows_plugins)
    }
}

/// Something that a scheduler did. What it cost is in nanoseconds of the observer's clock, and 0
/// where it has none.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Happening<'a> {
    /// The plugins of an extension point were run for a pod.
    PointRan {
        /// The profile's scheduler name.
        profile: &'a Text,
        /// The point, as metrics call it.
        point: &'static str,
        /// What came of it, as metrics call it.
        status: &'static str,
        /// What it cost.
        cost: u64,
    },
    /// A plugin answered, in one of the tenth of all cycles whose calls are measured.
    PluginRan {
        /// The plugin.
        plugin: &'static str,
        /// The point, as metrics call it.
        point: &'static str,
        /// What it answered, as metrics call it.
        status: &'static str,
        /// What it cost.
        cost: u64,
    },
    /// Plugins were asked in a search: how often each, those included that were not asked. What
    /// is remembered is not asked for.
    PluginsEvaluated {
        /// The profile's scheduler name.
        profile: &'a Text,
        /// The same plugins and points in the same order each time.
        evaluations: &'a [Evaluation],
    },
    /// A plugin could not answer: something went wrong.
    PluginFailed {
        /// The plugin.
        plugin: &'static str,
        /// The point, as metrics call it.
        point: &'static str,
    },
    /// A node was looked for, preemption included, whatever came of it.
    Searched {
        /// What it cost.
        cost: u64,
    },
    /// An attempt came to its end.
    Attempted {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The profile's scheduler name.
        profile: &'a Text,
        /// How it ended.
        result: AttemptResult,
        /// What it cost, from its beginning.
        cost: u64,
    },
    /// A pod was bound.
    Scheduled {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The pod's incarnation, which no other has.
        incarnation: u64,
        /// Its node.
        node: &'a Text,
        /// How many attempts it took.
        attempts: u32,
        /// When it was first ready to be tried.
        first_ready: Option<Time>,
        /// When it was bound.
        at: Time,
    },
    /// A pod that had a node waited for permission.
    PermitWaited {
        /// What was answered, as metrics call it.
        status: &'static str,
        /// For how long.
        waited: Duration,
    },
    /// A pod that fits nowhere looked for others to make room.
    PreemptionTried,
    /// The evictions that a preemptor had asked for are all answered.
    PreemptionEnded {
        /// Whether all of them succeeded.
        is_success: bool,
        /// How long it took.
        took: Duration,
    },
    /// Some were found.
    Preempted {
        /// For whom.
        pod: &'a Arc<Pod>,
        /// That pod's incarnation, which no other has.
        incarnation: u64,
        /// Where.
        node: &'a Text,
        /// They, those included that were leaving already.
        victims: &'a [Arc<Pod>],
        /// When.
        at: Time,
    },
    /// A pod is to make room for another, and is not leaving already.
    MadeVictim {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The pod's incarnation, which no other has.
        incarnation: u64,
        /// The other.
        preemptor: &'a Arc<Pod>,
        /// When.
        at: Time,
    },
    /// No node would take a pod, or nobody let it have one.
    Rejected {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The pod's incarnation, which no other has.
        incarnation: u64,
        /// Why, node by node.
        diagnosis: &'a Diagnosis,
        /// When.
        at: Time,
    },
    /// An attempt came to nothing though nobody rejected the pod.
    Failed {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The pod's incarnation, which no other has.
        incarnation: u64,
        /// What went wrong.
        message: &'a str,
        /// When.
        at: Time,
    },
    /// A node is kept for a pod that waits for others to leave it.
    Nominated {
        /// The pod.
        pod: &'a Arc<Pod>,
        /// The pod's incarnation, which no other has.
        incarnation: u64,
        /// The node.
        node: &'a Text,
        /// When.
        at: Time,
    },
    /// The cluster told something, and it was dealt with.
    EventHandled {
        /// What it was, as metrics call it.
        event: &'a str,
        /// What it cost.
        cost: u64,
    },
    /// A pod slept through what should have woken it.
    WakeupMissed(&'a MissedWakeup),
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// The pod was bound.
    Scheduled,
    /// It was rejected.
    Unschedulable,
    /// Something went wrong.
    Error,
}

impl AttemptResult {
    /// The result's name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}
