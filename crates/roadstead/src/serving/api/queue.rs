//! What waits.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::listing::{PlaceName, QueuePage, QueueQuery, QueueSortBy};
use serde::Serialize;

use super::parameters::{Parameters, marked, sorted};
use super::problem::Problem;
use super::{Api, ok};
use crate::observing;

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    page: QueuePage,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    let known = ["namespace", "place", "search", "sort", "limit", "continue"];
    parameters.allow(&known)?;
    let sort = sorted(&parameters, SORTS)?;
    let query = QueueQuery {
        namespace: parameters.text("namespace")?.map(str::to_owned),
        place: parameters.one_of("place", PLACES)?,
        search: parameters.text("search")?.map(str::to_lowercase),
        sorted: sort.sorted,
        limit: parameters.limit(MOST_PODS, DEFAULT_PODS)?,
        after: sort.after(&parameters)?,
    };
    let page = api.stage.ask(move |scheduler, now| {
        scheduler.queue_page(&query, observing::journal(scheduler), now)
    });
    let mut page = page.await?.ok_or_else(super::parameters::wrong_mark)?;
    let next = marked(&sort, page.next.take());
    Ok(ok(&Shown { page, next }))
}

const SORTS: &[(&str, QueueSortBy)] = &[
    ("place", QueueSortBy::Place),
    ("namespace", QueueSortBy::Namespace),
    ("name", QueueSortBy::Name),
    ("priority", QueueSortBy::Priority),
    ("attempts", QueueSortBy::Attempts),
    ("queued", QueueSortBy::Queued),
    ("since", QueueSortBy::Since),
    ("backoff", QueueSortBy::Backoff),
];

const PLACES: &[(&str, PlaceName)] = &[
    ("active", PlaceName::Active),
    ("backoff", PlaceName::Backoff),
    ("unschedulable", PlaceName::Unschedulable),
    ("gated", PlaceName::Gated),
    ("inFlight", PlaceName::InFlight),
];

const MOST_PODS: usize = 1000;
const DEFAULT_PODS: usize = 100;
