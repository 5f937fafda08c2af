//! The three kinds of patches.

use json_patch::PatchOperation;
use serde_json::Value;

use super::Call;
use super::status::Refusal;
use super::strategic;

/// A patch that has been read.
pub(super) enum Patch {
    Json(Vec<PatchOperation>),
    Merge(Value),
    Strategic(Value),
}

impl Patch {
    pub(super) fn read(call: &Call<'_>) -> Result<Self, Refusal> {
        match call.content_type {
            "application/json-patch+json" => {
                serde_json::from_slice(call.body).map(Self::Json).map_err(unreadable)
            }
            "application/merge-patch+json" => {
                serde_json::from_slice(call.body).map(Self::Merge).map_err(unreadable)
            }
            "application/strategic-merge-patch+json" => {
                serde_json::from_slice(call.body).map(Self::Strategic).map_err(unreadable)
            }
            other => Err(Refusal::unsupported_media(other, KINDS)),
        }
    }

    pub(super) fn apply(&self, document: &Value) -> Result<Value, Refusal> {
        let mut patched = document.clone();
        match self {
            Self::Json(operations) => json_patch::patch(&mut patched, operations)
                .map_err(|error| Refusal::new(422, "Invalid", error.to_string()))?,
            Self::Merge(patch) => json_patch::merge(&mut patched, patch),
            Self::Strategic(patch) => strategic::merge(&mut patched, patch)?,
        }
        Ok(patched)
    }
}

fn unreadable(error: serde_json::Error) -> Refusal {
    Refusal::bad_request(format!("error decoding patch: {error}"))
}

const KINDS: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
