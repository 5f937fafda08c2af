//! Any pod that is known.

use axum::extract::State;
use axum::response::Response;
use roadstead_scheduler::PodKey;
use roadstead_scheduler::listing::{KnownPod, Parts, PodSearch};
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
    let mut search = PodSearch::new(text, limit, PODS_AT_ONCE);
    loop {
        let step = move |scheduler: &mut Observed, _| {
            let found = scheduler.search_pods(&mut search, observing::journal(scheduler));
            (search, found)
        };
        let found;
        (search, found) = api.stage.ask(step).await?;
        if let Some(items) = found {
            return Ok(ok(&Found { items }));
        }
    }
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
    let key = explained::key(&namespace, &name);
    let found = api.stage.ask(move |scheduler, now| {
        let explanation = scheduler.explain(&key, now);
        let history = observing::journal(scheduler).history(&key);
        let now = now.as_nanos() as f64 / 1e9;
        Explained::new(&key, explanation, history).map(|explained| (explained, now))
    });
    let Some((explained, now)) = found.await? else {
        return Err(Problem::not_found(unknown(&api, namespace, name).await?));
    };
    let text = explained.to_string();
    Ok(ok(&Shown { explained, now, text }))
}

async fn unknown(api: &Api, namespace: String, name: String) -> Result<String, Problem> {
    let (mut parts, mut pods) = (Parts::new(PODS_AT_ONCE), Vec::new());
    while !parts.is_over() {
        let wanted = (namespace.clone(), name.clone());
        let step = move |scheduler: &mut Observed, _| {
            let may_be_near = |key: &PodKey| {
                explained::may_be_near((&key.namespace, &key.name), (&wanted.0, &wanted.1))
            };
            let journal = observing::journal(scheduler);
            let (known, gone) = scheduler.next_part(&mut parts, journal, &may_be_near);
            let near: Vec<PodKey> = known.chain(&gone).take(MOST_NEAR).cloned().collect();
            (parts, near)
        };
        let near;
        (parts, near) = api.stage.ask(step).await?;
        pods.extend(near);
    }
    let pods = pods.iter().map(|key| (key.namespace.as_str(), key.name.as_str()));
    let near = match explained::near(pods, &namespace, &name).as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    };
    Ok(format!("there is no pod {namespace}/{name}{near}"))
}

/// How many pods the scheduler's thread looks at before it goes on with its work.
const PODS_AT_ONCE: usize = 16 * 1024;
/// How many of those may be near a name that is not there.
const MOST_NEAR: usize = 500;
const MOST_PODS: usize = 100;
const DEFAULT_PODS: usize = 20;
