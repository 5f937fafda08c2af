//! A pod, as far as a queue can tell one from another.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Labels of a pod or of another object.
pub type Labels = BTreeMap<String, String>;

/// One version of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// Its name in its namespace.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// What tells it from another pod of the same name.
    pub uid: Uid,
    /// The greater, the sooner.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// The scheduling gates that still hold it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<String>,
    /// The node that its status nominates, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nominated: String,
    /// The `matchLabels` of its one required pod-affinity term; empty: it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub affinity: Labels,
    /// Its request in millicores.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu: i32,
    /// The keys that it tolerates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<String>,
    /// The node that it runs on, or nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub node: String,
}

impl Pod {
    /// A pod of which nothing but its name is known; its uid is empty and nobody else's.
    pub fn bare(name: &PodName) -> Self {
        let (namespace, name) = name.parts();
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            uid: Uid("".into()),
            priority: 0,
            labels: Labels::new(),
            gates: Vec::new(),
            nominated: String::new(),
            affinity: Labels::new(),
            cpu: 0,
            tolerations: Vec::new(),
            node: String::new(),
        }
    }

    /// `namespace/name`.
    pub fn full_name(&self) -> PodName {
        PodName(format!("{}/{}", self.namespace, self.name).into())
    }

    /// Whether its required affinity term selects `other`. A pod without a term selects nobody.
    pub fn has_affinity_to(&self, other: &Pod) -> bool {
        !self.affinity.is_empty()
            && self.namespace == other.namespace
            && self.affinity.iter().all(|(key, value)| other.labels.get(key) == Some(value))
    }
}

/// A pod's name, `namespace/name`: what queues are keyed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PodName(Arc<str>);

impl PodName {
    /// Namespace and name.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once('/').expect("a pod name is made with a slash in it")
    }
}

impl TryFrom<String> for PodName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self(text.into()))
            }
            _ => Err(format!("pod name `{text}`, expected `namespace/name`")),
        }
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A pod's uid: what attempts and nominations are keyed by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub Arc<str>);

fn is_zero(number: &i32) -> bool {
    *number == 0
}
