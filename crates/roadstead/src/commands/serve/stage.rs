//! The cluster as the page shows and changes it.

use std::sync::Arc;

use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::embedded::DeleteOptions;
use roadstead_cluster::{Key, Kind, manifests};

use super::super::run::source::Running;
use crate::driver::Question;
use crate::serving::Answer;
use crate::serving::api::{
    Applied, Change, Changes, Epoch, Manifests, Mode, Refusal, Stage, Standing,
};

/// A scheduler, and the cluster in memory that it works on.
pub(super) struct Harbour {
    pub(super) running: Arc<Running>,
    pub(super) cluster: SharedCluster,
    pub(super) speed: f64,
}

impl Stage for Harbour {
    fn put(&self, question: Question) -> Answer<()> {
        self.running.put(question)
    }

    fn standing(&self) -> Standing {
        Standing { mode: Mode::Serve, epoch: Epoch::Unix, speed: self.speed, leads: true }
    }

    fn changes(&self) -> Option<Arc<dyn Changes>> {
        Some(Arc::new(Hand(self.cluster.clone())))
    }
}

/// Changes the cluster.
struct Hand(SharedCluster);

impl Hand {
    /// The cluster may be large, and others wait for it: this is nothing for a thread that serves
    /// many.
    fn act<R: Send + 'static>(
        &self,
        act: impl FnOnce(&SharedCluster) -> Result<R, Refusal> + Send + 'static,
    ) -> Change<R> {
        let cluster = self.0.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || act(&cluster)).await;
            done.unwrap_or_else(|error| Err(Refusal::Unavailable(error.to_string())))
        })
    }

    fn delete(&self, key: Key) -> Change<String> {
        self.act(move |cluster| {
            let deleted =
                cluster.with(|cluster, now| cluster.delete(now, &key, &DeleteOptions::default()));
            match deleted {
                Ok(()) => Ok(words(&key)),
                Err(error) if error.is_not_found() => {
                    let mut words = words(&key);
                    words[..1].make_ascii_lowercase();
                    Err(Refusal::NotFound(format!("there is no {words}")))
                }
                Err(error) => Err(Refusal::Conflict(error.to_string())),
            }
        })
    }
}

impl Changes for Hand {
    fn apply(&self, manifests: Manifests) -> Change<Applied> {
        let (Manifests::Yaml(text) | Manifests::Json(text)) = manifests;
        self.act(move |cluster| {
            let found = manifests::parse("manifests", &text);
            let mut wrong: Vec<String> = Vec::new();
            wrong.extend(found.left_out.iter().map(ToString::to_string));
            wrong.extend(found.own.iter().map(|own| {
                format!(
                    "{} {}: only files that were given to serve have these",
                    own.api_version, own.kind
                )
            }));
            wrong.extend(found.problems.iter().map(ToString::to_string));
            if found.documents.is_empty() && wrong.is_empty() {
                wrong.push("there is no object in it".to_owned());
            }
            if !wrong.is_empty() {
                return Err(Refusal::Wrong(wrong));
            }
            let applied = cluster.with(|cluster, now| cluster.apply(now, found, &[]));
            let applied = applied.map_err(|problems| {
                Refusal::Wrong(problems.iter().map(ToString::to_string).collect())
            })?;
            Ok(Applied {
                created: applied.created.iter().map(words).collect(),
                updated: applied.updated.iter().map(words).collect(),
                unchanged: applied.unchanged,
            })
        })
    }

    fn delete_node(&self, name: &str) -> Change<String> {
        self.delete(Kind::Node.key("", name))
    }

    fn delete_pod(&self, namespace: &str, name: &str) -> Change<String> {
        self.delete(Kind::Pod.key(namespace, name))
    }
}

/// As kubectl users know it: `Pod default/web`.
fn words(key: &Key) -> String {
    match key.kind.is_namespaced() {
        true => format!("{} {}/{}", key.kind.name(), key.namespace, key.name),
        false => format!("{} {}", key.kind.name(), key.name),
    }
}
