//! What waits.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::listing::{Mark, PlaceName, QueueItem, QueueQuery, QueueSortBy};
use serde::Serialize;

use super::listings::{Opened, Rows};
use super::parameters::{Parameters, sorted, wrong_mark};
use super::problem::Problem;
use super::{Api, ok};

#[derive(Serialize)]
struct Shown {
    now: f64,
    total: usize,
    items: Vec<QueueItem>,
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
    };
    let limit = parameters.limit(MOST_PODS, DEFAULT_PODS)?;
    let after = match sort.token(&parameters)? {
        Some(token) => Some(read(token).ok_or_else(wrong_mark)?),
        None => None,
    };
    let kept = after.as_ref().and_then(|(mark, number)| api.listings.go_on(*number, &query, mark));
    let (opened, rows) = match kept {
        Some(opened) => match opened.rows(&*api.stage, limit).await? {
            Some(rows) => (opened, rows),
            None => begin(&api, query, after, limit).await?,
        },
        None => begin(&api, query, after, limit).await?,
    };
    let Opened { listing, .. } = opened;
    let (total, Rows { now, items, given }) = (listing.len(), rows);
    let mark = listing.mark(given).filter(|_| given < total);
    let next = mark.map(|mark| {
        let number = api.listings.keep(Opened { listing, given });
        sort.marked(format!("{mark}@{number}"))
    });
    Ok(ok(&Shown { now: now.as_nanos() as f64 / 1e9, total, items, next }))
}

/// Rows of a listing that is made now, from where another one ended.
async fn begin(
    api: &Api,
    query: QueueQuery,
    after: Option<(Mark, u64)>,
    limit: usize,
) -> Result<(Opened, Rows), Problem> {
    let listing = api.listings.make(&*api.stage, query).await?;
    let given = match after {
        Some((mark, _)) => listing.up_to(&mark).ok_or_else(wrong_mark)?,
        None => 0,
    };
    let opened = Opened { listing, given };
    let rows = opened.rows(&*api.stage, limit).await?;
    let rows = rows.ok_or_else(|| Problem::unavailable("the time was changed; try again"))?;
    Ok((opened, rows))
}

/// Where the last page ended, and the number of its listing.
fn read(token: &str) -> Option<(Mark, u64)> {
    let (mark, number) = token.rsplit_once('@')?;
    Some((Mark::parse(mark)?, number.parse().ok()?))
}

/// What the queue may be sorted by.
pub(crate) fn orders() -> impl Iterator<Item = &'static str> {
    SORTS.iter().map(|(word, _)| *word)
}

/// The places of the queue, as they are written.
pub(crate) fn places() -> impl Iterator<Item = &'static str> {
    PLACES.iter().map(|(word, _)| *word)
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
