//! Jobs: pods until enough have succeeded.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus};
use roadstead_queue::Time;

use super::super::Cluster;
use super::super::deletion::DeleteOptions;
use super::super::kubelet::{Deed, Task};
use super::super::store::{Tally, is_alive};
use super::indexes::{completed_indexes, label_pod, write_indexes};
use super::{count, wanted};
use crate::{ApiError, Key, Object};

impl Cluster {
    pub(super) fn reconcile_job(&mut self, key: &Key, job: &Arc<Job>) -> Result<(), ApiError> {
        let Some(spec) = &job.spec else { return Ok(()) };
        if is_over(job) {
            self.plan_expiry(key, job);
            return Ok(());
        }
        let tally = self.tally(&job.metadata);
        let succeeded = self.succeeded(job, tally);
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
        let outcome = if is_indexed(spec) {
            self.arrange_indexes(job, spec, active)
        } else {
            self.arrange_pods(job, spec, tally.alive, active)
        };
        let end = if failed {
            Some("Failed")
        } else if complete {
            Some("Complete")
        } else {
            None
        };
        self.write_job_status(key, end);
        if end.is_some()
            && let Some(Object::Job(job)) = self.store.get(key).cloned()
        {
            self.plan_expiry(key, &job);
        }
        outcome
    }

    fn arrange_pods(
        &mut self,
        job: &Arc<Job>,
        spec: &JobSpec,
        alive: usize,
        wanted: usize,
    ) -> Result<(), ApiError> {
        if alive > wanted {
            let mut pods = self.managed_pods(&job.metadata);
            pods.retain(|pod| is_alive(pod));
            pods.into_iter().take(alive - wanted).for_each(|pod| self.delete_pod(pod));
        }
        let owner = Object::from(Arc::clone(job));
        (alive..wanted)
            .try_for_each(|_| self.make_pod(&owner, &spec.template, |pod| label_pod(pod, &owner)))
    }

    /// How many pods, or indexes, have succeeded: here, or in the cluster that printed the job.
    fn succeeded(&self, job: &Job, tally: Tally) -> usize {
        if job.spec.as_ref().is_some_and(is_indexed) {
            return completed_indexes(job, &self.managed_pods(&job.metadata)).len();
        }
        let told = job.status.as_ref().and_then(|status| status.succeeded);
        tally.succeeded.max(usize::try_from(told.unwrap_or(0)).unwrap_or(0))
    }

    /// Plans the end of a job that is over and need not be kept.
    fn plan_expiry(&mut self, key: &Key, job: &Job) {
        if let (Some(at), Some(uid)) = (expiry(job), job.metadata.uid.clone()) {
            let at = at.max(self.now);
            self.plan(at, Task { key: key.clone(), uid, deed: Deed::Expire });
        }
    }

    pub(in super::super) fn expire_job(&mut self, job: &Arc<Job>) {
        // The time may have been changed since it was planned.
        if is_over(job) && expiry(job).is_some_and(|at| at <= self.now) {
            let key = Object::from(Arc::clone(job)).key();
            // It is there: it was just found.
            let _ = self.delete(self.now, &key, &DeleteOptions::default());
        }
    }

    fn write_job_status(&mut self, key: &Key, end: Option<&str>) {
        let Some(Object::Job(mut job)) = self.store.get(key).cloned() else { return };
        let tally = self.tally(&job.metadata);
        let succeeded = self.succeeded(&job, tally);
        let is_indexed = job.spec.as_ref().is_some_and(is_indexed);
        let indexes =
            is_indexed.then(|| completed_indexes(&job, &self.managed_pods(&job.metadata)));
        let now = self.timestamp();
        let status = Arc::make_mut(&mut job).status.get_or_insert_with(JobStatus::default);
        status.start_time.get_or_insert(now.clone());
        status.active = Some(count(tally.alive)).filter(|n| *n > 0);
        status.ready = Some(count(tally.ready));
        status.succeeded = Some(count(succeeded)).filter(|n| *n > 0);
        status.failed = Some(count(tally.failed)).filter(|n| *n > 0);
        status.completed_indexes = indexes.map(|indexes| write_indexes(&indexes));
        if let Some(end) = end {
            let failed = end == "Failed";
            status.conditions.get_or_insert_default().push(JobCondition {
                type_: end.to_owned(),
                status: "True".to_owned(),
                reason: failed.then(|| "BackoffLimitExceeded".to_owned()),
                message: failed.then(|| "Job has reached the specified backoff limit".to_owned()),
                last_transition_time: Some(now.clone()),
                ..JobCondition::default()
            });
            status.completion_time = (end == "Complete").then_some(now);
        }
        self.commit(job.into());
    }
}

fn is_complete(spec: &JobSpec, succeeded: usize, alive: usize) -> bool {
    match spec.completions {
        Some(_) => succeeded >= wanted(spec.completions),
        None if spec.parallelism.is_none() => succeeded >= 1,
        None => succeeded >= 1 && alive == 0,
    }
}

pub(super) fn is_indexed(spec: &JobSpec) -> bool {
    spec.completion_mode.as_deref() == Some("Indexed")
}

/// When a job that is over goes.
fn expiry(job: &Job) -> Option<Time> {
    let ttl = u64::try_from(job.spec.as_ref()?.ttl_seconds_after_finished?).ok()?;
    let end = end_of(job)?.last_transition_time.as_ref()?.0.as_second();
    Some(Time::from_secs(u64::try_from(end).unwrap_or(0)) + Duration::from_secs(ttl))
}

fn is_over(job: &Job) -> bool {
    end_of(job).is_some()
}

fn end_of(job: &Job) -> Option<&JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|c| matches!(&*c.type_, "Complete" | "Failed") && c.status == "True")
}
