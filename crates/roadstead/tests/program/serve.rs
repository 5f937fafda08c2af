//! `roadstead serve`: a cluster that goes on while files, people and `kubectl` change it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::served::{NODES, Served, pod, request};
use crate::testing::{folder, run_in, write};

#[test]
fn without_files_there_is_a_harbour_that_is_never_quiet() {
    let served = Served::start(&folder("harbour"), &["--speed", "20"]);
    let status = served.get("/api/v1/status");
    assert_eq!((&status["mode"], &status["canChange"]), (&"serve".into(), &true.into()));
    served.wait_until("pods are bound and others wait", |served| {
        let status = served.get("/api/v1/status");
        let counts = &status["counts"];
        let waits = |place: &str| counts[place].as_u64().unwrap_or(0) > 0;
        status["boundTotal"].as_u64() > Some(150) && waits("gated") && waits("unschedulable")
    });
    let (code, page) = request(served.dashboard, "GET", "/", "");
    assert!(code == 200 && page.contains("<title>Roadstead"), "{page}");
    let said = served.end();
    assert!(!said.contains("slept though"), "a missed wake-up: {said}");
}

#[test]
fn a_port_that_is_taken_leaves_no_recording_and_no_address_behind() {
    let folder = folder("taken");
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let taken = taken.local_addr().expect("it has an address").port().to_string();
    for ports in [["--port", "0", "--api-port", &taken], ["--port", &taken, "--api-port", "0"]] {
        let said = run_in(&folder, &[&["serve", "--record", "new.rec"][..], &ports].concat());
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{ports:?}");
        assert!(said.err.contains("cannot listen on"), "{}", said.err);
        assert!(!folder.join("new.rec").exists(), "{ports:?}");
    }
}

#[test]
fn files_that_change_are_read_again_and_wrong_ones_change_nothing() {
    let folder = folder("reloading");
    write(&folder, "nodes.yaml", NODES);
    write(&folder, "pods.yaml", &pod("web", "1"));
    let served = Served::start(&folder, &["."]);
    served.wait_until("web is bound", |served| served.place("web") == "bound");

    write(&folder, "pods.yaml", &format!("{}{}", pod("web", "1"), pod("more", "64")));
    served.wait_until("the new pod waits", |served| served.place("more") == "unschedulable");
    write(&folder, "nodes.yaml", &NODES.replace("cpu: 4", "cpu: 128"));
    served.wait_until("the node has grown", |served| served.place("more") == "bound");

    write(&folder, "pods.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {}\n");
    thread::sleep(Duration::from_millis(2500));
    assert_eq!(served.place("more"), "bound", "nothing has changed");
    write(&folder, "pods.yaml", &pod("web", "1"));
    served.wait_until("what is gone is deleted", |served| served.place("more") != "bound");
    assert_eq!(served.place("web"), "bound");
    write(&folder, "pods.yaml", &pod("web", "500"));
    served.wait_until("it asks for more", |served| served.place("web") == "unschedulable");
    let said = served.end();
    assert!(said.contains("reloaded: 1 created, 0 updated, 0 replaced, 0 deleted"), "{said}");
    assert!(said.contains("reloaded: 0 created, 1 updated, 0 replaced, 0 deleted"), "{said}");
    assert!(said.contains("pods.yaml: document 1 (Pod web): spec.containers"), "{said}");
    assert!(said.contains("not reloaded: nothing has changed"), "{said}");
    assert!(said.contains("reloaded: 0 created, 0 updated, 0 replaced, 1 deleted"), "{said}");
    assert!(said.contains("reloaded: 0 created, 0 updated, 1 replaced, 0 deleted"), "{said}");
}

#[test]
fn a_scenario_that_changes_starts_over_in_an_empty_cluster() {
    let folder = folder("starting-over");
    let scenario = "
apiVersion: sim.roadstead.dev/v1
kind: Scenario
metadata: {name: small}
spec:
  fleets: [{name: pier, count: 3, capacity: {cpu: 4}}]
  workloads: [{name: boat, count: 5, sizes: [{requests: {cpu: 1}}]}]
";
    write(&folder, "small.yaml", scenario);
    let served = Served::start(&folder, &["small.yaml"]);
    let nodes = |served: &Served| served.get("/api/v1/status")["nodes"].as_u64();
    served.wait_until("all are bound", |served| served.place("boat-4") == "bound");
    assert_eq!(nodes(&served), Some(3));
    write(&folder, "small.yaml", &scenario.replace("count: 3", "count: 2").replace("boat", "raft"));
    served.wait_until("others are bound", |served| served.place("raft-4") == "bound");
    assert_eq!(nodes(&served), Some(2));
    assert!(served.end().contains("reloaded: a scenario has changed, and starts over"));
}

#[test]
fn pods_and_nodes_are_added_and_removed_over_http() {
    let folder = folder("changing");
    write(&folder, "nodes.yaml", NODES);
    let served = Served::start(&folder, &["nodes.yaml"]);
    let (status, body) = request(served.dashboard, "POST", "/api/v1/manifests", &pod("web", "2"));
    assert_eq!(
        (status, body.trim_end()),
        (200, r#"{"created":["Pod default/web"],"updated":[],"unchanged":0}"#)
    );
    served.wait_until("web is bound", |served| served.place("web") == "bound");
    let wrong = format!("{}{}", pod("fine", "1"), pod("wrong", "lots"));
    let (status, body) = request(served.dashboard, "POST", "/api/v1/manifests", &wrong);
    assert!(status == 400 && body.contains("lots"), "{status} {body}");
    assert_eq!(served.place("fine"), "nowhere", "all of it or nothing");
    let (status, _) = request(served.dashboard, "DELETE", "/api/v1/pods/default/web", "");
    assert_eq!(status, 200);
    served.wait_until("web is gone", |served| served.place("web") != "bound");
    let (status, body) = request(served.dashboard, "DELETE", "/api/v1/nodes/quay", "");
    assert!(status == 404 && body.contains("quay"), "{status} {body}");
}

#[test]
fn what_it_cannot_serve_is_told_with_a_way_out() {
    let folder = folder("unserved");
    let taken = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = taken.local_addr().expect("it has an address").port().to_string();
    write(&folder, "nodes.yaml", NODES);
    write(&folder, "wrong.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: web}\nspec: {}\n");
    std::fs::create_dir(folder.join("empty")).expect("it can be made");
    let rows: &[(&[&str], &[&str])] = &[
        (&["--port", &port, "nodes.yaml"], &["--port: cannot listen on", "choose another port"]),
        (&["--port", "0", "--api-port", &port, "nodes.yaml"], &["--api-port: cannot listen on"]),
        (&["wrong.yaml"], &["wrong.yaml: document 1 (Pod web): spec.containers: required value"]),
        (&["gone.yaml"], &["gone.yaml: cannot read"]),
        (&["empty"], &["nothing to schedule: empty holds no objects"]),
        (&["--speed", "0"], &["--speed", "must be between 0.01 and 1000"]),
        (&["--speed", "fast"], &["expected a number, such as 10"]),
        (&["--config", "gone.yaml"], &["gone.yaml"]),
    ];
    for (arguments, parts) in rows {
        let said = run_in(&folder, &[&["serve"], *arguments].concat());
        assert_ne!(said.code, 0, "{arguments:?}");
        for part in *parts {
            assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
        }
    }
}

#[test]
fn kubectl_works_on_it() {
    let kubectl = std::env::var_os("ROADSTEAD_KUBECTL").unwrap_or_else(|| "kubectl".into());
    let found = Command::new(&kubectl).args(["version", "--client"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        return eprintln!("kubectl is not installed: this test checks NOTHING");
    }
    let folder = folder("kubectl");
    write(&folder, "nodes.yaml", &format!("{NODES}---{}", NODES.replace("pier", "quay")));
    write(&folder, "web.yaml", DEPLOYMENT);
    let served = Served::start(&folder, &["--api-port", "0", "nodes.yaml"]);
    let server = format!("--server=http://{}", served.api.expect("it was asked for"));
    let cache: PathBuf = folder.join("cache");
    let kubectl = |command: &str| {
        let mut run = Command::new(&kubectl);
        run.current_dir(&folder).args(["--kubeconfig=/dev/null", &server, "--cache-dir"]);
        let output = run.arg(&cache).args(command.split(' ')).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let says = |command: &str, parts: &[&str]| {
        let said = kubectl(command);
        for part in parts {
            assert!(said.contains(part), "kubectl {command}: {part:?} is not in\n{said}");
        }
    };
    says("apply -f web.yaml", &["deployment.apps/web created"]);
    says("rollout status deployment/web --timeout=30s", &["successfully rolled out"]);
    says("get pods -o wide", &["Running", "pier"]);
    says("scale deployment/web --replicas=12", &["scaled"]);
    served.wait_until("some wait", |_| kubectl("get pods").contains("Pending"));
    let pending = kubectl("get pods --field-selector=status.phase=Pending -o name");
    let one = pending.lines().next().expect("some wait").to_owned();
    served.wait_until("the reason is told", |_| {
        kubectl(&format!("describe {one}")).contains("0/2 nodes are available: 2 Insufficient cpu")
    });
    says("cordon pier", &["node/pier cordoned"]);
    says("get nodes", &["SchedulingDisabled"]);
    says("uncordon pier", &["node/pier uncordoned"]);
    says("taint nodes quay dock=closed:NoSchedule", &["node/quay tainted"]);
    says("label node quay zone=a", &["node/quay labeled"]);
    says("delete deployment web", &["deleted"]);
    served.wait_until("all are gone", |_| kubectl("get pods -o name").is_empty());
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: web, resources: {requests: {cpu: 1}}}]
";
