//! What becomes of a cluster to which manifests are applied, once and again.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use roadstead_cluster::Kind;
use roadstead_cluster::embedded::{Applied, DeleteOptions};
use roadstead_cluster::manifests::{self, Document};

use crate::testing::*;

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: pier, labels: {disk: ssd, zone: a}}
status: {allocatable: {cpu: 4, pods: 110}}
";

#[test]
fn what_is_not_there_is_made_and_what_is_there_is_changed() {
    let mut c = TestCluster::new();
    let applied = c.apply(NODE, &[]).expect("it is good");
    assert_eq!((applied.created.len(), applied.updated.len(), applied.unchanged), (1, 0, 0));
    assert_eq!(c.apply(NODE, &[]).expect("it is good"), Applied { unchanged: 1, ..none() });

    let applied = c.apply(&NODE.replace("cpu: 4", "cpu: 8"), &[]).expect("it is good");
    assert_eq!(applied.updated.len(), 1);
    let node: &Node = c.get("pier");
    let status = node.status.clone().unwrap();
    assert_eq!(status.allocatable.unwrap()["cpu"].0, "8");
    assert!(status.conditions.is_some(), "what the manifest does not mention stays");
}

#[test]
fn what_the_last_manifest_mentioned_and_this_one_does_not_goes() {
    let mut c = TestCluster::new();
    c.apply(NODE, &[]).expect("it is good");
    c.update::<Node>("pier", |node| {
        node.metadata.labels.get_or_insert_default().insert("own".to_owned(), "1".to_owned());
    });
    let without = NODE.replace("disk: ssd, ", "");
    c.apply(&without, &[]).expect("it is good");
    let labels = |c: &TestCluster| {
        let node: &Node = c.get("pier");
        let labels = node.metadata.labels.clone().unwrap_or_default();
        ["disk", "own", "zone"].map(|label| labels.contains_key(label))
    };
    assert_eq!(labels(&c), [true, true, true]);
    c.apply(&without, &documents(NODE)).expect("it is good");
    assert_eq!(labels(&c), [false, true, true]);
}

#[test]
fn one_wrong_document_and_nothing_changes() {
    let mut c = TestCluster::new();
    c.load(NODE);
    let version = c.cluster.version();
    let wrong = format!(
        "{}---{}",
        NODE.replace("cpu: 4", "cpu: 8"),
        "\nkind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {containers: []}\n"
    );
    let problems = c.apply(&wrong, &[]).expect_err("a pod needs a container");
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, ["test.yaml: document 2 (Pod web): spec.containers: required value"]);
    assert_eq!(c.cluster.version(), version);
}

#[test]
fn a_pod_that_may_not_be_changed_to_what_its_manifest_says_is_replaced() {
    let text = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: 2}}}]}
";
    let mut c = TestCluster::new();
    c.apply(&format!("{NODE}---{text}"), &[]).expect("it is good");
    c.bind("web", "pier").expect("it fits");
    let smaller = text.replace("cpu: 2", "cpu: 1");
    let problems = c.apply(&smaller, &[]).expect_err("it is not known whose pod that is");
    assert!(problems[0].to_string().contains("pod updates may not change"), "{problems:?}");

    let applied = c.apply(&smaller, &documents(text)).expect("it is replaced");
    assert_eq!((applied.replaced.len(), applied.updated.len()), (1, 0));
    let pods = c.pods();
    assert_eq!((pods.len(), node_of(&pods[0])), (1, None));
    assert_eq!(c.apply(&smaller, &documents(&smaller)).expect("it is good").unchanged, 1);

    let wrong = smaller.replace("name: main, ", "");
    c.apply(&wrong, &documents(&smaller)).expect_err("a container needs a name");
    assert_eq!(c.pods(), pods, "nothing has changed");
}

#[test]
fn namespaces_without_which_a_cluster_is_none_stay() {
    let mut c = TestCluster::new();
    for name in ["default", "kube-system", "kube-public"] {
        let key = Kind::Namespace.key("", name);
        let refused = c.cluster.delete(c.now, &key, &DeleteOptions::default());
        let refused = refused.expect_err("it stays").to_string();
        let words =
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
        assert_eq!(refused, words);
    }
}

#[test]
fn a_deployment_follows_its_manifest() {
    let text = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web}]}
";
    let mut c = TestCluster::new();
    c.apply(text, &[]).expect("it is good");
    assert_eq!(c.pods().len(), 2);
    c.apply(&text.replace("replicas: 2", "replicas: 5"), &documents(text)).expect("it is good");
    assert_eq!(c.pods().len(), 5);
    let web = c.cluster.get::<Deployment>("shop", "web").expect("it is there");
    assert_eq!(web.spec.as_ref().and_then(|spec| spec.replicas), Some(5));
}

fn documents(text: &str) -> Vec<Document> {
    manifests::parse("test.yaml", text).documents
}

fn none() -> Applied {
    Applied::default()
}
