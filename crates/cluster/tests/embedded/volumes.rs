//! Claims and volumes.

use k8s_openapi::api::core::v1::{ObjectReference, PersistentVolume, PersistentVolumeClaim};
use roadstead_cluster::Kind;

use crate::testing::*;

#[test]
fn an_immediate_claim_takes_the_smallest_volume_that_is_enough() {
    let mut c = TestCluster::new();
    c.load(
        &[volume("small", "5Gi", ""), volume("large", "100Gi", ""), volume("fit", "20Gi", "")]
            .concat(),
    );
    c.load(&claim("data", "10Gi", ", storageClassName: ''"));
    assert_eq!(volume_of(&c, "data").as_deref(), Some("fit"));
    assert_eq!(phase_of(&c, "data"), "Bound");
    let bound = c.get::<PersistentVolume>("fit");
    assert_eq!(
        bound.spec.as_ref().unwrap().claim_ref.as_ref().unwrap().name.as_deref(),
        Some("data")
    );

    c.load(&claim("more", "200Gi", ", storageClassName: ''"));
    assert_eq!(volume_of(&c, "more"), None);
    c.load(&volume("huge", "1Ti", ""));
    assert_eq!(
        volume_of(&c, "more").as_deref(),
        Some("huge"),
        "a volume that comes later is found"
    );
}

#[test]
fn a_claim_of_a_class_with_a_provisioner_has_a_volume_made() {
    let mut c = TestCluster::new();
    c.load(
        &[class("fast", "Immediate"), claim("data", "10Gi", ", storageClassName: fast")].concat(),
    );
    let name = volume_of(&c, "data").expect("it was provisioned");
    assert!(name.starts_with("pvc-"));
    c.delete(Kind::PersistentVolumeClaim, "data");
    assert!(!c.has(Kind::PersistentVolume, &name), "its policy is to be deleted with its claim");
}

#[test]
fn a_claim_that_waits_for_a_consumer_is_bound_when_a_node_is_selected() {
    let mut c = TestCluster::new();
    c.load(
        &[class("lazy", "WaitForFirstConsumer"), claim("data", "10Gi", ", storageClassName: lazy")]
            .concat(),
    );
    assert_eq!(volume_of(&c, "data"), None);
    c.update::<PersistentVolumeClaim>("data", |claim| {
        let annotations = claim.metadata.annotations.get_or_insert_default();
        annotations.insert("volume.kubernetes.io/selected-node".into(), "pier".into());
    });
    assert!(volume_of(&c, "data").is_some());
}

#[test]
fn a_volume_that_a_scheduler_reserves_is_bound_to_its_claim() {
    let mut c = TestCluster::new();
    c.load(
        &[
            class("lazy", "WaitForFirstConsumer")
                .replace("example.com/disk", "kubernetes.io/no-provisioner"),
            volume("disk", "50Gi", ", storageClassName: lazy"),
            claim("data", "10Gi", ", storageClassName: lazy"),
        ]
        .concat(),
    );
    assert_eq!(volume_of(&c, "data"), None);
    let uid = c.get::<PersistentVolumeClaim>("data").metadata.uid.clone();
    c.update::<PersistentVolume>("disk", |disk| {
        disk.spec.as_mut().unwrap().claim_ref = Some(ObjectReference {
            namespace: Some("default".into()),
            name: Some("data".into()),
            uid,
            ..ObjectReference::default()
        });
    });
    assert_eq!(volume_of(&c, "data").as_deref(), Some("disk"));
    let annotations = c.get::<PersistentVolumeClaim>("data").metadata.annotations.clone().unwrap();
    assert!(annotations.contains_key("pv.kubernetes.io/bind-completed"));
}

#[test]
fn a_volume_outlives_its_claim_if_it_is_retained_and_a_claim_is_lost_without_its_volume() {
    let mut c = TestCluster::new();
    c.load(&[volume("disk", "50Gi", ""), volume("tape", "50Gi", "")].concat());
    c.load(
        &[
            claim("a", "10Gi", ", storageClassName: ''"),
            claim("b", "10Gi", ", storageClassName: ''"),
        ]
        .concat(),
    );
    let (a, b) = (volume_of(&c, "a").unwrap(), volume_of(&c, "b").unwrap());
    assert_ne!(a, b);
    c.delete(Kind::PersistentVolumeClaim, "a");
    let phase = c.get::<PersistentVolume>(&a).status.clone().unwrap().phase;
    assert_eq!(phase.as_deref(), Some("Released"));
    c.delete(Kind::PersistentVolume, &b);
    assert_eq!(phase_of(&c, "b"), "Lost");
}

#[test]
fn the_default_class_is_that_of_claims_that_name_none() {
    let mut c = TestCluster::new();
    let default = class("fast", "Immediate").replace(
        "name: fast",
        "name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}",
    );
    c.load(&[default, claim("data", "10Gi", "")].concat());
    let spec = c.get::<PersistentVolumeClaim>("data").spec.clone().unwrap();
    assert_eq!(spec.storage_class_name.as_deref(), Some("fast"));
}

#[test]
fn an_ephemeral_volume_has_a_claim_that_goes_with_its_pod() {
    let mut c = TestCluster::new();
    let volumes = ", volumes: [{name: scratch, ephemeral: {volumeClaimTemplate: {spec: \
                   {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]";
    c.load(&pod_with("web", volumes));
    let claim = c.get::<PersistentVolumeClaim>("web-scratch");
    assert_eq!(claim.metadata.owner_references.as_ref().unwrap()[0].name, "web");
    c.delete(Kind::Pod, "web");
    assert!(!c.has(Kind::PersistentVolumeClaim, "web-scratch"));
}

#[test]
fn a_stateful_sets_pods_have_claims_that_stay() {
    let mut c = TestCluster::new();
    let templates = ", replicas: 1, volumeClaimTemplates: [{metadata: {name: data}, spec: \
                     {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]";
    c.load(&[node("pier"), workload("StatefulSet", "db", templates)].concat());
    let volumes = c.pod("db-0").spec.clone().unwrap().volumes.unwrap();
    assert_eq!(volumes[0].persistent_volume_claim.as_ref().unwrap().claim_name, "data-db-0");
    let uid = c.get::<PersistentVolumeClaim>("data-db-0").metadata.uid.clone();
    c.delete(Kind::Pod, "db-0");
    assert!(c.has(Kind::Pod, "db-0"), "there is another one of that name");
    assert_eq!(c.get::<PersistentVolumeClaim>("data-db-0").metadata.uid, uid);
}

fn volume_of(c: &TestCluster, claim: &str) -> Option<String> {
    c.get::<PersistentVolumeClaim>(claim).spec.as_ref()?.volume_name.clone()
}

fn phase_of<'a>(c: &'a TestCluster, claim: &str) -> &'a str {
    let status = c.get::<PersistentVolumeClaim>(claim).status.as_ref();
    status.and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

fn volume(name: &str, size: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: {name}}}\n\
         spec: {{capacity: {{storage: {size}}}, accessModes: [ReadWriteOnce]{spec}}}\n"
    )
}

fn claim(name: &str, size: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\n\
         spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}{spec}}}\n"
    )
}

fn class(name: &str, mode: &str) -> String {
    format!(
        "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {name}}}\n\
         provisioner: example.com/disk\nvolumeBindingMode: {mode}\n"
    )
}
