//! Workloads are kept at what they ask for.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, ReplicationController, Taint};
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

#[test]
fn a_daemon_sets_new_template_rolls_out_node_by_node() {
    let mut c = TestCluster::new();
    let nodes = (0..4).map(|i| node(&format!("n{i}"))).collect::<String>();
    c.load(&format!("{nodes}{}", workload("DaemonSet", "log", "")));
    c.bind_all("n0");
    let images = |c: &TestCluster| {
        let image = |pod: &std::sync::Arc<k8s_openapi::api::core::v1::Pod>| {
            pod.spec.as_ref().unwrap().containers[0].image.clone().unwrap()
        };
        c.pods().iter().filter(|pod| image(pod) == "app:2").count()
    };
    c.update::<DaemonSet>("log", |log| {
        let template = &mut log.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some("app:2".into());
    });
    for _ in 0..12 {
        let ready = c.pods().iter().filter(|pod| condition(pod, "Ready") == Some("True")).count();
        assert!(ready >= 3, "one may be missing, not more: {ready}");
        c.bind_all("n0");
    }
    assert_eq!((images(&c), c.alive()), (4, 4));
    let status = c.get::<DaemonSet>("log").status.clone().unwrap();
    assert_eq!((status.updated_number_scheduled, status.number_ready), (Some(4), 4));
}

#[test]
fn a_daemon_set_that_waits_for_deletions_replaces_what_is_deleted() {
    let mut c = TestCluster::new();
    let text = workload("DaemonSet", "log", ", updateStrategy: {type: OnDelete}");
    c.load(&format!("{}{}{text}", node("n0"), node("n1")));
    c.bind_all("n0");
    c.update::<DaemonSet>("log", |log| {
        let template = &mut log.spec.as_mut().unwrap().template;
        template.spec.as_mut().unwrap().containers[0].image = Some("app:2".into());
    });
    c.after(10);
    let outdated = |c: &TestCluster| {
        let status = c.get::<DaemonSet>("log").status.clone().unwrap();
        status.current_number_scheduled - status.updated_number_scheduled.unwrap()
    };
    assert_eq!(outdated(&c), 2);
    let first = c.names()[0].clone();
    c.delete(Kind::Pod, &first);
    c.after(1);
    assert_eq!((outdated(&c), c.alive()), (1, 2));
}

fn with_annotations(text: &str, annotations: &str) -> String {
    let with = format!("{{metadata: {{annotations: {{{annotations}}}, labels");
    text.replace("{metadata: {labels", &with)
}

#[test]
fn a_job_whose_pods_fail_gives_up_after_its_limit() {
    let mut c = TestCluster::new();
    let text = with_annotations(
        &workload("Job", "sum", ", backoffLimit: 2"),
        "roadstead.dev/run-seconds: '1', roadstead.dev/exit-code: '3'",
    );
    c.load(&format!("{}{text}", node("pier")));
    for _ in 0..3 {
        assert_eq!(c.alive(), 1);
        c.bind_all("pier");
        c.after(1);
    }
    assert_eq!(c.alive(), 0);
    assert!(c.pods().iter().all(|pod| phase(pod) == "Failed"));
    let status = c.get::<Job>("sum").status.clone().unwrap();
    assert_eq!((status.failed, status.succeeded), (Some(3), None));
    let end = &status.conditions.unwrap()[0];
    assert_eq!((&*end.type_, end.reason.as_deref()), ("Failed", Some("BackoffLimitExceeded")));
}

#[test]
fn an_indexed_job_does_each_part_once() {
    let mut c = TestCluster::new();
    let text = with_annotations(
        &workload("Job", "sum", ", completions: 4, parallelism: 2, completionMode: Indexed"),
        "roadstead.dev/run-seconds: '1'",
    );
    c.load(&format!("{}{text}", node("pier")));
    let indexes = |c: &TestCluster| {
        let waiting = c.pods().into_iter().filter(|pod| phase(pod) == "Pending");
        let index = "batch.kubernetes.io/job-completion-index";
        waiting
            .map(|pod| pod.metadata.annotations.as_ref().unwrap()[index].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(indexes(&c), ["0", "1"]);
    let pod = c.pods()[0].clone();
    assert!(name(&pod).starts_with("sum-0-"));
    let spec = pod.spec.as_ref().unwrap();
    assert_eq!(spec.hostname.as_deref(), Some("sum-0"));
    assert_eq!(spec.containers[0].env.as_ref().unwrap()[0].name, "JOB_COMPLETION_INDEX");

    // A part whose pod is lost is done again; one that is done is not, though its pod be gone.
    c.delete(Kind::Pod, &name(&pod));
    assert_eq!(indexes(&c), ["0", "1"]);
    c.bind_all("pier");
    c.after(1);
    assert_eq!(indexes(&c), ["2", "3"]);
    for pod in c.pods().into_iter().filter(|pod| phase(pod) == "Succeeded") {
        c.delete(Kind::Pod, &name(&pod));
    }
    c.bind_all("pier");
    c.after(1);
    let status = c.get::<Job>("sum").status.clone().unwrap();
    assert_eq!(status.completed_indexes.as_deref(), Some("0-3"));
    assert_eq!((status.succeeded, &*status.conditions.unwrap()[0].type_), (Some(4), "Complete"));
}

#[test]
fn a_job_that_is_over_goes_after_its_time_with_its_pods() {
    let mut c = TestCluster::new();
    let text = with_annotations(
        &workload("Job", "sum", ", ttlSecondsAfterFinished: 60"),
        "roadstead.dev/run-seconds: '1'",
    );
    c.load(&format!("{}{text}", node("pier")));
    c.bind_all("pier");
    c.after(1);
    assert_eq!(c.get::<Job>("sum").status.as_ref().unwrap().succeeded, Some(1));
    c.after(59);
    assert!(c.has(Kind::Job, "sum"));
    c.after(1);
    assert!(!c.has(Kind::Job, "sum"));
    assert!(c.names().is_empty());
}

#[test]
fn a_deployment_keeps_as_much_history_as_asked_for() {
    let mut c = TestCluster::new();
    let text = workload("Deployment", "web", ", replicas: 1, revisionHistoryLimit: 2");
    c.load(&format!("{}{text}", node("pier")));
    let image = |c: &mut TestCluster, image: &str| {
        let image = Some(image.to_owned());
        c.update::<Deployment>("web", |web| {
            let template = &mut web.spec.as_mut().unwrap().template;
            template.spec.as_mut().unwrap().containers[0].image = image;
        });
        for _ in 0..4 {
            c.bind_all("pier");
        }
    };
    let history = |c: &TestCluster| {
        let mut sets: Vec<_> = c
            .cluster
            .list::<ReplicaSet>()
            .map(|set| {
                let revision = "deployment.kubernetes.io/revision";
                let revision = set.metadata.annotations.as_ref().unwrap()[revision].clone();
                let template = set.spec.as_ref().unwrap().template.as_ref().unwrap();
                let image = template.spec.as_ref().unwrap().containers[0].image.clone().unwrap();
                (revision, image)
            })
            .collect();
        sets.sort();
        sets.iter().map(|(revision, image)| format!("{revision} {image}")).collect::<Vec<_>>()
    };
    for version in ["app:2", "app:3", "app:4"] {
        image(&mut c, version);
    }
    assert_eq!(history(&c), ["2 app:2", "3 app:3", "4 app:4"]);
    image(&mut c, "app:2");
    assert_eq!(history(&c), ["3 app:3", "4 app:4", "5 app:2"], "what is returned to is the newest");
}

#[test]
fn a_set_adopts_what_it_selects_before_it_makes_more() {
    let mut c = TestCluster::new();
    c.load(&format!("{}{}", pod("web"), pod("other")));
    c.load(&workload("ReplicaSet", "web", ", replicas: 2"));
    assert_eq!(c.alive(), 3, "one is adopted, one is made, one is another's");
    let owner = |c: &TestCluster, name: &str| {
        let owners = c.pod(name).metadata.owner_references.iter().flatten();
        owners.map(|owner| owner.name.clone()).next()
    };
    assert_eq!((owner(&c, "web"), owner(&c, "other")), (Some("web".into()), None));

    // Relabelled, it is let go of, and replaced.
    c.update::<k8s_openapi::api::core::v1::Pod>("web", |pod| {
        pod.metadata.labels.as_mut().unwrap().insert("app".into(), "debug".into());
    });
    assert_eq!((owner(&c, "web"), c.alive()), (None, 4));
    c.update::<k8s_openapi::api::core::v1::Pod>("other", |pod| {
        pod.metadata.labels.as_mut().unwrap().insert("app".into(), "web".into());
    });
    assert_eq!(c.alive(), 3, "one too many is deleted");
}

#[test]
fn a_deployment_takes_back_what_it_left_behind() {
    use roadstead_cluster::embedded::{DeleteOptions, Propagation};
    let mut c = TestCluster::new();
    let text = workload("Deployment", "web", ", replicas: 2");
    c.load(&text);
    let pods = c.names();
    let key = Kind::Deployment.key("default", "web");
    let options = DeleteOptions { propagation: Propagation::Orphan, ..DeleteOptions::default() };
    c.cluster.delete(c.now, &key, &options).unwrap();
    c.settle();
    assert_eq!(c.names(), pods);
    c.load(&text);
    assert_eq!(c.names(), pods, "the same replica set, the same pods");
    assert_eq!(c.cluster.list::<ReplicaSet>().count(), 1);
}

#[test]
fn a_replication_controller_is_a_replica_set_under_another_name() {
    let mut c = TestCluster::new();
    c.load(
        "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: web}\n\
         spec: {replicas: 2, template: {metadata: {labels: {app: web}}, \
         spec: {containers: [{name: main, image: app}]}}}\n",
    );
    assert_eq!(c.alive(), 2);
    let first = c.names()[0].clone();
    c.delete(Kind::Pod, &first);
    assert_eq!(c.alive(), 2);
    c.update::<ReplicationController>("web", |it| it.spec.as_mut().unwrap().replicas = Some(0));
    assert!(c.names().is_empty());
    let it = c.get::<ReplicationController>("web");
    assert_eq!(it.spec.as_ref().unwrap().selector.as_ref().unwrap()["app"], "web");
    assert_eq!(it.status.as_ref().unwrap().replicas, 0);
}
