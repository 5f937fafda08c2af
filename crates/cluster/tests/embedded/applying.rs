//! What becomes of a cluster to which manifests are applied, once and again.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use roadstead_cluster::embedded::Applied;
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
