//! What kubectl finds out before it does anything.

use crate::testing::{NODES, Server, bad, good};

#[test]
fn a_client_learns_what_there_is() {
    let Some(server) = Server::start("discovery", NODES) else { return };
    server.check(&[
        good("version", &["Server Version: v1.36.4+roadstead"]),
        good("cluster-info", &["Kubernetes control plane", "http://127.0.0.1:"]),
        good("api-versions", &["apps/v1", "authorization.k8s.io/v1", "events.k8s.io/v1", "v1"]),
        good(
            "api-resources",
            &[
                "NAME SHORTNAMES APIVERSION NAMESPACED KIND",
                "pods po v1 true Pod",
                "nodes no v1 false Node",
                "events ev v1 true Event",
                "events ev events.k8s.io/v1 true Event",
                "deployments deploy apps/v1 true Deployment",
                "selfsubjectaccessreviews authorization.k8s.io/v1 false SelfSubjectAccessReview",
            ],
        ),
        good("api-resources --api-group=apps -o name", &["deployments.apps", "replicasets.apps"]),
        good("api-resources --verbs=deletecollection -o wide", &["pods", "all", "create,delete"]),
        good("auth can-i create pods", &["yes"]),
        good("auth can-i get pods --subresource=log -n kube-system", &["yes"]),
        good("auth can-i get /healthz", &["yes"]),
        good("get --raw /readyz", &["ok"]),
        // The older form of discovery.
        good("get --raw /apis", &["\"kind\":\"APIGroupList\"", "\"groupVersion\":\"apps/v1\""]),
        good("get --raw /api", &["\"kind\":\"APIVersions\""]),
        good("get --raw /api/v1", &["\"pods/eviction\"", "\"group\":\"policy\""]),
        good("get --raw /openapi/v3", &["\"apis/apps/v1\"", "/openapi/v3/api/v1"]),
        good("get --raw /openapi/v3/apis/apps/v1", &["fieldValidation", "\"kind\":\"Deployment\""]),
        bad("get --raw /apis/example.com", "", &["could not find the requested resource"]),
        bad("get widgets", "", &["the server doesn't have a resource type \"widgets\""]),
        bad("explain pods", "", &["not found"]),
        bad("logs nobody", "", &["pods \"nobody\" not found"]),
    ]);
}
