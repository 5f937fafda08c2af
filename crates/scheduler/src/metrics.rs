//! kube-scheduler's metrics, with its names, labels and buckets.
//!
//! Histograms and counters are kept as things happen; gauges are computed when they are asked for,
//! so that they cannot drift from what they count.

mod exposition;
mod flushed;
mod instruments;
mod plugins;
mod pods;

use roadstead_queue::{Entrance, HintVerdict, Item, Plugins, Transition, Verdict};

use crate::events::Object;
use crate::observer::{Happening, Observer};
use crate::scheduler::{QueuedPod, Scheduler};
pub use exposition::Exposition;
use flushed::Flushed;
use instruments::{About, Counter, Gauge, Histogram};
use plugins::PluginMetrics;
pub use pods::expose_pod_resources;

/// An observer that keeps kube-scheduler's metrics.
#[derive(Clone, Debug)]
pub struct Metrics {
    clock: Option<fn() -> u64>,
    plugins: Plugins,
    incoming: Counter,
    hints: Histogram,
    event_handling: Histogram,
    pod_attempts: Histogram,
    pod_sli: Histogram,
    attempts: Counter,
    attempt_duration: Histogram,
    algorithm: Histogram,
    permit_wait: Histogram,
    points: Histogram,
    preemption_attempts: Counter,
    preemption_victims: Histogram,
    preemptions: Counter,
    preemption_duration: Histogram,
    flushed: Flushed,
    single: PluginMetrics,
    missed_wakeups: Counter,
}

impl Metrics {
    /// Nothing observed yet. With a clock, in nanoseconds, durations are observed too.
    #[must_use]
    pub fn new(clock: Option<fn() -> u64>) -> Self {
        let counter = |name, help, labels| Counter::new(About { name, help, labels });
        let histogram = |name, help, labels, from, factor, bounds| {
            Histogram::exponential(About { name, help, labels }, from, factor, bounds)
        };
        Self {
            clock,
            plugins: Plugins::new(),
            incoming: counter(
                "scheduler_queue_incoming_pods_total",
                "[STABLE] Number of pods added to scheduling queues by event and queue type.",
                &["event", "queue"],
            ),
            hints: histogram(
                "scheduler_queueing_hint_execution_duration_seconds",
                "[ALPHA] Duration for running a queueing hint function of a plugin.",
                &["event", "hint", "plugin"],
                0.00001,
                1.5,
                20,
            ),
            event_handling: histogram(
                "scheduler_event_handling_duration_seconds",
                "[ALPHA] Event handling latency in seconds.",
                &["event"],
                0.0001,
                2.0,
                12,
            ),
            pod_attempts: histogram(
                "scheduler_pod_scheduling_attempts",
                "[STABLE] Number of attempts to successfully schedule a pod.",
                &[],
                1.0,
                2.0,
                5,
            ),
            pod_sli: histogram(
                "scheduler_pod_scheduling_sli_duration_seconds",
                "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the \
                 scheduling queue and might involve multiple scheduling attempts.",
                &["attempts"],
                0.01,
                2.0,
                20,
            ),
            attempts: counter(
                "scheduler_schedule_attempts_total",
                "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' \
                 means a pod could not be scheduled, while 'error' means an internal scheduler \
                 problem.",
                &["profile", "result"],
            ),
            attempt_duration: histogram(
                "scheduler_scheduling_attempt_duration_seconds",
                "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                &["profile", "result"],
                0.001,
                2.0,
                15,
            ),
            algorithm: histogram(
                "scheduler_scheduling_algorithm_duration_seconds",
                "[ALPHA] Scheduling algorithm latency in seconds",
                &[],
                0.001,
                2.0,
                15,
            ),
            permit_wait: histogram(
                "scheduler_permit_wait_duration_seconds",
                "[BETA] Duration of waiting on permit.",
                &["result"],
                0.001,
                2.0,
                15,
            ),
            points: histogram(
                "scheduler_framework_extension_point_duration_seconds",
                "[STABLE] Latency for running all plugins of a specific extension point.",
                &["extension_point", "profile", "status"],
                0.0001,
                2.0,
                12,
            ),
            preemption_attempts: counter(
                "scheduler_preemption_attempts_total",
                "[STABLE] Total preemption attempts in the cluster till now",
                &[],
            ),
            preemption_victims: histogram(
                "scheduler_preemption_victims",
                "[STABLE] Number of selected preemption victims",
                &[],
                1.0,
                2.0,
                7,
            ),
            preemptions: counter(
                "scheduler_preemption_goroutines_execution_total",
                "[ALPHA] Number of preemption goroutines executed.",
                &["result"],
            ),
            preemption_duration: histogram(
                "scheduler_preemption_goroutines_duration_seconds",
                "[ALPHA] Duration in seconds for running goroutines for the preemption.",
                &["result"],
                0.01,
                2.0,
                20,
            ),
            flushed: Flushed::new(),
            single: PluginMetrics::new(),
            missed_wakeups: counter(
                "roadstead_missed_wakeups_total",
                "Pods that slept through what should have woken them, by rejecting plugin and \
                 last event.",
                &["event", "plugin"],
            ),
        }
    }

    /// Forgets everything that was observed.
    pub fn reset(&mut self) {
        let plugins = std::mem::take(&mut self.plugins);
        self.flushed.reset();
        let flushed = self.flushed.clone();
        *self = Self { plugins, flushed, ..Self::new(self.clock) };
    }

    /// The metrics of a scheduler in Prometheus' text format.
    pub fn expose<V: Observer>(&self, scheduler: &Scheduler<V>) -> String {
        let mut out = Exposition::default();
        for gauge in Self::gauges(scheduler) {
            gauge.expose(&mut out);
        }
        let counters = [
            &self.incoming,
            &self.attempts,
            &self.preemption_attempts,
            &self.preemptions,
            &self.missed_wakeups,
        ];
        for counter in counters {
            counter.expose(&mut out);
        }
        self.flushed.expose(&mut out);
        let histograms = [
            &self.hints,
            &self.event_handling,
            &self.pod_attempts,
            &self.pod_sli,
            &self.attempt_duration,
            &self.algorithm,
            &self.permit_wait,
            &self.points,
            &self.preemption_victims,
            &self.preemption_duration,
        ];
        for histogram in histograms {
            histogram.expose(&mut out);
        }
        self.single.expose(scheduler, &mut out);
        out.into_text()
    }

    fn gauges<V: Observer>(scheduler: &Scheduler<V>) -> [Gauge; 5] {
        let gauge = |name, help, labels| Gauge::new(About { name, help, labels });
        let queue = scheduler.queue();
        let counts = queue.counts();
        let mut pending = gauge(
            "scheduler_pending_pods",
            "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in \
             activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of \
             pods in unschedulablePods that the scheduler attempted to schedule and failed; \
             'gated' is the number of unschedulable pods that the scheduler never attempted to \
             schedule because they are gated.",
            &["queue"],
        );
        let backoff = counts.backoff + counts.error_backoff;
        let sizes = [
            ("active", counts.active),
            ("backoff", backoff),
            ("gated", counts.gated),
            ("unschedulable", counts.unschedulable),
        ];
        for (name, size) in sizes {
            pending.add(&[&name], size as f64);
        }
        let mut unschedulable = gauge(
            "scheduler_unschedulable_pods",
            "[BETA] The number of unschedulable pods broken down by plugin name. A pod will increment \
             the gauge for all plugins that caused it to not schedule and so this metric have \
             meaning only when broken down by plugin.",
            &["plugin", "profile"],
        );
        for waiting in queue.pool().chain(queue.backoff()).chain(queue.active()) {
            let profile = scheduler.profile_name(waiting.item().profile());
            for plugin in waiting.rejectors().unschedulable() {
                unschedulable.add(&[&queue.plugins().name(*plugin), &profile], 1.0);
            }
        }
        let mut in_flight = gauge(
            "scheduler_inflight_events",
            "[ALPHA] Number of events currently tracked in the scheduling queue.",
            &["event"],
        );
        in_flight.add(&[&"PodPopped"], counts.in_flight as f64);
        for label in queue.in_flight_events() {
            in_flight.add(&[&label], 1.0);
        }
        let mut cache = gauge(
            "scheduler_cache_size",
            "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            &["type"],
        );
        let known = scheduler.cache();
        let sizes = [
            ("assumed_pods", scheduler.bindings()),
            ("nodes", known.nodes_unordered().len()),
            ("pods", known.pod_count()),
        ];
        for (name, size) in sizes {
            cache.add(&[&name], size as f64);
        }
        let mut workers = gauge(
            "scheduler_goroutines",
            "[BETA] Number of running goroutines split by the work they do such as binding.",
            &["operation"],
        );
        workers.add(&[&"binding"], scheduler.bindings() as f64);
        [pending, unschedulable, in_flight, cache, workers]
    }
}

impl roadstead_queue::Observer<QueuedPod, Object> for Metrics {
    fn transition(&mut self, step: &Transition<'_, QueuedPod>) {
        if let Some(entrance) = Entrance::of(step) {
            self.incoming.add(&[&step.cause.label(), &entrance.name()], 1);
        }
        self.flushed.transition(step);
    }

    fn hint(&mut self, verdict: &HintVerdict<'_, QueuedPod, Object>) {
        let answer = match verdict.verdict {
            Verdict::Queue => "Queue",
            Verdict::Skip => "QueueSkip",
            Verdict::Error(_) => "Error",
        };
        let plugin = self.plugins.name(verdict.plugin);
        let label = verdict.event.label();
        self.hints.observe(&[&label, &answer, &plugin], seconds(verdict.cost));
    }

    fn gates(&mut self, item: &QueuedPod, cost: u64) {
        if self.clock.is_some() {
            let profile = &item.pod().spec().scheduler_name;
            // Whatever the gates say: upstream's recorder does not hear of it.
            self.points.observe(&[&"PreEnqueue", profile, &"Success"], seconds(cost));
        }
    }

    fn ticks(&mut self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }
}

impl Observer for Metrics {
    fn happened(&mut self, happening: &Happening<'_>) {
        match *happening {
            Happening::PointRan { profile, point, status, cost } => {
                self.points.observe(&[&point, profile, &status], seconds(cost));
            }
            Happening::Searched { cost } => self.algorithm.observe(&[], seconds(cost)),
            Happening::Attempted { profile, result, cost, .. } => {
                self.attempts.add(&[profile, &result.name()], 1);
                self.attempt_duration.observe(&[profile, &result.name()], seconds(cost));
            }
            Happening::Scheduled { pod, attempts, first_ready, at, .. } => {
                self.flushed.scheduled(&pod.uid);
                self.pod_attempts.observe(&[], f64::from(attempts));
                if let Some(first) = first_ready {
                    let waited = (at - first).as_secs_f64();
                    match attempts {
                        0..15 => self.pod_sli.observe(&[&attempts], waited),
                        _ => self.pod_sli.observe(&[&"15+"], waited),
                    }
                }
            }
            Happening::PermitWaited { status, waited } => {
                self.permit_wait.observe(&[&status], waited.as_secs_f64());
            }
            Happening::PreemptionTried => self.preemption_attempts.add(&[], 1),
            Happening::Preempted { victims, .. } => {
                self.preemption_victims.observe(&[], victims.len() as f64);
            }
            Happening::PreemptionEnded { is_success, took } => {
                let result = if is_success { "success" } else { "error" };
                self.preemptions.add(&[&result], 1);
                self.preemption_duration.observe(&[&result], took.as_secs_f64());
            }
            Happening::PluginRan { .. }
            | Happening::PluginsEvaluated { .. }
            | Happening::PluginFailed { .. } => self.single.happened(happening),
            // The queue's own transitions and the attempts' results count these.
            Happening::Rejected { .. }
            | Happening::Failed { .. }
            | Happening::Nominated { .. }
            | Happening::MadeVictim { .. } => {}
            Happening::EventHandled { event, cost } => {
                self.event_handling.observe(&[&event], seconds(cost));
            }
            Happening::WakeupMissed(missed) => {
                let event = missed.events.last().map_or("", String::as_str);
                for plugin in &missed.rejectors {
                    self.missed_wakeups.add(&[&event, plugin], 1);
                }
            }
        }
    }

    fn start(&mut self, plugins: &Plugins) {
        self.plugins = plugins.clone();
    }

    fn clock(&self) -> Option<fn() -> u64> {
        self.clock
    }

    fn follows_plugins(&self) -> bool {
        true
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}
