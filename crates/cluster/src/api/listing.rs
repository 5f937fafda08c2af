//! Lists, whole or page by page.

use std::fmt::Write;

use serde_json::json;

use super::accepting::Form;
use super::query::{Match, Version};
use super::selection::Selection;
use super::status::Refusal;
use super::tables::table;
use super::{Answer, Call, SharedCluster, body};
use crate::embedded::Cluster;
use crate::{ApiError, Key, Kind, Object};

pub(super) fn list(cluster: &SharedCluster, call: &Call<'_>) -> Answer {
    let selection = Selection::of(call)?;
    let page = cluster.with(|cluster, _| Page::take(cluster, call, &selection))?;
    match call.form {
        Form::Table => page.tabulate(cluster, call),
        _ => page.write(call),
    }
}

/// What is told at once.
struct Page {
    version: u64,
    objects: Vec<Object>,
    /// Where the next page begins, and how many objects are on it and after it.
    rest: Option<(Key, usize)>,
    is_everything: bool,
}

impl Page {
    fn take(cluster: &Cluster, call: &Call<'_>, selection: &Selection) -> Result<Self, Refusal> {
        let query = &call.query;
        let (version, from) = match &query.continued {
            Some(_) if query.version_match.is_some() => {
                let message = "resourceVersionMatch is forbidden when continue is provided";
                return Err(Refusal::bad_request(message));
            }
            Some(token) => read_token(call.target.kind, token)?,
            None => (as_of(cluster, query.version, query.version_match)?, call.target.key()),
        };
        let found = cluster.objects_at(version, &from).map_err(|error| match error {
            ApiError::Expired { .. } if query.continued.is_some() => Refusal::expired(
                "The provided continue parameter is too old to display a consistent list result. \
                 You must start a new list without the continue parameter.",
            ),
            other => other.into(),
        })?;
        let namespace = call.target.namespace.as_deref();
        let in_place = |object: &&Object| {
            namespace.is_none_or(|n| object.metadata().namespace.as_deref() == Some(n))
        };
        let mut wanted = found.take_while(in_place).filter(|object| selection.has(object));
        let limit = query.limit.unwrap_or(usize::MAX);
        let objects: Vec<Object> = wanted.by_ref().take(limit).cloned().collect();
        let rest = wanted.next().map(|next| (next.key(), 1 + wanted.count()));
        Ok(Self { version, objects, rest, is_everything: selection.is_everything() })
    }

    fn tabulate(self, cluster: &SharedCluster, call: &Call<'_>) -> Answer {
        let mut metadata = json!({ "resourceVersion": self.version.to_string() });
        if let Some((next, count)) = &self.rest {
            metadata["continue"] = write_token(self.version, next).into();
            if self.is_everything {
                metadata["remainingItemCount"] = (*count).into();
            }
        }
        let (included, now) = (call.query.included, cluster.now());
        Ok(body::json(200, &table(&call.target, &self.objects, included, now, &metadata)?))
    }

    fn write(self, call: &Call<'_>) -> Answer {
        let mut text = format!(
            "{{\"kind\":\"{}List\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"{}\"",
            call.target.kind.name(),
            call.target.version,
            self.version
        );
        if let Some((next, count)) = &self.rest {
            let _ = write!(text, ",\"continue\":\"{}\"", write_token(self.version, next));
            if self.is_everything {
                let _ = write!(text, ",\"remainingItemCount\":{count}");
            }
        }
        text.push_str("},\"items\":[");
        for (i, object) in self.objects.iter().enumerate() {
            let mut item = call.target.json_of(object)?;
            if let Some(fields) = item.as_object_mut() {
                // The list says it for all.
                fields.remove("kind");
                fields.remove("apiVersion");
            }
            let comma = if i == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{item}");
        }
        text.push_str("]}");
        Ok(body::written(200, text.into()))
    }
}

/// The version that a list is to be of.
pub(super) fn as_of(
    cluster: &Cluster,
    asked: Version,
    matching: Option<Match>,
) -> Result<u64, Refusal> {
    let current = cluster.version();
    match (asked, matching) {
        (Version::Unset | Version::Any, Some(Match::Exact)) => Err(Refusal::bad_request(
            "resourceVersionMatch \"Exact\" is forbidden without a resourceVersion above 0",
        )),
        (Version::Unset, Some(Match::NotOlderThan)) => Err(Refusal::bad_request(
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        )),
        (Version::Numbered(asked), _) if asked > current => {
            Err(Refusal::too_large_version(asked, current))
        }
        (Version::Numbered(asked), Some(Match::Exact)) => Ok(asked),
        _ => Ok(current),
    }
}

/// Where the next page begins, and of which version it is. Clients do not look into it.
fn write_token(version: u64, next: &Key) -> String {
    format!("{version}/{}/{}", next.namespace, next.name)
}

fn read_token(kind: Kind, token: &str) -> Result<(u64, Key), Refusal> {
    let mut parts = token.splitn(3, '/');
    let version = parts.next().and_then(|version| version.parse().ok());
    match (version, parts.next(), parts.next()) {
        (Some(version), Some(namespace), Some(name)) => Ok((version, kind.key(namespace, name))),
        _ => Err(Refusal::bad_request(format!("continue key is not valid: `{token}`"))),
    }
}
