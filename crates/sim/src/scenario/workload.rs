//! Workloads: pods that keep coming, made one at a time when they are due.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use roadstead_cluster::embedded::RUN_SECONDS;
use roadstead_model::is_extended_resource;

use super::drawing::{Arrivals, Choice, Runs, Steps};
use crate::random::Random;

/// Pods that keep coming.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) name: String,
    pub(super) start: Duration,
    pub(super) stop: Option<Duration>,
    pub(super) count: Option<u64>,
    pub(super) arrivals: Arrivals,
    pub(super) templates: Choice<Pod>,
    pub(super) sizes: Choice<Vec<(String, Amount)>>,
    /// Pods without run until they are deleted.
    pub(super) runs: Option<Runs>,
}

/// How much of a resource a pod asks for.
#[derive(Clone, Debug)]
pub(super) enum Amount {
    Fixed(Quantity),
    /// Thousandths, for CPU.
    Millis(Steps),
    Units(Steps),
}

impl Amount {
    fn draw(&self, random: &mut Random) -> Quantity {
        Quantity(match self {
            Self::Fixed(quantity) => return quantity.clone(),
            Self::Millis(steps) => format!("{}m", steps.draw(random)),
            Self::Units(steps) => match steps.draw(random) {
                bytes if bytes % MEBIBYTE == 0 && bytes > 0 => format!("{}Mi", bytes / MEBIBYTE),
                units => units.to_string(),
            },
        })
    }
}

/// A workload at work.
#[derive(Clone, Debug)]
pub(super) struct Generator {
    workload: Arc<Workload>,
    random: Random,
    made: u64,
    /// When the next pod comes, from the start of the scenario.
    next: Option<Duration>,
    /// Whether its last pod was refused.
    pub(super) is_refused: bool,
}

impl Generator {
    /// What a workload draws depends on the seed and its own name alone, so a workload that is
    /// added changes no other.
    pub(super) fn new(workload: &Arc<Workload>, seed: u64) -> Self {
        let random = Random::new(seed ^ hash(&workload.name));
        let workload = Arc::clone(workload);
        let mut new = Self { workload, random, made: 0, next: None, is_refused: false };
        new.plan(Duration::ZERO);
        new
    }

    pub(super) fn next(&self) -> Option<Duration> {
        self.next
    }

    /// The pod that is due, after which the next one is planned.
    pub(super) fn make(&mut self) -> Option<Pod> {
        let now = self.next.take()?;
        let workload = Arc::clone(&self.workload);
        let mut pod = workload.templates.draw(&mut self.random)?.clone();
        pod.metadata.name = Some(format!("{}-{}", workload.name, self.made));
        if let Some(size) = workload.sizes.draw(&mut self.random) {
            self.size(&mut pod, size);
        }
        if let Some(runs) = &workload.runs {
            let annotations = pod.metadata.annotations.get_or_insert_with(BTreeMap::new);
            let seconds = runs.draw(&mut self.random).as_millis() as f64 / 1e3;
            annotations.insert(RUN_SECONDS.to_owned(), seconds.to_string());
        }
        self.made += 1;
        self.plan(now.saturating_sub(workload.start));
        Some(pod)
    }

    /// Nothing more comes.
    pub(super) fn end(&mut self) {
        self.next = None;
    }

    pub(super) fn name(&self) -> &str {
        &self.workload.name
    }

    fn plan(&mut self, last: Duration) {
        let workload = &self.workload;
        if workload.count.is_some_and(|count| self.made >= count) {
            return;
        }
        let next = workload.arrivals.next(self.made, last, &mut self.random);
        let next = workload.start.saturating_add(next);
        self.next = (workload.stop.is_none_or(|stop| next < stop)).then_some(next);
    }

    /// The first container of the pod asks for this much. What cannot be overcommitted is limited
    /// to it as well.
    fn size(&mut self, pod: &mut Pod, size: &[(String, Amount)]) {
        let spec = pod.spec.get_or_insert_default();
        let Some(container) = spec.containers.first_mut() else { return };
        let resources = container.resources.get_or_insert_default();
        for (name, amount) in size {
            let quantity = amount.draw(&mut self.random);
            if is_extended_resource(name) {
                let limits = resources.limits.get_or_insert_with(BTreeMap::new);
                limits.insert(name.clone(), quantity.clone());
            }
            resources.requests.get_or_insert_with(BTreeMap::new).insert(name.clone(), quantity);
        }
    }
}

/// FNV-1a.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

const MEBIBYTE: u64 = 1 << 20;
