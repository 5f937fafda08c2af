//! What plugins do, one by one: how often they are asked, how long they take, which fail.

use roadstead_model::Text;

use super::exposition::Exposition;
use super::instruments::{About, Counter, Histogram};
use crate::framework::Evaluation;
use crate::observer::{Happening, Observer};
use crate::scheduler::Scheduler;

/// The metrics of single plugins.
#[derive(Clone, Debug)]
pub(super) struct PluginMetrics {
    executions: Histogram,
    /// By profile, in the order in which the scheduler tells them: they come with every search.
    evaluations: Vec<(Text, Vec<u64>)>,
    volume_errors: Counter,
}

impl PluginMetrics {
    pub(super) fn new() -> Self {
        let executions = About {
            name: "scheduler_plugin_execution_duration_seconds",
            help: "[ALPHA] Duration for running a plugin at a specific extension point.",
            labels: &["extension_point", "plugin", "status"],
        };
        let volume_errors = About {
            name: "scheduler_volume_scheduling_stage_error_total",
            help: "[ALPHA] Volume scheduling stage error count",
            labels: &["operation"],
        };
        Self {
            executions: Histogram::exponential(executions, 0.00001, 1.5, 20),
            evaluations: Vec::new(),
            volume_errors: Counter::new(volume_errors),
        }
    }

    pub(super) fn happened(&mut self, happening: &Happening<'_>) {
        match *happening {
            Happening::PluginRan { plugin, point, status, cost } => {
                self.executions.observe(&[&point, &plugin, &status], super::seconds(cost));
            }
            Happening::PluginsEvaluated { profile, evaluations } => {
                self.evaluated(profile, evaluations);
            }
            Happening::PluginFailed { plugin: "VolumeBinding", point } => {
                let operation = match point {
                    "Filter" => "predicate",
                    "Reserve" => "assume",
                    "PreBind" => "bind",
                    _ => return,
                };
                self.volume_errors.add(&[&operation], 1);
            }
            _ => {}
        }
    }

    fn evaluated(&mut self, profile: &Text, evaluations: &[Evaluation]) {
        let calls = evaluations.iter().map(Evaluation::calls);
        match self.evaluations.iter_mut().find(|(known, _)| known == profile) {
            Some((_, sums)) => sums.iter_mut().zip(calls).for_each(|(sum, calls)| *sum += calls),
            None => self.evaluations.push((profile.clone(), calls.collect())),
        }
    }

    /// As in kube-scheduler, plugins that were never asked are listed too.
    pub(super) fn expose<V: Observer>(&self, scheduler: &Scheduler<V>, out: &mut Exposition) {
        let mut counter = Counter::new(About {
            name: "scheduler_plugin_evaluation_total",
            help: "[BETA] Number of attempts to schedule pods by each plugin and the extension point \
                   (available only in PreFilter, Filter, PreScore, and Score).",
            labels: &["extension_point", "plugin", "profile"],
        });
        for (profile, evaluations) in scheduler.evaluations() {
            let sums = self.evaluations.iter().find(|(known, _)| known == profile);
            for (at, Evaluation { plugin, point, .. }) in evaluations.iter().enumerate() {
                let calls = sums.and_then(|(_, sums)| sums.get(at)).copied().unwrap_or(0);
                counter.add(&[point, plugin, profile], calls);
            }
        }
        counter.expose(out);
        self.volume_errors.expose(out);
        self.executions.expose(out);
    }
}
