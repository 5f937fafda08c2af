//! `roadstead sim --explain`.

use serde_json::Value;

use crate::testing::{folder, run, run_in, write};

const CLUSTER: &str = "
{kind: Node, apiVersion: v1, metadata: {name: pier}, status: {allocatable: {cpu: 1, pods: 10}}}
---
{kind: Pod, apiVersion: v1, metadata: {name: web-0, namespace: shop},
 spec: {containers: [{name: main, resources: {requests: {cpu: 1300m}}}]}}
---
{kind: Pod, apiVersion: v1, metadata: {name: small},
 spec: {containers: [{name: main, resources: {requests: {cpu: 100m}}}]}}
";

#[test]
fn a_pod_that_waits_is_explained_with_its_history() {
    let folder = folder("explained");
    write(&folder, "cluster.yaml", CLUSTER);
    let said = run_in(&folder, &["sim", "--exit-zero", "--explain", "shop/web-0", "cluster.yaml"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    for line in [
        "NodeResourcesFit refuses 1 of 1 node: Insufficient cpu",
        "  needs a node with 400m more cpu free; pier is nearest",
        "Fits on 1 node if it asked 400m less cpu.",
        "What happened to it:",
        "      +0s  queued (UnschedulablePodAdd)",
        "      +0s    NodeResourcesFit: 1 Insufficient cpu",
    ] {
        assert!(said.out.lines().any(|own| own == line), "no line {line:?} in:\n{}", said.out);
    }
}

#[test]
fn a_pod_that_is_placed_is_located() {
    let folder = folder("located");
    write(&folder, "cluster.yaml", CLUSTER);
    let said = run_in(&folder, &["sim", "--exit-zero", "--explain", "small", "cluster.yaml"]);
    assert!(said.out.contains("\ndefault/small is on pier.\n"), "{}", said.out);
    assert!(said.out.contains("bound to pier after 1 attempt"), "{}", said.out);
}

#[test]
fn explanations_are_part_of_the_json() {
    let folder = folder("explained-json");
    write(&folder, "cluster.yaml", CLUSTER);
    let asked =
        ["sim", "--exit-zero", "-o", "json", "--explain", "shop/web-0", "--explain", "small"];
    let said = run_in(&folder, &[&asked[..], &["cluster.yaml"]].concat());
    let all: Value = serde_json::from_str(&said.out).expect("it is JSON");
    let explained = &all["explanations"];
    assert_eq!(explained.as_array().map(Vec::len), Some(2), "{explained}");
    assert_eq!(explained[0]["explanation"]["place"], "unschedulable");
    assert_eq!(explained[0]["explanation"]["changes"][0]["change"], "it asked 400m less cpu");
    assert_eq!(explained[1]["explanation"]["node"], "pier");
    assert_eq!(explained[1]["history"]["entries"][0]["what"], "queued");
    assert!(all["counts"].is_object(), "the outcome is there too");
}

#[test]
fn an_unknown_pod_is_an_error_that_names_near_ones() {
    let folder = folder("unknown");
    write(&folder, "cluster.yaml", CLUSTER);
    for (asked, expected) in [
        (
            "web-0",
            "error: --explain default/web-0: there was no such pod; did you mean shop/web-0?\n",
        ),
        (
            "shop/wep-0",
            "error: --explain shop/wep-0: there was no such pod; did you mean shop/web-0?\n",
        ),
        ("shop/w", "error: --explain shop/w: there was no such pod; did you mean shop/web-0?\n"),
        (
            "shop/other",
            "error: --explain shop/other: there was no such pod; --pods lists all that there were\n",
        ),
    ] {
        let said = run_in(&folder, &["sim", "--explain", asked, "cluster.yaml"]);
        assert_eq!((said.code, said.err.as_str()), (1, expected), "{asked}");
    }
}

#[test]
fn manifests_have_no_place_for_explanations() {
    let said = run(&["sim", "-o", "yaml", "--explain", "web", "examples/shop"]);
    assert_eq!(said.code, 1);
    assert!(said.err.starts_with("error: --explain: manifests (-o yaml)"), "{}", said.err);
}
