//! What people read: conditions, Events and `kubectl describe pod`, as kube-scheduler writes them.
//!
//! Each manifest of the plugins is scheduled twice, by kube-scheduler and by the scheduler under
//! test, and what both wrote must be equal but for times and identities.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::plugins::{clear, is_known_to_differ, manifests, name_of, place};
use crate::certificates::User;
use crate::failure::{Outcome, While, check};
use crate::ledger::Condition;
use crate::objects::read;
use crate::scheduler::Kind;
use crate::world::World;

pub(super) async fn run(world: &mut World) -> Outcome<String> {
    let mut differences = Vec::new();
    let mut compared = 0;
    let mut left_out = 0;
    for path in manifests()? {
        if world.kind == Kind::Roadstead && is_known_to_differ(&path)? {
            left_out += 1;
            continue;
        }
        let name = name_of(&path);
        let theirs = written_by(world, Kind::KubeScheduler, &path).await.during(&name)?;
        match written_by(world, world.kind, &path).await {
            Ok(ours) => {
                compared += ours.texts();
                differences
                    .extend(ours.differences_from(&theirs).map(|it| format!("{name}: {it}")));
            }
            Err(error) => {
                differences.push(format!("{name}: {error}"));
                clear(world).await?;
            }
        }
    }
    check(differences.is_empty(), || format!("\n  {}", differences.join("\n  ")))?;
    check(compared > 0, || "nothing was written".to_owned())?;
    Ok(match left_out {
        0 => format!("{compared} texts"),
        _ => format!("{compared} texts; {left_out} manifest left out for a known difference"),
    })
}

/// What a scheduler wrote, by pod.
#[derive(Default)]
struct Written {
    conditions: BTreeMap<String, Vec<Condition>>,
    events: BTreeSet<String>,
    descriptions: BTreeMap<String, String>,
}

async fn written_by(world: &mut World, kind: Kind, path: &Path) -> Outcome<Written> {
    let _scheduler = place(world, kind, path).await?;
    let mut written = Written { events: settled_events(world).await?, ..Written::default() };
    {
        let book = world.ledger.book();
        for (name, pod) in &book.pods {
            let mut conditions = pod.conditions.clone();
            conditions.sort();
            written.conditions.insert(name.clone(), conditions);
        }
        for (name, condition) in &book.disrupted {
            written.conditions.entry(name.clone()).or_default().push(condition.clone());
        }
    }
    for name in written.conditions.keys() {
        if let Some(description) = describe(world, name)? {
            written.descriptions.insert(name.clone(), description);
        }
    }
    clear(world).await?;
    Ok(written)
}

impl Written {
    fn texts(&self) -> usize {
        let conditions: usize = self.conditions.values().map(Vec::len).sum();
        conditions + self.events.len() + self.descriptions.len()
    }

    fn differences_from(&self, other: &Written) -> impl Iterator<Item = String> {
        let mut found = Vec::new();
        for (name, theirs) in &other.conditions {
            let ours = self.conditions.get(name);
            if ours != Some(theirs) {
                found.push(format!(
                    "conditions of {name}:\n    ours   {ours:?}\n    theirs {theirs:?}"
                ));
            }
        }
        let only = |of: &BTreeSet<String>, not: &BTreeSet<String>, whose: &str| -> Vec<String> {
            of.difference(not).map(|event| format!("only {whose} Event: {event}")).collect()
        };
        found.extend(only(&self.events, &other.events, "our"));
        found.extend(only(&other.events, &self.events, "their"));
        for (name, theirs) in &other.descriptions {
            let ours = self.descriptions.get(name).map(String::as_str).unwrap_or_default();
            if ours != theirs {
                found.push(format!("kubectl describe pod {name}: {}", first_line(ours, theirs)));
            }
        }
        found.into_iter()
    }
}

fn first_line(ours: &str, theirs: &str) -> String {
    let pair = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
    match pair {
        Some((ours, theirs)) => format!("\n    ours   {ours}\n    theirs {theirs}"),
        None => "one is longer".to_owned(),
    }
}

/// Events are written when there is time: waits until no more come.
async fn settled_events(world: &World) -> Outcome<BTreeSet<String>> {
    let mut last = BTreeSet::new();
    let mut quiet = 0;
    for _ in 0..50 {
        let list = read(&world.client, "/apis/events.k8s.io/v1/namespaces/default/events").await?;
        let items = list["items"].as_array().into_iter().flatten();
        let events: BTreeSet<String> = items.map(event_text).collect();
        quiet = if events == last && !events.is_empty() { quiet + 1 } else { 0 };
        last = events;
        if quiet == 6 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(last)
}

fn event_text(event: &Value) -> String {
    let regarding = &event["regarding"];
    let related = &event["related"];
    mask_uids(&format!(
        "{} {} {} {} by {} on {} {}/{}, related {}: {}",
        event["type"],
        event["reason"],
        event["action"],
        if event["series"].is_null() { "once" } else { "again" },
        event["reportingController"],
        regarding["kind"],
        regarding["namespace"],
        regarding["name"],
        related["name"],
        event["note"],
    ))
}

fn describe(world: &World, name: &str) -> Outcome<Option<String>> {
    let kubectl = world.programs.servers.join("kubectl");
    let authority = &world.plane.authority;
    let kubeconfig = authority.kubeconfig("kubectl.kubeconfig", User::Admin, &world.plane.url())?;
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    let output = Command::new(&kubectl)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .args(["--namespace", namespace, "describe", "pod", name])
        .output()
        .during(kubectl.display())?;
    // A victim is gone by now.
    let text = output.status.success().then(|| String::from_utf8_lossy(&output.stdout));
    Ok(text.map(|text| timeless(&text)))
}

/// A description without times: `Start Time`, and the ages of Events, whose lines are put in an
/// order of their own.
fn timeless(description: &str) -> String {
    let mut lines = Vec::new();
    let mut events = BTreeSet::new();
    let mut is_event = false;
    for line in description.lines() {
        is_event |= line.starts_with("Events:");
        if is_event {
            let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
            let ageless = columns.enumerate().filter(|(index, _)| *index != 2);
            events.insert(ageless.map(|(_, column)| column).collect::<Vec<_>>().join(" | "));
        } else if !line.starts_with("Start Time:") {
            lines.push(line.to_owned());
        }
    }
    lines.extend(events);
    mask_uids(&lines.join("\n"))
}

/// Replaces each UUID, which is another in each run.
fn mask_uids(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match rest.get(..UUID_LENGTH) {
            Some(candidate) if is_uuid(candidate) => {
                masked.push_str("<uid>");
                rest = &rest[UUID_LENGTH..];
            }
            _ => {
                masked.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    masked
}

fn is_uuid(text: &str) -> bool {
    text.bytes().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

const UUID_LENGTH: usize = 36;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_masked_and_nothing_else() {
        let text = "Preempted by pod 57844043-7b2d-452a-ae35-4c868a631a9a on node é-1";

        assert_eq!(mask_uids(text), "Preempted by pod <uid> on node é-1");
    }

    #[test]
    fn descriptions_are_equal_whatever_the_age_of_events() {
        let young = "Name: a\nEvents:\n  Type     Reason            Age   From               Message\n  Warning  FailedScheduling  5s    default-scheduler  0/1 nodes";
        let old = "Name: a\nEvents:\n  Type     Reason            Age               From               Message\n  Warning  FailedScheduling  5m (x2 over 6m)   default-scheduler  0/1 nodes";

        assert_eq!(timeless(young), timeless(old));
        assert_ne!(timeless(young), timeless(&young.replace("0/1", "0/2")));
    }
}
