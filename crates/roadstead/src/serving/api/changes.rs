//! Changing the cluster, where it is there to be changed.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde::Serialize;

use super::parameters::{self, Parameters, Segments};
use super::problem::Problem;
use super::stage::{Changes, Manifests, Mode};
use super::{Api, ok};

pub(super) async fn apply(
    State(api): State<Api>,
    parameters: Parameters,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let changes = changes(&api, "")?;
    parameters.allow(&[])?;
    let kind = content_type(&headers);
    let make = match kind.as_deref() {
        Some("application/yaml" | "application/x-yaml" | "text/yaml") => Manifests::Yaml,
        Some("application/json") => Manifests::Json,
        _ => {
            let problem = "Content-Type: must be application/yaml or application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
        }
    };
    let manifests = make(parameters::body(body)?);
    if let Manifests::Json(text) = &manifests {
        // One object: a list of them is one too, of kind List.
        serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(text)
            .map_err(parameters::wrong_body)?;
    }
    Ok(ok(&changes.apply(manifests).await?))
}

#[derive(Serialize)]
struct Deleted {
    deleted: String,
}

pub(super) async fn delete_node(
    State(api): State<Api>,
    parameters: Parameters,
    Segments([name]): Segments<1>,
) -> Result<Response, Problem> {
    let changes = changes(&api, "GET, HEAD")?;
    parameters.allow(&[])?;
    Ok(ok(&Deleted { deleted: changes.delete_node(&name).await? }))
}

pub(super) async fn delete_pod(
    State(api): State<Api>,
    parameters: Parameters,
    Segments([namespace, name]): Segments<2>,
) -> Result<Response, Problem> {
    let changes = changes(&api, "GET, HEAD")?;
    parameters.allow(&[])?;
    Ok(ok(&Deleted { deleted: changes.delete_pod(&namespace, &name).await? }))
}

fn changes(api: &Api, allow: &'static str) -> Result<Arc<dyn Changes>, Problem> {
    let message = match api.stage.standing().mode {
        Mode::Replay => {
            "a recording is shown here, which nobody changes: `roadstead serve` has a \
                         cluster that can be changed"
        }
        _ => {
            "this cluster is not changed here: only `roadstead serve` has one of its own; use \
              kubectl"
        }
    };
    api.stage.changes().ok_or_else(|| Problem::method_not_allowed(allow, message))
}

/// What a body is said to be, without parameters such as its character set.
pub(super) fn content_type(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = kind.split(';').next().unwrap_or_default();
    Some(kind.trim().to_ascii_lowercase())
}
