//! Why listing or watching stopped.

use std::error::Error;
use std::time::Duration;

use kube::core::Status;

use crate::Kind;

#[derive(Debug)]
pub(super) enum Failure {
    /// Nobody receives any more.
    Closed,
    /// What happened since the version that the watch had come to is no longer known.
    Expired,
    /// The server does not stream lists.
    NotStreamed,
    /// The server does not have the kind.
    Missing,
    /// Anything else, in words, and how long the server asks to wait.
    Other { message: String, wait: Duration },
}

impl Failure {
    pub(super) fn other(message: impl Into<String>) -> Self {
        Self::Other { message: message.into(), wait: Duration::ZERO }
    }

    /// What an error of the client means.
    pub(super) fn of(kind: Kind, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::of_status(kind, &status),
            error => Self::other(with_causes(&error)),
        }
    }

    /// What an answer of the server means.
    pub(super) fn of_status(kind: Kind, status: &Status) -> Self {
        let (group, resource) = (kind.group(), kind.plural());
        match (status.code, &*status.reason) {
            (410, _) | (_, "Expired" | "Gone") => Self::Expired,
            // The core group is always there: without it, this is no API server.
            (404, _) if !group.is_empty() => Self::Missing,
            (403, _) => Self::other(format!(
                "not allowed to list and watch {resource}: a ClusterRole has to grant the verbs \
                 `list` and `watch` for the resource `{resource}` of the API group `{group}` to \
                 the scheduler's user; the server says: {}",
                status.message
            )),
            (code, reason) => {
                let details = status.details.as_ref();
                let wait = details.map_or(0, |details| details.retry_after_seconds);
                Self::Other {
                    message: format!("{code} {reason}: {}", status.message),
                    wait: Duration::from_secs(wait.into()).min(LONGEST_WAIT),
                }
            }
        }
    }
}

/// An error and what is behind it: what a client says first seldom has the reason.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// A server may ask for patience, but not for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
