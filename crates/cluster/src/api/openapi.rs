//! What clients may look up before they write: an OpenAPI document a group and version.
//!
//! It describes the operations with their parameters, which is what `kubectl` asks it for: a server
//! that takes `fieldValidation` checks the fields itself. It does not describe the fields of
//! objects, so `kubectl explain` finds nothing here, and a strategic merge patch is worked out with
//! the client's own types.

use serde_json::{Map, Value, json};

use super::discovery::{grouped_versions, split};
use super::routing::{CORE, speaks};
use crate::Kind;

/// Where the documents are.
pub(super) fn index() -> Value {
    let mut paths = Map::new();
    for version in std::iter::once(CORE).chain(grouped_versions()) {
        let path = path_of(version);
        let place = json!({ "serverRelativeURL": format!("/openapi/v3/{path}") });
        paths.insert(path, place);
    }
    json!({ "paths": paths })
}

/// The document of one version.
pub(super) fn document(api_version: &str) -> Value {
    let root = path_of(api_version);
    let mut paths = Map::new();
    for kind in Kind::ALL.iter().copied().filter(|kind| speaks(*kind, api_version)) {
        let place = if kind.is_namespaced() { "namespaces/{namespace}/" } else { "" };
        let collection = format!("/{root}/{place}{}", kind.plural());
        let operations = |verbs: &[(&str, &str)]| {
            let described = verbs.iter().map(|(method, action)| {
                ((*method).to_owned(), operation(kind, api_version, action))
            });
            let mut described: Map<String, Value> = described.collect();
            described.insert("parameters".to_owned(), path_parameters(kind, verbs.len() > 3));
            Value::Object(described)
        };
        let one = [("get", "get"), ("put", "update"), ("patch", "patch"), ("delete", "delete")];
        let all = [("get", "list"), ("post", "create"), ("delete", "deletecollection")];
        paths.insert(format!("{collection}/{{name}}"), operations(&one));
        paths.insert(collection, operations(&all));
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Roadstead, the embedded cluster", "version": "v1.36.4" },
        "paths": paths,
        "components": { "schemas": {} },
    })
}

fn path_of(api_version: &str) -> String {
    if api_version == CORE { format!("api/{CORE}") } else { format!("apis/{api_version}") }
}

fn path_parameters(kind: Kind, has_name: bool) -> Value {
    let mut names = Vec::new();
    if kind.is_namespaced() {
        names.push("namespace");
    }
    if has_name {
        names.push("name");
    }
    let described = names.into_iter().map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    described.collect()
}

fn operation(kind: Kind, api_version: &str, action: &str) -> Value {
    let (group, version) = split(api_version);
    let is_write = matches!(action, "create" | "update" | "patch");
    let names: &[&str] = match action {
        "create" | "update" | "patch" => &["dryRun", "fieldValidation"],
        "get" => &[],
        "list" => &[
            "allowWatchBookmarks",
            "continue",
            "fieldSelector",
            "labelSelector",
            "limit",
            "resourceVersion",
            "resourceVersionMatch",
            "sendInitialEvents",
            "timeoutSeconds",
            "watch",
        ],
        _ => &["dryRun", "gracePeriodSeconds", "propagationPolicy"],
    };
    let parameters: Vec<Value> = names
        .iter()
        .map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string" } }))
        .collect();
    let answer = json!({ "application/json": {} });
    let good = if action == "create" { "201" } else { "200" };
    let mut operation = json!({
        "operationId": format!("{action}{}{}", kind.name(), version.to_uppercase()),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {
            "group": group, "version": version, "kind": kind.name(),
        },
        "parameters": parameters,
        "responses": { good: { "description": "OK", "content": answer } },
    });
    if is_write {
        let media: &[&str] = if action == "patch" {
            // Strategic merge patches are taken, too; one who reads of them here would look for
            // the merge keys in the schemas, and there are none.
            &["application/json-patch+json", "application/merge-patch+json"]
        } else {
            &["application/json"]
        };
        let content: Map<String, Value> =
            media.iter().map(|media| ((*media).to_owned(), json!({}))).collect();
        operation["requestBody"] = json!({ "content": content });
    }
    operation
}
