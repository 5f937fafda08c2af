//! What a client may do: everything. Nobody is known here, and nobody is kept out.

use serde_json::{Value, json};

use super::status::Refusal;
use super::{Answer, body, discovery};

/// Answers a `SelfSubjectAccessReview`.
pub(super) fn review(given: &Value) -> Answer {
    let mut review = given.clone();
    let spec = review.get("spec").and_then(Value::as_object);
    let is_asked = spec.is_some_and(|spec| {
        ["resourceAttributes", "nonResourceAttributes"].iter().any(|part| spec.contains_key(*part))
    });
    if !is_asked || review["kind"] != "SelfSubjectAccessReview" {
        return Err(Refusal::bad_request(
            "expected a SelfSubjectAccessReview with spec.resourceAttributes or \
             spec.nonResourceAttributes",
        ));
    }
    review["apiVersion"] = discovery::AUTHORIZATION.into();
    review["status"] = json!({
        "allowed": true, "reason": "the embedded cluster knows no users and refuses nobody",
    });
    Ok(body::json(201, &review))
}
