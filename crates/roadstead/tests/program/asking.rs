//! `roadstead queue` and `roadstead explain` against a program that runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::served::{NODES, Served, pod, request};
use crate::testing::{folder, program, run_in, write};

/// A command that goes on. Dropped, it is ended.
struct Followed {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Followed {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = program(folder, arguments).spawn().expect("the program starts");
        let out = lines(child.stdout.take().expect("it is piped"));
        let err = lines(child.stderr.take().expect("it is piped"));
        Self { child, out, err }
    }

    /// The next line that it prints, as words.
    fn row(&self) -> Vec<String> {
        let line = self.out.recv_timeout(PATIENCE).expect("it prints another line");
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// Waits until it prints a row of this pod in this place.
    fn until(&self, name: &str, place: &str) {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if self.row().get(..2).is_some_and(|row| row == [name, place]) {
                return;
            }
        }
        panic!("{name} is never shown as {place}");
    }

    fn says(&self, part: &str) {
        let line = self.err.recv_timeout(PATIENCE).expect("it says something");
        assert!(line.contains(part), "{part:?} is not in {line}");
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

fn server(served: &Served) -> String {
    format!("http://{}", served.dashboard)
}

#[test]
fn a_watch_prints_pods_that_come_change_and_leave() {
    let folder = folder("watching");
    write(&folder, "nodes.yaml", NODES);
    let served = Served::start(&folder, &["nodes.yaml"]);
    let post = |text: &str| {
        let (status, body) = request(served.dashboard, "POST", "/api/v1/manifests", text);
        assert_eq!(status, 200, "{body}");
    };
    let watch = Followed::start(&folder, &["queue", "-w", "--server", &server(&served)]);
    assert_eq!(watch.row()[..2], ["NAME", "PLACE"], "there are titles though nothing waits");
    let large = pod("large", "64");
    post(&large.replace("spec: {", "spec: {schedulingGates: [{name: a/b}], "));
    watch.until("large", "gated");
    post(&large.replace("spec: {", "spec: {schedulingGates: [], "));
    watch.until("large", "unschedulable");
    let (status, _) = request(served.dashboard, "DELETE", "/api/v1/pods/default/large", "");
    assert_eq!(status, 200);
    watch.until("large", "left");
}

#[test]
fn a_watch_for_programs_is_a_line_of_json_for_each_change() {
    let folder = folder("watching-json");
    write(&folder, "cluster.yaml", &format!("{NODES}{}", pod("large", "64")));
    let served = Served::start(&folder, &["cluster.yaml"]);
    served.wait_until("it waits", |served| served.place("large") == "unschedulable");
    let server = server(&served);
    let watch = Followed::start(&folder, &["queue", "-w", "-o", "json", "--server", &server]);
    let event = || -> serde_json::Value {
        let line = watch.out.recv_timeout(PATIENCE).expect("it prints another line");
        serde_json::from_str(&line).expect("it is JSON")
    };
    let added = event();
    assert_eq!((&added["type"], &added["object"]["name"]), (&"ADDED".into(), &"large".into()));
    assert_eq!(added["object"]["place"], "unschedulable");
    let (status, _) = request(served.dashboard, "DELETE", "/api/v1/pods/default/large", "");
    assert_eq!(status, 200);
    let begin = Instant::now();
    let deleted = loop {
        let event = event();
        if event["type"] != "MODIFIED" {
            break event;
        }
        assert!(begin.elapsed() < PATIENCE, "it is never deleted");
    };
    assert_eq!(
        (&deleted["type"], &deleted["object"]["name"]),
        (&"DELETED".into(), &"large".into())
    );
    let refused = run_in(&folder, &["queue", "-w", "-o", "yaml", "--server", &server]);
    assert!(refused.code == 1 && refused.err.contains("use -o table, wide or json"));
}

#[test]
fn what_cannot_be_meant_is_refused_before_anybody_is_asked() {
    let folder = folder("meaningless");
    for (arguments, part) in [
        (&["explain", ""][..], "expected [NAMESPACE/]POD, such as web-0 or shop/web-0"),
        (&["explain", "default/"], "expected [NAMESPACE/]POD"),
        (&["explain", "a/b/c"], "expected [NAMESPACE/]POD"),
        (&["explain", "-n", "", "web"], "--namespace"),
        (&["queue", "--sort-by", "colour"], "for '--sort-by <FIELD>': expected one of place, name"),
        (&["queue", "--place", "sea"], "for '--place <PLACE>': expected one of active, backoff"),
    ] {
        let said = run_in(&folder, arguments);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{arguments:?}");
        assert!(said.err.contains(part), "{arguments:?}: {}", said.err);
    }
}

#[test]
fn a_watch_outlives_its_scheduler() {
    let folder = folder("outliving");
    write(&folder, "cluster.yaml", &format!("{NODES}{}", pod("large", "64")));
    let served = Served::start(&folder, &["cluster.yaml"]);
    let address = served.dashboard;
    let watch = Followed::start(&folder, &["queue", "-w", "--server", &server(&served)]);
    watch.until("large", "unschedulable");
    served.end();
    watch.says("cannot reach a scheduler");
    watch.says("trying again for 5 minutes");
    let again = format!("{NODES}{}{}", pod("large", "64"), pod("larger", "128"));
    write(&folder, "cluster.yaml", &again);
    let _served = Served::start_at(address.port(), &folder, &["cluster.yaml"]);
    watch.says("it answers again");
    watch.until("larger", "unschedulable");
}

#[test]
fn what_nobody_answered_once_is_not_waited_for() {
    let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let nowhere = format!("http://{}", free.local_addr().expect("it has an address"));
    drop(free);
    let said = run_in(&folder("nowhere"), &["queue", "-w", "--server", &nowhere]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert!(said.err.contains("roadstead serve"), "{}", said.err);
    for arguments in [&["queue"][..], &["queue", "-v"], &["explain", "web", "-v"]] {
        let said = run_in(&folder("nowhere"), &[arguments, &["--server", &nowhere]].concat());
        assert!(said.err.starts_with("error: cannot reach a scheduler"), "{}", said.err);
    }
}

#[test]
fn a_live_stream_ends_with_its_scheduler_and_does_not_hold_it() {
    let folder = folder("streaming");
    write(&folder, "nodes.yaml", NODES);
    let served = Served::start(&folder, &["nodes.yaml"]);
    let mut stream = TcpStream::connect(served.dashboard).expect("somebody listens");
    let to = served.dashboard;
    write!(stream, "GET /api/v1/stream HTTP/1.1\r\nHost: {to}\r\n\r\n").expect("it is taken");
    stream.set_read_timeout(Some(PATIENCE)).expect("it can wait");
    let mut text = String::new();
    let mut part = [0; 4096];
    while !text.contains("event: activity") {
        let length = stream.read(&mut part).expect("it goes on");
        assert_ne!(length, 0, "it has ended: {text}");
        text.push_str(&String::from_utf8_lossy(&part[..length]));
    }
    let began = Instant::now();
    served.end();
    assert!(began.elapsed() < Duration::from_secs(4), "it took {:?} to end", began.elapsed());
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("it was not cut");
    assert!(rest.ends_with(b"0\r\n\r\n"), "the last chunk says that it is the last");
}

/// An authority's certificate as PEM, and a server's for 127.0.0.1 with its key.
fn certificates(folder: &Path, name: &str) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("there is a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("it signs itself");
    let key = KeyPair::generate().expect("there is a key");
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("it is a name");
    let signed = params.signed_by(&key, &authority).expect("it signs");
    write(folder, &format!("{name}-ca.crt"), &authority.pem());
    write(folder, &format!("{name}.crt"), &signed.pem());
    write(folder, &format!("{name}.key"), &key.serialize_pem());
}

/// `roadstead run` with its secure port, in a cluster whose API server is never there.
fn secure(folder: &Path) -> (Followed, String) {
    certificates(folder, "own");
    certificates(folder, "other");
    let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let port = free.local_addr().expect("it has an address").port();
    drop(free);
    let kubeconfig = "{apiVersion: v1, kind: Config, current-context: a, \
         clusters: [{name: a, cluster: {server: \"http://127.0.0.1:1\"}}], \
         users: [{name: a, user: {}}], contexts: [{name: a, context: {cluster: a, user: a}}]}";
    write(folder, "kubeconfig", kubeconfig);
    let port_flag = format!("--secure-port={port}");
    let running = Followed::start(
        folder,
        &[
            "run",
            "--kubeconfig=kubeconfig",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            &port_flag,
            "--tls-cert-file=own.crt",
            "--tls-private-key-file=own.key",
            // Nobody is there to ask.
            "--authorization-always-allow-paths=/*",
        ],
    );
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begin.elapsed() < PATIENCE, "nobody listens");
        thread::sleep(Duration::from_millis(50));
    }
    (running, format!("https://127.0.0.1:{port}"))
}

#[test]
fn a_certificate_is_believed_only_of_an_authority_that_was_named() {
    let folder: PathBuf = folder("trusting");
    let (_running, server) = secure(&folder);
    let untrusted =
        ["its certificate is not trusted", "--certificate-authority", "--insecure-skip"];
    let rows: &[(&[&str], &[&str])] = &[
        (&["--certificate-authority", "own-ca.crt"], &[]),
        (&["--insecure-skip-tls-verify"], &[]),
        (&["--certificate-authority", "other-ca.crt"], &untrusted),
        (&[], &untrusted),
        (&["--certificate-authority", "own.key"], &["--certificate-authority: own.key", "no cert"]),
        (&["--certificate-authority", "gone"], &["--certificate-authority: gone"]),
        (&["--insecure-skip-tls-verify", "--token-file", "gone"], &["--token-file: gone: cannot"]),
        (&["--insecure-skip-tls-verify", "--token-file", "empty"], &["empty: there is no token"]),
        // It asks an API server that is not there whose token it is.
        (&["--insecure-skip-tls-verify", "--token-file", "token"], &["not known", "--token-file"]),
    ];
    write(&folder, "empty", "\n");
    write(&folder, "token", "nobodys\n");
    for (arguments, parts) in rows {
        let said = run_in(&folder, &[&["queue", "-A", "--server", &server], *arguments].concat());
        if parts.is_empty() {
            assert_eq!((said.code, said.out.as_str()), (0, "No pods wait.\n"), "{}", said.err);
            continue;
        }
        assert_eq!(said.code, 1, "{arguments:?}");
        for part in *parts {
            assert!(said.err.contains(part), "{arguments:?}: {part:?} is not in {}", said.err);
        }
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
