//! Binding, eviction, scale and resize.

use kube::api::{EvictParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::testing::*;

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_pod_is_bound_once() {
    let s = Server::new();
    s.make_node("pier").await;
    let [a, _] = s.make_pods(["a", "b"]).await;
    let path = format!("{PODS}/a/binding");
    let mut other = binding("a", "pier");
    other["metadata"]["uid"] = "other".into();
    let status = s.ask("POST", &path, &other).await.unwrap_err();
    assert_eq!((status.code, &*status.reason), (409, "Conflict"));
    assert_eq!(status.details.unwrap().kind, "pods");

    let mut mine = binding("a", "pier");
    mine["metadata"]["uid"] = a.metadata.uid.unwrap().into();
    let answer = s.ask("POST", &path, &mine).await.unwrap();
    assert_eq!((&answer["status"], &answer["code"]), (&json!("Success"), &json!(201)));
    let bound = s.pods().get("a").await.unwrap();
    assert_eq!(bound.spec.unwrap().node_name.as_deref(), Some("pier"));

    let status = s.ask("POST", &path, &mine).await.unwrap_err();
    let message = "Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned \
                   to node \"pier\"";
    assert_eq!(told(&status), (409, "Conflict", message));
    assert_eq!(status.details.unwrap().kind, "pods/binding");

    let all = "/api/v1/namespaces/default/bindings";
    s.ask("POST", all, &binding("b", "pier")).await.unwrap();
    let status = s.ask("POST", all, &binding("none", "pier")).await.unwrap_err();
    assert_eq!(told(&status), (404, "NotFound", "pods \"none\" not found"));
    let status = s.ask("POST", &path, &binding("b", "pier")).await.unwrap_err();
    assert_eq!(status.code, 400);
    let status = s.ask("POST", all, &binding("b", "")).await.unwrap_err();
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
}

#[tokio::test]
async fn an_eviction_asks_the_budget() {
    let s = Server::new();
    s.make_node("pier").await;
    let budget = json!({
        "kind": "PodDisruptionBudget", "apiVersion": "policy/v1", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchExpressions": [
            {"key": "app", "operator": "Exists"},
        ]}},
    });
    let path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    s.ask("POST", path, &budget).await.unwrap();
    for name in ["a", "b"] {
        let pod = pod_with(name, json!({"app": "web"}));
        s.pods().create(&Default::default(), &pod).await.unwrap();
        s.ask("POST", &format!("{PODS}/{name}/binding"), &binding(name, "pier")).await.unwrap();
    }
    s.after(1);
    s.pods().evict("a", &EvictParams::default()).await.unwrap();
    let a = s.pods().get("a").await.unwrap();
    assert!(a.metadata.deletion_timestamp.is_some());
    let conditions = a.status.unwrap().conditions.unwrap();
    let target = conditions.iter().find(|c| c.type_ == "DisruptionTarget").unwrap();
    assert_eq!(target.reason.as_deref(), Some("EvictionByEvictionAPI"));

    let status = refusal(s.pods().evict("b", &EvictParams::default()).await.unwrap_err());
    assert_eq!(
        told(&status),
        (
            429,
            "TooManyRequests",
            "Cannot evict pod as it would violate the pod's disruption budget."
        )
    );
    let details = status.details.unwrap();
    assert_eq!(
        details.causes[0].message,
        "The disruption budget web needs 1 healthy pods and has 1 currently"
    );
}

#[tokio::test]
async fn a_workload_is_scaled() {
    let s = Server::new();
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({
        "kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        }},
    });
    s.ask("POST", path, &deployment).await.unwrap();
    let mut scale = s.get(&format!("{path}/web/scale")).await.unwrap();
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({"replicas": 2, "selector": "app=web"}));
    scale["spec"]["replicas"] = 3.into();
    let stale = scale.clone();
    s.ask("PUT", &format!("{path}/web/scale"), &scale).await.unwrap();
    assert_eq!(s.pods().list(&Default::default()).await.unwrap().items.len(), 3);
    let status = s.ask("PUT", &format!("{path}/web/scale"), &stale).await.unwrap_err();
    assert_eq!((status.code, &*status.reason), (409, "Conflict"));

    let request = http::Request::patch(format!("{path}/web/scale"))
        .header("content-type", "application/merge-patch+json")
        .body(json!({"spec": {"replicas": 0}}).to_string().into_bytes())
        .unwrap();
    let scale: Value = s.client.request(request).await.unwrap();
    assert_eq!(scale["spec"]["replicas"], 0);
    assert!(s.pods().list(&Default::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_pod_is_resized_through_its_own_path_alone() {
    let s = Server::new();
    let mut web = pod("web");
    let size = |cpu: &str| json!({"requests": {"cpu": cpu, "memory": "1Gi"}});
    web.spec.as_mut().unwrap().containers[0].resources =
        Some(serde_json::from_value(size("1")).unwrap());
    s.pods().create(&Default::default(), &web).await.unwrap();
    let larger = Patch::Strategic(
        json!({"spec": {"containers": [{"name": "main", "resources": size("2")}]}}),
    );
    let status =
        refusal(s.pods().patch("web", &PatchParams::default(), &larger).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));

    let pod = s.pods().patch_resize("web", &PatchParams::default(), &larger).await.unwrap();
    let resources = pod.spec.unwrap().containers[0].resources.clone().unwrap();
    assert_eq!(resources.requests.unwrap()["cpu"].0, "2");
    assert_eq!(pod.metadata.generation, Some(2));

    let image = json!({"spec": {"containers": [{"name": "main", "image": "other"}]}});
    let image = Patch::Strategic(image);
    let status =
        refusal(s.pods().patch_resize("web", &PatchParams::default(), &image).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
}
