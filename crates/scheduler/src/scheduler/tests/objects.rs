//! Objects of which nothing but the name is told when they are gone.

use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::api::storage::v1 as storage;
use roadstead_model::{
    CsiDriver, CsiNode, CsiStorageCapacity, Namespace, PersistentVolume, PersistentVolumeClaim,
    PodDisruptionBudget, ReplicaSet, ReplicationController, Service, StatefulSet, StorageClass,
    VolumeAttachment,
};

use super::*;
use crate::listers::Listers;
use crate::scheduler::Change;

fn listed(c: &TestCluster) -> usize {
    let Listers {
        namespaces,
        services,
        replication_controllers,
        replica_sets,
        stateful_sets,
        persistent_volumes,
        persistent_volume_claims,
        storage_classes,
        csi_nodes,
        csi_drivers,
        csi_storage_capacities,
        volume_attachments,
        device_classes,
        pod_disruption_budgets,
        assumptions: _,
    } = &c.scheduler.queue().policy().listers;
    namespaces.len()
        + services.len()
        + replication_controllers.len()
        + replica_sets.len()
        + stateful_sets.len()
        + persistent_volumes.len()
        + persistent_volume_claims.len()
        + storage_classes.len()
        + csi_nodes.len()
        + csi_drivers.len()
        + csi_storage_capacities.len()
        + volume_attachments.len()
        + device_classes.len()
        + pod_disruption_budgets.len()
}

/// Shows one object whole, another beside it, and tells of the first that it is gone by its name
/// alone.
macro_rules! goes_by_name {
    ($($kind:ident, $api:ty, $more:tt;)*) => {
        $({
            let mut c = TestCluster::new();
            let mut read = |name: &str, mut api: Value| {
                merge(&mut api, json!({"metadata": {"name": name, "namespace": "default"}}));
                let api: $api = serde_json::from_value(api).expect("it reads");
                Change::$kind(Arc::new($kind::from_api(&api, &mut c.world).expect("it is whole")))
            };
            let (one, other) = (read("one", json!($more)), read("other", json!($more)));
            let bare = read("one", json!({}));
            c.scheduler.object_set(one, c.now);
            c.scheduler.object_set(other, c.now);
            assert_eq!(listed(&c), 2, stringify!($kind));
            c.scheduler.object_gone(bare, c.now);
            assert_eq!(listed(&c), 1, stringify!($kind));
            c.run();
        })*
    };
}

#[test]
fn an_object_of_any_kind_goes_by_its_name_alone() {
    goes_by_name! {
        Namespace, core::Namespace, {"metadata": {"labels": {"team": "a"}}};
        Service, core::Service, {"spec": {"selector": {"app": "web"}}};
        ReplicationController, core::ReplicationController, {"spec": {"selector": {"app": "web"}}};
        ReplicaSet, apps::ReplicaSet, {"spec": {"selector": {"matchLabels": {"app": "web"}}}};
        StatefulSet, apps::StatefulSet,
            {"spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {}, "serviceName": "s"}};
        PodDisruptionBudget, policy::PodDisruptionBudget, {"status": {"disruptionsAllowed": 1}};
        PersistentVolume, core::PersistentVolume, {"spec": {"capacity": {"storage": "1Gi"}}};
        PersistentVolumeClaim, core::PersistentVolumeClaim, {"spec": {"volumeName": "disk"}};
        StorageClass, storage::StorageClass, {"provisioner": "p"};
        CsiNode, storage::CSINode, {"spec": {"drivers": []}};
        CsiDriver, storage::CSIDriver, {"spec": {"storageCapacity": true}};
        CsiStorageCapacity, storage::CSIStorageCapacity,
            {"storageClassName": "fast", "capacity": "1Gi"};
        VolumeAttachment, storage::VolumeAttachment,
            {"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}};
    }
}

/// Only the attacher tells that the pod needs what was detached, and the name does not say it.
#[test]
fn who_waits_for_an_object_to_go_is_woken_by_what_was_known_of_it() {
    let mut c = TestCluster::new();
    let attachment = |c: &mut TestCluster, api: Value| {
        let api = serde_json::from_value(api).expect("it reads");
        let read = VolumeAttachment::from_api(&api, &mut c.world);
        Change::VolumeAttachment(Arc::new(read.expect("it has a name")))
    };
    c.node("one", "cpu=2");
    let csi_node = serde_json::from_value(json!({
        "metadata": {"name": "one", "annotations": {
            "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}},
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": "n", "allocatable": {"count": 1}}]},
    }));
    let csi_node = CsiNode::from_api(&csi_node.expect("it reads"), &mut c.world);
    c.scheduler.object_set(Change::CsiNode(Arc::new(csi_node.expect("it is whole"))), c.now);
    let volume = serde_json::from_value(json!({
        "metadata": {"name": "disk"},
        "spec": {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-0"}},
    }));
    let volume = PersistentVolume::from_api(&volume.expect("it reads"), &mut c.world);
    c.scheduler.object_set(Change::PersistentVolume(Arc::new(volume.expect("it is whole"))), c.now);
    let whole = attachment(
        &mut c,
        json!({
            "metadata": {"name": "attached"},
            "spec": {"attacher": "ebs.csi.aws.com", "nodeName": "one",
                "source": {"persistentVolumeName": "disk"}},
        }),
    );
    c.scheduler.object_set(whole, c.now);
    let ebs = json!({"name": "v", "awsElasticBlockStore": {"volumeID": "vol-1"}});
    c.pod("db", "cpu=1", json!({"spec": {"volumes": [ebs]}}));
    assert_eq!(c.place("db"), Some(Place::Unschedulable), "{:?}", c.news());
    c.news();
    c.after(20);

    let bare = attachment(&mut c, json!({"metadata": {"name": "attached"}, "spec": {}}));
    c.scheduler.object_gone(bare, c.now);
    c.run();
    assert_eq!(c.news(), ["db on one"]);
}
