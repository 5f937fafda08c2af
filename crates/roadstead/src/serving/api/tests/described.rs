//! The description says what there is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schema::problems;
use super::stage::{ask, get, router};
use crate::serving::api::{openapi, paths};

fn description() -> Value {
    serde_json::from_str(openapi::DESCRIPTION).expect("it is JSON")
}

#[test]
fn every_path_and_method_is_described_and_no_other() {
    let described = description();
    let described = described["paths"].as_object().expect("there are paths").iter();
    let described: BTreeSet<(String, String)> = described
        .flat_map(|(path, operations)| {
            let methods = operations.as_object().expect("there are methods").keys();
            methods.map(|method| (path.clone(), method.to_uppercase())).collect::<Vec<_>>()
        })
        .collect();
    let served: BTreeSet<(String, String)> = paths()
        .into_iter()
        .flat_map(|(path, methods, _)| {
            let methods = methods.split(", ").filter(|method| *method != "HEAD");
            methods.map(|method| (path.to_owned(), method.to_owned())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(described, served);
}

/// Asks, and checks the answer against the description of its path, method and status.
async fn check(can_change: bool, method: &str, template: &str, path: &str, status: u16) -> Value {
    let described = description();
    let body = match (method, template) {
        ("POST", "/api/v1/replay") => Some(("application/json", r#"{"at": 1500}"#)),
        ("POST", _) => Some(("application/yaml", "kind: Pod")),
        _ => None,
    };
    let said = ask(&router(can_change), method, path, body).await;
    assert_eq!(said.status, status, "{method} {path}: {}", said.body);
    let operation = &described["paths"][template][method.to_lowercase()];
    let answer = &operation["responses"][status.to_string()];
    assert!(answer.is_object(), "{method} {template}: {status} is not described");
    let schema = &answer["content"]["application/json"]["schema"];
    let found = problems(&described, schema, &said.body);
    assert!(found.is_empty(), "{method} {path}: {found:#?}");
    said.body
}

#[tokio::test]
async fn answers_are_as_they_are_described() {
    let pod = "/api/v1/pods/{namespace}/{name}";
    let rows = [
        ("/api/v1/status", "/api/v1/status", 200),
        ("/api/v1/queue", "/api/v1/queue", 200),
        ("/api/v1/queue", "/api/v1/queue?place=active&sort=-priority&limit=1", 200),
        ("/api/v1/queue", "/api/v1/queue?limit=0", 400),
        ("/api/v1/pods", "/api/v1/pods?search=e", 200),
        (pod, "/api/v1/pods/default/large", 200),
        (pod, "/api/v1/pods/default/held", 200),
        (pod, "/api/v1/pods/default/web-0", 200),
        (pod, "/api/v1/pods/default/next-1", 200),
        (pod, "/api/v1/pods/default/gone", 200),
        (pod, "/api/v1/pods/default/larg", 404),
        ("/api/v1/nodes", "/api/v1/nodes?sort=-cpu", 200),
        ("/api/v1/nodes/{name}", "/api/v1/nodes/pier", 200),
        ("/api/v1/nodes/{name}", "/api/v1/nodes/moon", 404),
        ("/api/v1/activity", "/api/v1/activity", 200),
        ("/api/v1/openapi.json", "/api/v1/openapi.json", 200),
    ];
    for (template, path, status) in rows {
        for can_change in [false, true] {
            check(can_change, "GET", template, path, status).await;
        }
    }
}

#[tokio::test]
async fn changes_are_answered_as_they_are_described() {
    let pod = "/api/v1/pods/{namespace}/{name}";
    let rows = [
        ("POST", "/api/v1/manifests", "/api/v1/manifests", 200),
        ("POST", "/api/v1/replay", "/api/v1/replay", 200),
        ("DELETE", "/api/v1/nodes/{name}", "/api/v1/nodes/pier", 200),
        ("DELETE", "/api/v1/nodes/{name}", "/api/v1/nodes/moon", 404),
        ("DELETE", pod, "/api/v1/pods/default/held", 200),
        ("DELETE", pod, "/api/v1/pods/default/web-0", 409),
    ];
    for (method, template, path, status) in rows {
        check(true, method, template, path, status).await;
        check(false, method, template, path, 405).await;
    }
}

#[tokio::test]
async fn a_document_that_is_not_as_described_is_found() {
    let described = description();
    let schema = json!({"$ref": "#/components/schemas/QueueItem"});
    let page = get(&router(false), "/api/v1/queue").await.body;
    let item = &page["items"][0];
    assert!(problems(&described, &schema, item).is_empty());
    for (field, value) in [
        ("place", json!("limbo")),
        ("attempts", json!(-1)),
        ("rejectors", json!([1])),
        ("x", json!(1)),
    ] {
        let mut wrong = item.clone();
        wrong[field] = value;
        assert!(!problems(&described, &schema, &wrong).is_empty(), "{field}");
    }
    let mut wrong = item.clone();
    wrong.as_object_mut().expect("an object").remove("uid");
    assert!(!problems(&described, &schema, &wrong).is_empty());
}
