//! What cells of several kinds have in common: ages, labels, containers.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time as ApiTime};
use roadstead_queue::Time;

/// What time it is, for what says how long ago something was.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    seconds: i64,
}

impl Clock {
    pub(super) fn at(now: Time) -> Self {
        Self { seconds: i64::try_from(now.as_millis() / 1000).unwrap_or(i64::MAX) }
    }

    pub(super) fn age(self, meta: &ObjectMeta) -> String {
        self.since(meta.creation_timestamp.as_ref())
    }

    pub(super) fn since(self, time: Option<&ApiTime>) -> String {
        time.map_or_else(|| "<unknown>".to_owned(), |time| self.since_second(time.0.as_second()))
    }

    pub(super) fn since_second(self, second: i64) -> String {
        duration(self.seconds.saturating_sub(second))
    }
}

/// A duration in two digits or so, as `HumanDuration` of apimachinery.
pub(super) fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let with_rest = |whole: i64, unit: char, rest: i64, rest_unit: char| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{rest_unit}"),
    };
    match seconds {
        // A second of difference between clocks is no difference.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => with_rest(minutes, 'm', seconds % 60, 's'),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => with_rest(hours, 'h', minutes % 60, 'm'),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => with_rest(days, 'd', hours % 24, 'h'),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => with_rest(days / 365, 'y', days % 365, 'd'),
        _ => format!("{}y", days / 365),
    }
}

pub(super) fn none_if_empty(text: &str) -> String {
    if text.is_empty() { "<none>" } else { text }.to_owned()
}

pub(super) fn labels(labels: Option<&BTreeMap<String, String>>) -> String {
    let pairs: Vec<String> =
        labels.into_iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
    none_if_empty(&pairs.join(","))
}

pub(super) fn selector(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else { return "<none>".to_owned() };
    let mut parts: Vec<String> = selector
        .match_labels
        .iter()
        .flatten()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    for requirement in selector.match_expressions.iter().flatten() {
        let key = &requirement.key;
        let values = requirement.values.clone().unwrap_or_default().join(",");
        parts.push(match &*requirement.operator {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            _ => format!("!{key}"),
        });
    }
    parts.sort_unstable();
    none_if_empty(&parts.join(","))
}

/// The names of a template's containers, and their images.
pub(super) fn containers(template: Option<&PodTemplateSpec>) -> [String; 2] {
    let spec = template.and_then(|template| template.spec.as_ref());
    let containers = spec.map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let names: Vec<&str> = containers.iter().map(|container| &*container.name).collect();
    let images: Vec<&str> =
        containers.iter().map(|c| c.image.as_deref().unwrap_or_default()).collect();
    [names.join(","), images.join(",")]
}
