//! Fields that nobody knows: `fieldValidation` of the API.

use http::{HeaderName, HeaderValue, Response};
use serde_json::Value;

use super::body::ApiBody;
use super::core_events;
use super::query::Strictness;
use super::routing::Target;
use super::status::Refusal;
use crate::Object;

/// Says which fields of a document its kind does not have: refuses it, or returns them as warnings,
/// as the request wants. A document that does not read at all is left to who reads it.
pub(super) fn check(
    strictness: Strictness,
    target: &Target,
    document: &Value,
) -> Result<Vec<String>, Refusal> {
    if strictness == Strictness::Ignore {
        return Ok(Vec::new());
    }
    let kept = if target.is_core_event() {
        core_events::from_core(document.clone())
    } else {
        document.clone()
    };
    let Ok(object) = Object::from_json(target.kind, &kept) else { return Ok(Vec::new()) };
    let understood = target.json_of(&object)?;
    let mut unknown = Vec::new();
    compare("", document, &understood, &mut unknown);
    let messages = unknown.into_iter().map(|field| format!("unknown field \"{field}\""));
    let messages: Vec<String> = messages.take(MOST).collect();
    if strictness == Strictness::Warn || messages.is_empty() {
        return Ok(messages);
    }
    let (name, version) =
        (target.kind.name(), target.version.rsplit('/').next().unwrap_or_default());
    Err(Refusal::bad_request(format!(
        "{name} in version \"{version}\" cannot be handled as a {name}: strict decoding error: {}",
        messages.join(", ")
    )))
}

/// What was given and is not there once the document is read. A null is as good as nothing.
fn compare(path: &str, given: &Value, understood: &Value, unknown: &mut Vec<String>) {
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => {
            for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match understood.get(name) {
                    Some(found) => compare(&path, value, found, unknown),
                    None => unknown.push(path),
                }
            }
        }
        (Value::Array(given), Value::Array(understood)) => {
            for (i, (given, understood)) in given.iter().zip(understood).enumerate() {
                compare(&format!("{path}[{i}]"), given, understood, unknown);
            }
        }
        _ => {}
    }
}

/// Puts warnings where clients print them from.
pub(super) fn warn(response: &mut Response<ApiBody>, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        // A name with letters that a header cannot have is not worth more than its absence.
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(HeaderName::from_static("warning"), value);
        }
    }
}

/// As an API server's: a document that is wrong all over does not get a longer answer.
const MOST: usize = 64;
