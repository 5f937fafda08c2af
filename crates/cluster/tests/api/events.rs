//! Events under both of their names.

use serde_json::json;

use crate::testing::Server;

#[tokio::test]
async fn an_event_is_the_same_object_in_both_groups() {
    let s = Server::new();
    let event = json!({
        "kind": "Event", "apiVersion": "v1", "metadata": {"name": "web.1"},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
        "message": "hello", "reason": "Greeting", "type": "Normal", "count": 3,
        "source": {"component": "tester"},
    });
    let core = "/api/v1/namespaces/default/events";
    let made = s.ask("POST", core, &event).await.unwrap();
    assert_eq!((&made["apiVersion"], &made["message"]), (&json!("v1"), &json!("hello")));
    let newer = s.get("/apis/events.k8s.io/v1/namespaces/default/events/web.1").await.unwrap();
    assert_eq!(newer["apiVersion"], "events.k8s.io/v1");
    assert_eq!(newer["note"], "hello");
    assert_eq!(newer["regarding"]["name"], "web");
    assert_eq!(newer["deprecatedCount"], 3);
    for (path, found) in [
        ("?fieldSelector=involvedObject.name=web,involvedObject.kind=Pod", 1),
        ("?fieldSelector=involvedObject.name=other", 0),
        ("?fieldSelector=involvedObject.namespace=default,reason!=Farewell", 1),
    ] {
        let list = s.get(&format!("{core}{path}")).await.unwrap();
        assert_eq!(list["items"].as_array().map(Vec::len), Some(found), "{path}");
        assert_eq!(list["apiVersion"], "v1");
    }
    // A patch goes by the names of the group that it is sent to.
    let mut changed = made.clone();
    changed["message"] = json!("good day");
    s.ask("PUT", &format!("{core}/web.1"), &changed).await.unwrap();
    let newer = s.get("/apis/events.k8s.io/v1/namespaces/default/events/web.1").await.unwrap();
    assert_eq!(newer["note"], "good day");
}
