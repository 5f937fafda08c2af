//! How the scheduler stands.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::Depths;
use serde::Serialize;

use super::parameters::Parameters;
use super::problem::Problem;
use super::stage::{Span, Standing};
use super::{Api, ok};
use crate::observing::{self, Observed};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(flatten)]
    standing: Standing,
    version: &'static str,
    now: f64,
    schedulers: Vec<String>,
    counts: Depths,
    nodes: usize,
    bound_total: u64,
    attempts_total: u64,
    unclaimed: Unclaimed,
    can_change: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Span>,
}

pub(super) async fn show(
    State(api): State<Api>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    status(&api).await
}

/// The status as it is now.
pub(super) async fn status(api: &Api) -> Result<Response, Problem> {
    let stage = &api.stage;
    let known = stage.ask(|scheduler, now| Known::of(scheduler, now.as_nanos())).await?;
    let Known { now, schedulers, counts, nodes, bound_total, attempts_total, unclaimed } = known;
    Ok(ok(&Status {
        standing: stage.standing(),
        version: env!("CARGO_PKG_VERSION"),
        now,
        schedulers,
        counts,
        nodes,
        bound_total,
        attempts_total,
        unclaimed,
        can_change: stage.changes().is_some(),
        replay: stage.replay().map(|replay| replay.span()),
    }))
}

/// What the scheduler says of itself.
struct Known {
    now: f64,
    schedulers: Vec<String>,
    counts: Depths,
    nodes: usize,
    bound_total: u64,
    attempts_total: u64,
    unclaimed: Unclaimed,
}

/// Pods that wait for a scheduler that is not here.
#[derive(Serialize)]
struct Unclaimed {
    total: usize,
    /// The first of them.
    pods: Vec<UnclaimedPod>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UnclaimedPod {
    namespace: String,
    name: String,
    scheduler_name: String,
}

impl Unclaimed {
    fn of(scheduler: &Observed) -> Self {
        let all = scheduler.unclaimed_pods();
        let total = all.len();
        let pods = all.take(MOST_UNCLAIMED).map(|key| UnclaimedPod {
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            scheduler_name: scheduler.scheduler_of(key).unwrap_or_default().to_owned(),
        });
        Self { total, pods: pods.collect() }
    }
}

const MOST_UNCLAIMED: usize = 10;

impl Known {
    fn of(scheduler: &Observed, now: u64) -> Self {
        let totals = observing::activity(scheduler).totals();
        Self {
            now: now as f64 / 1e9,
            schedulers: scheduler.profile_names().map(str::to_owned).collect(),
            counts: Depths::of(scheduler),
            nodes: scheduler.cache().nodes_unordered().len(),
            bound_total: totals.bound,
            attempts_total: totals.attempts,
            unclaimed: Unclaimed::of(scheduler),
        }
    }
}
