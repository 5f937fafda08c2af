//! What is served to whoever may ask.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use roadstead_scheduler::Exposition;
use serde_json::json;

use super::answers;
use super::health::{Endpoint, Health};
use super::process::ProcessMetrics;
use super::source::{Answer, Source, Unavailable};

/// What the handlers look at.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) source: Arc<dyn Source>,
    pub(super) health: Arc<Health>,
    pub(super) process: Arc<ProcessMetrics>,
}

pub(super) fn routes(shown: Shown) -> Router {
    let mut router = Router::new();
    for endpoint in [Endpoint::Healthz, Endpoint::Livez, Endpoint::Readyz] {
        let all = move |State(shown): State<Shown>, Query(query): Query<Vec<(String, String)>>| async move {
            health(&shown.health, endpoint, &query)
        };
        let one = move |State(shown): State<Shown>, Path(name): Path<String>| async move {
            single_check(&shown.health, endpoint, &name)
        };
        let path = format!("/{}", endpoint.name());
        router = router.route(&path, get(all)).route(&format!("{path}/{{name}}"), get(one));
    }
    router
        .route("/metrics", get(metrics).delete(reset_metrics))
        .route("/metrics/slis", get(slis).delete(reset_slis))
        .route("/metrics/resources", get(resource_metrics))
        .route("/configz", get(configz))
        .with_state(shown)
}

fn health(health: &Health, endpoint: Endpoint, query: &[(String, String)]) -> Response {
    let excluded = query.iter().filter(|(name, _)| name == "exclude");
    let excluded: Vec<_> = excluded.map(|(_, check)| check.clone()).collect();
    let report = health.report(endpoint, &excluded, Instant::now());
    if !report.failures.is_empty() {
        let failures = report.failures.join(", ");
        tracing::info!(endpoint = endpoint.name(), failures, "health check failed");
        return answers::plain(StatusCode::INTERNAL_SERVER_ERROR, report.text);
    }
    let is_verbose = query.iter().any(|(name, _)| name == "verbose");
    let text = if is_verbose { report.text } else { "ok".to_owned() };
    answers::plain(StatusCode::OK, text)
}

fn single_check(health: &Health, endpoint: Endpoint, name: &str) -> Response {
    let Some(check) = health.checks(endpoint).iter().find(|check| check.name() == name) else {
        return answers::not_found();
    };
    match health.check(*check, Instant::now()) {
        Ok(()) => answers::plain(StatusCode::OK, "ok"),
        Err(why) => {
            let text = format!("internal server error: {why}\n");
            answers::plain(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

async fn metrics(State(shown): State<Shown>) -> Response {
    match in_time(shown.source.metrics()).await {
        Ok(text) => {
            let mut out = Exposition::default();
            shown.process.expose(&mut out);
            answers::prometheus(text + &out.into_text())
        }
        Err(error) => unavailable(&error),
    }
}

async fn reset_metrics(State(shown): State<Shown>) -> Response {
    match in_time(shown.source.reset_metrics()).await {
        Ok(()) => {
            shown.process.reset();
            answers::plain(StatusCode::OK, "metrics reset\n")
        }
        Err(error) => unavailable(&error),
    }
}

async fn slis(State(shown): State<Shown>) -> Response {
    let mut out = Exposition::default();
    shown.health.expose_slis(&mut out);
    shown.process.expose_start(&mut out);
    answers::prometheus(out.into_text())
}

async fn reset_slis(State(shown): State<Shown>) -> Response {
    shown.health.reset_slis();
    answers::plain(StatusCode::OK, "metrics reset\n")
}

async fn resource_metrics(State(shown): State<Shown>) -> Response {
    match in_time(shown.source.resource_metrics()).await {
        Ok(text) => answers::prometheus(text),
        Err(error) => unavailable(&error),
    }
}

async fn configz(State(shown): State<Shown>) -> Response {
    answers::json(&json!({ "componentconfig": shown.source.configuration() }))
}

/// A scheduler that is busy or gone does not keep its askers.
async fn in_time<T>(answer: Answer<T>) -> Result<T, Unavailable> {
    let answered = tokio::time::timeout(ANSWER_TIME, answer).await;
    answered.unwrap_or_else(|_| Err(Unavailable("the scheduler did not answer in time".to_owned())))
}

const ANSWER_TIME: Duration = Duration::from_secs(10);

fn unavailable(error: &Unavailable) -> Response {
    answers::plain(StatusCode::SERVICE_UNAVAILABLE, format!("503: {error}\n"))
}
