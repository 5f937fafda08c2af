//! What stands behind the question mark.

use super::status::Refusal;

/// The parameters of a request; those of other verbs than the request's mean nothing.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) watch: bool,
    pub(super) bookmarks: bool,
    pub(super) initial_events: Option<bool>,
    pub(super) timeout_seconds: Option<u64>,
    pub(super) version: Version,
    pub(super) version_match: Option<Match>,
    pub(super) limit: Option<usize>,
    pub(super) continued: Option<String>,
    pub(super) labels: String,
    pub(super) fields: String,
    pub(super) dry_run: bool,
    pub(super) grace_period_seconds: Option<u64>,
    pub(super) propagation: Option<String>,
    pub(super) included: Included,
    pub(super) strictness: Strictness,
}

/// How much of the object stands beside a row of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Included {
    Nothing,
    #[default]
    Metadata,
    Object,
}

/// What happens to a field that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Strictness {
    #[default]
    Ignore,
    Warn,
    Strict,
}

/// How fresh an answer has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Version {
    /// As fresh as there is.
    #[default]
    Unset,
    /// Anything; what there is will do.
    Any,
    Numbered(u64),
}

/// What a numbered version means for a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Match {
    Exact,
    NotOlderThan,
}

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let mut query = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let value = &*value;
            match &*name {
                "watch" => query.watch = flag(&name, value)?,
                "allowWatchBookmarks" => query.bookmarks = flag(&name, value)?,
                "sendInitialEvents" => query.initial_events = Some(flag(&name, value)?),
                "timeoutSeconds" => query.timeout_seconds = number(&name, value)?,
                "resourceVersion" => query.version = Version::parse(value)?,
                "resourceVersionMatch" if !value.is_empty() => {
                    query.version_match = Some(match value {
                        "Exact" => Match::Exact,
                        "NotOlderThan" => Match::NotOlderThan,
                        _ => return Err(bad(&name, value, "`Exact` or `NotOlderThan`")),
                    });
                }
                // No limit is a limit of nothing.
                "limit" => query.limit = number(&name, value)?.filter(|limit| *limit > 0),
                "continue" if !value.is_empty() => query.continued = Some(value.to_owned()),
                "labelSelector" => value.clone_into(&mut query.labels),
                "fieldSelector" => value.clone_into(&mut query.fields),
                "dryRun" if value == "All" => query.dry_run = true,
                "dryRun" if !value.is_empty() => return Err(bad(&name, value, "`All`")),
                "gracePeriodSeconds" => query.grace_period_seconds = number(&name, value)?,
                "propagationPolicy" => query.propagation = Some(value.to_owned()),
                "includeObject" if !value.is_empty() => {
                    query.included = match value {
                        "None" => Included::Nothing,
                        "Metadata" => Included::Metadata,
                        "Object" => Included::Object,
                        _ => return Err(bad(&name, value, "`None`, `Metadata` or `Object`")),
                    };
                }
                "fieldValidation" if !value.is_empty() => {
                    query.strictness = match value {
                        "Ignore" => Strictness::Ignore,
                        "Warn" => Strictness::Warn,
                        "Strict" => Strictness::Strict,
                        _ => return Err(bad(&name, value, "`Ignore`, `Warn` or `Strict`")),
                    };
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

impl Version {
    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "" => Ok(Self::Unset),
            "0" => Ok(Self::Any),
            _ => text.parse().map(Self::Numbered).map_err(|_| {
                Refusal::bad_request(format!("Invalid value: \"{text}\": resourceVersion"))
            }),
        }
    }
}

fn flag(name: &str, value: &str) -> Result<bool, Refusal> {
    match value {
        "" | "1" | "true" | "True" | "TRUE" | "t" | "T" => Ok(true),
        "0" | "false" | "False" | "FALSE" | "f" | "F" => Ok(false),
        _ => Err(bad(name, value, "`true` or `false`")),
    }
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<Option<T>, Refusal> {
    if value.is_empty() {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| bad(name, value, "a whole number, not negative"))
}

fn bad(name: &str, value: &str, expected: &str) -> Refusal {
    Refusal::bad_request(format!("{name}: invalid value `{value}`, expected {expected}"))
}
