//! A scenario under way: the one thing that is due next, of all that will happen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roadstead_cluster::embedded::Cluster;
use roadstead_cluster::{ApiError, Object};
use roadstead_queue::Time;

use super::action::Stage;
use super::workload::Generator;
use super::{Entry, Fleet, Scenario};
use crate::Timeline;

/// A [`Scenario`] under way.
///
/// Pods of workloads are made when they are due and not before, so a scenario of a million pods
/// takes no more room than one of ten.
#[derive(Clone, Debug)]
pub struct Play {
    /// By time. What is due at one time happens in the order of the numbers: fleets, then the
    /// timeline, then workloads, then what follows from these.
    due: BTreeMap<(Time, usize), Due>,
    numbers: usize,
}

#[derive(Clone, Debug)]
enum Due {
    Join(Arc<Fleet>),
    Act(Arc<Entry>),
    Arrive(Box<Generator>),
}

impl Play {
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Self {
        let mut play = Self { due: BTreeMap::new(), numbers: 0 };
        for fleet in &scenario.fleets {
            play.plan(at(fleet.at), Due::Join(Arc::clone(fleet)));
        }
        for entry in &scenario.entries {
            play.plan(at(entry.at), Due::Act(Arc::clone(entry)));
        }
        for workload in &scenario.workloads {
            let generator = Generator::new(workload, seed);
            if let Some(first) = generator.next() {
                play.plan(at(first), Due::Arrive(Box::new(generator)));
            }
        }
        play
    }

    fn plan(&mut self, at: Time, due: Due) {
        self.due.insert((at, self.numbers), due);
        self.numbers += 1;
    }
}

impl Timeline for Play {
    fn next(&self) -> Option<Time> {
        self.due.first_key_value().map(|((time, _), _)| *time)
    }

    fn act(&mut self, now: Time, cluster: &mut Cluster) -> Vec<String> {
        let mut stage = Stage { now, cluster, troubles: Vec::new(), later: Vec::new() };
        while let Some(entry) = self.due.first_entry()
            && entry.key().0 <= now
        {
            let ((time, number), due) = entry.remove_entry();
            match due {
                Due::Join(fleet) => {
                    for number in 0..fleet.count {
                        if let Err(error) = stage.cluster.create(now, fleet.node(number)) {
                            stage.trouble(&format!("fleet {}", fleet.name), error.to_string());
                        }
                    }
                }
                Due::Act(entry) => {
                    stage.perform(&entry.action);
                    if let Some(every) = entry.every {
                        self.due.insert((time + every, number), Due::Act(entry));
                    }
                }
                Due::Arrive(mut generator) => {
                    arrive(&mut generator, &mut stage);
                    if let Some(next) = generator.next() {
                        self.due.insert((at(next), number), Due::Arrive(generator));
                    }
                }
            }
            for later in std::mem::take(&mut stage.later) {
                let at = later.at - Time::ZERO;
                let entry = Entry { at, every: None, action: later.action };
                self.plan(later.at, Due::Act(Arc::new(entry)));
            }
        }
        stage.troubles
    }
}

/// Makes the pod that is due. One that breaks the rules of its kind is the last: the next would as
/// well. What else stands against one may pass; of those that are refused in a row, the first is
/// told.
fn arrive(generator: &mut Generator, stage: &mut Stage<'_>) {
    let Some(pod) = generator.make() else { return };
    let pod = Object::from(pod);
    let name = generator.name().to_owned();
    stage.make_namespace(&format!("workload {name}"), &pod.key());
    match stage.cluster.create(stage.now, pod) {
        Ok(_) => generator.is_refused = false,
        Err(error @ (ApiError::Invalid { .. } | ApiError::Unsupported { .. })) => {
            generator.end();
            stage.trouble(&format!("workload {name}, which ends here"), error.to_string());
        }
        Err(error) => {
            if !std::mem::replace(&mut generator.is_refused, true) {
                stage.trouble(&format!("workload {name}, which goes on"), error.to_string());
            }
        }
    }
}

fn at(time: Duration) -> Time {
    Time::ZERO + time
}
