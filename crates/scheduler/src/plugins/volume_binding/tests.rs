use super::*;
use crate::testing::{Cluster, FITS, cluster};
use serde_json::json;

const PREFIX: &str = "UnschedulableAndUnresolvable: ";
const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
const NO_SPACE: &str = "node(s) did not have enough free storage";
const MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// A claim of a class that waits for its consumer, changed by `more`.
fn claim(name: &str, size: &str, more: Value) -> Value {
    let claim = json!({"metadata": {"name": name}, "spec": {"storageClassName": "local",
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}});
    merged(claim, more)
}

/// A free volume of that class, changed by `more`.
fn volume(name: &str, size: &str, more: Value) -> Value {
    let volume = json!({"metadata": {"name": name}, "status": {"phase": "Available"},
        "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size}}});
    merged(volume, more)
}

fn in_class(class: &str) -> Value {
    json!({"spec": {"storageClassName": class}})
}

fn bound_to(volume: &str) -> Value {
    json!({"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {"volumeName": volume}})
}

fn kept_for(claim: &str) -> Value {
    json!({"spec": {"claimRef": {"namespace": "default", "name": claim}}})
}

fn on_zone(zone: &str) -> Value {
    let term = json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]});
    json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}})
}

fn selected(node: &str) -> Value {
    json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}})
}

fn merged(mut base: Value, more: Value) -> Value {
    match (&mut base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (key, value) in more {
                let old = base.remove(&key).unwrap_or_default();
                base.insert(key, merged(old, value));
            }
        }
        (base, more) => *base = more,
    }
    base
}

/// One node in zone z1, and the classes `now`, `local` (nobody makes volumes), `made` (volumes are
/// made), `z2` (made in zone z2), `counted` (made by a driver that says how much is left), `old`
/// (without a mode).
fn world(claims: &[Value], volumes: &[Value], capacities: &[Value]) -> Cluster {
    let class = |name: &str, provisioner: &str, mode: Option<&str>, topologies: Value| {
        json!({"metadata": {"name": name}, "provisioner": provisioner,
            "volumeBindingMode": mode, "allowedTopologies": topologies})
    };
    let z2 = json!([{"matchLabelExpressions": [{"key": "zone", "values": ["z2"]}]}]);
    let wait = Some("WaitForFirstConsumer");
    cluster(json!({
        "nodes": [{"metadata": {"name": "node-1", "labels": {"zone": "z1"}}}],
        "persistentVolumeClaims": claims,
        "persistentVolumes": volumes,
        "csiStorageCapacities": capacities,
        "csiDrivers": [{"metadata": {"name": "csi"}, "spec": {"storageCapacity": true}}],
        "storageClasses": [
            class("now", "p", Some("Immediate"), json!(null)),
            class("local", "kubernetes.io/no-provisioner", wait, json!(null)),
            class("made", "p", wait, json!(null)),
            class("z2", "p", wait, z2),
            class("counted", "csi", wait, json!(null)),
            class("old", "p", None, json!(null)),
        ],
    }))
}

/// A pod with claims; a name that begins with `eph` is that of an ephemeral volume.
fn pod(claims: &[&str]) -> Value {
    let volume = |name: &&str| match name.starts_with("eph") {
        true => json!({"name": name, "ephemeral": {}}),
        false => json!({"name": name, "persistentVolumeClaim": {"claimName": name}}),
    };
    let volumes: Vec<Value> = claims.iter().map(volume).collect();
    json!({"spec": {"containers": [], "volumes": volumes}})
}

fn plugin() -> Extensions {
    VolumeBinding::extensions(&Value::Null).unwrap()
}

#[test]
fn claims_that_keep_a_pod_from_every_node() {
    let lost = json!({"spec": {"volumeName": "pv"}, "status": {"phase": "Lost"}});
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let mine = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "test", "uid": "test", "controller": true}]}});
    let of_class = |class: &str| claim("c", "1", in_class(class));
    let rows: [(&str, &[&str], Value, &str); 14] = [
        ("no claims", &[], json!({}), FITS),
        ("no such claim", &["x"], of_class("made"), "persistentvolumeclaim \"x\" not found"),
        (
            "no ephemeral claim yet",
            &["eph"],
            of_class("made"),
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \
             \"test-eph\"",
        ),
        (
            "another's ephemeral claim",
            &["eph"],
            claim("test-eph", "1", in_class("made")),
            "PVC default/test-eph was not created for pod default/test (pod is not owner)",
        ),
        (
            "its ephemeral claim",
            &["eph"],
            merged(claim("test-eph", "1", in_class("made")), mine),
            FITS,
        ),
        (
            "a lost claim",
            &["c"],
            claim("c", "1", lost),
            "persistentvolumeclaim \"c\" bound to non-existent persistentvolume \"pv\"",
        ),
        (
            "a claim on its way out",
            &["c"],
            claim("c", "1", deleted),
            "persistentvolumeclaim \"c\" is being deleted",
        ),
        ("an immediate claim", &["c"], of_class("now"), UNBOUND_IMMEDIATE),
        ("no class", &["c"], of_class(""), UNBOUND_IMMEDIATE),
        ("an unknown class", &["c"], of_class("x"), UNBOUND_IMMEDIATE),
        (
            "an early choice",
            &["c"],
            claim("c", "1", json!({"spec": {"volumeName": "pv"}})),
            UNBOUND_IMMEDIATE,
        ),
        ("made late", &["c"], of_class("made"), FITS),
        ("made elsewhere", &["c"], of_class("z2"), BIND_CONFLICT),
        ("never made", &["c"], of_class("local"), BIND_CONFLICT),
    ];
    for (what, names, claim, expected) in rows {
        let claims: &[Value] = if claim == json!({}) { &[] } else { &[claim] };
        let mut cluster = world(claims, &[], &[]);
        let pod = cluster.pod(pod(names));
        let expected = match expected {
            FITS => FITS.to_owned(),
            reason => format!("{PREFIX}{reason}"),
        };
        assert_eq!(cluster.filter(&plugin(), &pod), [expected], "{what}");
    }
}

#[test]
fn a_class_without_a_mode_is_an_error() {
    let mut cluster = world(&[claim("c", "1", in_class("old"))], &[], &[]);
    let pod = cluster.pod(pod(&["c"]));
    let expected = "Error: running PreFilter plugin \"VolumeBinding\": VolumeBindingMode not set \
                    for StorageClass \"old\"";
    assert_eq!(cluster.filter(&plugin(), &pod), [expected]);
}

#[test]
fn bound_claims_tie_a_pod_to_their_volumes() {
    let rows: [(&str, &[&str], &[&str]); 6] = [
        ("reached", &["here"], &[]),
        ("out of reach", &["there"], &[NODE_CONFLICT]),
        ("gone", &["gone"], &[MISSING]),
        ("out of reach, then gone", &["there", "gone"], &[NODE_CONFLICT]),
        ("out of reach, and none to bind", &["there", "new"], &[NODE_CONFLICT, BIND_CONFLICT]),
        ("gone, and none to bind", &["new", "gone"], &[BIND_CONFLICT, MISSING]),
    ];
    for (what, names, reasons) in rows {
        let claims = [
            claim("here", "1", bound_to("pv-here")),
            claim("there", "1", bound_to("pv-there")),
            claim("gone", "1", bound_to("pv-gone")),
            claim("new", "1", json!({})),
        ];
        let volumes =
            [volume("pv-here", "1", on_zone("z1")), volume("pv-there", "1", on_zone("z2"))];
        // Bound volumes are taken, whatever else is asked of them.
        let volumes = volumes.map(|v| merged(v, json!({"status": {"phase": "Bound"}})));
        let mut cluster = world(&claims, &volumes, &[]);
        let pod = cluster.pod(pod(names));
        let expected = match reasons {
            [] => FITS.to_owned(),
            reasons => format!("{PREFIX}{}", reasons.join(", ")),
        };
        assert_eq!(cluster.filter(&plugin(), &pod), [expected], "{what}");
    }
}

#[test]
fn claims_are_matched_with_free_volumes() {
    let c = |more: Value| vec![claim("c", "50Gi", more)];
    let v = |more: Value| vec![volume("v", "60Gi", more)];
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    let labelled = json!({"metadata": {"labels": {"a": "b"}}});
    let selector = |value: &str| json!({"spec": {"selector": {"matchLabels": {"a": value}}}});
    let block = json!({"spec": {"volumeMode": "Block"}});
    let attributes = json!({"spec": {"volumeAttributesClassName": "gold"}});
    let many = json!({"spec": {"accessModes": ["ReadWriteMany"]}});
    let sizes = |sizes: &[&str]| sizes.iter().map(|s| volume(s, s, json!({}))).collect();
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    type Row<'a> = (&'a str, Vec<Value>, Vec<Value>, &'a [&'a str]);
    let rows: [Row<'_>; 23] = [
        // claims, volumes, who gets what
        ("it fits", c(json!({})), v(json!({})), &["c=v"]),
        ("the smallest that fits", c(json!({})), sizes(&["100Gi", "60Gi", "40Gi"]), &["c=60Gi"]),
        ("none is large enough", c(json!({})), sizes(&["49Gi"]), &[]),
        (
            "the small claim first",
            vec![claim("large", "10Gi", json!({})), claim("small", "5Gi", json!({}))],
            sizes(&["10Gi", "5Gi"]),
            &["small=5Gi", "large=10Gi"],
        ),
        (
            "one volume for two claims",
            vec![claim("a", "1", json!({})), claim("b", "1", json!({}))],
            sizes(&["10Gi"]),
            &[],
        ),
        ("not out yet", c(json!({})), v(phase("Pending")), &[]),
        ("released", c(json!({})), v(phase("Released")), &[]),
        ("of another class", c(json!({})), v(in_class("made")), &[]),
        ("out of reach", c(json!({})), v(on_zone("z2")), &[]),
        ("in reach", c(json!({})), v(on_zone("z1")), &["c=v"]),
        ("on its way out", c(json!({})), v(deleted), &[]),
        ("selected", c(selector("b")), v(labelled.clone()), &["c=v"]),
        ("not selected", c(selector("c")), v(labelled), &[]),
        ("a device", c(block.clone()), v(block.clone()), &["c=v"]),
        ("no device", c(block), v(json!({})), &[]),
        ("of other attributes", c(attributes.clone()), v(json!({})), &[]),
        ("of the same attributes", c(attributes.clone()), v(attributes), &["c=v"]),
        ("for one at a time", c(many), v(json!({})), &[]),
        ("kept for it", c(json!({})), v(merged(kept_for("c"), phase("Pending"))), &["c=v"]),
        ("kept for another", c(json!({})), v(kept_for("d")), &[]),
        (
            "kept for it before all others",
            c(json!({})),
            vec![volume("a", "50Gi", json!({})), volume("b", "99Gi", kept_for("c"))],
            &["c=b"],
        ),
        (
            "kept for it, out of reach",
            c(json!({})),
            vec![
                volume("a", "50Gi", json!({})),
                volume("b", "50Gi", merged(kept_for("c"), on_zone("z2"))),
            ],
            &[],
        ),
        (
            "to be made here",
            c(merged(in_class("made"), selected("node-1"))),
            v(in_class("made")),
            &["c=new"],
        ),
    ];
    for (what, claims, volumes, expected) in rows {
        let names: Vec<&str> =
            claims.iter().map(|c| c["metadata"]["name"].as_str().unwrap()).collect();
        let mut cluster = world(&claims, &volumes, &[]);
        let pod = cluster.pod(pod(&names));
        let (context, mut state) = (cluster.context(), CycleState::new());
        let node = context.nodes.at(0).unwrap();
        let plugin = VolumeBinding { bind_timeout: Duration::ZERO };
        plugin.pre_filter(&context, &mut state, &pod).unwrap();
        let verdict = plugin.filter(&context, &state.clone(), &pod, node);
        assert_eq!(verdict.is_ok(), !expected.is_empty(), "{what}");
        let found = VolumeBinding::volumes_on(&state, node.name()).unwrap_or_default();
        let bound =
            found.bindings.iter().map(|(claim, volume)| format!("{}={}", claim.name, volume.name));
        let made = found.provisions.iter().map(|claim| format!("{}=new", claim.name));
        assert_eq!(bound.chain(made).collect::<Vec<_>>(), expected, "{what}");
    }
}

#[test]
fn volumes_are_made_where_there_is_room() {
    let place = |capacity: &str, largest: Option<&str>, topology: Value| {
        json!({"storageClassName": "counted", "capacity": capacity,
            "maximumVolumeSize": largest, "nodeTopology": topology})
    };
    let here = json!({"matchLabels": {"zone": "z1"}});
    let there = json!({"matchLabels": {"zone": "z2"}});
    let wanted = |sizes: &[&str]| -> Vec<Value> {
        let claim =
            |(at, size): (usize, &&str)| claim(&format!("c{at}"), size, in_class("counted"));
        sizes.iter().enumerate().map(claim).collect()
    };
    let unsized_claim =
        json!({"metadata": {"name": "c0"}, "spec": {"storageClassName": "counted"}});
    let elsewhere = claim("c0", "1Gi", merged(in_class("made"), selected("node-2")));
    let nowhere = claim("c0", "1Gi", merged(in_class("made"), selected("")));
    let rows = [
        ("nothing is said", wanted(&["1Gi"]), vec![], NO_SPACE),
        ("enough", wanted(&["10Gi"]), vec![place("10Gi", None, here.clone())], FITS),
        ("too little", wanted(&["10Gi"]), vec![place("9Gi", None, here.clone())], NO_SPACE),
        ("too large", wanted(&["10Gi"]), vec![place("100Gi", Some("5Gi"), here.clone())], NO_SPACE),
        ("elsewhere", wanted(&["10Gi"]), vec![place("100Gi", None, there)], NO_SPACE),
        ("for no node", wanted(&["10Gi"]), vec![place("100Gi", None, json!(null))], NO_SPACE),
        ("one by one", wanted(&["60Gi", "60Gi"]), vec![place("100Gi", None, here)], FITS),
        ("no size", vec![unsized_claim], vec![], FITS),
        ("chosen elsewhere", vec![elsewhere], vec![], BIND_CONFLICT),
        ("chosen nowhere", vec![nowhere], vec![], BIND_CONFLICT),
    ];
    for (what, claims, capacities, expected) in rows {
        let names = ["c0", "c1"];
        let mut cluster = world(&claims, &[], &capacities);
        let pod = cluster.pod(pod(&names[..claims.len()]));
        let expected = match expected {
            FITS => FITS.to_owned(),
            reason => format!("{PREFIX}{reason}"),
        };
        assert_eq!(cluster.filter(&plugin(), &pod), [expected], "{what}");
    }
}

#[test]
fn a_selector_that_does_not_parse_is_an_error() {
    let selector =
        json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}});
    let mut cluster = world(&[claim("c", "1", selector)], &[], &[]);
    let pod = cluster.pod(pod(&["c"]));
    let expected = "Error: running \"VolumeBinding\" filter plugin: error creating internal label \
                    selector for claim: default/c: \"Like\" is not a valid label selector operator";
    assert_eq!(cluster.filter(&plugin(), &pod), [expected]);
}

#[test]
fn capacity_is_not_scored() {
    let mut cluster = world(&[claim("c", "1", in_class("made"))], &[], &[]);
    let pod = cluster.pod(pod(&["c"]));
    assert_eq!(cluster.scores(&plugin(), &pod), Ok(None));
}

#[test]
fn when_to_try_again() {
    const NONE: Value = Value::Null;
    let class = |provisioner: &str, zone: Option<&str>| {
        let term = |zone| json!({"matchLabelExpressions": [{"key": "zone", "values": [zone]}]});
        json!({"provisioner": provisioner, "allowedTopologies": zone.map(|zone| [term(zone)])})
    };
    let named =
        |namespace: &str, name: &str| json!({"metadata": {"namespace": namespace, "name": name}});
    let csi_node = |migrated: &str| {
        let key = "storage.alpha.kubernetes.io/migrated-plugins";
        json!({"metadata": {"annotations": {key: migrated}}, "spec": {"drivers": []}})
    };
    let driver = |name: &str, counts: Option<bool>| json!({"metadata": {"name": name}, "spec": {"storageCapacity": counts}});
    let left = |size: Option<&str>| json!({"storageClassName": "c", "capacity": size});
    let (classes, claims) = (events::STORAGE_CLASS, events::PERSISTENT_VOLUME_CLAIM);
    let (nodes, drivers) = (events::CSI_NODE, events::CSI_DRIVER);
    let (volumes, places) = (events::PERSISTENT_VOLUME, events::CSI_STORAGE_CAPACITY);
    let rows = [
        ("a class", &classes, NONE, class("p", None), "Queue"),
        ("its places change", &classes, class("p", Some("a")), class("p", Some("b")), "Queue"),
        ("its maker changes", &classes, class("p", Some("a")), class("q", Some("a")), "Skip"),
        ("its claim", &claims, NONE, named("default", "c"), "Queue"),
        ("its claim changes", &claims, named("default", "c"), named("default", "c"), "Queue"),
        ("its ephemeral claim", &claims, NONE, named("default", "test-eph"), "Queue"),
        ("another claim", &claims, NONE, named("default", "d"), "Skip"),
        ("another's claim", &claims, NONE, named("other", "c"), "Skip"),
        ("a volume", &volumes, NONE, json!({}), "Queue"),
        ("a volume changes", &volumes, json!({}), json!({}), "Queue"),
        ("a node", &events::NODE, NONE, json!({}), "Queue"),
        ("a node's drivers", &nodes, NONE, csi_node(""), "Queue"),
        ("a migration", &nodes, csi_node(""), csi_node("kubernetes.io/aws-ebs"), "Queue"),
        ("no migration", &nodes, csi_node(""), csi_node(""), "Skip"),
        ("a driver", &drivers, NONE, driver("inline", None), "deaf"),
        (
            "no count any more",
            &drivers,
            driver("inline", Some(true)),
            driver("inline", None),
            "Queue",
        ),
        ("no count still", &drivers, driver("inline", None), driver("inline", Some(false)), "Skip"),
        ("a count now", &drivers, driver("inline", None), driver("inline", Some(true)), "Skip"),
        ("D11: a claim's", &drivers, driver("csi", Some(true)), driver("csi", None), "Queue"),
        ("room", &places, NONE, left(None), "Queue"),
        ("more room", &places, left(Some("10Gi")), left(Some("20Gi")), "Queue"),
        ("less room", &places, left(Some("20Gi")), left(Some("10Gi")), "Skip"),
        ("as much room", &places, left(Some("10Gi")), left(Some("10Gi")), "Skip"),
        ("room at last", &places, left(None), left(Some("10Gi")), "Queue"),
        ("room unknown", &places, left(Some("10Gi")), left(None), "Skip"),
    ];
    for (what, resource, old, new, expected) in rows {
        let action = if old.is_null() { Action::ADD } else { Action::UPDATE };
        let mut cluster = cluster(json!({}));
        let mut pod_of = pod(&["c", "eph"]);
        let inline = json!({"name": "inline", "csi": {"driver": "inline"}});
        pod_of["spec"]["volumes"].as_array_mut().unwrap().push(inline);
        let pod = cluster.pod(pod_of);
        let event = cluster.event(resource.clone(), action, old, new);
        assert_eq!(cluster.hint(&plugin(), &pod, &event), expected, "{what}");
    }
}

#[test]
fn arguments_are_checked() {
    let rows = [
        (json!(null), None),
        (json!({}), None),
        (json!({"bindTimeoutSeconds": 0}), None),
        (json!({"bindTimeoutSeconds": -1}), Some(("bindTimeoutSeconds", NEGATIVE_TIMEOUT))),
        (json!({"shape": []}), Some(("shape", UNEXPECTED_SHAPE))),
    ];
    for (arguments, expected) in rows {
        let error = VolumeBinding::extensions(&arguments).err();
        let error = error.as_ref().map(|error| (error.path.as_str(), error.message.as_str()));
        assert_eq!(error, expected, "{arguments}");
    }
    assert!(VolumeBinding::extensions(&json!({"timeout": 1})).is_err(), "an unknown field");
}
