//! Workloads are kept at what they ask for.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Taint};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use roadstead_cluster::Kind;
use roadstead_cluster::embedded::Config;

use crate::testing::*;

#[test]
fn a_deployment_makes_a_replica_set_that_makes_pods() {
    let mut c = TestCluster::new();
    c.load(&workload("Deployment", "web", ", replicas: 3"));
    assert_eq!(c.alive(), 3);
    let set = c.cluster.list::<ReplicaSet>().next().unwrap().clone();
    let set_name = set.metadata.name.clone().unwrap();
    assert!(set_name.starts_with("web-") && set_name.len() == "web-".len() + 9, "{set_name}");
    for pod in c.pods() {
        let name = name(&pod);
        assert!(
            name.starts_with(&format!("{set_name}-")) && name.len() == set_name.len() + 6,
            "{name}"
        );
        let owner = &pod.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!((&*owner.kind, &owner.uid), ("ReplicaSet", set.metadata.uid.as_ref().unwrap()));
        assert!(pod.metadata.labels.as_ref().unwrap().contains_key("pod-template-hash"));
    }
}

#[test]
fn a_replica_set_replaces_what_is_deleted_or_finishes() {
    let mut c = TestCluster::new();
    let text = workload("ReplicaSet", "web", ", replicas: 2").replace(
        "{metadata: {labels",
        "{metadata: {annotations: {roadstead.dev/run-seconds: '5'}, labels",
    );
    c.load(&format!("{}{text}", node("pier")));
    let first = c.names()[0].clone();
    c.delete(Kind::Pod, &first);
    assert_eq!(c.alive(), 2);
    assert!(!c.names().contains(&first));

    c.bind_all("pier");
    c.after(5);
    assert_eq!(c.pods().iter().filter(|pod| phase(pod) == "Succeeded").count(), 2);
    assert_eq!(c.alive(), 2, "and two more");
}

#[test]
fn scaling_down_takes_what_is_least_missed() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), workload("ReplicaSet", "web", ", replicas: 2")));
    c.bind_all("pier");
    c.update::<ReplicaSet>("web", |set| set.spec.as_mut().unwrap().replicas = Some(4));
    assert_eq!(c.alive(), 4);
    c.update::<ReplicaSet>("web", |set| set.spec.as_mut().unwrap().replicas = Some(2));
    assert!(c.pods().iter().all(|pod| phase(pod) == "Running"), "the waiting ones went");
    c.update::<ReplicaSet>("web", |set| set.spec.as_mut().unwrap().replicas = Some(0));
    c.after(1);
    assert!(c.names().is_empty());
    assert_eq!(c.get::<ReplicaSet>("web").status.as_ref().unwrap().replicas, 0);
}

#[test]
fn a_new_template_rolls_out_without_losing_more_than_allowed() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), workload("Deployment", "web", ", replicas: 4")));
    c.bind_all("pier");
    c.update::<Deployment>("web", |web| {
        let template = &mut web.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some("app:2".into());
    });
    for _ in 0..20 {
        let ready = c.pods().iter().filter(|pod| condition(pod, "Ready") == Some("True")).count();
        assert!(ready >= 3, "a quarter may be missing, not more: {ready}");
        assert!(c.alive() <= 5, "a quarter may be there in addition, not more: {}", c.alive());
        c.bind_all("pier");
    }
    let images: Vec<_> =
        c.pods().iter().map(|pod| pod.spec.as_ref().unwrap().containers[0].image.clone()).collect();
    assert_eq!(images, vec![Some("app:2".to_owned()); 4]);
    let status = c.get::<Deployment>("web").status.clone().unwrap();
    assert_eq!(
        (status.replicas, status.updated_replicas, status.ready_replicas),
        (Some(4), Some(4), Some(4))
    );
}

#[test]
fn a_deployment_that_recreates_waits_until_the_old_ones_are_gone() {
    let mut c = TestCluster::new();
    let text = workload("Deployment", "web", ", replicas: 2, strategy: {type: Recreate}");
    c.load(&format!("{}{text}", node("pier")));
    c.bind_all("pier");
    c.update::<Deployment>("web", |web| {
        let template = &mut web.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some("app:2".into());
    });
    assert_eq!(c.alive(), 0);
    c.after(1);
    assert_eq!(c.alive(), 2);
}

#[test]
fn what_a_workload_made_goes_with_it() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), workload("Deployment", "web", ", replicas: 3")));
    c.bind_all("pier");
    c.delete(Kind::Deployment, "web");
    assert_eq!(c.cluster.list::<ReplicaSet>().count(), 0);
    c.after(1);
    assert!(c.names().is_empty());
}

#[test]
fn a_stateful_set_starts_its_pods_in_order_and_stops_them_in_reverse() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", node("pier"), workload("StatefulSet", "db", ", replicas: 3")));
    assert_eq!(c.names(), ["db-0"]);
    c.after(5);
    assert_eq!(c.names(), ["db-0"], "the next one when this one is ready");
    c.bind_all("pier");
    assert_eq!(c.names(), ["db-0", "db-1"]);
    c.bind_all("pier");
    c.bind_all("pier");
    assert_eq!(c.names(), ["db-0", "db-1", "db-2"]);

    c.delete(Kind::Pod, "db-1");
    c.after(1);
    c.bind_all("pier");
    assert_eq!(c.phase("db-1"), "Running", "the same name again");

    c.update::<StatefulSet>("db", |set| set.spec.as_mut().unwrap().replicas = Some(1));
    let leaving = |c: &TestCluster| {
        let pods = c.pods();
        let leaving = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some());
        leaving.map(|pod| name(pod)).collect::<Vec<_>>()
    };
    assert_eq!(leaving(&c), ["db-2"]);
    c.after(1);
    assert_eq!(leaving(&c), ["db-1"]);
    c.after(1);
    assert_eq!(c.names(), ["db-0"]);
}

#[test]
fn a_parallel_stateful_set_starts_all_at_once_and_a_new_template_goes_from_the_end() {
    let mut c = TestCluster::new();
    let text = workload("StatefulSet", "db", ", replicas: 3, podManagementPolicy: Parallel");
    c.load(&format!("{}{text}", node("pier")));
    assert_eq!(c.names(), ["db-0", "db-1", "db-2"]);
    c.bind_all("pier");
    c.update::<StatefulSet>("db", |set| {
        let template = &mut set.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some("app:2".into());
    });
    let mut order = Vec::new();
    for _ in 0..12 {
        for pod in c.pods().iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()) {
            order.push(name(pod));
        }
        c.bind_all("pier");
    }
    assert_eq!(order, ["db-2", "db-1", "db-0"]);
    assert!(
        c.pods().iter().all(|pod| {
            pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("app:2")
        })
    );
}

#[test]
fn a_job_runs_as_many_at_a_time_as_it_may_until_enough_have_succeeded() {
    let mut c = TestCluster::new();
    let text = workload("Job", "sum", ", completions: 5, parallelism: 2").replace(
        "{metadata: {labels",
        "{metadata: {annotations: {roadstead.dev/run-seconds: '10'}, labels",
    );
    c.load(&format!("{}{text}", node("pier")));
    let mut most = 0;
    for _ in 0..12 {
        most = most.max(c.alive());
        c.bind_all("pier");
        c.after(10);
    }
    assert_eq!(most, 2);
    assert_eq!(c.pods().iter().filter(|pod| phase(pod) == "Succeeded").count(), 5);
    let status = c.get::<Job>("sum").status.clone().unwrap();
    assert_eq!((status.succeeded, status.active), (Some(5), None));
    assert_eq!(status.conditions.unwrap()[0].type_, "Complete");
}

#[test]
fn a_suspended_job_has_no_pods() {
    let mut c = TestCluster::new();
    c.load(&workload("Job", "sum", ", completions: 3, parallelism: 3, suspend: true"));
    assert_eq!(c.alive(), 0);
    c.update::<Job>("sum", |job| job.spec.as_mut().unwrap().suspend = Some(false));
    assert_eq!(c.alive(), 3);
}

#[test]
fn a_daemon_set_has_a_pod_for_each_node_that_it_may_run_on() {
    let mut c = TestCluster::new();
    let tainted = node("dry")
        .replace("status:", "spec: {taints: [{key: dock, effect: NoSchedule}]}\nstatus:");
    c.load(&[node("pier"), tainted, workload("DaemonSet", "log", "")].concat());
    let targets = |c: &TestCluster| {
        c.pods().iter().map(|pod| pinned_to(pod).unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(targets(&c), ["pier"]);
    let tolerations = c.pods()[0].spec.clone().unwrap().tolerations.unwrap();
    assert_eq!(tolerations.len(), 6);

    c.load(&node("quay"));
    assert_eq!(c.alive(), 2, "a new node has one");
    c.update::<Node>("dry", |node| node.spec.as_mut().unwrap().taints = None);
    assert_eq!(c.alive(), 3, "and one whose taint went");
    c.bind_all("pier");
    let status = c.get::<DaemonSet>("log").status.clone().unwrap();
    assert_eq!((status.desired_number_scheduled, status.number_ready), (3, 3));
    c.update::<Node>("dry", |node| {
        node.spec.as_mut().unwrap().taints = Some(vec![Taint {
            key: "dock".into(),
            effect: "NoExecute".into(),
            ..Taint::default()
        }]);
    });
    c.after(1);
    assert_eq!(c.get::<DaemonSet>("log").status.as_ref().unwrap().desired_number_scheduled, 2);
}

#[test]
fn a_daemon_set_asks_nodes_for_labels() {
    // operator, values, whether it runs on a node with `depth: 5`
    for (operator, values, runs) in [
        ("In", "['5', '6']", true),
        ("In", "['6']", false),
        ("NotIn", "['6']", true),
        ("NotIn", "['5']", false),
        ("Exists", "[]", true),
        ("DoesNotExist", "[]", false),
        ("Gt", "['4']", true),
        ("Gt", "['5']", false),
        ("Lt", "['6']", true),
        ("Lt", "['5']", false),
    ] {
        let affinity = format!(
            ", affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
             {{nodeSelectorTerms: [{{matchExpressions: [{{key: depth, operator: {operator}, values: {values}}}]}}]}}}}}}"
        );
        let set = workload("DaemonSet", "log", "")
            .replace("image: app}]", &format!("image: app}}]{affinity}"));
        let node = node("pier").replace("name: pier}", "name: pier, labels: {depth: '5'}}");
        let mut c = TestCluster::new();
        c.load(&format!("{node}{set}"));
        assert_eq!(c.alive() == 1, runs, "{operator} {values}");
    }
}

#[test]
fn a_budget_says_how_many_pods_may_go() {
    let mut c = TestCluster::new();
    let budget = |spec: &str| {
        format!(
            "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web}}\n\
             spec: {{selector: {{matchLabels: {{app: web}}}}, {spec}}}\n"
        )
    };
    c.load(
        &[
            node("pier"),
            workload("ReplicaSet", "web", ", replicas: 4"),
            budget("minAvailable: 75%"),
        ]
        .concat(),
    );
    let allowed = |c: &TestCluster| {
        c.get::<PodDisruptionBudget>("web").status.as_ref().unwrap().disruptions_allowed
    };
    assert_eq!(allowed(&c), Some(0), "nothing is ready");
    c.bind_all("pier");
    assert_eq!(allowed(&c), Some(1));
    let first = c.names()[0].clone();
    c.delete(Kind::Pod, &first);
    assert_eq!(allowed(&c), Some(0));
    c.after(1);
    c.bind_all("pier");
    assert_eq!(allowed(&c), Some(1));
}

#[test]
fn a_workload_that_cannot_make_pods_is_a_trouble_until_it_can() {
    let mut c = TestCluster::new();
    let text = workload("ReplicaSet", "web", ", replicas: 2")
        .replace("image: app}]", "image: app}], priorityClassName: urgent");
    c.load(&text);
    let troubles: Vec<_> =
        c.cluster.troubles().map(|(key, error)| format!("{key}: {error}")).collect();
    assert_eq!(troubles.len(), 1);
    assert!(
        troubles[0].ends_with("is forbidden: no PriorityClass with name urgent was found"),
        "{troubles:?}"
    );
    c.load("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 7}");
    assert_eq!(c.alive(), 2);
    assert_eq!(c.pods()[0].spec.as_ref().unwrap().priority, Some(7));
    assert_eq!(c.cluster.troubles().count(), 0);
}

#[test]
fn only_so_many_finished_pods_are_kept() {
    let mut c = TestCluster::with(Config { finished_pods_kept: 3, ..Config::default() });
    let text = workload("Job", "sum", ", completions: 8, parallelism: 8").replace(
        "{metadata: {labels",
        "{metadata: {annotations: {roadstead.dev/run-seconds: '1'}, labels",
    );
    c.load(&format!("{}{text}", node("pier")));
    c.bind_all("pier");
    c.after(1);
    c.after(1);
    assert_eq!(c.pods().len(), 3);
    assert_eq!(
        c.get::<Job>("sum").status.as_ref().unwrap().succeeded,
        Some(8),
        "those that are gone count"
    );
}
