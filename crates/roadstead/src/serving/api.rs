//! The HTTP API: what a running scheduler shows, and lets be changed.
//!
//! One file a resource. Handlers ask a [`Stage`], which hands their questions to the scheduler's
//! thread. Whatever goes wrong is answered in one shape ([`Problem`]).

mod activity;
mod changes;
mod leading;
mod listings;
mod nodes;
mod openapi;
mod parameters;
mod pods;
mod problem;
mod queue;
mod replay;
mod stage;
mod status;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::middleware;
use axum::response::Response;
use axum::routing::{MethodRouter, any, get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use tokio::sync::Semaphore;

use listings::Listings;
pub(in crate::serving) use problem::Problem;
pub(crate) use queue::{orders as queue_orders, places as queue_places};
pub(crate) use stage::{
    Applied, Change, Changes, Epoch, Manifests, Mode, Refusal, Replay, Span, Stage, Standing,
};
use stream::Streams;

/// What the handlers look at.
#[derive(Clone)]
struct Api {
    stage: Arc<dyn Stage>,
    streams: Arc<Streams>,
    listings: Arc<Listings>,
    /// How many pods may be explained at once.
    explanations: Arc<Semaphore>,
}

/// The routes of the API over a scheduler.
pub(crate) fn routes(stage: Arc<dyn Stage>) -> Router {
    let streams = Arc::new(Streams::new());
    let leading = middleware::from_fn_with_state(stage.clone(), leading::ask_leader);
    let listings = Arc::new(Listings::new());
    let api = Api { stage, streams, listings, explanations: Arc::new(Semaphore::new(1)) };
    let mut router = Router::new();
    for (path, allow, handlers) in paths() {
        let refuse = move || async move {
            Problem::method_not_allowed(allow, format!("{path} takes {allow} only"))
        };
        router = router.route(path, handlers.fallback(refuse));
    }
    let nowhere =
        || async { Problem::not_found("there is no such path; /api/v1/openapi.json lists all") };
    router
        .route("/api", any(nowhere))
        .route("/api/", any(nowhere))
        .route("/api/{*path}", any(nowhere))
        .with_state(api)
        .layer(leading)
}

/// Every path, the methods that it takes, and what answers them.
fn paths() -> Vec<(&'static str, &'static str, MethodRouter<Api>)> {
    let pod = get(pods::show).delete(changes::delete_pod);
    let node = get(nodes::show).delete(changes::delete_node);
    vec![
        ("/api/v1/status", "GET, HEAD", get(status::show)),
        ("/api/v1/queue", "GET, HEAD", get(queue::list)),
        ("/api/v1/pods", "GET, HEAD", get(pods::find)),
        ("/api/v1/pods/{namespace}/{name}", "GET, HEAD, DELETE", pod),
        ("/api/v1/nodes", "GET, HEAD", get(nodes::list)),
        ("/api/v1/nodes/{name}", "GET, HEAD, DELETE", node),
        ("/api/v1/activity", "GET, HEAD", get(activity::show)),
        ("/api/v1/stream", "GET, HEAD", get(stream::open)),
        ("/api/v1/manifests", "POST", post(changes::apply)),
        ("/api/v1/replay", "POST", post(replay::seek)),
        ("/api/v1/openapi.json", "GET, HEAD", get(openapi::show)),
    ]
}

/// A document, as it was asked for.
fn ok(document: &impl Serialize) -> Response {
    answer(StatusCode::OK, document)
}

fn answer(status: StatusCode, document: &impl Serialize) -> Response {
    // Documents are made of texts and numbers, which can always be written.
    let mut text = serde_json::to_vec(document).unwrap_or_default();
    text.push(b'\n');
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
