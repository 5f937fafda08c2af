//! Errors of the API, all in one shape.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::header::ALLOW;
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use super::answer;
use super::stage::Refusal;
use crate::serving::Unavailable;

/// Why a request was not answered as it was meant.
#[derive(Debug)]
pub(in crate::serving) struct Problem {
    status: StatusCode,
    message: String,
    field: Option<Cow<'static, str>>,
    allow: Option<&'static str>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: Error<'a>,
}

#[derive(Serialize)]
struct Error<'a> {
    code: u16,
    reason: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    pub(in crate::serving) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), field: None, allow: None }
    }

    /// A parameter or field is wrong.
    pub(super) fn field(field: &'static str, message: impl std::fmt::Display) -> Self {
        Self::bad_request(format!("{field}: {message}")).about(field)
    }

    /// The same, said to be about that parameter, or the `body`, the `path` or the `query`.
    pub(super) fn about(self, field: impl Into<Cow<'static, str>>) -> Self {
        Self { field: Some(field.into()), ..self }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// The path is there, and takes these methods only.
    pub(in crate::serving) fn method_not_allowed(
        allow: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, message);
        Self { allow: Some(allow), ..problem }
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }
}

impl From<Unavailable> for Problem {
    fn from(Unavailable(message): Unavailable) -> Self {
        Self::unavailable(message)
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Wrong(problems) => Self::bad_request(problems.join("\n")).about("body"),
            Refusal::NotFound(message) => Self::not_found(message),
            Refusal::Conflict(message) => Self::new(StatusCode::CONFLICT, message),
            Refusal::Unavailable(message) => Self::unavailable(message),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, message, field, allow } = self;
        let (code, field) = (status.as_u16(), field.as_deref());
        let error = Error { code, reason: reason(status), message: &message, field };
        let mut response = answer(status, &Body { error });
        if let Some(allow) = allow {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

fn reason(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowed",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::PAYLOAD_TOO_LARGE => "PayloadTooLarge",
        StatusCode::UNSUPPORTED_MEDIA_TYPE => "UnsupportedMediaType",
        StatusCode::MISDIRECTED_REQUEST => "MisdirectedRequest",
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => "Unavailable",
        _ => "InternalError",
    }
}
