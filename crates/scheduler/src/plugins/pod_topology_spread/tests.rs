//! The plugin's decisions, as tables.

use serde_json::{Value, json};

use super::*;
use crate::framework::Framework;
use crate::testing::{self, Cluster, FITS};

const TOO_MANY: &str = "Unschedulable: node(s) didn't match pod topology spread constraints";
const NO_DOMAIN: &str = "UnschedulableAndUnresolvable: \
    node(s) didn't match pod topology spread constraints (missing required label)";

/// Labels from `key=value` pairs, separated by blanks; `host` stands for the long name.
fn labels(text: &str) -> Value {
    let long = |key: &str| {
        if key == "host" { "kubernetes.io/hostname".to_owned() } else { key.to_owned() }
    };
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (long(key), json!(value))).collect::<serde_json::Map<_, _>>().into()
}

/// A hard constraint about pods with `app=web`, with other fields added or changed.
fn hard(key: &str, max_skew: i32, changes: Value) -> Value {
    let key = if key == "host" { "kubernetes.io/hostname" } else { key };
    let mut constraint = json!({"topologyKey": key, "maxSkew": max_skew,
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}});
    for (field, value) in changes.as_object().into_iter().flatten() {
        constraint[field] = value.clone();
    }
    constraint
}

fn soft(key: &str, max_skew: i32) -> Value {
    hard(key, max_skew, json!({"whenUnsatisfiable": "ScheduleAnyway"}))
}

/// A waiting pod.
fn pod(text: &str, constraints: &[Value]) -> Value {
    json!({"metadata": {"labels": labels(text)},
        "spec": {"containers": [], "topologySpreadConstraints": constraints}})
}

/// Pods that run on the node of that number.
fn on(node: usize, text: &str, count: usize) -> Vec<Value> {
    let pod = |n| {
        json!({"metadata": {"name": format!("on-{node} {text} {n}"), "labels": labels(text)},
        "spec": {"containers": [], "nodeName": format!("node-{node}")}})
    };
    (0..count).map(pod).collect()
}

/// Nodes: their labels, and how many pods that have `app=web` are there.
type Nodes<'a> = &'a [(&'a str, usize)];

/// Nodes with these labels, each with so many pods that have `app=web`.
fn cluster(nodes: Nodes<'_>, more: Value) -> Cluster {
    let node = |(text, _): &(&str, usize)| json!({"metadata": {"labels": labels(text)}});
    let pods = nodes.iter().zip(1..).flat_map(|((_, count), n)| on(n, "app=web", *count));
    let mut lists = json!({"nodes": nodes.iter().map(node).collect::<Vec<_>>(), "pods": pods.collect::<Vec<_>>()});
    for (list, objects) in more.as_object().into_iter().flatten() {
        match lists[list].as_array_mut() {
            Some(known) => known.extend(objects.as_array().into_iter().flatten().cloned()),
            None => lists[list] = objects.clone(),
        }
    }
    testing::cluster(lists)
}

/// What becomes of each node, a letter each: fits, too many pods there, or no domain.
fn letters(said: &[String]) -> String {
    let letter = |said: &String| match said.as_str() {
        FITS => "f",
        TOO_MANY => "t",
        NO_DOMAIN => "n",
        other => panic!("{other}"),
    };
    said.iter().map(letter).collect()
}

#[test]
fn no_domain_gets_too_far_ahead() {
    let none = || json!({});
    let web = |constraint: Value| pod("app=web", &[constraint]);
    let db = |constraint: Value| pod("app=db", &[constraint]);
    let hosts = [("host=a", 2), ("host=b", 1), ("host=c", 0), ("host=d", 3)];
    let zones =
        [("zone=1 host=a", 0), ("zone=1 host=b", 2), ("zone=2 host=x", 0), ("zone=2 host=y", 1)];
    let two = [("host=a", 2), ("host=b", 2), ("host=c", 1)];
    let few = |min: i32| json!({"minDomains": min});
    let mut elsewhere = web(hard("zone", 1, none()));
    elsewhere["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["b"]}]}]}}});
    let mut anywhere = elsewhere.clone();
    anywhere["spec"]["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = json!("Ignore");
    let zone_and_host = || pod("app=web", &[hard("zone", 2, none()), hard("host", 1, none())]);
    let db_too = json!({"labelSelector": {"matchLabels": {"app": "db"}}});
    let (by_host, by_zone) =
        (|skew| web(hard("host", skew, none())), || web(hard("zone", 1, none())));
    let web_and_db = pod("app=web", &[hard("zone", 2, none()), hard("zone", 1, db_too)]);
    let of_revision = || hard("host", 1, json!({"matchLabelKeys": ["rev"]}));
    let selecting = |selector: Value| web(hard("host", 1, json!({"labelSelector": selector})));
    let (even, uneven) = ([("zone=1", 3), ("zone=2", 3)], [("zone=1", 2), ("zone=2", 1)]);
    let zoneless = [("zone=1", 1), ("zone=2", 2), ("", 0)];
    let nameless = [("zone=1 host=a", 0), ("zone=1", 5), ("zone=2 host=b", 1)];
    #[rustfmt::skip]
    let rows: Vec<(&str, Nodes<'_>, Value, &str)> = vec![
        ("as many everywhere",                            &even,     by_zone(),                              "ff"),
        ("a node in no zone",                             &zoneless, by_zone(),                              "ftn"),
        ("no node in any rack",                           &uneven,   web(hard("rack", 1, none())),           "nn"),
        ("one more than the emptiest",                    &hosts,    by_host(1),                             "ttft"),
        ("two more",                                      &hosts,    by_host(2),                             "tfft"),
        ("it does not count itself",                      &hosts,    db(hard("host", 1, none())),            "tfft"),
        ("too few domains",                               &two,      web(hard("host", 2, few(4))),           "ttf"),
        ("enough domains",                                &two,      web(hard("host", 2, few(2))),           "fff"),
        ("too few zones",                                 &uneven,   web(hard("zone", 2, few(3))),           "tf"),
        ("a selector of nothing",                         &hosts,    selecting(Value::Null),                 "ffff"),
        ("a selector of everything, which counts nobody", &hosts,    selecting(json!({})),                   "ffff"),
        ("nodes that it may not use do not count",        &zones,    elsewhere,                              "fftt"),
        ("nodes that it may not use count",               &zones,    anywhere,                               "ttff"),
        ("zones are good, hosts are not",                 &zones,    zone_and_host(),                        "ftft"),
        ("without a host a node counts for no zone",      &nameless, zone_and_host(),                        "fnt"),
        ("two kinds of pods in one zone",                 &uneven,   web_and_db,                             "ff"),
        ("its own revision, which is new",                &hosts,    pod("app=web rev=2", &[of_revision()]), "ffff"),
        ("a revision that it has not",                    &hosts,    web(of_revision()),                     "ttft"),
        ("soft constraints",                              &hosts,    web(soft("rack", 1)),                   "ffff"),
    ];
    for (what, nodes, pod, expected) in rows {
        let mut cluster = cluster(nodes, json!({}));
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let pod = cluster.pod(pod);
        assert_eq!(letters(&cluster.filter(&plugin, &pod)), expected, "{what}");
    }
}

#[test]
fn only_living_pods_of_the_namespace_count() {
    let with = |field: &str, value: &str| {
        let mut pods = on(1, "app=web", 3);
        pods.iter_mut().for_each(|pod| pod["metadata"][field] = json!(value));
        json!({ "pods": pods })
    };
    #[rustfmt::skip]
    let rows = [
        ("of another namespace", with("namespace", "other")),
        ("on their way out",     with("deletionTimestamp", "2026-01-01T00:00:00Z")),
    ];
    for (what, more) in rows {
        let mut cluster = cluster(&[("host=a", 0), ("host=b", 1)], more);
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let pod = cluster.pod(pod("app=web", &[hard("host", 1, json!({}))]));
        assert_eq!(letters(&cluster.filter(&plugin, &pod)), "ft", "{what}");
    }
}

#[test]
fn taints_end_a_domain_where_they_are_honored() {
    let tainted = json!({"metadata": {"labels": labels("host=c")},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}});
    #[rustfmt::skip]
    let rows = [
        ("ignored",               json!({}),                            json!([]),                                     "ttf"),
        ("honored",               json!({"nodeTaintsPolicy": "Honor"}), json!([]),                                     "fff"),
        ("honored and tolerated", json!({"nodeTaintsPolicy": "Honor"}), json!([{"key": "gpu", "operator": "Exists"}]), "ttf"),
    ];
    for (what, policy, tolerations, expected) in rows {
        let mut cluster = cluster(&[("host=a", 1), ("host=b", 1)], json!({"nodes": [tainted]}));
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let mut pod = pod("app=web", &[hard("host", 1, policy)]);
        pod["spec"]["tolerations"] = tolerations;
        let pod = cluster.pod(pod);
        assert_eq!(letters(&cluster.filter(&plugin, &pod)), expected, "{what}");
    }
}

#[test]
fn a_pod_without_constraints_spreads_with_its_like() {
    let object = |name: &str, spec: Value| json!([{"metadata": {"name": name}, "spec": spec}]);
    let owned = |version: &str, kind: &str, constraints: &[Value]| {
        let mut pod = pod("app=web", constraints);
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": version, "kind": kind, "name": "web", "uid": "u", "controller": true}]);
        pod
    };
    let set =
        json!({"selector": {"matchLabels": {"app": "web"}}, "serviceName": "web", "template": {}});
    let plain = json!({"selector": {"app": "web"}});
    let (web, db) = (json!({"app": "web"}), json!({"app": "db"}));
    let services =
        |selector: Value| json!({"services": object("web", json!({"selector": selector}))});
    #[rustfmt::skip]
    let rows = [
        ("a service",                       services(web.clone()),                                   pod("app=web", &[]),                       "tf"),
        ("a service of others",             services(db),                                            pod("app=web", &[]),                       "ff"),
        ("a service of nobody",             services(Value::Null),                                   pod("app=web", &[]),                       "ff"),
        ("nobody",                          json!({}),                                               pod("app=web", &[]),                       "ff"),
        ("a replica set",                   json!({"replicaSets": object("web", set.clone())}),      owned("apps/v1", "ReplicaSet", &[]),       "tf"),
        ("a stateful set",                  json!({"statefulSets": object("web", set.clone())}),     owned("apps/v1", "StatefulSet", &[]),      "tf"),
        ("a controller",                    json!({"replicationControllers": object("web", plain)}), owned("v1", "ReplicationController", &[]), "tf"),
        ("a replica set that is not there", json!({}),                                               owned("apps/v1", "ReplicaSet", &[]),       "ff"),
        ("it has a constraint, if soft",    services(web.clone()),                                   pod("app=web", &[soft("host", 1)]),        "ff"),
    ];
    for (what, more, pod, expected) in rows {
        let mut cluster = cluster(&[("host=a", 1), ("host=b", 0)], more);
        let mut constraint = hard("host", 1, json!({}));
        constraint["labelSelector"] = Value::Null;
        let arguments = json!({"defaultingType": "List", "defaultConstraints": [constraint]});
        let plugin = cluster.plugin(PodTopologySpread::extensions, arguments);
        let pod = cluster.pod(pod);
        assert_eq!(letters(&cluster.filter(&plugin, &pod)), expected, "{what}");
    }
}

#[test]
fn a_what_if_counts_for_itself() {
    let mut cluster = cluster(&[("host=a", 2), ("host=b", 1)], json!({}));
    let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
    let pod = cluster.pod(pod("app=web", &[hard("host", 1, json!({}))]));
    let other = cluster.pod(on(2, "app=web", 1).remove(0));
    let (framework, context) = (Framework::new([(plugin, 1)]), cluster.context());
    let mut state = CycleState::new();
    framework.pre_filter(&context, &mut state, &pod).expect("PreFilter passes");
    let fits = |state: &CycleState| {
        let fits = |node| framework.filter(&context, state, &pod, node).is_ok();
        cluster.nodes.iter().map(fits).collect::<Vec<_>>()
    };
    let node = cluster.nodes.at(1).expect("a node");
    assert_eq!(fits(&state), [false, true]);

    let mut more = state.clone();
    framework.add_pod(&context, &mut more, &pod, &other, node).expect("one comes");
    assert_eq!(fits(&more), [true, true], "the emptiest host got fuller");
    framework.remove_pod(&context, &mut more, &pod, &other, node).expect("it goes");
    framework.remove_pod(&context, &mut more, &pod, &other, node).expect("another goes");
    assert_eq!(fits(&more), [false, true], "the emptiest host is empty");
    assert_eq!(fits(&state), [false, true], "the original");
}

#[test]
fn a_constraint_with_a_bad_selector_is_an_error() {
    let bad = |when: &str| {
        hard(
            "host",
            1,
            json!({"whenUnsatisfiable": when, "labelSelector": {"matchLabels": {"app": "-"}}}),
        )
    };
    let mut cluster = cluster(&[("host=a", 0)], json!({}));
    let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
    let pod_hard = cluster.pod(pod("", &[bad("DoNotSchedule")]));
    let pod_soft = cluster.pod(pod("", &[bad("ScheduleAnyway")]));
    let words = "Error: running PreFilter plugin \"PodTopologySpread\": get constraints from pod: \
        obtaining pod's hard topology spread constraints: values[0][app]: Invalid value: \"-\": ";
    let said = cluster.filter(&plugin, &pod_hard);
    assert!(said[0].starts_with(words), "{said:?}");
    assert_eq!(cluster.filter(&plugin, &pod_soft), [FITS]);
    let words = "Error: running PreScore plugin \"PodTopologySpread\": calculating preScoreState: \
        obtaining pod's soft topology spread constraints: values[0][app]: Invalid value: \"-\": ";
    let said = cluster.scores(&plugin, &pod_soft).expect_err("an error");
    assert!(said.starts_with(words), "{said}");
    assert_eq!(cluster.scores(&plugin, &pod_hard), Ok(None));
}

#[test]
fn the_emptier_the_better() {
    let web = |constraint: Value| pod("app=web", &[constraint]);
    let hosts = [("host=a", 2), ("host=b", 1), ("host=c", 0), ("host=d", 3)];
    let fuller = [("host=a", 4), ("host=b", 3), ("host=c", 2), ("host=d", 1)];
    let zones = [("zone=1", 6), ("zone=1", 0), ("zone=2", 1), ("zone=2", 3)];
    let mut nothing = soft("host", 1);
    nothing["labelSelector"] = Value::Null;
    let four = [("host=a", 4), ("host=b", 2), ("host=c", 1), ("host=d", 0)];
    let nameless = [("host=a", 4), ("", 2), ("host=c", 1)];
    let (empty, even) = ([("host=a", 0), ("host=b", 0)], [("host=a", 2), ("host=b", 2)]);
    let single = [("host=a", 2)];
    #[rustfmt::skip]
    let rows: Vec<(&str, Nodes<'_>, usize, Value, Option<&[i64]>)> = vec![
        // How many of the nodes may take the pod, from the first.
        ("hard constraints",                   &hosts,    4, web(hard("host", 1, json!({}))), None),
        ("nobody there",                       &empty,    2, web(soft("host", 1)),            Some(&[100, 100])),
        ("2, 1, 0 and 3 pods",                 &hosts,    4, web(soft("host", 1)),            Some(&[20, 60, 100, 0])),
        ("the same with more skew",            &hosts,    4, web(soft("host", 2)),            Some(&[33, 66, 100, 16])),
        ("4, 3, 2 and 1 pods",                 &fuller,   4, web(soft("host", 3)),            Some(&[44, 66, 77, 100])),
        ("one node is out",                    &four,     3, web(soft("host", 1)),            Some(&[33, 83, 100])),
        ("one node has no host name",          &nameless, 3, web(soft("host", 1)),            Some(&[16, 0, 100])),
        ("nodes that are out count",           &zones,    3, web(soft("zone", 1)),            Some(&[75, 75, 100])),
        ("as many everywhere",                 &even,     2, web(soft("host", 1)),            Some(&[100, 100])),
        ("one node",                           &single,   1, web(soft("host", 1)),            Some(&[100])),
        ("a selector of nothing",              &hosts,    4, web(nothing),                    Some(&[100; 4])),
        ("the system's constraints, no zones", &fuller,   4, pod("app=web svc=1", &[]),       Some(&[44, 66, 77, 100])),
        ("the system's, without a service",    &fuller,   4, pod("app=web", &[]),             None),
    ];
    for (what, nodes, feasible, pod, expected) in rows {
        let service = json!([{"metadata": {"name": "s"}, "spec": {"selector": {"svc": "1"}}}]);
        let mut more = json!({ "services": service });
        if what.starts_with("the system's constraints") {
            more["services"][0]["spec"]["selector"] = json!({"app": "web"});
        }
        let mut cluster = cluster(nodes, more);
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let pod = cluster.pod(pod);
        let framework = Framework::new([(plugin, 1)]);
        let nodes: Vec<&NodeInfo> = cluster.nodes.iter().take(feasible).collect();
        let scores = framework.score(&cluster.context(), &mut CycleState::new(), &pod, &nodes);
        let scores = scores.unwrap_or_else(|status| panic!("{what}: {status}"));
        let found: Option<Vec<i64>> =
            scores.iter().map(|node| node.plugins.first().map(|(_, score)| *score)).collect();
        assert_eq!(found.as_deref(), expected, "{what}");
    }
}

#[test]
fn pods_wake_those_that_they_may_help() {
    let (add, delete) = (Action::ADD, Action::DELETE);
    let (label, toleration) = (events::UPDATE_POD_LABEL, events::UPDATE_POD_TOLERATION);
    let web = || pod("app=web", &[hard("host", 1, json!({}))]);
    let honor = json!({"nodeTaintsPolicy": "Honor"});
    let exists =
        json!({"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}});
    let other = |text: &str| on(1, text, 1).remove(0);
    let unplaced = |node: Value| {
        let mut pod = other("app=web");
        pod["spec"]["nodeName"] = Value::Null;
        pod["status"] = json!({"nominatedNodeName": node});
        pod
    };
    let mut foreign = other("app=web");
    foreign["metadata"]["namespace"] = json!("other");
    let tolerant = |mut pod: Value| {
        pod["spec"]["tolerations"] = json!([{"key": "gpu"}]);
        pod
    };
    let honoring = || pod("app=web", &[hard("host", 1, honor.clone())]);
    let existing = || pod("app=web", &[hard("host", 1, exists.clone())]);
    let relabelled = || pod("app=db", &[hard("host", 1, json!({}))]);
    let bad = pod("", &[hard("host", 1, json!({"labelSelector": {"matchLabels": {"app": "-"}}}))]);
    let (nowhere, waiting) = (unplaced(Value::Null), unplaced(json!("node-1")));
    let no = || Value::Null;
    #[rustfmt::skip]
    let rows = [
        ("one that is nowhere",                    web(),                add,        no(),             nowhere,                    "Skip"),
        ("one in another namespace",               web(),                add,        no(),             foreign,                    "Skip"),
        ("one that counts",                        web(),                add,        no(),             other("app=web"),           "Queue"),
        ("one that does not count",                web(),                add,        no(),             other("app=db"),            "Skip"),
        ("one that counted goes",                  web(),                delete,     other("app=web"), no(),                       "Queue"),
        ("one that waited goes",                   web(),                delete,     waiting,          no(),                       "Queue"),
        ("one counts from now on",                 web(),                label,      other("app=db"),  other("app=web"),           "Queue"),
        ("one counts no longer",                   web(),                label,      other("app=web"), other("app=db"),            "Queue"),
        ("one counts as before",                   existing(),           label,      other("app=web"), other("app=db"),            "Skip"),
        ("its own labels",                         relabelled(),         label,      web(),            relabelled(),               "Queue"),
        ("its own tolerations, where they count",  tolerant(honoring()), toleration, honoring(),       tolerant(honoring()),       "Queue"),
        ("its own tolerations, where they do not", tolerant(web()),      toleration, web(),            tolerant(web()),            "Skip"),
        ("another's tolerations",                  honoring(),           toleration, other("app=web"), tolerant(other("app=web")), "Skip"),
        ("its constraints are bad",                bad,                  add,        no(),             other("app=web"),           "Error"),
    ];
    for (what, pod, action, old, new, expected) in rows {
        let mut cluster = cluster(&[], json!({}));
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let pod = cluster.pod(pod);
        for resource in [events::ASSIGNED_POD, events::UNSCHEDULABLE_POD] {
            let event = cluster.event(resource, action, old.clone(), new.clone());
            assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
        }
    }
}

#[test]
fn nodes_wake_those_that_they_may_help() {
    let (add, delete) = (Action::ADD, Action::DELETE);
    let (label, taint) = (events::UPDATE_NODE_LABEL, events::UPDATE_NODE_TAINT);
    let node = |text: &str| json!({"metadata": {"labels": labels(text)}});
    let tainted = |text: &str| {
        let mut node = node(text);
        node["spec"] = json!({"taints": [{"key": "gpu", "effect": "NoSchedule"}]});
        node
    };
    let full = "zone=1 host=a";
    #[rustfmt::skip]
    let rows = [
        ("a new node",                      add,                             Value::Null,    node(full),                "Queue"),
        ("a new node in no zone",           add,                             Value::Null,    node("host=a"),            "Skip"),
        ("a node gets into a zone",         label,                           node("host=a"), node(full),                "Queue"),
        ("a node leaves its zone",          label,                           node(full),     node("host=a"),            "Queue"),
        ("a node changes zones",            label,                           node(full),     node("zone=2 host=a"),     "Queue"),
        ("a node changes other labels",     label,                           node(full),     node("zone=1 host=a x=1"), "Skip"),
        ("a node in no zone changes hosts", label,                           node("host=a"), node("host=b"),            "Skip"),
        ("a node is tainted",               taint,                           node(full),     tainted(full),             "Queue"),
        ("a node in no zone is tainted",    taint,                           node("host=a"), tainted("host=a"),         "Skip"),
        ("a node goes",                     delete,                          node(full),     Value::Null,               "Queue"),
        ("a node in no zone goes",          delete,                          node("host=a"), Value::Null,               "Skip"),
        ("a node has more to give",         events::UPDATE_NODE_ALLOCATABLE, node(full),     node(full),                "deaf"),
    ];
    for (what, action, old, new, expected) in rows {
        let mut cluster = cluster(&[], json!({}));
        let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
        let both = [hard("zone", 1, json!({})), hard("host", 1, json!({}))];
        let pod = cluster.pod(pod("app=web", &both));
        let event = cluster.event(events::NODE, action, old, new);
        assert_eq!(cluster.hint(&plugin, &pod, &event), expected, "{what}");
    }
}

#[test]
fn an_object_of_another_kind_is_an_error() {
    let mut cluster = cluster(&[], json!({}));
    let plugin = cluster.plugin(PodTopologySpread::extensions, Value::Null);
    let pod = cluster.pod(pod("", &[]));
    for resource in [events::NODE, events::ASSIGNED_POD] {
        let event = testing::stranger(&mut cluster.world, resource, Action::ADD);
        assert_eq!(cluster.hint(&plugin, &pod, &event), "Error", "{event:?}");
    }
}
