//! Jobs: pods until enough have succeeded.

use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};

use super::super::Cluster;
use super::super::store::{Tally, is_alive};
use super::{count, label, wanted};
use crate::{ApiError, Key, Object};

impl Cluster {
    pub(super) fn reconcile_job(&mut self, key: &Key, job: &Arc<Job>) -> Result<(), ApiError> {
        let Some(spec) = &job.spec else { return Ok(()) };
        if is_over(job) {
            return Ok(());
        }
        let tally = self.tally(&job.metadata);
        let succeeded = succeeded(job, tally);
        let failed = tally.failed > usize::try_from(spec.backoff_limit.unwrap_or(6)).unwrap_or(0);
        let complete = is_complete(spec, succeeded, tally.alive);
        let active = match spec.completions {
            _ if failed || complete || spec.suspend == Some(true) => 0,
            Some(_) => {
                wanted(spec.parallelism).min(wanted(spec.completions).saturating_sub(succeeded))
            }
            // A work queue: after the first success no pod is added, and none taken away.
            None if succeeded > 0 => tally.alive,
            None => wanted(spec.parallelism),
        };
        let mut outcome = Ok(());
        if tally.alive < active {
            let owner = Object::from(Arc::clone(job));
            outcome = (tally.alive..active).try_for_each(|_| {
                self.make_pod(&owner, &spec.template, |pod| {
                    for name in ["batch.kubernetes.io/job-name", "job-name"] {
                        label(&mut pod.metadata, name, owner.name());
                    }
                    for name in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
                        label(&mut pod.metadata, name, owner.uid());
                    }
                })
            });
        } else if tally.alive > active {
            let mut pods = self.managed_pods(&job.metadata);
            pods.retain(|pod| is_alive(pod));
            pods.into_iter().take(tally.alive - active).for_each(|pod| self.delete_pod(pod));
        }
        let end = if failed {
            Some("Failed")
        } else if complete {
            Some("Complete")
        } else {
            None
        };
        self.write_job_status(key, end);
        outcome
    }

    fn write_job_status(&mut self, key: &Key, end: Option<&str>) {
        let Some(Object::Job(mut job)) = self.store.get(key).cloned() else { return };
        let tally = self.tally(&job.metadata);
        let succeeded = succeeded(&job, tally);
        let now = self.timestamp();
        let status = Arc::make_mut(&mut job).status.get_or_insert_with(JobStatus::default);
        status.start_time.get_or_insert(now.clone());
        status.active = Some(count(tally.alive)).filter(|n| *n > 0);
        status.ready = Some(count(tally.ready));
        status.succeeded = Some(count(succeeded)).filter(|n| *n > 0);
        status.failed = Some(count(tally.failed)).filter(|n| *n > 0);
        if let Some(end) = end {
            status.conditions.get_or_insert_default().push(JobCondition {
                type_: end.to_owned(),
                status: "True".to_owned(),
                last_transition_time: Some(now.clone()),
                ..JobCondition::default()
            });
            status.completion_time = (end == "Complete").then_some(now);
        }
        self.commit(job.into());
    }
}

/// Pods that succeeded: here, or in the cluster that printed the job.
fn succeeded(job: &Job, tally: Tally) -> usize {
    let told = job.status.as_ref().and_then(|status| status.succeeded);
    tally.succeeded.max(usize::try_from(told.unwrap_or(0)).unwrap_or(0))
}

fn is_complete(spec: &JobSpec, succeeded: usize, alive: usize) -> bool {
    match spec.completions {
        Some(_) => succeeded >= wanted(spec.completions),
        None if spec.parallelism.is_none() => succeeded >= 1,
        None => succeeded >= 1 && alive == 0,
    }
}

fn is_over(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|c| matches!(&*c.type_, "Complete" | "Failed") && c.status == "True")
}
