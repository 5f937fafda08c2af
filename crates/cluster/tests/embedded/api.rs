//! Create, update, delete, list and watch.

use k8s_openapi::api::core::v1::{Node, Pod, PodSchedulingGate};
use roadstead_cluster::embedded::{ChangeKind, Config, DeleteOptions, Watch};
use roadstead_cluster::{ApiError, Kind};
use roadstead_queue::Time;
use std::time::Duration;

use crate::testing::*;

#[test]
fn every_write_has_its_own_version_and_a_write_of_nothing_has_none() {
    let mut c = TestCluster::new();
    let before = c.cluster.version();
    let made = c.cluster.create(c.now, object(&pod("web"))).unwrap();
    assert_eq!(made.version(), before + 1);

    let same = c.cluster.update(c.now, made.clone()).unwrap();
    assert_eq!((same.version(), c.cluster.version()), (before + 1, before + 1));
}

#[test]
fn an_update_of_a_stale_version_is_a_conflict() {
    let mut c = TestCluster::new();
    c.load(&node("pier"));
    let stale = c.get::<Node>("pier").clone();
    c.update::<Node>("pier", |node| {
        node.metadata.labels.get_or_insert_default().insert("zone".into(), "a".into());
    });

    let error = c.cluster.update(c.now, stale.clone()).unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(
        error.to_string(),
        "operation cannot be fulfilled on nodes \"pier\": the object has been modified; please \
         apply your changes to the latest version and try again"
    );
    assert_eq!(c.get::<Node>("pier").metadata.labels.as_ref().unwrap()["zone"], "a");

    let mut unconditional = (*stale).clone();
    unconditional.metadata.resource_version = None;
    c.cluster.update(c.now, unconditional).expect("without a version any is replaced");
}

#[test]
fn an_update_of_another_uid_is_a_conflict() {
    let mut c = TestCluster::new();
    c.load(&pod("web"));
    let mut other = (**c.get::<Pod>("web")).clone();
    other.metadata.uid = Some("someone-else".into());
    assert!(c.cluster.update(c.now, other).unwrap_err().is_conflict());
}

#[test]
fn a_name_is_taken_once() {
    let mut c = TestCluster::new();
    c.load(&pod("web"));
    let error = c.cluster.create(c.now, object(&pod("web"))).unwrap_err();
    assert_eq!(error.to_string(), "pods \"default/web\" already exists");
    assert_eq!((error.code(), error.reason()), (409, "AlreadyExists"));
}

#[test]
fn a_namespace_must_exist() {
    let mut c = TestCluster::new();
    let mut pod = object(&pod("web"));
    pod.metadata_mut().namespace = Some("sea".into());
    let error = c.cluster.create(c.now, pod).unwrap_err();
    assert_eq!(error, ApiError::NotFound(Kind::Namespace.key("", "sea")));
}

#[test]
fn a_new_object_has_no_say_in_its_history() {
    let mut c = TestCluster::new();
    c.now = Time::from_secs(60);
    let mut given = object(&pod_with("web", ", nodeName: ''"));
    given.metadata_mut().uid = Some("mine".into());
    given.metadata_mut().resource_version = Some("77".into());
    let made = c.cluster.create(c.now, given).unwrap();
    assert_ne!(made.uid(), "mine");
    assert_eq!(made.uid().len(), 36);
    assert_eq!(made.metadata().generation, Some(1));
    let created = made.metadata().creation_timestamp.as_ref().unwrap();
    assert_eq!(created.0.to_string(), "1970-01-01T00:01:00Z");
    assert_eq!(c.phase("web"), "Pending");
}

#[test]
fn a_name_is_generated_from_a_prefix_and_the_seed() {
    let make = |seed| {
        let mut c = TestCluster::with(Config { seed, ..Config::default() });
        let mut pod = object(&pod("x"));
        pod.metadata_mut().name = None;
        pod.metadata_mut().generate_name = Some("web-".into());
        c.cluster.create(c.now, pod).unwrap().name().to_owned()
    };
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
    assert_eq!(make(1).len(), "web-".len() + 5);
}

#[test]
fn a_pods_place_and_size_do_not_change() {
    let mut c = TestCluster::new();
    c.load(&pod_with(
        "web",
        ", schedulingGates: [{name: quota}], tolerations: [{operator: Exists}]",
    ));
    let change = |c: &mut TestCluster,
                  change: &dyn Fn(&mut k8s_openapi::api::core::v1::PodSpec)| {
        let mut pod = (**c.get::<Pod>("web")).clone();
        change(pod.spec.as_mut().unwrap());
        c.cluster.update(c.now, pod).map(drop).map_err(|error| error.to_string())
    };
    let refused = |field: &str, outcome: Result<(), String>| {
        let error = outcome.expect_err(field);
        assert!(
            error.starts_with(&format!("pods \"default/web\" is invalid: {field}: ")),
            "{error}"
        );
    };
    refused("spec", change(&mut c, &|spec| spec.node_name = Some("pier".into())));
    refused("spec", change(&mut c, &|spec| spec.priority = Some(5)));
    refused("spec.tolerations", change(&mut c, &|spec| spec.tolerations = None));
    refused(
        "spec.schedulingGates",
        change(&mut c, &|spec| {
            spec.scheduling_gates.as_mut().unwrap().push(PodSchedulingGate { name: "more".into() });
        }),
    );
    change(&mut c, &|spec| spec.containers[0].image = Some("app:2".into())).unwrap();
    change(&mut c, &|spec| spec.scheduling_gates = None).unwrap();
    assert_eq!(c.pod("web").metadata.generation, Some(3));
}

#[test]
fn a_watch_tells_what_came_changed_and_went() {
    let mut c = TestCluster::new();
    let mut watch = Watch::new(&[Kind::Pod], c.cluster.version());
    c.load(&format!("{}{}", node("pier"), pod("web")));
    c.bind("web", "pier").unwrap();
    c.after(1);
    c.delete(Kind::Pod, "web");
    c.after(1);

    let changes = c.cluster.changes(&mut watch).unwrap();
    let kinds: Vec<ChangeKind> = changes.iter().map(|change| change.kind).collect();
    use ChangeKind::{Added, Deleted, Modified};
    assert_eq!(
        kinds,
        [Added, Modified, Modified, Modified, Deleted],
        "made, bound, runs, leaves, gone"
    );
    assert!(changes.iter().is_sorted_by_key(|change| change.version));
    let old = changes[1].old.as_ref().and_then(|old| old.as_pod()).unwrap();
    assert_eq!(node_of(old), None, "the old object is told, too");
    assert!(c.cluster.changes(&mut watch).unwrap().is_empty(), "nothing twice");
}

#[test]
fn a_watcher_that_is_too_late_must_list_anew() {
    let mut c = TestCluster::with(Config { changes_kept: 4, ..Config::default() });
    let mut watch = Watch::new(&[Kind::Pod], c.cluster.version());
    for i in 0..5 {
        c.load(&pod(&format!("web-{i}")));
    }
    let error = c.cluster.changes(&mut watch).unwrap_err();
    assert!(error.is_expired());
    assert_eq!(error.code(), 410);

    let mut watch = Watch::new(&[Kind::Pod], c.cluster.version() - 4);
    assert_eq!(c.cluster.changes(&mut watch).unwrap().len(), 4);
}

#[test]
fn an_unscheduled_pod_goes_at_once_and_a_running_one_gracefully() {
    let mut c =
        TestCluster::with(Config { stop_delay: Duration::from_secs(5), ..Config::default() });
    c.load(&format!("{}{}{}", node("pier"), pod("waits"), pod("runs")));
    c.bind("runs", "pier").unwrap();
    c.after(1);

    c.delete(Kind::Pod, "waits");
    c.delete(Kind::Pod, "runs");
    assert_eq!(c.names(), ["runs"]);
    let meta = &c.pod("runs").metadata;
    assert_eq!(meta.deletion_timestamp.as_ref().unwrap().0.to_string(), "1970-01-01T00:00:31Z");
    assert_eq!(meta.deletion_grace_period_seconds, Some(30));
    c.after(4);
    assert_eq!(c.names(), ["runs"]);
    c.after(1);
    assert!(c.names().is_empty());
}

#[test]
fn a_grace_period_shorter_than_the_kubelet_needs_is_the_end() {
    let mut c =
        TestCluster::with(Config { stop_delay: Duration::from_secs(60), ..Config::default() });
    c.load(&format!("{}{}", node("pier"), pod_with("web", ", terminationGracePeriodSeconds: 3")));
    c.bind("web", "pier").unwrap();
    c.delete(Kind::Pod, "web");
    c.after(2);
    assert!(c.has(Kind::Pod, "web"));
    c.after(1);
    assert!(!c.has(Kind::Pod, "web"));
}

#[test]
fn a_deletion_without_grace_or_of_another_uid() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), pod("web")));
    c.bind("web", "pier").unwrap();
    let key = Kind::Pod.key("default", "web");
    let other = DeleteOptions { uid: Some("other".into()), ..DeleteOptions::default() };
    assert!(c.cluster.delete(c.now, &key, &other).unwrap_err().is_conflict());

    let now = DeleteOptions { grace_period: Some(Duration::ZERO), ..DeleteOptions::default() };
    c.cluster.delete(c.now, &key, &now).unwrap();
    assert!(c.cluster.delete(c.now, &key, &now).unwrap_err().is_not_found());
}

#[test]
fn an_object_with_finalizers_stays_until_they_are_gone() {
    let mut c = TestCluster::new();
    let mut given = object(&pod("web"));
    given.metadata_mut().finalizers = Some(vec!["example.com/held".into()]);
    c.cluster.create(c.now, given).unwrap();
    c.delete(Kind::Pod, "web");
    assert!(c.pod("web").metadata.deletion_timestamp.is_some());
    c.update::<Pod>("web", |pod| pod.metadata.finalizers = None);
    assert!(!c.has(Kind::Pod, "web"));
}

#[test]
fn a_namespace_goes_when_it_is_empty() {
    let mut c = TestCluster::new();
    let text = format!(
        "{}{}",
        node("pier"),
        pod("web").replace("name: web,", "name: web, namespace: sea,")
    );
    c.load(&text);
    c.cluster
        .bind(c.now, &roadstead_cluster::embedded::Binding::new("sea", "web", "pier"))
        .unwrap();
    c.after(1);
    let key = Kind::Namespace.key("", "sea");
    c.cluster.delete(c.now, &key, &DeleteOptions::default()).unwrap();
    c.settle();
    assert!(c.cluster.object(&key).unwrap().is_being_deleted());
    let mut late = object(&pod("late"));
    late.metadata_mut().namespace = Some("sea".into());
    assert_eq!(c.cluster.create(c.now, late).unwrap_err().code(), 403);
    c.after(1);
    assert!(c.cluster.object(&key).is_none());
}
