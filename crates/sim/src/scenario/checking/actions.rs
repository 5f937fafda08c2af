//! The entries of a timeline: each at a time, each one action.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use roadstead_cluster::{Kind, Object, Resource, manifests};
use roadstead_scheduler::document::{did_you_mean, nearest};
use serde_json::{Value, json};

use super::super::action::{Action, Nodes, SCALABLE};
use super::super::objects::{self, Places};
use super::super::{Entry, written};
use super::Look;

impl Look<'_> {
    pub(super) fn entry(
        &self,
        path: &str,
        entry: written::Entry,
        run_stops: bool,
    ) -> Option<Entry> {
        let at = match entry.at {
            Some(at) => self.time(&format!("{path}.at"), at),
            None => {
                let reason = "when it happens, from the start, such as 30s";
                self.problems.required(&format!("{path}.at"), reason);
                Duration::ZERO
            }
        };
        let every = entry.every.map(|every| self.positive(&format!("{path}.every"), every));
        if every.is_some() && !run_stops {
            let reason = "needs `spec.stop.after`: nothing else ends the run";
            self.problems.at(&format!("{path}.every"), reason);
        }
        let given = [
            ("apply", entry.apply.is_some()),
            ("delete", entry.delete.is_some()),
            ("scale", entry.scale.is_some()),
            ("cordon", entry.cordon.is_some()),
            ("uncordon", entry.uncordon.is_some()),
            ("drain", entry.drain.is_some()),
            ("failNode", entry.fail_node.is_some()),
            ("label", entry.label.is_some()),
            ("unlabel", entry.unlabel.is_some()),
            ("taint", entry.taint.is_some()),
            ("untaint", entry.untaint.is_some()),
        ];
        self.exactly_one(path, &given);
        let action = [
            entry.apply.and_then(|apply| self.apply(&format!("{path}.apply"), &apply)),
            entry.delete.and_then(|target| self.delete(&format!("{path}.delete"), &target)),
            entry.scale.and_then(|scale| self.scale(&format!("{path}.scale"), &scale)),
            entry
                .cordon
                .and_then(|nodes| self.nodes(&format!("{path}.cordon"), nodes).map(Action::Cordon)),
            entry.uncordon.and_then(|nodes| {
                self.nodes(&format!("{path}.uncordon"), nodes).map(Action::Uncordon)
            }),
            entry.drain.and_then(|drain| self.drain(&format!("{path}.drain"), drain)),
            entry.fail_node.and_then(|fail| self.fail_node(&format!("{path}.failNode"), fail)),
            entry.label.and_then(|label| self.label(&format!("{path}.label"), label)),
            entry.unlabel.and_then(|written| {
                let (nodes, keys) = self.keys(&format!("{path}.unlabel"), written)?;
                Some(Action::Unlabel { nodes, keys })
            }),
            entry.taint.and_then(|taint| self.taint(&format!("{path}.taint"), taint)),
            entry.untaint.and_then(|written| {
                let (nodes, keys) = self.keys(&format!("{path}.untaint"), written)?;
                Some(Action::Untaint { nodes, keys })
            }),
        ];
        Some(Entry { at, every, action: action.into_iter().flatten().next()? })
    }

    fn apply(&self, path: &str, apply: &written::Apply) -> Option<Action> {
        let given = [("file", apply.file.is_some()), ("objects", !apply.objects.is_empty())];
        self.exactly_one(path, &given);
        let objects: Option<Vec<Object>> = match &apply.file {
            Some(file) => self.file(&format!("{path}.file"), file),
            None => {
                let objects = apply.objects.iter().enumerate().map(|(i, object)| {
                    let path = format!("{path}.objects[{i}]");
                    objects::read(object, &Places(&[("", &path)]), self.problems)
                });
                // All are looked at, even if one will not do.
                objects.collect::<Vec<_>>().into_iter().collect()
            }
        };
        let mut objects = objects?;
        // Stable: objects of a kind stay in the order in which they are written.
        objects.sort_by_key(Object::kind);
        Some(Action::Apply(objects))
    }

    /// The objects of a file beside the scenario.
    fn file(&self, path: &str, file: &str) -> Option<Vec<Object>> {
        let text = match (self.read_file)(file) {
            Ok(text) => text,
            Err(error) => {
                let reason =
                    format!("cannot be read: {error}; it is looked for beside the scenario");
                self.problems.invalid(path, json!(file), reason);
                return None;
            }
        };
        let found = manifests::parse(file, &text);
        for problem in &found.problems {
            self.problems.at(path, problem);
        }
        for document in &found.documents {
            for error in objects::errors(&document.object) {
                let object = &document.object;
                let (kind, name) = (object.kind().name(), object.name());
                let place = format!("{file}: document {} ({kind} {name})", document.document);
                self.problems.at(path, format!("{place}: {error}"));
            }
        }
        for kind in &found.unknown_kinds {
            self.problems.at(path, format!("{file}: no cluster here keeps a `{kind}`"));
        }
        for own in &found.own {
            let reason =
                format!("{file}: document {}: a {} inside another", own.document, own.kind);
            self.problems.at(path, reason);
        }
        Some(found.documents.into_iter().map(|document| document.object).collect())
    }

    fn delete(&self, path: &str, target: &written::Target) -> Option<Action> {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        let kind = self.kind(path, &target.kind, &names);
        let name = self.name(path, &target.name);
        let kind = kind?;
        self.namespace(path, kind, target.namespace.as_deref());
        let namespace = target.namespace.as_deref().unwrap_or("default");
        Some(Action::Delete(kind.key(namespace, name?)))
    }

    fn scale(&self, path: &str, scale: &written::Scale) -> Option<Action> {
        let kind = self.kind(path, &scale.kind, &SCALABLE);
        let name = self.name(path, &scale.name);
        match scale.replicas {
            None => {
                self.problems.required(&format!("{path}.replicas"), "how many pods it is to have")
            }
            Some(replicas) if replicas < 0 => {
                let path = format!("{path}.replicas");
                self.problems.invalid(&path, replicas, "must not be negative");
            }
            Some(_) => {}
        }
        let namespace = scale.namespace.as_deref().unwrap_or("default");
        Some(Action::Scale { key: kind?.key(namespace, name?), replicas: scale.replicas? })
    }

    fn kind(&self, path: &str, kind: &str, known: &[&str]) -> Option<Kind> {
        let path = format!("{path}.kind");
        if kind.is_empty() {
            self.problems.required(&path, &format!("one of {}", known.join(", ")));
            return None;
        }
        if !known.contains(&kind) {
            let hint = nearest(kind, known.iter().copied()).map(did_you_mean);
            let reason =
                format!("Unsupported value: {kind:?}: expected one of {}", known.join(", "));
            self.problems.hinted(&path, reason, hint);
            return None;
        }
        Kind::ALL.iter().copied().find(|known| known.name() == kind)
    }

    fn name<'n>(&self, path: &str, name: &'n str) -> Option<&'n str> {
        if name.is_empty() {
            self.problems.required(&format!("{path}.name"), "the name of the object");
        }
        (!name.is_empty()).then_some(name)
    }

    fn namespace(&self, path: &str, kind: Kind, namespace: Option<&str>) {
        if let Some(namespace) = namespace.filter(|_| !kind.is_namespaced()) {
            let reason = format!("a {} has no namespace", kind.name());
            self.problems.invalid(&format!("{path}.namespace"), json!(namespace), reason);
        }
    }

    fn nodes(&self, path: &str, written: written::Nodes) -> Option<Nodes> {
        let written::Nodes { node, nodes, selector } = written;
        self.which(path, node, nodes, selector)
    }

    fn which(
        &self,
        path: &str,
        node: Option<String>,
        nodes: Vec<String>,
        selector: BTreeMap<String, String>,
    ) -> Option<Nodes> {
        let given = [
            ("node", node.is_some()),
            ("nodes", !nodes.is_empty()),
            ("selector", !selector.is_empty()),
        ];
        self.exactly_one(path, &given);
        match node {
            Some(node) => Some(Nodes::Named(vec![node])),
            None if !nodes.is_empty() => Some(Nodes::Named(nodes)),
            None if !selector.is_empty() => Some(Nodes::Labelled(selector)),
            None => None,
        }
    }

    fn drain(&self, path: &str, drain: written::Drain) -> Option<Action> {
        let nodes = self.which(path, drain.node, drain.nodes, drain.selector);
        let timeout = drain.timeout.map(|time| self.time(&format!("{path}.timeout"), time));
        Some(Action::Drain { nodes: nodes?, timeout: timeout.unwrap_or(DRAIN_TIMEOUT) })
    }

    fn fail_node(&self, path: &str, fail: written::FailNode) -> Option<Action> {
        let nodes = self.which(path, fail.node, fail.nodes, fail.selector);
        let recover_after =
            fail.recover_after.map(|time| self.positive(&format!("{path}.recoverAfter"), time));
        Some(Action::FailNode { nodes: nodes?, recover_after })
    }

    fn label(&self, path: &str, label: written::Label) -> Option<Action> {
        let nodes = self.which(path, label.node, label.nodes, label.selector);
        if label.set.is_empty() {
            self.problems.required(&format!("{path}.set"), "labels, such as {disk: ssd}");
        }
        let set = format!("{path}.set");
        let node = json!({"metadata": {"labels": label.set}});
        self.try_node(node, &[("metadata.labels", &set), ("", path)]);
        Some(Action::Label { nodes: nodes?, set: label.set })
    }

    fn taint(&self, path: &str, taint: written::Taint) -> Option<Action> {
        let nodes = self.which(path, taint.node, taint.nodes, taint.selector);
        let taints = format!("{path}.taints");
        if taint.taints.is_empty() {
            let reason = "such as {key: maintenance, effect: NoSchedule}";
            self.problems.required(&taints, reason);
        }
        let node = json!({"spec": {"taints": taint.taints}});
        let node = self.try_node(node, &[("spec.taints", &taints), ("", path)])?;
        let taints: Vec<Taint> = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        Some(Action::Taint { nodes: nodes?, taints })
    }

    fn keys(&self, path: &str, written: written::Keys) -> Option<(Nodes, Vec<String>)> {
        let nodes = self.which(path, written.node, written.nodes, written.selector);
        if written.keys.is_empty() {
            self.problems.required(&format!("{path}.keys"), "the keys of what is to go");
        }
        Some((nodes?, written.keys))
    }

    /// Reads what would be part of a node.
    fn try_node(&self, mut node: Value, places: &[(&str, &str)]) -> Option<Node> {
        node["apiVersion"] = json!("v1");
        node["kind"] = json!("Node");
        node["metadata"]["name"] = json!("node");
        let object = objects::read(&node, &Places(places), self.problems)?;
        Node::of(&object).map(|node| (**node).clone())
    }
}

/// How long a drain tries, if nothing else is said.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(600);
