//! The HTTP API: what a running scheduler shows, and lets be changed.
//!
//! One file a resource. Handlers ask a [`Stage`], which hands their questions to the scheduler's
//! thread. Whatever goes wrong is answered in one shape ([`Problem`]).

mod changes;
mod parameters;
mod problem;
mod replay;
#[allow(dead_code, reason = "the commands that change a cluster or replay one use the rest")]
mod stage;
mod status;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::{MethodRouter, any, delete, get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde::Serialize;

pub(in crate::serving) use problem::Problem;
#[allow(unused_imports, reason = "the same")]
pub(crate) use stage::{
    Applied, Change, Changes, Epoch, Manifests, Mode, Refusal, Replay, Span, Stage, Standing,
};

/// What the handlers look at.
#[derive(Clone)]
struct Api {
    stage: Arc<dyn Stage>,
}

/// The routes of the API over a scheduler.
pub(crate) fn routes(stage: Arc<dyn Stage>) -> Router {
    let api = Api { stage };
    let mut router = Router::new();
    for (path, allow, handlers) in paths() {
        let refuse = move || async move {
            Problem::method_not_allowed(allow, format!("{path} takes {allow} only"))
        };
        router = router.route(path, handlers.fallback(refuse));
    }
    let nowhere =
        || async { Problem::not_found("there is no such path; /api/v1/openapi.json lists all") };
    router.route("/api", any(nowhere)).route("/api/{*path}", any(nowhere)).with_state(api)
}

/// Every path, the methods that it takes, and what answers them.
fn paths() -> Vec<(&'static str, &'static str, MethodRouter<Api>)> {
    vec![
        ("/api/v1/status", "GET, HEAD", get(status::show)),
        ("/api/v1/nodes/{name}", "GET, HEAD, DELETE", delete(changes::delete_node)),
        ("/api/v1/pods/{namespace}/{name}", "GET, HEAD, DELETE", delete(changes::delete_pod)),
        ("/api/v1/manifests", "POST", post(changes::apply)),
        ("/api/v1/replay", "POST", post(replay::seek)),
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
