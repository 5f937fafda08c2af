//! What is known of a pod: why it is where it is, and how it came there.

use std::collections::BTreeSet;
use std::fmt;

use roadstead_model::Text;
use roadstead_scheduler::document::nearest;
use roadstead_scheduler::explain::Explanation;
use roadstead_scheduler::{History, PodKey};
use serde::Serialize;

/// What is known of a pod. As text it is for people.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Explained {
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Absent if it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explanation: Option<Explanation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<History>,
}

impl Explained {
    /// `None` if nothing is known of the pod.
    pub(crate) fn new(
        key: &PodKey,
        explanation: Option<Explanation>,
        history: Option<History>,
    ) -> Option<Self> {
        if explanation.is_none() && history.is_none() {
            return None;
        }
        let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
        Some(Self { namespace, name, explanation, history })
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, explanation, history } = self;
        match explanation {
            Some(explanation) => write!(f, "{explanation}")?,
            None => writeln!(f, "{namespace}/{name} is gone.")?,
        }
        if let Some(history) = history {
            writeln!(f, "What happened to it:")?;
            history.lines().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        Ok(())
    }
}

pub(crate) fn key(namespace: &str, name: &str) -> PodKey {
    PodKey { namespace: Text::unshared(namespace), name: Text::unshared(name) }
}

/// What an option or argument that is `[NAMESPACE/]POD` may be.
pub(crate) fn parse(written: &str) -> Result<String, String> {
    let (namespace, name) = split(written, "default");
    if namespace.is_empty() || name.is_empty() || name.contains('/') {
        return Err("expected [NAMESPACE/]POD, such as web-0 or shop/web-0".to_owned());
    }
    Ok(written.to_owned())
}

/// The namespace and the name of `[NAMESPACE/]POD`.
pub(crate) fn split<'a>(written: &'a str, namespace: &'a str) -> (&'a str, &'a str) {
    written.split_once('/').unwrap_or((namespace, written))
}

/// Names that may have been meant: those of the same name elsewhere, the one that is spelt most
/// alike, and those that begin alike.
pub(crate) fn near<'a>(
    pods: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    namespace: &str,
    name: &str,
) -> Vec<String> {
    let elsewhere = pods.clone().filter(|(_, other)| *other == name);
    let here = pods.filter(|(other, _)| *other == namespace);
    let longer = here.clone().filter(|(_, long)| long.starts_with(name));
    let similar = here.map(|(_, other)| other).filter(|other| may_be_meant(name, other));
    let alike = nearest(name, similar.take(MOST_COMPARED));
    // Of many that begin alike, the first by name are the same ones each time.
    let mut longer: Vec<_> = longer.take(MOST_COMPARED).collect();
    longer.sort_unstable();
    let all = elsewhere.take(MOST_NEAR).map(|(namespace, name)| format!("{namespace}/{name}"));
    let all = all.chain(alike.map(|name| format!("{namespace}/{name}")));
    let all = all.chain(longer.into_iter().map(|(namespace, name)| format!("{namespace}/{name}")));
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(name.clone())).take(MOST_NEAR).collect()
}

/// Whether [`near`] would look at this pod if that one is not there; both by namespace and name.
pub(crate) fn may_be_near(pod: (&str, &str), wanted: (&str, &str)) -> bool {
    let is_longer = || pod.1.starts_with(wanted.1);
    pod.1 == wanted.1 || pod.0 == wanted.0 && (is_longer() || may_be_meant(wanted.1, pod.1))
}

/// Whether it is worth a close look: that costs the product of the lengths, and there may be very
/// many names.
fn may_be_meant(name: &str, other: &str) -> bool {
    let length = name.len().abs_diff(other.len()) <= name.len().max(3) / 3;
    let ends = |a: &str, b: &str| a.bytes().next() == b.bytes().next();
    length && (ends(name, other) || name.bytes().last() == other.bytes().last())
}

const MOST_NEAR: usize = 3;
const MOST_COMPARED: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_there_is_near_others() {
        let pods = [
            ("shop", "web-0"),
            ("shop", "web-1"),
            ("shop", "database-7f9-x"),
            ("blog", "web-7"),
            ("blog", "mail"),
        ];
        let of = |namespace, name| near(pods.iter().copied(), namespace, name);
        assert_eq!(of("shop", "web-7"), ["blog/web-7", "shop/web-0"]);
        assert_eq!(of("shop", "database"), ["shop/database-7f9-x"]);
        assert_eq!(of("blog", "maiil"), ["blog/mail"]);
        assert_eq!(of("none", "nothing-like-it"), Vec::<String>::new());
    }

    #[test]
    fn a_name_may_come_with_its_namespace() {
        assert_eq!(split("shop/web", "default"), ("shop", "web"));
        assert_eq!(split("web", "default"), ("default", "web"));
        assert_eq!(parse("shop/web").as_deref(), Ok("shop/web"));
        for wrong in ["", "/", "shop/", "/web", "a/b/c"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
