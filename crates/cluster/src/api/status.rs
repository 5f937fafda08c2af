//! What a refusal looks like on the wire: a `Status`, as an API server gives it.

use std::error::Error;

use http::Response;
use http_body_util::LengthLimitError;
use serde_json::{Map, Value, json};

use super::body::{self, ApiBody};
use crate::{ApiError, Key, Kind};

/// Why a request is not done.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    code: u16,
    reason: &'static str,
    message: String,
    details: Map<String, Value>,
}

impl Refusal {
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Map::new() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub(super) fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message)
    }

    pub(super) fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json".to_owned();
        Self::new(406, "NotAcceptable", message)
    }

    pub(super) fn unsupported_media(given: &str, accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format `{given}` - accepted media types \
             include: {}",
            accepted.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub(super) fn unreadable(error: &(dyn Error + 'static)) -> Self {
        if error.is::<LengthLimitError>() {
            let limit = super::LARGEST_BODY;
            let message = format!("Request entity too large: limit is {limit}");
            return Self::new(413, "RequestEntityTooLarge", message);
        }
        Self::bad_request(format!("the body of the request was cut off: {error}"))
    }

    pub(super) fn internal(cause: &str) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {cause}"))
            .with("causes", json!([{ "message": cause }]))
    }

    /// The cluster is not as far as the client says.
    pub(super) fn too_large_version(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!([{
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        }]);
        Self::new(504, "Timeout", message).with("causes", cause).with("retryAfterSeconds", 1.into())
    }

    pub(super) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// A refusal that is about an object, under a name of its resource.
    pub(super) fn about(
        code: u16,
        reason: &'static str,
        resource: &str,
        key: &Key,
        message: impl Into<String>,
    ) -> Self {
        let mut refusal = Self::new(code, reason, message).with("name", key.name.clone().into());
        if !key.kind.group().is_empty() {
            refusal = refusal.with("group", key.kind.group().into());
        }
        refusal.with("kind", resource.into())
    }

    /// A conflict on a part of an object.
    pub(super) fn conflict(resource: &str, key: &Key, why: &str) -> Self {
        let qualified = qualified(resource, key.kind);
        let message =
            format!("Operation cannot be fulfilled on {qualified} \"{}\": {why}", key.name);
        Self::about(409, "Conflict", resource, key, message)
    }

    pub(super) fn invalid(kind: &str, key: &Key, errors: &[(String, String)]) -> Self {
        let texts: Vec<String> =
            errors.iter().map(|(field, why)| format!("{field}: {why}")).collect();
        let listed = match &texts[..] {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let causes: Vec<Value> = errors
            .iter()
            .map(|(field, why)| {
                let reason = if why.starts_with("required value") {
                    "FieldValueRequired"
                } else {
                    "FieldValueInvalid"
                };
                json!({ "reason": reason, "message": why, "field": field })
            })
            .collect();
        let name = qualified(kind, key.kind);
        let message = format!("{name} \"{}\" is invalid: {listed}", key.name);
        Self::about(422, "Invalid", kind, key, message).with("causes", causes.into())
    }

    pub(super) fn with(mut self, detail: &str, value: Value) -> Self {
        self.details.insert(detail.to_owned(), value);
        self
    }

    pub(super) fn to_json(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.code,
        });
        if !self.details.is_empty() {
            status["details"] = Value::Object(self.details.clone());
        }
        status
    }

    pub(super) fn response(&self) -> Response<ApiBody> {
        let mut response = body::json(self.code, &self.to_json());
        if let Some(seconds) = self.details.get("retryAfterSeconds").and_then(Value::as_u64) {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        let (code, reason) = (error.code(), error.reason());
        let about =
            |key: &Key, message: String| Self::about(code, reason, key.kind.plural(), key, message);
        let named =
            |key: &Key| format!("{} \"{}\"", qualified(key.kind.plural(), key.kind), key.name);
        match &error {
            ApiError::NotFound(key) => about(key, format!("{} not found", named(key))),
            ApiError::AlreadyExists(key) => about(key, format!("{} already exists", named(key))),
            ApiError::Conflict { key, reason } => Self::conflict(key.kind.plural(), key, reason),
            ApiError::Forbidden { key, reason } => {
                about(key, format!("{} is forbidden: {reason}", named(key)))
            }
            ApiError::Invalid { key, errors } => {
                let errors: Vec<_> =
                    errors.iter().map(|e| (e.field.clone(), e.reason.clone())).collect();
                Self::invalid(key.kind.name(), key, &errors)
            }
            ApiError::TooManyRequests { reason, .. } => {
                let message = "Cannot evict pod as it would violate the pod's disruption budget.";
                let cause = json!([{ "reason": "DisruptionBudget", "message": reason }]);
                Self::new(code, "TooManyRequests", message).with("causes", cause)
            }
            ApiError::Unsupported { reason, .. } => Self::new(code, "InternalError", reason),
            ApiError::Expired { .. } => Self::expired(error.to_string()),
        }
    }
}

/// A success with nothing to show for it.
pub(super) fn success(code: u16, details: Option<Value>) -> Response<ApiBody> {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
    });
    match details {
        Some(details) => status["details"] = details,
        None => status["code"] = code.into(),
    }
    body::json(code, &status)
}

/// A resource with its group, as messages have it.
fn qualified(resource: &str, kind: Kind) -> String {
    match kind.group() {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    }
}
