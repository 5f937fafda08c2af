//! Pods that leave because their node is drained, tainted or down.

use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time as ApiTime;
use k8s_openapi::jiff::Timestamp;
use roadstead_cluster::embedded::DeleteOptions;
use roadstead_cluster::{ApiError, Kind};

use crate::testing::*;

const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: pier}}";

fn pod(name: &str, tolerations: &str) -> String {
    format!(
        "\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}, \
         annotations: {{roadstead.dev/run-seconds: '1000'}}}}, spec: {{containers: [{{name: main, \
         image: app}}], tolerations: [{tolerations}]}}}}"
    )
}

fn taint(cluster: &mut TestCluster, key: &str) {
    let second = i64::try_from(cluster.now.as_millis() / 1000).unwrap();
    let added = ApiTime(Timestamp::from_second(second).unwrap());
    let taint = Taint {
        key: key.to_owned(),
        effect: "NoExecute".to_owned(),
        time_added: Some(added),
        value: None,
    };
    cluster.update("pier", |node: &mut Node| {
        node.spec.get_or_insert_default().taints = Some(vec![taint]);
    });
}

fn untaint(cluster: &mut TestCluster) {
    cluster.update("pier", |node: &mut Node| {
        node.spec.get_or_insert_default().taints = None;
    });
}

fn set_ready(cluster: &mut TestCluster, ready: &str) {
    cluster.update("pier", |node: &mut Node| {
        let conditions = node.status.get_or_insert_default().conditions.get_or_insert_default();
        for condition in conditions.iter_mut().filter(|c| c.type_ == "Ready") {
            condition.status = ready.to_owned();
        }
    });
}

#[test]
fn a_no_execute_taint_drives_away_whom_it_is_not_tolerated_by() {
    let mut c = TestCluster::new();
    let for_ever = "{key: rot, operator: Exists}";
    let a_minute = "{key: rot, operator: Exists, effect: NoExecute, tolerationSeconds: 60}";
    c.load(&[NODE, &pod("a", ""), &pod("b", for_ever), &pod("c", a_minute)].concat());
    c.bind_all("pier");

    taint(&mut c, "rot");
    c.after(1);
    assert_eq!(c.names(), ["b", "c"], "without a toleration it goes at once");
    c.after(57);
    assert_eq!(c.names(), ["b", "c"], "a minute is not over");
    c.after(4);
    assert_eq!(c.names(), ["b"], "a minute is over");

    c.load(&pod("d", a_minute)[5..]);
    c.bind_all("pier");
    c.after(5);
    assert_eq!(c.names(), ["b"], "the minute counts from the taint, not from the binding");
}

#[test]
fn a_pod_on_an_unreachable_node_stays_five_minutes_unless_the_taint_goes() {
    let mut c = TestCluster::new();
    c.load(&[NODE, &pod("a", "")].concat());
    c.bind_all("pier");

    taint(&mut c, "node.kubernetes.io/unreachable");
    c.after(200);
    untaint(&mut c);
    c.after(10);
    taint(&mut c, "node.kubernetes.io/unreachable");
    c.after(290);
    assert_eq!(c.alive(), 1, "the first taint is forgotten");
    c.after(11);
    assert_eq!(c.alive(), 0);
}

#[test]
fn nothing_starts_or_finishes_on_a_node_that_is_not_ready() {
    let mut c = TestCluster::new();
    c.load(&[NODE, &pod("a", ""), &pod("b", "")].concat());
    c.bind("a", "pier").unwrap();
    c.after(1);

    set_ready(&mut c, "Unknown");
    c.bind("b", "pier").unwrap();
    c.after(2000);
    assert_eq!((c.phase("a"), c.phase("b")), ("Running", "Pending"));

    set_ready(&mut c, "True");
    c.after(1);
    assert_eq!((c.phase("a"), c.phase("b")), ("Running", "Running"));
    c.after(998);
    assert_eq!(c.phase("a"), "Running", "it began anew");
    c.after(1);
    assert_eq!((c.phase("a"), c.phase("b")), ("Succeeded", "Running"));
}

#[test]
fn an_eviction_waits_for_what_a_disruption_budget_can_spare() {
    let mut c = TestCluster::new();
    let budget = "\n---\n{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: two}, \
                  spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}";
    c.load(&[NODE, &pod("a", ""), &pod("b", ""), &pod("c", ""), budget].concat());
    c.bind_all("pier");

    evict(&mut c, "a").expect("one can be spared");
    let refused = evict(&mut c, "b").expect_err("two cannot");
    assert_eq!(
        refused.to_string(),
        "pods \"default/b\" cannot be served now: The disruption budget two needs 2 healthy pods and \
         has 2 currently"
    );
    assert_eq!(refused.code(), 429);
    c.after(2);
    assert!(!c.has(Kind::Pod, "a"));

    c.load(&pod("d", "")[5..]);
    evict(&mut c, "d").expect("a pod that does not run is not counted");
    assert!(evict(&mut c, "gone").expect_err("there is none").is_not_found());
}

fn evict(c: &mut TestCluster, pod: &str) -> Result<(), ApiError> {
    let now = c.now;
    c.cluster.evict(now, "default", pod, &DeleteOptions::default())
}
