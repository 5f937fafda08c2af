//! Nodes.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::document::nearest;
use roadstead_scheduler::listing::{Mark, NodePage, NodeQuery, NodeSort};
use serde::Serialize;

use super::parameters::{Parameters, Segments, sorted, wrong_mark};
use super::problem::Problem;
use super::{Api, ok};

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    page: NodePage,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn list(
    State(api): State<Api>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.allow(&["search", "sort", "limit", "continue"])?;
    let sort = sorted(&parameters, SORTS)?;
    let query = NodeQuery {
        search: parameters.text("search")?.map(str::to_lowercase),
        sorted: sort.sorted,
        limit: parameters.limit(MOST_NODES, DEFAULT_NODES)?,
        after: match sort.token(&parameters)? {
            Some(token) => Some(Mark::parse(token).ok_or_else(wrong_mark)?),
            None => None,
        },
    };
    let page = api.stage.ask(move |scheduler, now| scheduler.node_page(&query, now));
    let mut page = page.await?.ok_or_else(wrong_mark)?;
    let next = page.next.take().map(|mark| sort.marked(mark));
    Ok(ok(&Shown { page, next }))
}

pub(super) async fn show(
    State(api): State<Api>,
    parameters: Parameters,
    Segments([name]): Segments<1>,
) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    let found = api.stage.ask(move |scheduler, _| {
        scheduler.node_detail(&name, MOST_PODS_ON_IT).ok_or_else(|| {
            let names = scheduler.node_names().filter(|other| other.len() < 2 * name.len() + 4);
            let near = nearest(&name, names.take(MOST_COMPARED));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            format!("there is no node {name}{near}")
        })
    });
    Ok(ok(&found.await?.map_err(Problem::not_found)?))
}

const SORTS: &[(&str, NodeSort)] = &[
    ("name", NodeSort::Name),
    ("cpu", NodeSort::Cpu),
    ("memory", NodeSort::Memory),
    ("pods", NodeSort::Pods),
];

const MOST_NODES: usize = 1000;
const DEFAULT_NODES: usize = 100;
const MOST_PODS_ON_IT: usize = 250;
const MOST_COMPARED: usize = 2_000;
