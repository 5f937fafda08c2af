//! What a cluster refuses, in the API server's classes.

use std::fmt;

use crate::Key;

/// Why a cluster did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// There is no such object.
    #[error("{0} not found")]
    NotFound(Key),
    /// An object of that name exists.
    #[error("{0} already exists")]
    AlreadyExists(Key),
    /// The object is not in the state that the request expects; look again.
    #[error("operation cannot be fulfilled on {key}: {reason}")]
    Conflict {
        /// The object.
        key: Key,
        /// What is different.
        reason: String,
    },
    /// The object breaks the rules of its kind.
    #[error("{key} is invalid: {}", listed(.errors))]
    Invalid {
        /// The object.
        key: Key,
        /// Every field that is wrong.
        errors: Vec<FieldError>,
    },
    /// The object is valid, and not admitted.
    #[error("{key} is forbidden: {reason}")]
    Forbidden {
        /// The object.
        key: Key,
        /// What stands against it.
        reason: String,
    },
    /// The request would be granted at another time.
    #[error("{key} cannot be served now: {reason}")]
    TooManyRequests {
        /// The object.
        key: Key,
        /// What has to be waited for.
        reason: String,
    },
    /// The cluster does not know how to do this.
    #[error("{key}: {reason}")]
    Unsupported {
        /// The object.
        key: Key,
        /// What is not supported.
        reason: String,
    },
    /// The changes since that version are no longer kept: list, and watch from there.
    #[error("too old resource version: {requested} ({oldest})")]
    Expired {
        /// The version asked for.
        requested: u64,
        /// The oldest one that would do.
        oldest: u64,
    },
}

impl ApiError {
    /// The HTTP status that an API server answers with.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::NotFound(_) => 404,
            Self::AlreadyExists(_) | Self::Conflict { .. } => 409,
            Self::Invalid { .. } => 422,
            Self::Forbidden { .. } => 403,
            Self::TooManyRequests { .. } => 429,
            Self::Unsupported { .. } => 500,
            Self::Expired { .. } => 410,
        }
    }

    /// The reason of an API server's `Status`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "NotFound",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::Conflict { .. } => "Conflict",
            Self::Invalid { .. } => "Invalid",
            Self::Forbidden { .. } => "Forbidden",
            Self::TooManyRequests { .. } => "TooManyRequests",
            Self::Unsupported { .. } => "InternalError",
            Self::Expired { .. } => "Expired",
        }
    }

    /// Whether the object is gone.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound(_))
    }

    /// Whether looking again may help.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }

    /// Whether a watcher must list anew.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        matches!(self, Self::Expired { .. })
    }

    pub(crate) fn conflict(key: &Key, reason: impl Into<String>) -> Self {
        Self::Conflict { key: key.clone(), reason: reason.into() }
    }

    pub(crate) fn forbidden(key: &Key, reason: impl Into<String>) -> Self {
        Self::Forbidden { key: key.clone(), reason: reason.into() }
    }
}

/// A field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The path of the field, as in `spec.containers[0].name`.
    pub field: String,
    /// The value, what was expected, or both.
    pub reason: String,
}

impl FieldError {
    pub(crate) fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

fn listed(errors: &[FieldError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
