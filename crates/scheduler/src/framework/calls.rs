//! How often plugins are asked, and in some cycles how long they take to answer.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{CycleState, Framework, Status};

/// How often a plugin was asked at a point.
#[derive(Debug)]
pub struct Evaluation {
    /// The plugin.
    pub plugin: &'static str,
    /// The point, as metrics call it.
    pub point: &'static str,
    calls: AtomicU64,
}

impl Evaluation {
    fn new(plugin: &'static str, point: &'static str) -> Self {
        Self { plugin, point, calls: AtomicU64::new(0) }
    }

    /// How often. For PreFilter and PreScore without the times when it sat the cycle out.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }
}

/// A plugin's answer, and how long it took by the observer's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) plugin: &'static str,
    pub(crate) point: &'static str,
    pub(crate) status: &'static str,
    pub(crate) cost: u64,
}

/// The calls of a profile's plugins since they were last told.
///
/// What-ifs copy the state of a cycle and share this. A scheduler has one thread: what is atomic
/// here is so that states can go with it from one to another, and costs what a plain number does.
#[derive(Debug)]
pub(crate) struct Calls {
    /// By point, in the order of [`Asked`]; at each in the order of the profile.
    evaluations: Box<[Evaluation]>,
    /// Where each point begins.
    begins: [usize; 4],
    noted: Mutex<Noted>,
    /// How much there is in it, so that mostly nobody need look.
    notes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Noted {
    runs: Vec<Run>,
    failures: Vec<Failure>,
}

/// A plugin that answered a search with an error, and the point where it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) plugin: &'static str,
    pub(crate) point: &'static str,
}

/// The points at which calls are counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    PreFilter,
    Filter,
    PreScore,
    Score,
}

/// How many runs are kept until they are told, as many as kube-scheduler keeps; more are not
/// measured.
const MOST_RUNS: usize = 1_000;

impl Calls {
    pub(crate) fn new(framework: &Framework) -> Self {
        let names: [(&'static str, Vec<&'static str>); 4] = [
            ("PreFilter", framework.pre_filter.iter().map(|plugin| plugin.name()).collect()),
            ("Filter", framework.filter.iter().map(|plugin| plugin.name()).collect()),
            ("PreScore", framework.pre_score.iter().map(|plugin| plugin.name()).collect()),
            ("Score", framework.score.iter().map(|weighted| weighted.plugin.name()).collect()),
        ];
        let mut evaluations = Vec::new();
        let begins = names.map(|(point, plugins)| {
            let begin = evaluations.len();
            evaluations.extend(plugins.into_iter().map(|plugin| Evaluation::new(plugin, point)));
            begin
        });
        let (evaluations, noted) = (evaluations.into(), Mutex::default());
        Self { evaluations, begins, noted, notes: AtomicUsize::new(0) }
    }

    pub(crate) fn evaluations(&self) -> &[Evaluation] {
        &self.evaluations
    }

    /// They were told.
    pub(crate) fn forget_evaluations(&self) {
        for evaluation in &self.evaluations {
            evaluation.calls.store(0, Ordering::Relaxed);
        }
    }

    /// The runs and failures that are not told yet.
    pub(crate) fn take(&self) -> (Vec<Run>, Vec<Failure>) {
        if self.notes.load(Ordering::Relaxed) == 0 {
            return Default::default();
        }
        self.notes.store(0, Ordering::Relaxed);
        let Noted { runs, failures } = std::mem::take(&mut *self.noted());
        (runs, failures)
    }

    pub(crate) fn note(&self, run: Run) {
        let mut noted = self.noted();
        if noted.runs.len() < MOST_RUNS {
            noted.runs.push(run);
            self.notes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A search may ask a plugin twice, by memory and afresh: that is one failure.
    fn note_failure(&self, failure: Failure) {
        let mut noted = self.noted();
        if !noted.failures.contains(&failure) {
            noted.failures.push(failure);
            self.notes.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.notes.load(Ordering::Relaxed) >= MOST_RUNS
    }

    fn count(&self, point: Asked, at: usize, calls: u64) {
        if let Some(evaluation) = self.evaluations.get(self.begins[point as usize] + at) {
            evaluation.calls.store(evaluation.calls() + calls, Ordering::Relaxed);
        }
    }
}

/// When a call began, in a cycle that is measured.
#[derive(Clone, Copy)]
pub(crate) struct Began(Option<u64>);

impl CycleState {
    /// The plugin at this place of the point was asked so often.
    pub(super) fn count(&self, point: Asked, at: usize, calls: u64) {
        if let Some(kept) = &self.calls {
            kept.count(point, at, calls);
        }
    }

    /// A plugin is about to be asked.
    pub(crate) fn begin(&self) -> Began {
        let is_full = || self.calls.as_ref().is_none_or(|calls| calls.is_full());
        Began(self.sampling.filter(|_| !is_full()).map(|clock| clock()))
    }

    /// It has answered.
    pub(crate) fn ran(
        &self,
        began: Began,
        point: &'static str,
        plugin: &'static str,
        status: impl FnOnce() -> &'static str,
    ) {
        if let Began(Some(began)) = began
            && let Some(clock) = self.sampling
            && let Some(calls) = &self.calls
        {
            let cost = clock().saturating_sub(began);
            calls.note(Run { plugin, point, status: status(), cost });
        }
    }

    /// A plugin failed at a point of the search.
    pub(super) fn failed(&self, point: &'static str, plugin: &'static str) {
        if let Some(calls) = &self.calls {
            calls.note_failure(Failure { plugin, point });
        }
    }
}

/// What came of a call, as metrics call it.
pub(crate) fn status_name<T>(result: &Result<T, Status>) -> &'static str {
    result.as_ref().map_or_else(|status| status.code().name(), |_| SUCCESS)
}

pub(crate) const SUCCESS: &str = "Success";
pub(crate) const SKIP: &str = "Skip";
pub(crate) const WAIT: &str = "Wait";
