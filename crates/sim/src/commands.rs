//! Doing what the scheduler wants done.

mod writes;

use k8s_openapi::api::core::v1::PodCondition;
use roadstead_cluster::embedded::{Binding, DeleteOptions, PodStatusPatch};
use roadstead_cluster::{ApiError, Kind};
use roadstead_model::{Pod, Text};
use roadstead_scheduler::{Command, Condition};

use crate::simulation::Simulation;
use crate::transit::{Answer, Fate};

impl Simulation {
    /// Carries a command out. Whether it may change where some pod fits.
    pub(crate) fn carry_out(&mut self, command: Command) -> bool {
        match command {
            Command::Bind { pod, node } => {
                let result = self.bind(&pod, &node);
                let uid = pod.uid.clone();
                self.transit.send_answer(Answer::Bound { uid, result }, self.now);
                true
            }
            Command::Write { for_pod, write } => {
                let result = self.write(&write).map_err(|error| error.to_string());
                let uid = for_pod.uid.clone();
                self.transit.send_answer(Answer::Written { uid, result }, self.now);
                true
            }
            Command::PatchStatus { pod, condition, nominated_node } => {
                if let Some(condition) = &condition {
                    self.statistics.refused(&pod.uid, &condition.message);
                }
                self.patch_status(&pod, condition, nominated_node);
                false
            }
            Command::Evict { victim, preemptor } => {
                let result = self.evict(&victim);
                if result.is_ok() {
                    self.statistics.evicted(&victim, &preemptor);
                }
                let preemptor = preemptor.uid.clone();
                self.transit.send_answer(Answer::Evicted { preemptor, result }, self.now);
                true
            }
            Command::RecordEvent(record) => {
                self.statistics.record(record, self.now);
                false
            }
        }
    }

    fn bind(&mut self, pod: &Pod, node: &Text) -> Result<(), String> {
        let fate = self.transit.fate_of_binding();
        if fate == Fate::Fails {
            return Err("the connection was refused".to_owned());
        }
        let binding = Binding::new(pod.namespace(), &pod.name, node).only(&pod.uid);
        self.cluster.bind(self.now, &binding).map_err(|error| error.to_string())?;
        self.statistics.bound(pod, node, self.now);
        match fate {
            Fate::LosesItsAnswer => Err("the connection was lost".to_owned()),
            Fate::Succeeds | Fate::Fails => Ok(()),
        }
    }

    fn patch_status(
        &mut self,
        pod: &Pod,
        condition: Option<Condition>,
        nominated_node: Option<Text>,
    ) {
        let conditions = condition.map(|condition| PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some(condition.reason.to_owned()),
            message: Some(condition.message),
            observed_generation: Some(condition.observed_generation),
            ..PodCondition::default()
        });
        let patch = PodStatusPatch {
            uid: Some(pod.uid.to_string()),
            conditions: conditions.into_iter().collect(),
            nominated_node_name: nominated_node.map(|node| node.to_string()),
        };
        let patched = self.cluster.patch_pod_status(self.now, pod.namespace(), &pod.name, patch);
        if let Err(error) = patched
            && !is_gone(&error)
        {
            let (namespace, name) = (pod.namespace(), &pod.name);
            self.note_trouble(format!("status of pod {namespace}/{name}: {error}"));
        }
    }

    /// Marks a victim and deletes it. One that is gone needs neither.
    fn evict(&mut self, victim: &Pod) -> Result<(), String> {
        let scheduler = &victim.spec().scheduler_name;
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: Some("PreemptionByScheduler".to_owned()),
            message: Some(format!("{scheduler}: preempting to accommodate a higher priority pod")),
            ..PodCondition::default()
        };
        let uid = Some(victim.uid.to_string());
        let patch = PodStatusPatch {
            uid: uid.clone(),
            conditions: vec![condition],
            ..PodStatusPatch::default()
        };
        let (namespace, name) = (victim.namespace(), &victim.name);
        let options = DeleteOptions { uid, ..DeleteOptions::default() };
        let evicted =
            self.cluster.patch_pod_status(self.now, namespace, name, patch).and_then(|()| {
                self.cluster.delete(self.now, &Kind::Pod.key(namespace, name), &options)
            });
        match evicted {
            Err(error) if !is_gone(&error) => Err(error.to_string()),
            _ => Ok(()),
        }
    }
}

/// Whether the pod that was meant is no more; another one may have its name.
fn is_gone(error: &ApiError) -> bool {
    error.is_not_found() || error.is_conflict()
}
