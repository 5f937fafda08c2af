//! Create, update and delete.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions, PropagationPolicy};
use roadstead_cluster::Kind;
use roadstead_cluster::embedded::Config;
use serde_json::{Value, json};
use std::time::Duration;

use crate::testing::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_new_object_is_given_a_name_a_uid_and_defaults() {
    let s = Server::new();
    let mut unnamed = pod("x");
    unnamed.metadata.name = None;
    unnamed.metadata.generate_name = Some("web-".into());
    let made = s.pods().create(&PostParams::default(), &unnamed).await.unwrap();
    let name = made.metadata.name.unwrap();
    assert!(name.starts_with("web-") && name.len() == 9, "{name}");
    assert_eq!(made.metadata.uid.unwrap().len(), 36);
    assert_eq!(made.metadata.namespace.unwrap(), "default");
    assert_eq!(made.spec.unwrap().scheduler_name.unwrap(), "default-scheduler");
}

#[tokio::test]
async fn what_cannot_be_made_is_refused_with_the_reason() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let pod = |changes: Value| {
        let mut pod = json!({
            "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "new"},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        });
        json_patch::merge(&mut pod, &changes);
        pod
    };
    let cases: &[(Value, u16, &str, &str)] = &[
        (json!({"metadata": {"name": "web"}}), 409, "AlreadyExists", "pods \"web\" already exists"),
        (
            json!({"metadata": {"namespace": "sea"}}),
            400,
            "BadRequest",
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (json!({"kind": null}), 400, "BadRequest", "Object 'Kind' is missing"),
        (
            json!({"kind": "Node"}),
            400,
            "BadRequest",
            "the kind in the data (v1, Node) does not match the expected one (v1, Pod)",
        ),
        (
            json!({"spec": {"containers": 3}}),
            400,
            "BadRequest",
            "Pod in version \"v1\" cannot be handled as a Pod: spec.containers: invalid type: \
             integer `3`, expected a sequence",
        ),
        (
            json!({"spec": {"containers": []}}),
            422,
            "Invalid",
            "Pod \"new\" is invalid: spec.containers: required value",
        ),
        (
            json!({"spec": {"priorityClassName": "gold"}}),
            403,
            "Forbidden",
            "pods \"new\" is forbidden: no PriorityClass with name gold was found",
        ),
    ];
    for (changes, code, reason, message) in cases {
        let status = s.ask("POST", PODS, &pod(changes.clone())).await.unwrap_err();
        assert_eq!(told(&status), (*code, *reason, *message));
    }
    let status = s.ask("POST", PODS, &pod(json!({"spec": {"containers": []}}))).await.unwrap_err();
    let details = status.details.unwrap();
    assert_eq!((&*details.kind, &*details.causes[0].field), ("Pod", "spec.containers"));
    assert_eq!(details.causes[0].reason, "FieldValueRequired");

    let path = "/api/v1/namespaces/sea/pods";
    let status = s.ask("POST", path, &pod(json!({}))).await.unwrap_err();
    assert_eq!(told(&status), (404, "NotFound", "namespaces \"sea\" not found"));
    let path = "/apis/apps/v1/namespaces/default/deployments/web";
    let status = s.get(path).await.unwrap_err();
    assert_eq!(told(&status), (404, "NotFound", "deployments.apps \"web\" not found"));
    assert_eq!(status.details.unwrap().group, "apps");
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let s = Server::new();
    let before = s.version();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let made = s.pods().create(&dry, &pod("web")).await.unwrap();
    assert!(made.metadata.uid.is_some());
    assert_eq!(s.version(), before);
    assert!(s.pods().get_opt("web").await.unwrap().is_none());

    s.make_pods(["web"]).await;
    let before = s.version();
    // A deletion says it in its body.
    s.pods().delete("web", &DeleteParams::default().dry_run()).await.unwrap();
    assert_eq!(s.version(), before);
}

#[tokio::test]
async fn an_update_of_a_stale_version_is_a_conflict() {
    let s = Server::new();
    let [mut pod] = s.make_pods(["web"]).await;
    let stale = pod.clone();
    pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    let updated = s.pods().replace("web", &PostParams::default(), &pod).await.unwrap();
    assert_ne!(updated.metadata.resource_version, stale.metadata.resource_version);

    let status =
        refusal(s.pods().replace("web", &PostParams::default(), &stale).await.unwrap_err());
    let message = "Operation cannot be fulfilled on pods \"web\": the object has been modified; \
                   please apply your changes to the latest version and try again";
    assert_eq!(told(&status), (409, "Conflict", message));
    assert_eq!(status.details.unwrap().name, "web");

    let status =
        refusal(s.pods().replace("other", &PostParams::default(), &stale).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (404, "NotFound"));
}

#[tokio::test]
async fn an_object_and_its_status_are_written_apart() {
    let s = Server::new();
    let [mut pod] = s.make_pods(["web"]).await;
    pod.metadata.labels = Some([("app".to_owned(), "web".to_owned())].into());
    pod.status.as_mut().unwrap().message = Some("through the object".into());
    let pod = s.pods().replace("web", &PostParams::default(), &pod).await.unwrap();
    assert_eq!(pod.status.as_ref().unwrap().message, None);

    let mut changed = pod.clone();
    changed.status.as_mut().unwrap().message = Some("through the status".into());
    changed.spec.as_mut().unwrap().containers[0].image = Some("other".into());
    let pod = s.pods().replace_status("web", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(pod.status.as_ref().unwrap().message.as_deref(), Some("through the status"));
    assert_eq!(pod.spec.unwrap().containers[0].image.as_deref(), Some("app"));
    assert_eq!(pod.metadata.generation, Some(1));
}

#[tokio::test]
async fn a_lease_is_taken_by_who_knows_its_version() {
    let s = Server::new();
    let leases = Api::<Lease>::default_namespaced(s.client.clone());
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": "scheduler"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15},
    }))
    .unwrap();
    let made = leases.create(&PostParams::default(), &lease).await.unwrap();
    let mut b = made.clone();
    b.spec.as_mut().unwrap().holder_identity = Some("b".into());
    leases.replace("scheduler", &PostParams::default(), &b).await.unwrap();
    let late =
        refusal(leases.replace("scheduler", &PostParams::default(), &made).await.unwrap_err());
    assert_eq!((late.code, &*late.reason), (409, "Conflict"));

    b.metadata.resource_version = None;
    let blind = refusal(leases.replace("scheduler", &PostParams::default(), &b).await.unwrap_err());
    assert_eq!(
        told(&blind),
        (
            422,
            "Invalid",
            "Lease.coordination.k8s.io \"scheduler\" is invalid: metadata.resourceVersion: Invalid \
             value: 0: must be specified for an update"
        )
    );
}

#[tokio::test]
async fn a_running_pod_is_deleted_gracefully_and_a_waiting_one_at_once() {
    let s = Server::with(Config { stop_delay: Duration::from_secs(5), ..Config::default() });
    s.make_node("pier").await;
    s.make_pods(["runs", "waits", "forced"]).await;
    for name in ["runs", "forced"] {
        s.ask("POST", &format!("{PODS}/{name}/binding"), &binding(name, "pier")).await.unwrap();
    }
    s.after(1);
    let waits = s.pods().delete("waits", &DeleteParams::default()).await.unwrap();
    assert!(waits.left().unwrap().metadata.deletion_timestamp.is_none(), "as it was");
    let now = DeleteParams::default().grace_period(0);
    s.pods().delete("forced", &now).await.unwrap();
    let runs = s.pods().delete("runs", &DeleteParams::default().grace_period(9)).await.unwrap();
    let meta = runs.left().unwrap().metadata;
    assert_eq!(meta.deletion_grace_period_seconds, Some(9));
    assert_eq!(meta.deletion_timestamp.unwrap().0.to_string(), "1970-01-01T00:00:10Z");

    let left = |s: &Server| {
        names(&s.cluster.with(|c, _| {
            c.list::<k8s_openapi::api::core::v1::Pod>().map(|p| (**p).clone()).collect::<Vec<_>>()
        }))
    };
    assert_eq!(left(&s), ["runs"]);
    s.after(5);
    assert!(left(&s).is_empty());
    let gone = refusal(s.pods().delete("runs", &DeleteParams::default()).await.unwrap_err());
    assert_eq!((gone.code, &*gone.reason), (404, "NotFound"));
}

#[tokio::test]
async fn a_deletion_means_one_object_and_one_version() {
    let s = Server::new();
    let [made] = s.make_pods(["web"]).await;
    let only = |uid: &str, version: &str| DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: Some(version.to_owned()),
        }),
        ..DeleteParams::default()
    };
    let (uid, version) = (made.metadata.uid.unwrap(), made.metadata.resource_version.unwrap());
    let other = refusal(s.pods().delete("web", &only("other", &version)).await.unwrap_err());
    let message = format!(
        "Operation cannot be fulfilled on pods \"web\": Precondition failed: UID in precondition: \
         other, UID in object meta: {uid}"
    );
    assert_eq!(told(&other), (409, "Conflict", &*message));
    let stale = refusal(s.pods().delete("web", &only(&uid, "1")).await.unwrap_err());
    assert_eq!((stale.code, &*stale.reason), (409, "Conflict"));
    s.pods().delete("web", &only(&uid, &version)).await.unwrap();
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let s = Server::new();
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        s.pods()
            .create(&PostParams::default(), &pod_with(name, json!({"app": app})))
            .await
            .unwrap();
    }
    let web = ListParams::default().labels("app=web");
    let deleted = s.pods().delete_collection(&DeleteParams::default(), &web).await.unwrap();
    assert_eq!(names(&deleted.left().unwrap().items), ["a", "c"]);
    assert_eq!(names(&s.pods().list(&ListParams::default()).await.unwrap().items), ["b"]);
}

#[tokio::test]
async fn what_an_owner_leaves_behind_is_as_its_deletion_says() {
    for policy in
        [PropagationPolicy::Background, PropagationPolicy::Foreground, PropagationPolicy::Orphan]
    {
        let s = Server::new();
        s.make_node("pier").await;
        let set = json!({
            "kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "app"}]},
            }},
        });
        let path = "/apis/apps/v1/namespaces/default/replicasets";
        s.ask("POST", path, &set).await.unwrap();
        let pods = s.pods().list(&ListParams::default()).await.unwrap().items;
        assert_eq!(pods.len(), 2, "controllers work in between");
        for name in names(&pods) {
            s.ask("POST", &format!("{PODS}/{name}/binding"), &binding(&name, "pier"))
                .await
                .unwrap();
        }
        s.after(1);

        let options = json!({"propagationPolicy": format!("{policy:?}")});
        let answer = s.ask("DELETE", &format!("{path}/web"), &options).await.unwrap();
        let has_set = |s: &Server| {
            let key = Kind::ReplicaSet.key("default", "web");
            s.cluster.with(|cluster, _| cluster.object(&key).is_some())
        };
        assert_eq!(has_set(&s), matches!(policy, PropagationPolicy::Foreground), "{policy:?}");
        if has_set(&s) {
            assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        } else {
            assert_eq!((&answer["kind"], &answer["status"]), (&json!("Status"), &json!("Success")));
        }
        s.after(2);
        let pods = s.pods().list(&ListParams::default()).await.unwrap().items;
        let expected = if matches!(policy, PropagationPolicy::Orphan) { 2 } else { 0 };
        assert_eq!(pods.len(), expected, "{policy:?}");
        assert!(!has_set(&s));
        assert!(pods.iter().all(|p| p.metadata.owner_references.iter().flatten().count() == 0));
        s.check();
    }
}

#[tokio::test]
async fn bodies_are_json_or_protobuf_and_not_too_large() {
    let s = Server::new();
    let send = |media: &str, body: Vec<u8>| {
        let request = http::Request::post(PODS).header("content-type", media).body(body).unwrap();
        s.client.request::<Value>(request)
    };
    let status = refusal(send("application/yaml", vec![1]).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (415, "UnsupportedMediaType"));
    let status = refusal(send("application/vnd.kubernetes.protobuf", vec![1]).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (400, "BadRequest"));
    let status = refusal(send("application/json", b"{".to_vec()).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (400, "BadRequest"));
    let large = vec![b' '; 3 * 1024 * 1024 + 1];
    let status = refusal(send("application/json", large).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (413, "RequestEntityTooLarge"));

    let request = http::Request::get(PODS).header("accept", "application/yaml");
    let status = s.client.request::<Value>(request.body(Vec::new()).unwrap()).await.unwrap_err();
    assert_eq!(refusal(status).code, 406);
}

#[tokio::test]
async fn events_are_kept_for_an_hour_and_not_too_many() {
    let s = Server::with(Config { events_kept: 3, ..Config::default() });
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = |name: &str, count: i32| {
        json!({
            "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": name},
            "eventTime": "1970-01-01T00:00:00.000000Z", "reason": "FailedScheduling",
            "series": {"count": count, "lastObservedTime": "1970-01-01T00:00:00.000000Z"},
        })
    };
    let left = async || {
        let list = s.get(path).await.unwrap();
        let items = list["items"].as_array().unwrap().clone();
        items.iter().map(|e| e["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for name in ["a", "b", "c"] {
        s.ask("POST", path, &event(name, 1)).await.unwrap();
    }
    s.after(1800);
    s.ask("PUT", &format!("{path}/a"), &event("a", 2)).await.unwrap();
    s.ask("POST", path, &event("d", 1)).await.unwrap();
    assert_eq!(left().await, ["a", "c", "d"], "the one longest not written had to go");
    s.after(1800);
    assert_eq!(left().await, ["a", "d"]);
    s.after(1800);
    assert_eq!(left().await, Vec::<String>::new());
    s.check();
}
