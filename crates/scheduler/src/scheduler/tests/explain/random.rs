//! Small clusters of any kind, with a pod that asks for all kinds of things.

use serde_json::{Value, json};

use super::cases::{self, Case, HOST, ZONE, app, labels, node, on, pod, spec, with};
use crate::testing::Random;

/// A situation from a seed.
pub(super) fn case(seed: u64) -> Case {
    let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut cluster = Vec::new();
    let nodes = 1 + random.below(5);
    for number in 0..nodes {
        cluster.push(a_node(&mut random, number));
    }
    for number in 0..random.below(3 * nodes) {
        let node = format!("n{}", random.below(nodes));
        cluster.push(a_running_pod(&mut random, &node, number));
    }
    let pod = a_waiting_pod(&mut random, &mut cluster);
    Case { name: "random", cluster, pod, changed: None }
}

fn one_in(random: &mut Random, many: usize) -> bool {
    random.below(many) == 0
}

fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len())]
}

fn a_node(random: &mut Random, number: usize) -> Value {
    let cpu = 500 * (1 + random.below(6));
    let memory = 1 + random.below(4);
    let amounts = format!(
        "cpu={cpu}m memory={memory}Gi ephemeral-storage={}Gi gpu={}",
        2 + random.below(4),
        random.below(3)
    );
    let mut node = node(&format!("n{number}"), &amounts);
    node["status"]["allocatable"]["pods"] = (1 + random.below(6)).to_string().into();
    if !one_in(random, 6) {
        node = with(node, labels(json!({ZONE: pick(random, &["a", "b", "c"])})));
    }
    if one_in(random, 3) {
        node = with(node, labels(json!({"disk": pick(random, &["ssd", "hdd"])})));
    }
    let mut taints = Vec::new();
    for key in ["gpu", "spot"] {
        if one_in(random, 4) {
            let effect = pick(random, &["NoSchedule", "NoExecute", "PreferNoSchedule"]);
            let value = pick(random, &["", "a"]);
            taints.push(json!({"key": key, "value": value, "effect": effect}));
        }
    }
    with(node, spec(json!({"taints": taints, "unschedulable": one_in(random, 6)})))
}

fn some(random: &mut Random) -> String {
    let cpu = 100 * random.below(12);
    let memory = 256 * random.below(6);
    format!("cpu={cpu}m memory={memory}Mi")
}

fn a_running_pod(random: &mut Random, node: &str, number: usize) -> Value {
    let mut more = app(pick(random, APPS));
    if one_in(random, 4) {
        more = with(more, keeps_away(random));
    }
    let mut pod = on(node, &format!("p{number}"), &some(random), more);
    if one_in(random, 4) {
        pod["spec"]["containers"][0]["ports"] = ports(random);
    }
    if one_in(random, 6) {
        pod["spec"]["volumes"] = json!([disk(random)]);
    }
    pod
}

fn ports(random: &mut Random) -> Value {
    let port = 8080 + random.below(2);
    match random.below(3) {
        0 => {
            json!([{"containerPort": 80, "hostPort": 8080}, {"containerPort": 81, "hostPort": 8081}])
        }
        _ => json!([{"containerPort": 80, "hostPort": port}]),
    }
}

fn disk(random: &mut Random) -> Value {
    let iqn = format!("iqn.2024:{}", random.below(2));
    json!({"name": "d", "iscsi": {"iqn": iqn, "lun": 0, "targetPortal": "t"}})
}

fn term(random: &mut Random) -> Value {
    json!({"labelSelector": {"matchLabels": {"app": pick(random, APPS)}},
        "topologyKey": pick(random, &[ZONE, HOST])})
}

fn keeps_away(random: &mut Random) -> Value {
    spec(json!({"affinity": {"podAntiAffinity": {REQUIRED: [term(random)]}}}))
}

fn a_waiting_pod(random: &mut Random, cluster: &mut Vec<Value>) -> Value {
    let mut asks = some(random);
    if one_in(random, 3) {
        asks += &format!(" gpu={}", 1 + random.below(3));
    }
    if one_in(random, 4) {
        asks += &format!(" ephemeral-storage={}Gi", 1 + random.below(6));
    }
    let mut pod = with(pod(&asks), app(pick(random, APPS)));
    let mut wanted = None;
    let mut add = |more: Value| pod = with(pod.clone(), more);
    if one_in(random, 3) {
        add(spec(json!({"tolerations": [{"key": "spot", "operator": "Exists"}]})));
    }
    if one_in(random, 8) {
        add(spec(json!({"schedulingGates": [{"name": "example.com/quota"}]})));
    }
    if one_in(random, 6) {
        let pairs = match random.below(3) {
            0 => json!({"disk": "ssd", ZONE: "b"}),
            1 => json!({"disk": "ssd"}),
            _ => json!({ZONE: "a"}),
        };
        add(spec(json!({ "nodeSelector": pairs })));
    }
    if one_in(random, 6) {
        let zone = json!({"key": ZONE, "operator": "In", "values": ["a", "b"]});
        let disk = json!({"key": "disk", "operator": "Exists"});
        let all = if one_in(random, 2) { json!([zone, disk]) } else { json!([zone]) };
        let terms = json!({"nodeSelectorTerms": [{ "matchExpressions": all }]});
        add(spec(json!({"affinity": {"nodeAffinity": { REQUIRED: terms }}})));
    }
    if one_in(random, 5) {
        let mut terms = vec![term(random)];
        if one_in(random, 3) {
            // One pod must be what all say, so they speak of the same.
            let other = if terms[0]["topologyKey"] == HOST { ZONE } else { HOST };
            terms.push(with(terms[0].clone(), json!({ "topologyKey": other })));
        }
        wanted = Some(terms[0]["labelSelector"].clone());
        add(spec(json!({"affinity": {"podAffinity": { REQUIRED: terms }}})));
    }
    if one_in(random, 5) {
        let mut terms = vec![term(random)];
        if one_in(random, 3) {
            terms.push(term(random));
        }
        terms.dedup();
        // Whom it wants near it does not keep away from.
        terms.retain(|term| Some(&term["labelSelector"]) != wanted.as_ref());
        add(spec(json!({"affinity": {"podAntiAffinity": { REQUIRED: terms }}})));
    }
    if one_in(random, 3) {
        let own = pick(random, APPS);
        let constraint = |key: &str, skew: usize| {
            json!({"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": own}}})
        };
        let mut all = vec![constraint(ZONE, 1 + random.below(2))];
        if one_in(random, 3) {
            all.push(constraint(HOST, 1));
        }
        if one_in(random, 4) {
            all[0]["minDomains"] = 3.into();
        }
        add(spec(json!({ "topologySpreadConstraints": all })));
    }
    if one_in(random, 4) {
        pod["spec"]["containers"][0]["ports"] = ports(random);
    }
    match random.below(10) {
        0 => pod["spec"]["volumes"] = json!([disk(random)]),
        1 => {
            pod = with(pod, cases::uses("data"));
            claims(random, cluster);
        }
        _ => {}
    }
    pod
}

/// A claim that stands in the way, or not.
fn claims(random: &mut Random, cluster: &mut Vec<Value>) {
    match random.below(5) {
        // There is no such claim.
        0 => {}
        1 => cluster.extend([cases::class("Immediate"), cases::claim("data", json!({}))]),
        2 => {
            cluster.extend([cases::class("WaitForFirstConsumer"), cases::claim("data", json!({}))])
        }
        3 => cluster.extend([
            cases::class("Immediate"),
            cases::volume("pv", "data", labels(json!({ZONE: pick(random, &["a", "d"])}))),
            cases::bound_claim("data", "pv"),
        ]),
        _ => {
            let once = spec(json!({"accessModes": ["ReadWriteOncePod"]}));
            cluster.extend([
                cases::class("Immediate"),
                cases::volume("pv", "data", json!({})),
                with(cases::bound_claim("data", "pv"), once),
                on("n0", "holder", "", cases::uses("data")),
            ]);
        }
    }
}

const APPS: &[&str] = &["web", "db", "cache"];
pub(super) const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
