//! Going to another time of a recording.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use roadstead_queue::Time;
use serde::Deserialize;

use super::parameters::{self, Parameters};
use super::problem::Problem;
use super::{Api, changes, status};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    at: f64,
}

pub(super) async fn seek(
    State(api): State<Api>,
    parameters: Parameters,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    let Some(replay) = api.stage.replay() else {
        let message = "nothing is replayed here: `roadstead replay` shows what was recorded";
        return Err(Problem::method_not_allowed("", message));
    };
    parameters.allow(&[])?;
    if changes::content_type(&headers).as_deref() != Some("application/json") {
        let problem = "Content-Type: must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem));
    }
    let body = parameters::body(body)?;
    let Wanted { at } = serde_json::from_str(&body).map_err(parameters::wrong_body)?;
    let span = replay.span();
    // Also false for what is not a number.
    if !(span.from..=span.to).contains(&at) {
        let problem = format!("must be between {} and {}, not {at}", span.from, span.to);
        return Err(Problem::field("at", problem));
    }
    let since_epoch =
        Duration::try_from_secs_f64(at).map_err(|error| Problem::field("at", error))?;
    replay.seek(Time::ZERO + since_epoch).await?;
    status::status(&api).await
}
