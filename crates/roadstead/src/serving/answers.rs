//! Answers in the words of Kubernetes' components.

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::user::User;

const PLAIN: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const JSON: &str = "application/json";

pub(super) fn plain(status: StatusCode, text: impl Into<String>) -> Response {
    answer(status, PLAIN, text.into())
}

pub(super) fn prometheus(text: String) -> Response {
    answer(StatusCode::OK, PROMETHEUS, text)
}

pub(super) fn json(value: &serde_json::Value) -> Response {
    answer(StatusCode::OK, JSON, format!("{value}\n"))
}

pub(super) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "404 page not found\n")
}

pub(super) fn unauthorized() -> Response {
    status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None)
}

pub(super) fn forbidden(user: &User, verb: &str, path: &str, reason: &str) -> Response {
    let said = format!("User {:?} cannot {verb} path {path:?}", user.name);
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let message = format!("forbidden: {}{reason}", sanitized(&said));
    status(StatusCode::FORBIDDEN, "Forbidden", &message, Some(json!({})))
}

pub(super) fn internal_error(path: &str, error: &str) -> Response {
    let text = sanitized(&format!("Internal Server Error: {path:?}: {error}"));
    plain(StatusCode::INTERNAL_SERVER_ERROR, text + "\n")
}

/// A failure as the API writes it.
fn status(
    code: StatusCode,
    reason: &str,
    message: &str,
    details: Option<serde_json::Value>,
) -> Response {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code.as_u16(),
    });
    if let Some(details) = details {
        status["details"] = details;
    }
    answer(code, JSON, format!("{status}\n"))
}

/// Nothing of a request comes back as mark-up.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn answer(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
