//! Every default plugin once: a manifest each, with what is expected written on its pods.
//!
//! The annotation `expect/node` names the node, `expect/waits` a part of what the scheduler says
//! about a pod that waits. `expect/roadstead-waits` is for a difference that is known: what
//! Roadstead says of a pod that it cannot place yet, in place of the other two.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::failure::{Outcome, While, check};
use crate::ledger::Book;
use crate::objects::{create, read_manifest, wipe};
use crate::scheduler::{Kind, Scheduler};
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let manifests = manifests()?;
    let mut failures = Vec::new();
    for path in &manifests {
        if let Err(error) = place(world, world.kind, path).await {
            failures.push(format!("{}: {error}", name_of(path)));
        }
        clear(world).await?;
    }
    check(failures.is_empty(), || failures.join("\n  "))?;
    Ok(format!("{} manifests", manifests.len()))
}

/// What a manifest is called.
pub(super) fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Takes everything away that a manifest has made.
pub(super) async fn clear(world: &mut World) -> Outcome {
    wipe(&world.client).await?;
    let gone = |book: &Book| book.pods.is_empty();
    world.ledger.until("the pods are gone", PATIENCE, gone).await?;
    world.ledger.book().forget();
    world.names_may_return()
}

/// All manifests.
pub(super) fn manifests() -> Outcome<Vec<PathBuf>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests");
    let entries = fs::read_dir(&directory).during(directory.display())?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    check(!paths.is_empty(), || format!("{} is empty", directory.display()))?;
    Ok(paths)
}

/// Whether Roadstead is known to differ from kube-scheduler on a manifest.
pub(super) fn is_known_to_differ(path: &Path) -> Outcome<bool> {
    let is_marked =
        |object: &Value| object["metadata"]["annotations"][KNOWN_DIFFERENCE].is_string();
    Ok(read_manifest(path)?.iter().any(is_marked))
}

/// Lets a scheduler place the pods of a manifest, as is written on them. Everything is there
/// before it starts, so that it decides in one order.
pub(super) async fn place(world: &World, kind: Kind, path: &Path) -> Outcome<Scheduler> {
    let objects = read_manifest(path)?;
    for object in &objects {
        create(&world.client, object).await?;
    }
    let scheduler = world.scheduler_of(kind, "scheduler", &world.settings()).await?;
    let expected: Vec<Expectation> =
        objects.iter().filter_map(|object| Expectation::of(object, kind)).collect();
    check(!expected.is_empty(), || "no pod says what is expected".to_owned())?;
    let met = |book: &Book| expected.iter().all(|it| it.is_met(book));
    let placed = world.ledger.until("every pod is where it should be", PATIENCE, met).await;
    placed.map_err(|error| {
        let book = world.ledger.book();
        let unmet = expected.iter().filter(|it| !it.is_met(&book));
        let unmet: Vec<String> = unmet.map(|it| it.say(&book)).collect();
        format!("{}; {error}", unmet.join("; "))
    })?;
    Ok(scheduler)
}

struct Expectation {
    pod: String,
    node: Option<String>,
    waits: Option<String>,
}

impl Expectation {
    fn of(object: &Value, kind: Kind) -> Option<Expectation> {
        if object["kind"] != "Pod" {
            return None;
        }
        let metadata = &object["metadata"];
        let text = |name: &str| metadata["annotations"][name].as_str().map(str::to_owned);
        let pod = metadata["name"].as_str()?.to_owned();
        if let (Kind::Roadstead, Some(known)) = (kind, text(KNOWN_DIFFERENCE)) {
            return Some(Expectation { pod, node: None, waits: Some(known) });
        }
        let (node, waits) = (text("expect/node"), text("expect/waits"));
        (node.is_some() || waits.is_some()).then_some(Expectation { pod, node, waits })
    }

    fn is_met(&self, book: &Book) -> bool {
        let Some(pod) = book.pod(&self.pod) else { return false };
        pod.node == self.node
            && self
                .waits
                .as_ref()
                .is_none_or(|text| pod.scheduled_message().contains(text.as_str()))
    }

    fn say(&self, book: &Book) -> String {
        let Some(pod) = book.pod(&self.pod) else { return format!("{} is gone", self.pod) };
        format!(
            "{} is on {:?} with {:?}; expected {:?} {:?}",
            self.pod,
            pod.node,
            pod.scheduled_message(),
            self.node,
            self.waits
        )
    }
}

const KNOWN_DIFFERENCE: &str = "expect/roadstead-waits";
const PATIENCE: Duration = Duration::from_secs(15);
