//! From a scenario as it is written to one that can be played. Nothing stops at the first error.

mod actions;
mod workloads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use roadstead_cluster::Resource;
use roadstead_scheduler::document::{self, Problems};
use serde_json::{Value, json};

use super::objects::{self, Places};
use super::written;
use super::{Fleet, ReadFile, Scenario};

/// Looks at a whole document. What is returned is good only if there are no problems.
pub(super) fn check(
    written: written::Document,
    read_file: &ReadFile<'_>,
    problems: &Problems,
) -> Scenario {
    let spec = written.spec;
    let look = Look { problems, read_file };
    if written.metadata.name.is_empty() {
        problems.required("metadata.name", "a name for the scenario");
    }
    let stop = look.stop(&spec.stop);
    look.names("fleets", spec.fleets.iter().map(|fleet| &*fleet.name));
    look.names("workloads", spec.workloads.iter().map(|workload| &*workload.name));
    Scenario {
        name: written.metadata.name,
        seed: spec.seed.map(i64::cast_unsigned),
        stop,
        fleets: spec
            .fleets
            .into_iter()
            .enumerate()
            .filter_map(|(i, fleet)| look.fleet(&format!("spec.fleets[{i}]"), fleet))
            .map(Arc::new)
            .collect(),
        workloads: spec
            .workloads
            .into_iter()
            .enumerate()
            .filter_map(|(i, workload)| {
                look.workload(&format!("spec.workloads[{i}]"), workload, stop.is_some())
            })
            .map(Arc::new)
            .collect(),
        entries: spec
            .timeline
            .into_iter()
            .enumerate()
            .filter_map(|(i, entry)| {
                look.entry(&format!("spec.timeline[{i}]"), entry, stop.is_some())
            })
            .map(Arc::new)
            .collect(),
    }
}

/// What every check needs.
struct Look<'a> {
    problems: &'a Problems,
    read_file: &'a ReadFile<'a>,
}

impl Look<'_> {
    fn stop(&self, stop: &written::Stop) -> Option<Duration> {
        if stop.after.is_some() && stop.at_quiet == Some(true) {
            self.problems.at("spec.stop.atQuiet", "must not be true when `after` is given");
        }
        if stop.after.is_none() && stop.at_quiet == Some(false) {
            let reason = "must not be false without `after`: nothing else ends the run";
            self.problems.at("spec.stop.atQuiet", reason);
        }
        stop.after.map(|after| self.positive("spec.stop.after", after))
    }

    /// Names must be there, and be different.
    fn names<'n>(&self, list: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen = BTreeMap::new();
        for (i, name) in names.enumerate() {
            let path = format!("spec.{list}[{i}].name");
            if name.is_empty() {
                self.problems.required(&path, "what its objects are called, with a number");
            } else if let Some(first) = seen.insert(name.to_owned(), i) {
                let reason = format!("`{name}` is the name of spec.{list}[{first}] already");
                self.problems.at(&path, reason);
            }
        }
    }

    fn fleet(&self, path: &str, fleet: written::Fleet) -> Option<Fleet> {
        // What else is wrong is told as well.
        let count = self.count(&format!("{path}.count"), fleet.count).unwrap_or(1);
        let at = self.time(&format!("{path}.at"), fleet.at);
        if fleet.capacity.is_empty() {
            let reason = "what each node has, such as {cpu: 4, memory: 16Gi}";
            self.problems.required(&format!("{path}.capacity"), reason);
        }
        for (i, zone) in fleet.zones.iter().enumerate().filter(|(_, zone)| zone.is_empty()) {
            self.problems.invalid(&format!("{path}.zones[{i}]"), json!(zone), "must not be empty");
        }
        let mut capacity: BTreeMap<String, Value> = fleet.capacity;
        capacity.entry("pods".to_owned()).or_insert(json!("110"));
        let capacity: BTreeMap<_, _> =
            capacity.into_iter().map(|(name, amount)| (name, quantity_text(amount))).collect();
        let name = if fleet.name.is_empty() { "fleet" } else { &fleet.name };
        let mut labels = fleet.labels;
        if let Some(zone) = fleet.zones.first() {
            labels.insert(ZONE.to_owned(), zone.clone());
        }
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": format!("{name}-{}", count.saturating_sub(1)), "labels": labels},
            "spec": {"taints": fleet.taints},
            "status": {"capacity": capacity},
        });
        let [at_name, labels, taints, capacity] =
            ["name", "labels", "taints", "capacity"].map(|field| format!("{path}.{field}"));
        let places = [
            ("", path),
            ("metadata.name", &at_name),
            ("metadata.labels", &labels),
            ("spec.taints", &taints),
            ("status.capacity", &capacity),
            // As it is told of what is filled in from the capacity.
            ("status.allocatable", &capacity),
        ];
        let object = objects::read(&node, &Places(&places), self.problems)?;
        let node = Node::of(&object)?;
        Some(Fleet { name: fleet.name, count, at, zones: fleet.zones, node: (**node).clone() })
    }

    /// A number of things, of which there must be one.
    fn count(&self, path: &str, count: Option<i64>) -> Option<u64> {
        match count.map(u64::try_from) {
            None => self.problems.required(path, "a whole number, 1 or more"),
            Some(Ok(0) | Err(_)) => {
                let count = count.unwrap_or_default();
                self.problems.invalid(path, count, "must be 1 or more");
            }
            Some(Ok(count)) => return Some(count),
        }
        None
    }

    /// A time that is not negative.
    fn time(&self, path: &str, time: document::Duration) -> Duration {
        time.to_std().unwrap_or_else(|| {
            self.problems.invalid(path, time, "must not be negative");
            Duration::ZERO
        })
    }

    /// A time that is longer than none.
    fn positive(&self, path: &str, time: document::Duration) -> Duration {
        match time.to_std() {
            Some(time) if !time.is_zero() => time,
            _ => {
                self.problems.invalid(path, time, "must be longer than no time");
                Duration::from_secs(1)
            }
        }
    }

    fn weight(&self, path: &str, weight: Option<i64>) -> u64 {
        let weight = weight.unwrap_or(1);
        u64::try_from(weight).unwrap_or_else(|_| {
            self.problems.invalid(&format!("{path}.weight"), weight, "must not be negative");
            1
        })
    }
}

/// A quantity may be written as a number.
fn quantity_text(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        other => other,
    }
}

/// The label that says in which zone a node is.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
