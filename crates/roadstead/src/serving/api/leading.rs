//! Lets only the instance answer that schedules, for those who ask for that.
//!
//! A standby knows what waits, and nothing of what was tried. Behind a service any instance may
//! be asked; who says that the leader is meant can then ask again.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::HeaderName;

use super::problem::Problem;
use super::stage::Stage;

pub(super) async fn ask_leader(
    State(stage): State<Arc<dyn Stage>>,
    request: Request,
    next: Next,
) -> Response {
    let wanted = request.headers().get(LEADER).map(|value| value.as_bytes() == b"required");
    match wanted {
        Some(true) if !stage.standing().leads => {
            let message = "this instance does not lead: another one schedules";
            Problem::new(StatusCode::MISDIRECTED_REQUEST, message).into_response()
        }
        Some(false) => {
            Problem::bad_request("header X-Roadstead-Leader: must be required, or not be there")
                .into_response()
        }
        _ => next.run(request).await,
    }
}

const LEADER: HeaderName = HeaderName::from_static("x-roadstead-leader");
