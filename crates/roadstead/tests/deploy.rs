//! What `deploy/` hands to a cluster: it reads, it is safe, and it allows what the program does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use roadstead_cluster::Notice;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn documents(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("the file is there");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every document of the plain manifests, those that are optional included.
fn manifests() -> Vec<Value> {
    let mut files = Vec::new();
    for folder in ["manifests", "manifests/optional"] {
        let entries = std::fs::read_dir(deploy().join(folder)).expect("the folder is there");
        files.extend(entries.map(|entry| entry.expect("it reads").path()));
    }
    files.retain(|file| file.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    files.iter().flat_map(|file| documents(file)).collect()
}

fn only<T: DeserializeOwned>(kind: &str, name: &str) -> T {
    let mut found = manifests();
    found.retain(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    assert_eq!(found.len(), 1, "{kind} {name}");
    serde_json::from_value(found.remove(0)).expect("it reads")
}

/// Reads a document as its type and compares what the type made of it: a field that the type does
/// not have, or has elsewhere, is lost on the way.
fn round_trip<T: DeserializeOwned + Serialize>(document: &Value) {
    let read: T = serde_json::from_value(document.clone())
        .unwrap_or_else(|error| panic!("{}: {error}", document["kind"]));
    let mut written = serde_json::to_value(&read).expect("it is written");
    let mut expected = document.clone();
    without_nothing(&mut written);
    without_nothing(&mut expected);
    assert_eq!(written, expected, "{} {}", document["kind"], document["metadata"]["name"]);
}

/// Nulls and empty objects say as much as their absence.
fn without_nothing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_nothing);
            fields.retain(|_, it| !it.is_null() && !it.as_object().is_some_and(|it| it.is_empty()));
        }
        Value::Array(items) => items.iter_mut().for_each(without_nothing),
        _ => {}
    }
}

#[test]
fn every_manifest_has_only_fields_that_its_kind_has() {
    let mut kinds = BTreeSet::new();
    let static_pod = documents(&deploy().join("static-pod.yaml"));
    for document in manifests().iter().chain(&static_pod) {
        let kind = document["kind"].as_str().expect("there is a kind");
        kinds.insert(kind.to_owned());
        match kind {
            "Namespace" => round_trip::<Namespace>(document),
            "ServiceAccount" => round_trip::<ServiceAccount>(document),
            "ClusterRole" => round_trip::<ClusterRole>(document),
            "ClusterRoleBinding" => round_trip::<ClusterRoleBinding>(document),
            "Role" => round_trip::<Role>(document),
            "RoleBinding" => round_trip::<RoleBinding>(document),
            "ConfigMap" => round_trip::<ConfigMap>(document),
            "Deployment" => round_trip::<Deployment>(document),
            "Pod" => round_trip::<Pod>(document),
            "Service" => round_trip::<Service>(document),
            "PodDisruptionBudget" => round_trip::<PodDisruptionBudget>(document),
            // Of the Prometheus operator: there is no type to read it with.
            "PodMonitor" => {
                let endpoint = &document["spec"]["podMetricsEndpoints"][0];
                assert_eq!(
                    (&endpoint["port"], &endpoint["scheme"]),
                    (&"https".into(), &"https".into())
                );
            }
            other => panic!("{other} is not expected here"),
        }
    }
    assert_eq!(kinds.len(), 12, "{kinds:?}");
}

#[test]
fn a_field_that_its_kind_has_not_is_found() {
    let mut document =
        manifests().into_iter().find(|it| it["kind"] == "Deployment").expect("it is there");
    document["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] =
        serde_json::json!({"x": 1});
    let found = std::panic::catch_unwind(|| round_trip::<Deployment>(&document));
    assert!(found.is_err());
}

/// What the program asks of an API server, beside the objects that it watches: the group, the
/// resource and the verbs.
const ASKED: &[(&str, &str, &[&str])] = &[
    // What is not known to have been bound is looked at.
    ("", "pods", &["get", "delete"]),
    ("", "pods/binding", &["create"]),
    ("", "pods/status", &["patch"]),
    ("", "persistentvolumes", &["get", "patch"]),
    ("", "persistentvolumeclaims", &["get", "patch"]),
    ("events.k8s.io", "events", &["create", "patch"]),
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
];

type Permissions = BTreeSet<(String, String, String)>;

fn permissions(rules: Vec<PolicyRule>) -> Permissions {
    let mut all = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for verb in &rule.verbs {
                    let is_new = all.insert((group.clone(), resource.clone(), verb.clone()));
                    assert!(is_new, "{verb} {resource} is allowed twice");
                }
            }
        }
    }
    all
}

#[test]
fn what_is_allowed_is_exactly_what_the_program_does() {
    let mut expected = BTreeSet::new();
    let mut expect = |group: &str, resource: &str, verbs: &[&str]| {
        for verb in verbs {
            expected.insert((group.to_owned(), resource.to_owned(), (*verb).to_owned()));
        }
    };
    for kind in Notice::KINDS {
        let group = kind.api_version().rsplit_once('/').map_or("", |(group, _)| group);
        expect(group, kind.plural(), &["list", "watch"]);
    }
    for (group, resource, verbs) in ASKED {
        expect(group, resource, verbs);
    }
    let role: ClusterRole = only("ClusterRole", "roadstead");
    let allowed = permissions(role.rules.unwrap_or_default());
    let missing: Vec<_> = expected.difference(&allowed).collect();
    let needless: Vec<_> = allowed.difference(&expected).collect();
    assert!(
        missing.is_empty() && needless.is_empty(),
        "missing {missing:?}, needless {needless:?}"
    );
}

#[test]
fn the_lease_that_may_be_held_is_the_one_that_is_configured() {
    let role: Role = only("Role", "roadstead-leader-election");
    let rules = role.rules.unwrap_or_default();
    let named: Vec<_> = rules.iter().filter(|rule| rule.resource_names.is_some()).collect();
    assert_eq!(named.len(), 1);
    let configuration = configuration();
    let election = &configuration["leaderElection"];
    assert_eq!(
        named[0].resource_names.as_deref(),
        Some(&[election["resourceName"].as_str().expect("it is named").to_owned()][..])
    );
    assert_eq!(named[0].verbs, ["get", "update"]);
    assert_eq!(role.metadata.namespace.as_deref(), election["resourceNamespace"].as_str());
    let open: Vec<_> = rules.iter().filter(|rule| rule.resource_names.is_none()).collect();
    assert_eq!((open.len(), &open[0].verbs), (1, &vec!["create".to_owned()]));
}

/// The commands ask by these names if nothing else is said.
#[test]
fn who_looks_may_look_and_nothing_else() {
    let looks: ClusterRole = only("ClusterRole", "roadstead-viewer");
    let rules = looks.rules.expect("it has rules");
    assert_eq!(rules.len(), 1);
    let paths = rules[0].non_resource_urls.as_deref().unwrap_or_default();
    assert_eq!(
        (paths, &*rules[0].verbs),
        (
            &["/", "/roadstead/api/v1/*", "/assets/*"].map(str::to_owned)[..],
            &["get".to_owned()][..]
        )
    );
    assert_eq!((&rules[0].resources, &rules[0].api_groups), (&None, &None));

    let account: ServiceAccount = only("ServiceAccount", "roadstead-viewer");
    assert_eq!(account.automount_service_account_token, Some(false));
    let bound: ClusterRoleBinding = only("ClusterRoleBinding", "roadstead-viewer");
    assert_eq!(bound.role_ref.name, "roadstead-viewer");
    let subjects = bound.subjects.unwrap_or_default();
    let subject = subjects.first().expect("it is bound to somebody");
    assert_eq!((subjects.len(), subject.name.as_str()), (1, "roadstead-viewer"));
    assert_eq!(subject.namespace, account.metadata.namespace);

    let through: Role = only("Role", "roadstead-viewer");
    let allowed = permissions(through.rules.clone().unwrap_or_default());
    let expected = [("serviceaccounts/token", "create"), ("services/proxy", "get")];
    let expected =
        expected.map(|(resource, verb)| (String::new(), resource.to_owned(), verb.to_owned()));
    assert_eq!(allowed, BTreeSet::from(expected));
    let names = through.rules.into_iter().flatten().filter_map(|rule| rule.resource_names);
    assert_eq!(names.flatten().collect::<Vec<_>>(), ["roadstead-viewer", "https:roadstead:10259"]);

    let service: Service = only("Service", "roadstead");
    let port = service.spec.and_then(|spec| spec.ports).expect("it has ports").remove(0);
    assert_eq!(port.port, 10259);
}

fn configuration_text() -> String {
    let map: ConfigMap = only("ConfigMap", "roadstead");
    map.data.expect("it has data").remove("scheduler.yaml").expect("it has the file")
}

fn configuration() -> Value {
    serde_saphyr::from_str(&configuration_text()).expect("it reads")
}

#[test]
fn the_configuration_checks_as_fine() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deployed-scheduler.yaml");
    std::fs::write(&file, configuration_text()).expect("the file can be written");
    let checked =
        Command::new(env!("CARGO_BIN_EXE_roadstead")).args(["config", "check"]).arg(&file).output();
    let checked = checked.expect("the program runs");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(said.contains("(schedulers: roadstead)"), "{said}");
}

#[test]
fn the_scheduler_may_do_nothing_on_its_node() {
    let deployment: Deployment = only("Deployment", "roadstead");
    let spec = deployment.spec.expect("it has a spec");
    assert_eq!(spec.replicas, Some(2));
    let pod = spec.template.spec.expect("it has pods");
    let of_pod = pod.security_context.expect("it is restricted");
    assert_eq!(of_pod.run_as_non_root, Some(true));
    assert_eq!(of_pod.seccomp_profile.map(|it| it.type_).as_deref(), Some("RuntimeDefault"));
    for container in pod.containers {
        let own = container.security_context.expect("it is restricted");
        assert_eq!(own.read_only_root_filesystem, Some(true));
        assert_eq!(own.allow_privilege_escalation, Some(false));
        assert_eq!(own.capabilities.and_then(|it| it.drop), Some(vec!["ALL".to_owned()]));
        let requests = container.resources.and_then(|it| it.requests).expect("it asks for room");
        assert_eq!(requests.keys().collect::<Vec<_>>(), ["cpu", "memory"]);
        for probe in [container.liveness_probe, container.readiness_probe, container.startup_probe]
        {
            let asked = probe.and_then(|it| it.http_get).expect("it is probed");
            assert_eq!(asked.scheme.as_deref(), Some("HTTPS"));
        }
    }
}

/// `deploy/check` renders the chart and sets this; without Helm there is nothing to compare.
#[test]
fn the_chart_renders_what_the_manifests_say() {
    let Some(rendered) = std::env::var_os("ROADSTEAD_RENDERED") else { return };
    let by_name = |documents: Vec<Value>| {
        let mut named = BTreeMap::new();
        for mut document in documents {
            // Helm makes the namespace, and restarts pods when the configuration changes.
            if document["kind"] == "Namespace" {
                continue;
            }
            if document["kind"] == "Deployment" {
                let metadata = document["spec"]["template"]["metadata"].as_object_mut();
                metadata.expect("it has metadata").remove("annotations");
            }
            let name = format!("{} {}", document["kind"], document["metadata"]["name"]);
            assert!(named.insert(name, document).is_none());
        }
        named
    };
    let (rendered, plain) = (by_name(documents(Path::new(&rendered))), by_name(manifests()));
    assert_eq!(rendered.keys().collect::<Vec<_>>(), plain.keys().collect::<Vec<_>>());
    for (name, document) in &plain {
        assert_eq!(&rendered[name], document, "{name}");
    }
}
