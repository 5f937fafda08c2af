//! Doing what an explanation says in words: to the pod, or to the cluster.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::TestCluster;
use super::cases;
use roadstead_model::Quantity;

/// The pod with the change that is told in these words.
pub(super) fn to_pod(words: &str, api: &Value) -> Value {
    let mut api = api.clone();
    let spec = &mut api["spec"];
    if let Some(less) = words.strip_prefix("it asked ") {
        match less.strip_prefix("for no ") {
            Some(resource) => ask_less(spec, resource, None),
            None => {
                let (amount, resource) = less.split_once(" less ").expect("so much less");
                ask_less(spec, resource, Some(units(resource, amount)));
            }
        }
    } else if let Some(taint) = words.strip_prefix("it tolerated ") {
        let (rest, effect) = taint.rsplit_once(':').expect("an effect");
        let toleration = match rest.split_once('=') {
            Some((key, value)) => json!({"key": key, "value": value, "effect": effect}),
            None => json!({"key": rest, "effect": effect}),
        };
        push(&mut spec["tolerations"], toleration);
    } else if let Some(pair) = words.strip_prefix("it did not select nodes by ") {
        let (key, _) = pair.split_once('=').expect("a pair");
        spec["nodeSelector"].as_object_mut().expect("a selector").remove(key);
    } else if words == "it had no node selector" {
        spec["nodeSelector"] = json!({});
    } else if words == "it had no required node affinity" {
        spec["affinity"]["nodeAffinity"] = json!({});
    } else if let Some(condition) = words.strip_prefix("its node affinity did not ask for ") {
        let terms = &mut spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
        let key = condition.split(['=', ' ']).next().expect("a key");
        retain(&mut terms[0]["matchExpressions"], |own| own["key"] != key);
    } else if words.starts_with("gate") {
        spec["schedulingGates"] = json!([]);
    } else if let Some(port) = words.strip_prefix("it did not take host port ") {
        let number: i64 = port.split('/').next().expect("a port").parse().expect("a number");
        retain(&mut spec["containers"][0]["ports"], |own| own["hostPort"] != number);
    } else if let Some(term) = words.strip_prefix("it did not ask for ") {
        drop_term(&mut spec["affinity"]["podAffinity"], term, " near by ");
    } else if let Some(term) = words.strip_prefix("it did not keep away from ") {
        drop_term(&mut spec["affinity"]["podAntiAffinity"], term, " by ");
    } else if let Some(pair) = words.strip_prefix("it were not labelled ") {
        let (key, _) = pair.split_once('=').expect("a pair");
        api["metadata"]["labels"].as_object_mut().expect("labels").remove(key);
    } else if let Some(skew) = words.strip_prefix("it allowed a skew of ") {
        let (skew, key) = skew.split_once(" over ").expect("over a label");
        let skew: i32 = skew.parse().expect("a number");
        constraint(spec, key)["maxSkew"] = skew.into();
    } else if let Some((_, key)) = words.split_once("spreads badly over ") {
        constraint(spec, key)["whenUnsatisfiable"] = "ScheduleAnyway".into();
    } else if let Some(claim) = words.strip_prefix("it did not use claim ") {
        retain(&mut spec["volumes"], |own| own["persistentVolumeClaim"]["claimName"] != claim);
    } else if let Some(disk) = words.strip_prefix("it did not use disk ") {
        retain(&mut spec["volumes"], |own| own["iscsi"]["iqn"] != disk);
    } else if let Some(claim) = words.strip_prefix("it did not use resource claim ") {
        retain(&mut spec["resourceClaims"], |own| own["name"] != claim);
    } else if words == "it did not need UserNamespacesHostNetworkSupport" {
        spec["hostUsers"] = true.into();
    } else {
        panic!("nobody knows how to do this: {words}");
    }
    api
}

/// The same change, one unit less generous; `None` if there is none between it and no change.
pub(super) fn a_little_less(words: &str, api: &Value) -> Option<Value> {
    if let Some(less) = words.strip_prefix("it asked ") {
        let (resource, by) = match less.strip_prefix("for no ") {
            Some(resource) => (resource, asked(&api["spec"], resource)),
            None => {
                let (amount, resource) = less.split_once(" less ").expect("so much less");
                (resource, units(resource, amount))
            }
        };
        let mut api = api.clone();
        (by > 1).then(|| ask_less(&mut api["spec"], resource, Some(by - 1)))?;
        return Some(api);
    }
    let (skew, key) = words.strip_prefix("it allowed a skew of ")?.split_once(" over ")?;
    let skew: i64 = skew.parse().expect("a number");
    let mut api = api.clone();
    let constraint = constraint(&mut api["spec"], key);
    (constraint["maxSkew"].as_i64()? < skew - 1)
        .then(|| constraint["maxSkew"] = (skew - 1).into())?;
    Some(api)
}

fn ask_less(spec: &mut Value, resource: &str, by: Option<i64>) {
    let left = by.map(|by| asked(spec, resource) - by);
    let requests = spec["containers"][0]["resources"]["requests"].as_object_mut();
    let requests = requests.expect("it asks for something");
    match left {
        None | Some(0) => drop(requests.remove(resource)),
        Some(left) => {
            let unit = if resource == "cpu" { "m" } else { "" };
            requests.insert(resource.to_owned(), format!("{left}{unit}").into());
        }
    }
    if resource.contains('/')
        && let Some(limits) = spec["containers"][0]["resources"]["limits"].as_object_mut()
    {
        limits.remove(resource);
    }
}

fn asked(spec: &Value, resource: &str) -> i64 {
    let amount = &spec["containers"][0]["resources"]["requests"][resource];
    units(resource, amount.as_str().expect("it asks for that"))
}

/// CPU in thousandths, the rest in units.
pub(super) fn units(resource: &str, amount: &str) -> i64 {
    let amount = Quantity::parse(amount).expect("an amount");
    if resource == "cpu" { amount.milli_value() } else { amount.value() }
}

fn constraint<'a>(spec: &'a mut Value, key: &str) -> &'a mut Value {
    let all = spec["topologySpreadConstraints"].as_array_mut().expect("constraints");
    all.iter_mut().find(|own| own["topologyKey"] == key).expect("a constraint over that")
}

fn drop_term(affinity: &mut Value, words: &str, before_key: &str) {
    let (what, key) = words.rsplit_once(before_key).expect("by a label");
    let (_, pair) = what.split_once("labelled app=").expect("an app");
    retain(&mut affinity[REQUIRED], |own| {
        own["topologyKey"] != key || own["labelSelector"]["matchLabels"]["app"] != pair
    });
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}

fn retain(list: &mut Value, keep: impl Fn(&Value) -> bool) {
    if let Value::Array(items) = list {
        items.retain(keep);
    }
}

/// Makes the cluster what it needs to be. Whether it could be done: of what is told in few words
/// the rest is not known.
pub(super) fn to_cluster(words: &str, cluster: &mut TestCluster, objects: &[Value]) -> bool {
    if let Some((first, rest)) = words.split_once("; and ") {
        return to_cluster(first, cluster, objects) && to_cluster(rest, cluster, objects);
    }
    let nodes: Vec<&Value> = objects.iter().filter(|it| it["kind"] == "Node").collect();
    let pods: Vec<&Value> = objects.iter().filter(|it| it["kind"] == "Pod").collect();
    let is_on = |pod: &Value, place: &str| {
        let (key, value) = place.split_once('=').expect("a label");
        let node = nodes.iter().find(|node| node["metadata"]["name"] == pod["spec"]["nodeName"]);
        node.is_some_and(|node| node["metadata"]["labels"][key] == value)
    };
    if words.contains(" more gone") || words.contains(" or 1 more") {
        return false;
    }
    if let Some((more, name)) = words.strip_suffix(" is nearest").and_then(|w| w.split_once("; ")) {
        let node = nodes.iter().find(|node| node["metadata"]["name"] == name).expect("a node");
        let mut node = (*node).clone();
        enlarge(&mut node, more.strip_prefix("a node with ").expect("a node"), &pods);
        cluster.show(node);
    } else if let Some(rest) = words.strip_prefix("a node without taint") {
        let (set, _) = rest.trim_start_matches('s').trim().split_once(", which").expect("so many");
        let set: Vec<&str> =
            set.split([',']).flat_map(|part| part.split(" and ")).map(str::trim).collect();
        let has = |node: &Value, taint: &str| {
            node["spec"]["taints"]
                .as_array()
                .is_some_and(|all| all.iter().any(|own| is(own, taint)))
        };
        for node in nodes.iter().filter(|node| set.iter().all(|taint| has(node, taint))) {
            let mut node = (*node).clone();
            retain(&mut node["spec"]["taints"], |own| !set.iter().any(|taint| is(own, taint)));
            cluster.show(node);
        }
    } else if let Some(names) = words.strip_suffix(" uncordoned") {
        let name = names.split([',', ' ']).next().expect("a name");
        let node = nodes.iter().find(|node| node["metadata"]["name"] == name).expect("a node");
        cluster.show(cases::with((*node).clone(), json!({"spec": {"unschedulable": false}})));
    } else if words.starts_with("gate") {
        cluster.change("web", json!({"spec": {"schedulingGates": []}}));
    } else if let Some((ports, places)) = words.split_once(" free on ") {
        let numbers = ports.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty());
        let numbers: Vec<i64> = numbers.map(|it| it.parse().expect("a number")).collect();
        let has = |pod: &Value| {
            let ports = pod["spec"]["containers"][0]["ports"].as_array().into_iter().flatten();
            ports.filter_map(|own| own["hostPort"].as_i64()).any(|own| numbers.contains(&own))
        };
        let node = places.split([',', ' ']).next().expect("a node");
        for pod in pods.iter().filter(|pod| pod["spec"]["nodeName"] == node && has(pod)) {
            cluster.delete(pod["metadata"]["name"].as_str().expect("a name"));
        }
    } else if let Some((names, _)) = words.split_once(" gone, ") {
        for name in names.split([',', ' ']).filter_map(|name| name.strip_prefix("default/")) {
            cluster.delete(name);
        }
    } else if let Some((app, place)) = company(words, "a pod labelled app=") {
        let place = place.split([',', ' ']).next().expect("a place");
        let (key, value) = place.split_once('=').expect("a label");
        let node = nodes.iter().find(|node| node["metadata"]["labels"][key] == value);
        let node = node.expect("a node there")["metadata"]["name"].as_str().expect("a name");
        cluster.show(cases::on(node, &format!("company-{value}"), "", cases::app(app)));
    } else if let Some((key, rest)) =
        words.strip_prefix("a node labelled ").and_then(|rest| rest.split_once(", and a pod "))
    {
        let app = rest.split(['=', ' ']).nth(2).expect("an app");
        cluster.show(cases::with(fresh(), json!({"metadata": {"labels": {key: "new"}}})));
        cluster.show(cases::on("fresh", "company", "", cases::app(app)));
    } else if words.starts_with("no pod labelled app=") {
        let (what, places) = words.split_once(" on nodes with ").expect("a place");
        let (_, app) = what.split_once("app=").expect("an app");
        let place = places.split([',', ' ']).next().expect("a place");
        for pod in pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == app) {
            if is_on(pod, place) {
                cluster.delete(pod["metadata"]["name"].as_str().expect("a name"));
            }
        }
    } else if let Some((what, place)) = words.split_once(" on nodes with ")
        && what.contains(" fewer labelled app=")
    {
        let number: usize = what.split(' ').next().expect("a number").parse().expect("a number");
        let (_, app) = what.split_once("app=").expect("an app");
        let here =
            pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == app && is_on(pod, place));
        for pod in here.take(number) {
            cluster.delete(pod["metadata"]["name"].as_str().expect("a name"));
        }
    } else if let Some(rest) = words.strip_prefix("at least ") {
        let (what, place) = rest.split_once(" in every ").expect("a label");
        let (key, but) = place.split_once(" but ").expect("but for one");
        let number: usize = what.split(' ').next().expect("a number").parse().expect("a number");
        let (_, app) = what.split_once("app=").expect("an app");
        let mut seen = BTreeSet::new();
        for node in &nodes {
            let Some(value) = node["metadata"]["labels"][key].as_str() else { continue };
            let name = node["metadata"]["name"].as_str().expect("a name");
            for at in 0..number {
                if value != but && seen.insert((value, at)) {
                    let pod = cases::on(name, &format!("more-{name}-{at}"), "", cases::app(app));
                    cluster.show(pod);
                }
            }
        }
    } else if let Some((_, key)) =
        words.split_once(" of ").filter(|(w, _)| w.starts_with("nodes with "))
    {
        cluster.show(cases::with(fresh(), json!({"metadata": {"labels": {key: "another"}}})));
    } else if let Some(rest) = words.strip_prefix("a node ") {
        return new_node(rest, cluster, objects);
    } else {
        return volumes(words, cluster);
    }
    true
}

fn company<'a>(words: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    let (app, place) = words.strip_prefix(start)?.split_once(" on ")?;
    Some((app, place.trim_start_matches("a node with ").trim_start_matches("nodes with ")))
}

fn is(taint: &Value, words: &str) -> bool {
    let field = |name: &str| taint[name].as_str().unwrap_or_default();
    let value = match field("value") {
        "" => String::new(),
        value => format!("={value}"),
    };
    format!("{}{value}:{}", field("key"), field("effect")) == words
}

/// A node with room for anything.
fn fresh() -> Value {
    cases::with(
        cases::node("fresh", "cpu=64 memory=64Gi ephemeral-storage=64Gi gpu=8"),
        json!({"status": {"declaredFeatures": ["UserNamespacesHostNetworkSupport"]}}),
    )
}

fn enlarge(node: &mut Value, more: &str, pods: &[&Value]) {
    let more = more.trim_end_matches(" beside what is kept for others");
    let allocatable = &mut node["status"]["allocatable"];
    for part in more.split([',']).flat_map(|part| part.split(" and ")).map(str::trim) {
        if part == "room for 1 more pod" {
            allocatable["pods"] = (pods.len() + 1).to_string().into();
            continue;
        }
        let (amount, resource) = part.split_once(" more ").expect("so much more");
        let resource = resource.trim_end_matches(" free");
        let has = allocatable[resource].as_str().map_or(0, |has| units(resource, has));
        let unit = if resource == "cpu" { "m" } else { "" };
        allocatable[resource] = format!("{}{unit}", has + units(resource, amount)).into();
    }
}

/// A node that is `labelled a=b,c in (d, e)`, or has what else is said of it.
fn new_node(words: &str, cluster: &mut TestCluster, objects: &[Value]) -> bool {
    let mut node = fresh();
    let mut said = BTreeSet::new();
    let words = words.split(", which").next().expect("a node");
    let words = words.split(", where").next().expect("a node");
    for part in words.split(" and ") {
        if let Some(name) = part.strip_prefix("called ") {
            node["metadata"]["name"] = name.into();
        } else if let Some(labels) = part.strip_prefix("labelled ").or(part.strip_prefix("with ")) {
            for (key, value) in labels_of(labels) {
                // What is said first says most: a pair, then which values it may have.
                if said.insert(key) {
                    node["metadata"]["labels"][key] = value.into();
                }
            }
        } else if let Some(rest) = part.strip_prefix("to which ") {
            let driver = rest.split(' ').next().expect("a driver");
            let csi_node = objects.iter().find(|it| it["kind"] == "CSINode").expect("a limit");
            let mut csi_node = csi_node.clone();
            assert_eq!(csi_node["spec"]["drivers"][0]["name"], driver);
            csi_node["spec"]["drivers"][0]["allocatable"]["count"] = 9.into();
            cluster.show(csi_node);
            return true;
        } else if let Some(resource) =
            part.strip_prefix("that offers ").and_then(|rest| rest.strip_suffix(" itself"))
        {
            assert!(node["status"]["allocatable"][resource].is_string(), "{resource}");
        } else {
            assert!(part.starts_with("that declares "), "nobody knows what this is: {words}");
        }
    }
    cluster.show(node);
    true
}

/// `a=b`, `a in (b, c)` and `a`, separated by commas; of several values the first.
fn labels_of(words: &str) -> Vec<(&str, &str)> {
    let mut rest = words;
    let mut labels = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(['=', ',', ' ']).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        if let Some(values) = after.strip_prefix(" in (") {
            let (values, after) = values.split_once(')').expect("an end");
            labels.push((key, values.split(", ").next().expect("a value")));
            rest = after;
        } else if let Some(value) = after.strip_prefix('=') {
            let end = value.find([',', ' ']).unwrap_or(value.len());
            labels.push((key, &value[..end]));
            rest = &value[end..];
            // What is said to be another way is another way.
            if rest.starts_with(" or ") {
                rest = "";
            }
        } else {
            labels.push((key, "any"));
            rest = after;
        }
        rest = rest.trim_start_matches(',');
    }
    labels
}

fn volumes(words: &str, cluster: &mut TestCluster) -> bool {
    if words.starts_with("PersistentVolumeClaim data to be made") {
        cluster.show(cases::volume("pv", "data", json!({})));
        cluster.show(cases::bound_claim("data", "pv"));
    } else if words.starts_with("PersistentVolume pv to be made") {
        cluster.show(cases::volume("pv", "data", json!({})));
    } else if words.starts_with("claim data bound to a volume") {
        cluster.show(cases::volume("pv", "data", json!({})));
        cluster.show(cases::bound_claim("data", "pv"));
    } else if words.starts_with("a free volume for claim data") {
        let free = json!({"spec": {"claimRef": null}, "status": {"phase": "Available"}});
        let mut volume = cases::volume("pv", "data", free);
        super::drop_nulls(&mut volume);
        cluster.show(volume);
    } else {
        panic!("nobody knows how to do this: {words}");
    }
    true
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
