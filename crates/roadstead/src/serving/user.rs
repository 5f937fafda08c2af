//! Who asks.

use std::collections::BTreeMap;

/// A user as Kubernetes knows users. Handlers find it among the extensions of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody of whom only the name and groups are known.
    pub(super) fn new(name: impl Into<String>, groups: Vec<String>) -> Self {
        Self { name: name.into(), uid: String::new(), groups, extra: BTreeMap::new() }
    }

    /// Somebody who did not say who they are.
    pub(super) fn anonymous() -> Self {
        Self::new(ANONYMOUS, vec![UNAUTHENTICATED.to_owned()])
    }

    /// Whoever asks on the port that asks nobody's name.
    pub(super) fn unsecured() -> Self {
        Self::new("system:unsecured", vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()])
    }

    /// The same user, a member of the group that every known user is in.
    pub(super) fn authenticated(mut self) -> Self {
        let is_marked = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
        if self.name != ANONYMOUS && !self.groups.iter().any(is_marked) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    /// May do everything, whatever the cluster's rules say.
    pub(super) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

const ANONYMOUS: &str = "system:anonymous";
const AUTHENTICATED: &str = "system:authenticated";
const MASTERS: &str = "system:masters";
const UNAUTHENTICATED: &str = "system:unauthenticated";
