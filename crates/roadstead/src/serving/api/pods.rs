//! Any pod that is known.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::listing::KnownPod;
use serde::Serialize;

use super::parameters::{Parameters, Segments};
use super::problem::Problem;
use super::{Api, ok};
use crate::explained::{self, Explained};
use crate::observing::{self, Observed};

#[derive(Serialize)]
struct Found {
    items: Vec<KnownPod>,
}

pub(super) async fn find(
    State(api): State<Api>,
    parameters: Parameters,
) -> Result<Response, Problem> {
    parameters.allow(&["search", "limit"])?;
    let text = parameters.text("search")?.unwrap_or_default().to_lowercase();
    let limit = parameters.limit(MOST_PODS, DEFAULT_PODS)?;
    let items = api
        .stage
        .ask(move |scheduler, _| scheduler.find_pods(&text, limit, observing::journal(scheduler)));
    Ok(ok(&Found { items: items.await? }))
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    explained: Explained,
    now: f64,
    text: String,
}

pub(super) async fn show(
    State(api): State<Api>,
    parameters: Parameters,
    Segments([namespace, name]): Segments<2>,
) -> Result<Response, Problem> {
    parameters.allow(&[])?;
    // One at a time: it looks at every node many times over.
    let turn = api.explanations.acquire().await;
    let _turn = turn.map_err(|_| Problem::unavailable("the server is stopping"))?;
    let found = api.stage.ask(move |scheduler, now| {
        let key = explained::key(&namespace, &name);
        let explanation = scheduler.explain(&key, now);
        let history = observing::journal(scheduler).history(&key);
        Explained::new(&key, explanation, history)
            .map(|explained| (explained, now.as_nanos() as f64 / 1e9))
            .ok_or_else(|| unknown(scheduler, &namespace, &name))
    });
    let (explained, now) = found.await?.map_err(Problem::not_found)?;
    let text = explained.to_string();
    Ok(ok(&Shown { explained, now, text }))
}

fn unknown(scheduler: &Observed, namespace: &str, name: &str) -> String {
    let journal = observing::journal(scheduler);
    // Some are named twice, which does no harm.
    let pods = scheduler.known_pods().chain(journal.pods());
    let pods: Vec<_> = pods.map(|key| (key.namespace.as_str(), key.name.as_str())).collect();
    let near = explained::near(pods.iter().copied(), namespace, name);
    let near = match near.as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    format!("there is no pod {namespace}/{name}{near}")
}

const MOST_PODS: usize = 100;
const DEFAULT_PODS: usize = 20;
