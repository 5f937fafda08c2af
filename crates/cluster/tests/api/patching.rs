//! Patches of all three kinds.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::testing::*;

#[tokio::test]
async fn a_merge_patch_merges_objects_and_replaces_the_rest() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let labels = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
    s.pods().patch("web", &PatchParams::default(), &Patch::Merge(labels)).await.unwrap();
    let fewer = json!({"metadata": {"labels": {"a": null, "c": "3"}}});
    let pod = s.pods().patch("web", &PatchParams::default(), &Patch::Merge(fewer)).await.unwrap();
    let labels: Vec<_> = pod.metadata.labels.unwrap().into_iter().collect();
    assert_eq!(labels, [("b".into(), "2".into()), ("c".into(), "3".into())]);
}

#[tokio::test]
async fn a_json_patch_is_done_whole_or_not() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let patch = |operations: Value| {
        let patch = serde_json::from_value(operations).unwrap();
        let pods = s.pods();
        async move { pods.patch("web", &PatchParams::default(), &Patch::Json::<()>(patch)).await }
    };
    let pod = patch(json!([
        {"op": "test", "path": "/metadata/name", "value": "web"},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},
    ]))
    .await
    .unwrap();
    assert_eq!(pod.metadata.labels.unwrap()["a"], "1");
    let version = s.version();
    let status = refusal(
        patch(json!([
            {"op": "replace", "path": "/metadata/labels/a", "value": "2"},
            {"op": "test", "path": "/metadata/name", "value": "other"},
        ]))
        .await
        .unwrap_err(),
    );
    assert_eq!((status.code, &*status.reason), (422, "Invalid"));
    assert_eq!(s.version(), version);
}

#[tokio::test]
async fn a_strategic_patch_knows_the_elements_of_lists() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let strategic = async |patch: Value| {
        s.pods().patch_status("web", &PatchParams::default(), &Patch::Strategic(patch)).await
    };
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason});
    strategic(
        json!({"status": {"conditions": [condition("PodScheduled", "False", "Unschedulable")]}}),
    )
    .await
    .unwrap();
    strategic(
        json!({"status": {"conditions": [condition("DisruptionTarget", "True", "Preempted")]}}),
    )
    .await
    .unwrap();
    let pod = strategic(json!({"status": {
        "$setElementOrder/conditions": [{"type": "DisruptionTarget"}, {"type": "PodScheduled"}],
        "conditions": [{"type": "PodScheduled", "status": "True", "reason": null}],
        "nominatedNodeName": "pier",
    }}))
    .await
    .unwrap();
    let status = pod.status.unwrap();
    let conditions: Vec<_> = status
        .conditions
        .unwrap()
        .into_iter()
        .map(|c| (c.type_, c.status, c.reason.unwrap_or_default()))
        .collect();
    let is = |kind: &str, status: &str, reason: &str| {
        (kind.to_owned(), status.to_owned(), reason.to_owned())
    };
    assert_eq!(
        conditions,
        [is("DisruptionTarget", "True", "Preempted"), is("PodScheduled", "True", "")]
    );
    assert_eq!(status.nominated_node_name.as_deref(), Some("pier"));

    let gone = json!({"status": {
        "conditions": [{"type": "PodScheduled", "$patch": "delete"}], "nominatedNodeName": null,
    }});
    let status = strategic(gone).await.unwrap().status.unwrap();
    assert_eq!((status.conditions.unwrap().len(), status.nominated_node_name), (1, None));

    let unnamed = json!({"status": {"conditions": [{"status": "True"}]}});
    let status = refusal(strategic(unnamed).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (400, "BadRequest"));
}

#[tokio::test]
async fn containers_are_patched_by_name_and_taints_replaced() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let image = json!({"spec": {"containers": [{"name": "main", "image": "app:2"}]}});
    let pod =
        s.pods().patch("web", &PatchParams::default(), &Patch::Strategic(image)).await.unwrap();
    let containers = pod.spec.unwrap().containers;
    assert_eq!((containers.len(), containers[0].image.as_deref()), (1, Some("app:2")));

    s.make_node("pier").await;
    for key in ["a", "b"] {
        let taint = json!({"spec": {"taints": [{"key": key, "effect": "NoSchedule"}]}});
        let patch = Patch::Strategic(taint);
        let node = s.nodes().patch("pier", &PatchParams::default(), &patch).await.unwrap();
        let taints = node.spec.unwrap().taints.unwrap();
        assert_eq!((taints.len(), &*taints[0].key), (1, key));
    }
}

#[tokio::test]
async fn directives_of_strategic_patches() {
    let cases: &[(&str, Value, Value, Value)] = &[
        (
            "finalizers are a set",
            json!({"finalizers": ["a.b/c", "a.b/d"]}),
            json!({"finalizers": ["a.b/d", "a.b/e"], "$deleteFromPrimitiveList/finalizers": ["a.b/c"]}),
            json!({"finalizers": ["a.b/d", "a.b/e"]}),
        ),
        (
            "an object is replaced",
            json!({"labels": {"a": "1", "b": "2"}}),
            json!({"labels": {"$patch": "replace", "c": "3"}}),
            json!({"labels": {"c": "3"}}),
        ),
        (
            "keys are retained",
            json!({"labels": {"a": "1", "b": "2"}}),
            json!({"labels": {"$retainKeys": ["b", "c"], "c": "3"}}),
            json!({"labels": {"b": "2", "c": "3"}}),
        ),
    ];
    for (what, before, patch, after) in cases {
        let s = Server::new();
        s.make_pods(["web"]).await;
        let wrap = |metadata: &Value| json!({ "metadata": metadata });
        let patches = [Patch::Merge(wrap(before)), Patch::Strategic(wrap(patch))];
        for patch in patches {
            s.pods().patch("web", &PatchParams::default(), &patch).await.unwrap();
        }
        let pod = serde_json::to_value(s.pods().get("web").await.unwrap()).unwrap();
        for (field, value) in after.as_object().unwrap() {
            assert_eq!(&pod["metadata"][field], value, "{what}");
        }
    }
}

#[tokio::test]
async fn a_patch_may_say_which_pod_and_which_version_it_means() {
    let s = Server::new();
    let [pod] = s.make_pods(["web"]).await;
    for (metadata, code) in [
        (json!({"uid": "other"}), 409),
        (json!({"resourceVersion": "1"}), 409),
        (json!({"name": "other"}), 400),
        (json!({"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}), 200),
    ] {
        let patch = json!({"metadata": metadata, "status": {"message": "hello"}});
        let outcome =
            s.pods().patch_status("web", &PatchParams::default(), &Patch::Strategic(patch)).await;
        let got = outcome.map_or_else(|error| refusal(error).code, |_| 200);
        assert_eq!(got, code, "{metadata}");
    }
}

#[tokio::test]
async fn server_side_apply_is_refused() {
    let s = Server::new();
    s.make_pods(["web"]).await;
    let params = PatchParams::apply("test");
    let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}});
    let status = refusal(s.pods().patch("web", &params, &Patch::Apply(body)).await.unwrap_err());
    assert_eq!((status.code, &*status.reason), (415, "UnsupportedMediaType"));
    assert!(status.message.contains("application/strategic-merge-patch+json"));
}
