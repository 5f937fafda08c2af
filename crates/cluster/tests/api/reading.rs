//! Get, list and discovery.

use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch};
use roadstead_cluster::embedded::Config;
use serde_json::{Value, json};

use crate::testing::*;

#[tokio::test]
async fn an_object_is_read_as_it_was_written() {
    let s = Server::new();
    let [made] = s.make_pods(["web"]).await;
    assert_eq!(s.pods().get("web").await.unwrap(), made);
    assert_eq!(phase(&made), "Pending");

    let status = refusal(s.pods().get("none").await.unwrap_err());
    assert_eq!(told(&status), (404, "NotFound", "pods \"none\" not found"));
    let details = status.details.unwrap();
    assert_eq!((&*details.name, &*details.kind, &*details.group), ("none", "pods", ""));
}

#[tokio::test]
async fn a_list_is_told_in_pages_of_one_version() {
    let s = Server::new();
    s.make_pods(["a", "b", "c", "d", "e"]).await;
    let first = s.pods().list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(names(&first.items), ["a", "b"]);
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    let version = first.metadata.resource_version.clone().unwrap();

    // What happens between the pages is not seen on them.
    s.pods().delete("c", &Default::default()).await.unwrap();
    s.make_pods(["bb"]).await;
    let label = json!({"metadata": {"labels": {"late": "yes"}}});
    s.pods().patch("e", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();

    let token = first.metadata.continue_.unwrap();
    let rest = s.pods().list(&ListParams::default().continue_token(&token)).await.unwrap();
    assert_eq!(names(&rest.items), ["c", "d", "e"]);
    let labels = rest.items[2].metadata.labels.as_ref();
    assert!(labels.is_none_or(|labels| !labels.contains_key("late")), "as it was");
    assert_eq!(rest.metadata.resource_version.as_ref(), Some(&version));
    assert_eq!((rest.metadata.continue_, rest.metadata.remaining_item_count), (None, None));

    let exact = ListParams::default().at(&version).matching(VersionMatch::Exact);
    assert_eq!(names(&s.pods().list(&exact).await.unwrap().items), ["a", "b", "c", "d", "e"]);
    assert_eq!(
        names(&s.pods().list(&ListParams::default()).await.unwrap().items),
        ["a", "b", "bb", "d", "e"]
    );
}

#[tokio::test]
async fn a_page_of_a_forgotten_version_is_gone() {
    let s = Server::with(Config { changes_kept: 3, ..Config::default() });
    s.make_pods(["a", "b", "c"]).await;
    let first = s.pods().list(&ListParams::default().limit(1)).await.unwrap();
    s.make_pods(["d", "e", "f", "g"]).await;

    let token = first.metadata.continue_.unwrap();
    let error = s.pods().list(&ListParams::default().continue_token(&token)).await.unwrap_err();
    let status = refusal(error);
    assert_eq!((status.code, &*status.reason), (410, "Expired"));
    assert!(status.message.starts_with("The provided continue parameter is too old"));
}

#[tokio::test]
async fn lists_are_as_fresh_as_asked_for() {
    let s = Server::new();
    s.make_pods(["a"]).await;
    let current = s.version();
    for (at, matching) in [("0", VersionMatch::NotOlderThan), ("1", VersionMatch::NotOlderThan)] {
        let list = s.pods().list(&ListParams::default().at(at).matching(matching)).await.unwrap();
        assert_eq!(list.metadata.resource_version, Some(current.to_string()), "{at}");
    }
    let future = ListParams::default().at("999").matching(VersionMatch::NotOlderThan);
    let status = refusal(s.pods().list(&future).await.unwrap_err());
    let message = format!("Timeout: Too large resource version: 999, current: {current}");
    assert_eq!(told(&status), (504, "Timeout", &*message));
    let details = status.details.unwrap();
    assert_eq!(details.causes[0].reason, "ResourceVersionTooLarge");
    assert_eq!(details.retry_after_seconds, 1);
}

#[tokio::test]
async fn objects_are_picked_by_labels_and_fields() {
    let s = Server::new();
    s.make_node("pier").await;
    for (name, labels) in [
        ("a", json!({"app": "web", "tier": "1"})),
        ("b", json!({"app": "db", "tier": "2"})),
        ("c", json!({"app": "web", "canary": ""})),
        ("d", json!({})),
    ] {
        s.pods().create(&PostParams::default(), &pod_with(name, labels)).await.unwrap();
    }
    s.ask("POST", &of("a", "/binding"), &binding("a", "pier")).await.unwrap();
    #[rustfmt::skip]
    let cases: &[(&str, &str, &[&str])] = &[
        ("",                         "",                                        &["a", "b", "c", "d"]),
        ("app=web",                  "",                                        &["a", "c"]),
        ("app==web,tier",            "",                                        &["a"]),
        ("app!=web",                 "",                                        &["b", "d"]),
        ("app in (web, db),!canary", "",                                        &["a", "b"]),
        ("app notin (web)",          "",                                        &["b", "d"]),
        ("canary",                   "",                                        &["c"]),
        ("tier>1",                   "",                                        &["b"]),
        ("tier<2",                   "",                                        &["a"]),
        ("",                         "metadata.name=b",                         &["b"]),
        ("",                         "metadata.namespace=other",                &[]),
        ("",                         "spec.nodeName=",                          &["b", "c", "d"]),
        ("app=web",                  "spec.nodeName!=",                         &["a"]),
        ("",                         "spec.nodeName=pier,status.phase=Pending", &["a"]),
        ("",                         "status.phase!=Pending",                   &[]),
        ("",                         "spec.schedulerName=default-scheduler",    &["a", "b", "c", "d"]),
    ];
    for (labels, fields, found) in cases {
        let params = ListParams::default().labels(labels).fields(fields);
        let list = s.pods().list(&params).await.unwrap();
        assert_eq!(names(&list.items), *found, "labels `{labels}`, fields `{fields}`");
    }
    let limited = ListParams::default().labels("app").limit(1);
    let metadata = s.pods().list(&limited).await.unwrap().metadata;
    assert!(metadata.continue_.is_some());
    assert_eq!(metadata.remaining_item_count, None, "not told of what is picked");

    let refused = [
        ("", "spec.color=red", "field label not supported: spec.color"),
        ("", "status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"),
        ("app in web", "", "unable to parse requirement: `app in web` in `app in web`"),
        ("tier>x", "", "unable to parse requirement: `tier>x` in `tier>x`"),
    ];
    for (labels, fields, message) in refused {
        let params = ListParams::default().labels(labels).fields(fields);
        let status = refusal(s.pods().list(&params).await.unwrap_err());
        assert_eq!(told(&status), (400, "BadRequest", message));
    }
}

#[tokio::test]
async fn items_of_a_list_leave_their_type_to_it() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let list = s.get("/api/v1/pods").await.unwrap();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PodList"), &json!("v1")));
    assert_eq!(list["items"][0].get("kind"), None);
    let one = s.get(&of("web", "")).await.unwrap();
    assert_eq!((&one["kind"], &one["apiVersion"]), (&json!("Pod"), &json!("v1")));
}

#[tokio::test]
async fn what_can_be_asked_for_is_found_out() {
    let s = Server::new();
    let version = s.client.apiserver_version().await.unwrap();
    assert_eq!((&*version.major, &*version.minor), ("1", "36"));
    assert_eq!(s.client.list_core_api_versions().await.unwrap().versions, ["v1"]);
    let groups = s.client.list_api_groups().await.unwrap().groups;
    let groups: Vec<&str> = groups.iter().map(|group| &*group.name).collect();
    for group in ["apps", "batch", "coordination.k8s.io", "events.k8s.io", "policy"] {
        assert_eq!(groups.iter().filter(|known| **known == group).count(), 1, "{group}");
    }
    let core = s.client.list_core_api_resources("v1").await.unwrap().resources;
    for (name, namespaced, verb) in [
        ("pods", true, "watch"),
        ("pods/binding", true, "create"),
        ("pods/status", true, "patch"),
        ("nodes", false, "list"),
    ] {
        let found = core.iter().find(|resource| resource.name == name).expect(name);
        assert_eq!(found.namespaced, namespaced, "{name}");
        assert!(found.verbs.iter().any(|known| known == verb), "{name}");
    }
    // Every list that is told of can be asked for.
    for group in s.client.list_api_groups().await.unwrap().groups {
        let version = group.preferred_version.unwrap().group_version;
        for resource in s.client.list_api_group_resources(&version).await.unwrap().resources {
            if resource.verbs.iter().any(|verb| verb == "list") {
                let list = s.get(&format!("/apis/{version}/{}", resource.name)).await.unwrap();
                assert_eq!(list["kind"], format!("{}List", resource.kind));
            }
        }
    }
    for path in ["/livez", "/readyz", "/healthz"] {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(s.client.request_text(request).await.unwrap(), "ok");
    }
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_is_said_in_a_status() {
    let s = Server::new();
    #[rustfmt::skip]
    let cases: &[(&str, &str, u16, &str)] = &[
        ("GET",    "/",                                       404, "NotFound"),
        ("GET",    "/api/v2/pods",                            404, "NotFound"),
        ("GET",    "/api/v1/ships",                           404, "NotFound"),
        ("GET",    "/apis/apps/v1/pods",                      404, "NotFound"),
        ("GET",    "/api/v1/pods/web",                        404, "NotFound"),
        ("GET",    "/api/v1/namespaces/default/nodes",        404, "NotFound"),
        ("GET",    "/api/v1/nodes/pier/binding",              404, "NotFound"),
        ("POST",   "/version",                                405, "MethodNotAllowed"),
        ("POST",   "/api/v1/pods",                            405, "MethodNotAllowed"),
        ("DELETE", "/api/v1/pods",                            405, "MethodNotAllowed"),
        ("PUT",    "/api/v1/namespaces/default/pods",         405, "MethodNotAllowed"),
        ("GET",    "/api/v1/pods?limit=many",                 400, "BadRequest"),
        ("GET",    "/api/v1/pods?resourceVersion=new",        400, "BadRequest"),
        ("GET",    "/api/v1/pods?continue=here",              400, "BadRequest"),
        ("GET",    "/api/v1/pods?resourceVersionMatch=Exact", 400, "BadRequest"),
    ];
    for (method, path, code, reason) in cases {
        let status = s.ask(method, path, &Value::Null).await.expect_err(path);
        assert_eq!((status.code, &*status.reason), (*code, *reason), "{method} {path}");
        assert!(!status.message.is_empty());
    }
}

fn of(pod: &str, part: &str) -> String {
    format!("/api/v1/namespaces/default/pods/{pod}{part}")
}
