//! Creating, applying, patching, labelling, deleting.

use crate::testing::{NODES, Server, bad, given, good};

const POD: &str = "
kind: Pod
apiVersion: v1
metadata: {name: web, labels: {app: web}}
spec: {nodeName: pier, containers: [{name: main, image: nginx}]}
";

const DEPLOYMENT: &str = "
kind: Deployment
apiVersion: apps/v1
metadata: {name: shop, labels: {tier: front}}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      nodeName: pier
      containers:
      - {name: main, image: 'shop:1', env: [{name: A, value: a}, {name: B, value: b}]}
      - {name: log, image: 'log:1'}
";

/// Another image; no label, no second container, one variable less and one more.
const CHANGED: &str = "
kind: Deployment
apiVersion: apps/v1
metadata: {name: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      nodeName: pier
      containers:
      - {name: main, image: 'shop:2', env: [{name: B, value: b}, {name: C, value: c}]}
";

const MISSPELT: &str = "
kind: Pod
apiVersion: v1
metadata: {name: odd}
spec: {nodename: pier, containers: [{name: main, image: nginx, prots: []}]}
";

#[test]
fn objects_are_created_and_deleted() {
    let Some(server) = Server::start("creating", NODES) else { return };
    server.check(&[
        given("create -f -", POD, &["pod/web created"]),
        bad("create -f -", POD, &["pods \"web\" already exists"]),
        good("wait --for=condition=Ready pod/web --timeout=30s", &["condition met"]),
        given("replace -f -", POD, &["pod/web replaced"]),
        good("create namespace dock", &["namespace/dock created"]),
        good(
            "create deployment shop --image=nginx --replicas=2 -n dock",
            &["deployment.apps/shop created"],
        ),
        good("get deploy shop -n dock", &["shop 0/2 2 0"]),
        good(
            "create priorityclass high --value=7",
            &["priorityclass.scheduling.k8s.io/high created"],
        ),
        good("create job sum --image=perl", &["job.batch/sum created"]),
        good("create service clusterip front --tcp=80:8080", &["service/front created"]),
        good("create pdb keep --selector=app=web --min-available=1", &["keep created"]),
        good("run lone --image=nginx", &["pod/lone created"]),
        good("run dry --image=nginx --dry-run=server", &["pod/dry created (server dry run)"]),
        bad("get pod dry", "", &["not found"]),
        good("get pod lone", &["lone 0/1 Pending 0"]),
        good("expose deploy shop --port=80 -n dock", &["service/shop exposed"]),
        good("set image deploy/shop nginx=nginx:2 -n dock", &["image updated"]),
        bad(
            "create -f -",
            MISSPELT,
            &["strict decoding error", "\"spec.nodename\"", "\"spec.containers[0].prots\""],
        ),
        given(
            "create --validate=warn -f -",
            MISSPELT,
            &["Warning: unknown field \"spec.nodename\"", "pod/odd created"],
        ),
        given("replace --validate=false --force -f -", MISSPELT, &["pod/odd replaced"]),
        bad(
            "create -f -",
            "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: 7}",
            &["cannot be handled as a Pod", "spec.containers"],
        ),
        bad(
            "create -f -",
            "kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: []}",
            &["Pod \"x\" is invalid"],
        ),
        bad(
            "create -f -",
            "kind: Boat\napiVersion: v1\nmetadata: {name: x}",
            &["no matches for kind \"Boat\""],
        ),
        good("delete pod web lone odd", &["pod \"web\" deleted", "pod \"lone\" deleted"]),
        bad("get pod web", "", &["not found"]),
        bad("delete pod web", "", &["pods \"web\" not found"]),
        good("delete pod web --ignore-not-found", &[]),
        good("delete deploy --all -n dock", &["deployment.apps \"shop\" deleted"]),
        good("delete namespace dock", &["namespace \"dock\" deleted"]),
        good("wait --for=delete namespace/dock --timeout=30s", &[]),
        bad("get namespace dock", "", &["not found"]),
        good("delete pods --all --force --grace-period=0", &[]),
    ]);
}

#[test]
fn applying_takes_away_what_was_applied_and_is_not_any_more() {
    let Some(server) = Server::start("applying", NODES) else { return };
    server.check(&[
        given("apply -f -", DEPLOYMENT, &["deployment.apps/shop created"]),
        given("apply -f -", DEPLOYMENT, &["deployment.apps/shop unchanged"]),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        // What others set stays.
        good("annotate deploy shop owner=me", &["deployment.apps/shop annotated"]),
        given("diff -f -", DEPLOYMENT, &[]),
        given("apply -f - --dry-run=server", CHANGED, &["configured (server dry run)"]),
        given("apply -f -", CHANGED, &["deployment.apps/shop configured"]),
        good("get deploy shop -o jsonpath={.spec.template.spec.containers[*].name}", &["main"]),
        good(
            "get deploy shop -o jsonpath={.spec.template.spec.containers[0].env[*].name}",
            &["B C"],
        ),
        good(
            "get deploy shop -o jsonpath=[{.metadata.labels.tier}][{.metadata.annotations.owner}]",
            &["[][me]"],
        ),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        bad("apply -f -", MISSPELT, &["strict decoding error"]),
        bad(
            "apply --server-side -f -",
            CHANGED,
            &["Server-side apply not available on the server"],
        ),
        given("delete -f -", CHANGED, &["deployment.apps \"shop\" deleted"]),
        good("get deploy,rs", &["No resources found"]),
    ]);
}

#[test]
fn objects_are_patched_labelled_and_scaled() {
    let Some(server) = Server::start("patching", NODES) else { return };
    server.check(&[
        given("apply -f -", DEPLOYMENT, &["created"]),
        good("label deploy shop sea=north", &["deployment.apps/shop labeled"]),
        bad("label deploy shop sea=south", "", &["already has a value (north)"]),
        good("label deploy shop sea=south --overwrite", &["labeled"]),
        good("get deploy -L sea", &["SEA", "south"]),
        good("label deploy shop sea-", &["unlabeled"]),
        good("annotate deploy shop note=x", &["annotated"]),
        good("scale deploy shop --replicas=3", &["deployment.apps/shop scaled"]),
        good("rollout status deploy/shop --timeout=30s", &["successfully rolled out"]),
        good("get deploy shop", &["shop 3/3 3 3"]),
        bad("scale deploy shop --replicas=1 --current-replicas=7", "", &["Expected replicas to be 7, was 3"]),
        good("scale rs -l app=shop --replicas=3", &["scaled"]),
        good(
            "patch deploy shop -p {\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"log\",\"image\":\"log:2\"}]}}}}",
            &["deployment.apps/shop patched"],
        ),
        good("get deploy shop -o jsonpath={.spec.template.spec.containers[*].image}", &["shop:1 log:2"]),
        good("patch deploy shop --type=merge -p {\"spec\":{\"replicas\":1}}", &["patched"]),
        good(
            "patch deploy shop --type=json -p [{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":2}]",
            &["patched"],
        ),
        good("patch deploy shop --type=merge -p {\"spec\":{\"replicas\":2}}", &["patched (no change)"]),
        good("patch deploy shop --subresource=scale --type=merge -p {\"spec\":{\"replicas\":4}}", &["patched"]),
        good("get deploy shop -o jsonpath={.spec.replicas}", &["4"]),
        bad("patch deploy shop --type=merge -p {\"spec\":{\"selector\":null}}", "", &["invalid"]),
    ]);
}
