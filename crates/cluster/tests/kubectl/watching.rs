//! `kubectl get -w`: rows as things happen.

use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::testing::{NODES, Server, good, one_blank};

#[test]
fn a_watch_prints_a_row_for_every_change() {
    let Some(server) = Server::start("watching", NODES) else { return };
    let mut child = server.spawn("get pods -w");
    let stdout = child.stdout.take().expect("it is piped");
    let (tell, lines) = mpsc::channel();
    let reader = thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if tell.send(one_blank(&line.expect("kubectl writes text"))).is_err() {
                return;
            }
        }
    });
    // Until it listens, nothing is printed: the first row is that of the first change.
    server.check(&[good("run first --image=nginx", &["created"])]);
    let next = || lines.recv_timeout(Duration::from_secs(30)).expect("a row is printed");
    let header = next();
    let first = next();
    server.check(&[
        good(
            "run bound --image=nginx --overrides={\"spec\":{\"nodeName\":\"pier\"}}",
            &["pod/bound created"],
        ),
        good("wait --for=condition=Ready pod/bound --timeout=30s", &["condition met"]),
        good("delete pod bound", &["deleted"]),
    ]);
    let mut seen = Vec::new();
    while !seen.iter().any(|row: &String| row.starts_with("bound") && row.contains("Terminating")) {
        seen.push(next());
    }
    child.kill().expect("it still watches");
    child.wait().unwrap();
    drop(lines);
    reader.join().unwrap();

    assert_eq!(header, "NAME READY STATUS RESTARTS AGE");
    assert!(first.starts_with("first 0/1 Pending 0"), "{first}");
    let states: Vec<&str> = seen.iter().filter_map(|row| row.split(' ').nth(2)).collect();
    assert!(states.starts_with(&["Pending", "Running", "Terminating"]), "{seen:?}");
}
