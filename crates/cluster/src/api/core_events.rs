//! Events of the core group: the same objects as those of `events.k8s.io`, under older names.
//!
//! `kubectl` reads and selects Events there.

use serde_json::{Map, Value};

/// The fields that have two names: in the core group, and as they are kept.
const NAMES: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// An Event as the core group has it.
pub(super) fn to_core(event: Value) -> Value {
    rename(event, "v1", |name| find(name, |(_, kept)| kept).map(|(core, _)| core))
}

/// An Event of the core group as it is kept.
pub(super) fn from_core(event: Value) -> Value {
    rename(event, "events.k8s.io/v1", |name| find(name, |(core, _)| core).map(|(_, kept)| kept))
}

/// What a field of the core group that Events are picked by is called where they are kept.
pub(super) fn kept_field(field: &str) -> String {
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let kept = find(first, |(core, _)| core).map_or(first, |(_, kept)| kept);
    if rest.is_empty() { kept.to_owned() } else { format!("{kept}.{rest}") }
}

type Names = (&'static str, &'static str);

fn find(name: &str, side: impl Fn(Names) -> &'static str) -> Option<Names> {
    NAMES.iter().copied().find(|names| side(*names) == name)
}

fn rename(event: Value, api_version: &str, other: impl Fn(&str) -> Option<&'static str>) -> Value {
    let Value::Object(fields) = event else { return event };
    let mut renamed: Map<String, Value> = fields
        .into_iter()
        .map(|(name, value)| (other(&name).map_or(name, str::to_owned), value))
        .collect();
    renamed.insert("apiVersion".to_owned(), api_version.into());
    Value::Object(renamed)
}
