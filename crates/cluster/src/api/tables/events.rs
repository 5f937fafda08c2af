//! Rows of Events.

use k8s_openapi::api::events::v1::Event;
use serde_json::Value;

use super::cells::Clock;
use super::{Column, text, wide};

pub(super) const COLUMNS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    wide("Count"),
    Column { name: "Name", kind: "string", format: "name", priority: 1 },
];

pub(super) fn cells(event: &Event, clock: Clock) -> Vec<Value> {
    let first = match (&event.deprecated_first_timestamp, &event.event_time) {
        (Some(first), _) => clock.since(Some(first)),
        (None, Some(time)) => clock.since_second(time.0.as_second()),
        (None, None) => "<unknown>".to_owned(),
    };
    let (last, count) = match (&event.series, &event.deprecated_last_timestamp) {
        (Some(series), _) => {
            (clock.since_second(series.last_observed_time.0.as_second()), series.count)
        }
        (None, last) => {
            let last = last.as_ref().map_or_else(|| first.clone(), |last| clock.since(Some(last)));
            (last, event.deprecated_count.filter(|count| *count > 0).unwrap_or(1))
        }
    };
    let regarding = event.regarding.clone().unwrap_or_default();
    let mut object = regarding.kind.unwrap_or_default().to_lowercase();
    if let Some(name) = regarding.name.filter(|name| !name.is_empty()) {
        object = format!("{object}/{name}");
    }
    vec![
        last.into(),
        event.type_.as_deref().unwrap_or_default().into(),
        event.reason.as_deref().unwrap_or_default().into(),
        object.into(),
        regarding.field_path.unwrap_or_default().into(),
        source(event).into(),
        event.note.as_deref().unwrap_or_default().trim().into(),
        first.into(),
        count.into(),
        event.metadata.name.as_deref().unwrap_or_default().into(),
    ]
}

fn source(event: &Event) -> String {
    let old = event.deprecated_source.as_ref();
    let first = |old: Option<&String>, new: &Option<String>| {
        old.filter(|text| !text.is_empty()).or(new.as_ref()).cloned().unwrap_or_default()
    };
    let who = first(old.and_then(|old| old.component.as_ref()), &event.reporting_controller);
    let place = first(old.and_then(|old| old.host.as_ref()), &event.reporting_instance);
    if place.is_empty() { who } else { format!("{who}, {place}") }
}
