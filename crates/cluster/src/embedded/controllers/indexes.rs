//! Indexed jobs: each pod is one part of the work, and knows which.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, ObjectFieldSelector, Pod};

use super::super::store::is_alive;
use super::super::{Cluster, phase_of};
use super::{label, wanted};
use crate::{ApiError, Object};

impl Cluster {
    /// Makes pods for the first indexes that have none, up to `active` in all.
    pub(super) fn arrange_indexes(
        &mut self,
        job: &Arc<Job>,
        spec: &JobSpec,
        active: usize,
    ) -> Result<(), ApiError> {
        let pods = self.managed_pods(&job.metadata);
        let done = completed_indexes(job, &pods);
        let mut taken = BTreeSet::new();
        let alive = pods.iter().filter(|pod| is_alive(pod));
        for pod in alive {
            // Two for one index are one too many, and so are those beyond what is wanted.
            let index = index_of(pod).filter(|index| !done.contains(index));
            let is_kept = taken.len() < active && index.is_some_and(|index| taken.insert(index));
            if !is_kept {
                self.delete_pod(Arc::clone(pod));
            }
        }
        let owner = Object::from(Arc::clone(job));
        let open = (0..wanted(spec.completions))
            .filter(|index| !done.contains(index) && !taken.contains(index));
        open.take(active.saturating_sub(taken.len())).try_for_each(|index| {
            self.make_pod(&owner, &spec.template, |pod| {
                label_pod(pod, &owner);
                give_index(pod, owner.name(), index);
            })
        })
    }
}

/// Says which job a pod is of.
pub(super) fn label_pod(pod: &mut Pod, job: &Object) {
    for name in ["batch.kubernetes.io/job-name", "job-name"] {
        label(&mut pod.metadata, name, job.name());
    }
    for name in ["batch.kubernetes.io/controller-uid", "controller-uid"] {
        label(&mut pod.metadata, name, job.uid());
    }
}

/// Tells a pod its index in every way that programs look for it.
fn give_index(pod: &mut Pod, job: &str, index: usize) {
    let text = index.to_string();
    pod.metadata.generate_name = Some(format!("{job}-{index}-"));
    label(&mut pod.metadata, INDEX, &text);
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(INDEX.to_owned(), text);
    let Some(spec) = &mut pod.spec else { return };
    spec.hostname = Some(format!("{job}-{index}"));
    let containers = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    for container in containers {
        let variables = container.env.get_or_insert_default();
        if variables.iter().all(|variable| variable.name != VARIABLE) {
            let field = ObjectFieldSelector {
                field_path: format!("metadata.annotations['{INDEX}']"),
                ..ObjectFieldSelector::default()
            };
            let source = EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() };
            variables.push(EnvVar {
                name: VARIABLE.to_owned(),
                value_from: Some(source),
                ..EnvVar::default()
            });
        }
    }
}

/// The indexes that are done: those that the status tells of, and those of pods that succeeded.
pub(super) fn completed_indexes(job: &Job, pods: &[Arc<Pod>]) -> BTreeSet<usize> {
    let told = job.status.as_ref().and_then(|status| status.completed_indexes.as_deref());
    let most = wanted(job.spec.as_ref().and_then(|spec| spec.completions));
    let mut indexes = read_indexes(told.unwrap_or_default(), most);
    let succeeded = pods.iter().filter(|pod| phase_of(pod) == "Succeeded");
    indexes.extend(succeeded.filter_map(|pod| index_of(pod)).filter(|index| *index < most));
    indexes
}

fn index_of(pod: &Pod) -> Option<usize> {
    pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok()
}

/// Reads `0-2,5`, as far as indexes below `most` are meant.
fn read_indexes(text: &str, most: usize) -> BTreeSet<usize> {
    let ranges = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
    });
    ranges.flat_map(|(first, last)| first..last.saturating_add(1).min(most)).collect()
}

/// Writes indexes in order, and runs of them as ranges: of two as a list, as upstream.
pub(super) fn write_indexes(indexes: &BTreeSet<usize>) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => runs.push((*index, *index)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const VARIABLE: &str = "JOB_COMPLETION_INDEX";
