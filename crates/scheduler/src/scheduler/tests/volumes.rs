//! Pods whose volumes are bound when they are placed.

use serde_json::json;

use roadstead_queue::Resource;

use super::*;
use crate::events::{self, Object};
use crate::scheduler::Change;

impl TestCluster {
    fn volume(&mut self, api: Value) {
        if let Object::PersistentVolume(volume) = self.made(&events::PERSISTENT_VOLUME, api) {
            self.set(Change::PersistentVolume(volume));
        }
    }

    fn claim(&mut self, api: Value) {
        if let Object::PersistentVolumeClaim(claim) =
            self.made(&events::PERSISTENT_VOLUME_CLAIM, api)
        {
            self.set(Change::PersistentVolumeClaim(claim));
        }
    }

    fn class(&mut self, name: &str, provisioner: &str) {
        let api = json!({
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        });
        if let Object::StorageClass(class) = self.made(&events::STORAGE_CLASS, api) {
            self.set(Change::StorageClass(class));
        }
    }

    fn made(&mut self, resource: &Resource, api: Value) -> Object {
        testing::object(&mut self.world, resource, api)
    }

    fn set(&mut self, change: Change) {
        self.scheduler.object_set(change, self.now);
        self.run();
    }
}

fn disk(version: &str, more: Value) -> Value {
    let mut api = json!({
        "metadata": {"name": "disk", "resourceVersion": version},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
        },
        "status": {"phase": "Available"},
    });
    merge(&mut api, more);
    api
}

fn data(class: &str, version: &str, more: Value) -> Value {
    let mut api = json!({
        "metadata": {"name": "data", "namespace": "default", "uid": "data-uid", "resourceVersion": version},
        "spec": {
            "resources": {"requests": {"storage": "5Gi"}},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
        },
    });
    merge(&mut api, more);
    api
}

fn with_claim() -> Value {
    json!({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}})
}

fn bound(class: &str, version: &str) -> Value {
    data(
        class,
        version,
        json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes", "volume.kubernetes.io/selected-node": "one"}},
            "spec": {"volumeName": "disk"},
            "status": {"phase": "Bound"},
        }),
    )
}

fn kept(version: &str) -> Value {
    disk(
        version,
        json!({
            "spec": {"claimRef": {"name": "data", "namespace": "default", "uid": "data-uid"}},
            "status": {"phase": "Bound"},
        }),
    )
}

#[test]
fn a_free_volume_is_kept_for_the_claim_before_the_pod_is_bound() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("local", "kubernetes.io/no-provisioner");
    c.claim(data("local", "1", json!({})));
    c.pod("db", "cpu=1", with_claim());
    assert_eq!(c.place("db"), Some(Place::Unschedulable), "there is no volume");
    c.news();
    c.after(20);

    c.volume(disk("1", json!({})));
    assert_eq!(c.news(), ["disk kept"], "the new volume woke it");
    c.volume(kept("2"));
    c.after(1);
    assert_eq!(c.news(), [""; 0], "the claim is not bound yet");
    c.claim(bound("local", "2"));
    c.after(1);
    assert_eq!(c.news(), ["db on one"]);
    assert!(c.scheduler.next_wakeup().is_none_or(|at| at > c.now));
}

#[test]
fn a_volume_is_made_where_the_pod_is_placed() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("fast", "csi.example.com");
    c.claim(data("fast", "1", json!({})));
    c.pod("db", "cpu=1", with_claim());
    assert_eq!(c.news(), ["data to be made"]);
    c.claim(bound("fast", "3"));
    c.volume(disk("1", json!({"spec": {"storageClassName": "fast"}})));
    c.after(2);
    assert_eq!(c.news(), ["db on one"]);
}

#[test]
fn one_volume_is_not_promised_twice() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("local", "kubernetes.io/no-provisioner");
    c.volume(disk("1", json!({})));
    c.claim(data("local", "1", json!({})));
    c.claim(data("local", "1", json!({"metadata": {"name": "other", "uid": "other-uid"}})));
    c.pod("db", "cpu=1", with_claim());
    assert_eq!(c.news(), ["disk kept"]);
    c.pod("late", "cpu=1", json!({"spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "other"}}]}}));
    let news = c.news();
    assert!(
        news[0].contains("1 node(s) didn't find available persistent volumes to bind"),
        "{news:?}"
    );
}

#[test]
fn a_volume_that_cannot_be_kept_is_free_again() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("local", "kubernetes.io/no-provisioner");
    c.volume(disk("1", json!({})));
    c.claim(data("local", "1", json!({})));
    c.refuses = true;
    c.pod("db", "cpu=1", with_claim());
    assert_eq!(c.news(), ["disk kept", "running PreBind plugin \"VolumeBinding\": refused"]);
    assert!(c.place("db").is_some_and(Place::is_backoff));
    let errors = "scheduler_volume_scheduling_stage_error_total";
    assert_eq!(c.samples(errors), [format!("{errors}{{operation=\"bind\"}} 1")]);

    c.refuses = false;
    c.after(3);
    assert_eq!(c.news(), ["disk kept"], "it is tried again");
}

#[test]
fn a_pod_does_not_wait_for_its_volumes_for_ever() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("fast", "csi.example.com");
    c.claim(data("fast", "1", json!({})));
    c.pod("db", "cpu=1", with_claim());
    let selected =
        json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "one"}}});
    c.claim(data("fast", "2", selected));
    c.news();
    c.after(599);
    assert_eq!(c.news(), [""; 0]);
    c.after(1);
    assert_eq!(
        c.news(),
        ["running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded"]
    );
}

#[test]
fn a_pod_that_is_deleted_while_its_volumes_are_made_leaves_nothing_behind() {
    let mut c = TestCluster::new();
    c.node("one", "cpu=2 memory=8Gi");
    c.class("fast", "csi.example.com");
    c.claim(data("fast", "1", json!({})));
    c.pod("db", "cpu=1", with_claim());
    c.delete("db");
    assert_eq!((c.scheduler.bindings(), c.scheduler.cache().pod_count()), (0, 0));
}
