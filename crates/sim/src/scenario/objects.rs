//! API objects that stand in a scenario, read and checked as manifests are.

use roadstead_cluster::embedded::{Cluster, Config};
use roadstead_cluster::{ApiError, FieldError, Object, manifests};
use roadstead_queue::Time;
use roadstead_scheduler::document::Problems;
use serde_json::Value;

/// Where fields of the object stand in the scenario, as pairs of a path in the object and one in
/// the document. The pair that says most of a field counts.
pub(super) struct Places<'a>(pub(super) &'a [(&'a str, &'a str)]);

impl Places<'_> {
    fn of(&self, field: &str) -> String {
        let known = self.0.iter().filter_map(|(top, place)| {
            let rest = field.strip_prefix(top)?;
            let is_below = top.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']);
            is_below.then_some((top.len(), *place, rest))
        });
        match known.max_by_key(|(length, ..)| *length) {
            None => field.to_owned(),
            Some((_, place, rest)) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                format!("{place}{rest}")
            }
            Some((_, place, rest)) => format!("{place}.{rest}"),
        }
    }
}

/// Reads an object, and tells what is wrong with it at its places.
pub(super) fn read(value: &Value, places: &Places<'_>, problems: &Problems) -> Option<Object> {
    let found = manifests::parse("object.json", &value.to_string());
    for problem in &found.problems {
        problems.at(&places.of(problem.field.as_deref().unwrap_or("")), &problem.reason);
    }
    for kind in &found.unknown_kinds {
        let reason = format!("no cluster here keeps a `{kind}`");
        problems.at(&places.of("kind"), reason);
    }
    if let Some(own) = found.own.first() {
        problems.at(&places.of("kind"), format!("a {} is not part of a cluster", own.kind));
    }
    let object = found.documents.into_iter().next()?.object;
    for error in errors(&object) {
        problems.at(&places.of(&error.field), error.reason);
    }
    Some(object)
}

/// What a cluster would say of it, whatever else is in that cluster.
pub(super) fn errors(object: &Object) -> Vec<FieldError> {
    let mut object = object.clone();
    if let Object::Pod(pod) = &mut object
        && let Some(spec) = &mut std::sync::Arc::make_mut(pod).spec
    {
        // Whether there is such a class is known when the pod comes.
        spec.priority_class_name = None;
        spec.priority = None;
        spec.preemption_policy = None;
    }
    object.metadata_mut().uid = None;
    match Cluster::new(Config::default()).create(Time::ZERO, object) {
        Err(ApiError::Invalid { errors, .. }) => errors,
        _ => Vec::new(),
    }
}
