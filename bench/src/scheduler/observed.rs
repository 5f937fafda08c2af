//! Who hears of what the scheduler does, and who looks at it meanwhile.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use roadstead_cluster::Object;
use roadstead_queue::Time;
use roadstead_recording::{Header, Recorder, Source, Step};
use roadstead_scheduler::listing::{QueueQuery, QueueSortBy, QueueSurvey, Sorted};
use roadstead_scheduler::{
    Activity, Command, Depths, HeldPods, Journal, JournalLimits, Metrics, Scheduler,
};
use serde_json::Value;

/// The observers of a scheduler under measurement.
pub(crate) type Observers = (Option<Metrics>, (Option<Journal>, Option<Activity>));

/// Which of them there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observed {
    metrics: bool,
    journal: bool,
    activity: bool,
    /// Whether the dashboard is looked at: what goes on is made anew four times a second, however
    /// many look, and a page of the queue every three seconds.
    dashboard: bool,
    pub(crate) recording: bool,
}

impl Observed {
    /// As `--observer` names them: one, or several with commas between them.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut all = Self::default();
        for name in text.split(',') {
            match name {
                "none" => {}
                "metrics" => all.metrics = true,
                "journal" => all.journal = true,
                "activity" => all.activity = true,
                "dashboard" => all.dashboard = true,
                "recording" => all.recording = true,
                "all" => (all.metrics, all.journal, all.activity) = (true, true, true),
                _ => return None,
            }
        }
        // It shows what these keep.
        if all.dashboard {
            (all.journal, all.activity) = (true, true);
        }
        Some(all)
    }

    pub(crate) fn observers(self) -> Observers {
        (
            self.metrics.then(|| Metrics::new(Some(nanoseconds))),
            (
                self.journal.then(|| Journal::with_thread(JournalLimits::default())),
                self.activity.then(Activity::new),
            ),
        )
    }

    pub(crate) fn dashboard(self) -> Option<Dashboard> {
        self.dashboard.then(Dashboard::default)
    }

    pub(crate) fn tape(self) -> Option<Tape> {
        self.recording.then(Tape::new)
    }
}

/// Someone who looks at the dashboard.
#[derive(Default)]
pub(crate) struct Dashboard {
    looked: Option<Instant>,
    listed: Option<Instant>,
}

impl Dashboard {
    /// Makes what is shown, where it is time for it: what goes on, and a page of the queue.
    pub(crate) fn look(&mut self, scheduler: &mut Scheduler<Observers>, now: Time) {
        let is_due = |last: Option<Instant>, pause| last.is_none_or(|at| at.elapsed() >= pause);
        if is_due(self.looked, BETWEEN_LOOKS) {
            self.looked = Some(Instant::now());
            Self::look_at_activity(scheduler, now);
        }
        if is_due(self.listed, BETWEEN_LISTS) {
            self.listed = Some(Instant::now());
            Self::list(scheduler);
        }
    }

    fn look_at_activity(scheduler: &mut Scheduler<Observers>, now: Time) {
        let (depths, held) = (Depths::of(scheduler), HeldPods::of(scheduler));
        let (_, (_, activity)) = scheduler.observer_mut();
        let shown = activity.as_mut().map(|activity| activity.document(depths, held, now));
        std::hint::black_box(serde_json::to_vec(&shown).expect("it can be written"));
    }

    /// All at once, and sorted here: a running scheduler works in between, and others sort.
    fn list(scheduler: &Scheduler<Observers>) {
        let (_, (journal, _)) = scheduler.queue().observer();
        let sorted = Sorted { by: QueueSortBy::Place, reversed: false };
        let query = QueueQuery { namespace: None, place: None, search: None, sorted };
        let mut survey = QueueSurvey::new(query);
        while !scheduler.survey_queue(&mut survey, usize::MAX) {}
        let listing = survey.finish();
        let rows =
            journal.as_ref().and_then(|journal| scheduler.queue_rows(&listing, 0..100, journal));
        std::hint::black_box(serde_json::to_vec(&rows).expect("it can be written"));
    }
}

/// A recording of everything that the scheduler is told.
pub(crate) struct Tape {
    recorder: Option<Recorder>,
    file: PathBuf,
}

impl Tape {
    fn new() -> Self {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let file = format!("roadstead-bench-{}-{number}.rec", std::process::id());
        let file = std::env::temp_dir().join(file);
        let header = Header::new(Source::Sim, Value::Null, 0);
        let recorder = Recorder::create(&file, &header).expect("a file can be made");
        Self { recorder: Some(recorder), file }
    }

    pub(crate) fn pod(&mut self, pod: &Arc<Pod>, now: Time) {
        self.step(Step::Set(Object::Pod(Arc::clone(pod))), now);
    }

    pub(crate) fn step(&mut self, step: Step, now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.step(now, step);
        }
    }

    pub(crate) fn decided(&mut self, commands: &[Command], now: Time) {
        if let Some(recorder) = &mut self.recorder {
            recorder.decided(now, commands);
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        // Ends its thread.
        drop(self.recorder.take());
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The time since it was first asked for.
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
const BETWEEN_LISTS: Duration = Duration::from_secs(3);
