//! The commands that ask a running scheduler, against one that runs.

use std::path::PathBuf;

use axum::Router;
use axum::extract::Request;
use clap::Parser;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::stage::TestStage;
use crate::commands::{explain::Explain, queue::Queue};
use crate::serving::shown;

#[derive(Parser)]
enum Program {
    Queue(Queue),
    Explain(Explain),
}

/// Runs a command; what it printed, or what it said was wrong.
pub(super) async fn run(line: String) -> Result<String, String> {
    let run = move || {
        let words = std::iter::once("roadstead").chain(line.split_whitespace());
        let mut out = Vec::new();
        let done = match Program::try_parse_from(words).map_err(|error| error.to_string())? {
            Program::Queue(command) => command.run(&mut out),
            Program::Explain(command) => command.run(&mut out),
        };
        done.map_err(|error| error.to_string())?;
        String::from_utf8(out).map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(run).await.expect("it does not panic")
}

pub(super) async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_is_a_table() {
    let server = serve(shown(TestStage::crowded(false))).await;
    let out = run(format!("queue --server {server}")).await.expect("it answers");
    let expected = "\
NAME     PLACE           PRIORITY   ATTEMPTS   AGE   REJECTED BY
next-0   active          7          0          0s    <none>
next-1   active          7          0          0s    <none>
next-2   active          7          0          0s    <none>
large    unschedulable   0          2          5s    NodeResourcesFit
larger   unschedulable   0          2          5s    NodeResourcesFit
held     gated           0          0          5s    SchedulingGates
";
    assert_eq!(out, expected);
    let out = run(format!("queue -n other --server {server}/")).await.expect("it answers");
    assert_eq!(out, "No pods wait in namespace other.\n");
    let line = format!("queue -A -o wide --sort-by -attempts --limit 2 --server {server}");
    let out = run(line).await.expect("it answers");
    assert_eq!(out.lines().count(), 3, "{out}");
    let row = out.lines().nth(1).expect("there is a row");
    assert!(row.starts_with("default     large"), "{out}");
    assert!(row.ends_with("2 Insufficient cpu"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_queue_is_a_document() {
    let server = serve(shown(TestStage::crowded(false))).await;
    let out = run(format!("queue -o json --server {server}")).await.expect("it answers");
    let listed: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!((&listed["total"], listed["items"].as_array().map(Vec::len)), (&json!(6), Some(6)));
    let out = run(format!("queue -o yaml --place gated --server {server}")).await;
    let out = out.expect("it answers");
    let listed: Value = serde_saphyr::from_str(&out).expect("it is YAML");
    assert_eq!(listed["items"][0]["gatedBy"], "SchedulingGates");
    let error = run(format!("queue -w -o yaml --server {server}")).await.expect_err("no end");
    assert!(error.contains("--watch"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_is_explained() {
    let server = serve(shown(TestStage::crowded(false))).await;
    for line in ["explain large", "explain default/large", "explain -n default large"] {
        let out = run(format!("{line} --server {server}")).await.expect("it answers");
        assert!(
            out.starts_with("default/large waits for an event for 0.5s, after 2 attempts"),
            "{out}"
        );
        assert!(out.contains("What happened to it:\n"), "{out}");
    }
    let out = run(format!("explain large -o json --server {server}")).await.expect("it answers");
    let found: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(found["explanation"]["place"], "unschedulable");
    let error = run(format!("explain larg --server {server}")).await.expect_err("there is none");
    assert_eq!(
        error,
        "error: there is no pod default/larg; did you mean default/large or default/larger?"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_told_with_the_way_out() {
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
    let nowhere = format!("http://{}", closed.local_addr().expect("it is bound"));
    drop(closed);
    let strict = serve(Router::new().fallback(|request: Request| async move {
        let status = match request.headers().contains_key("authorization") {
            true => StatusCode::FORBIDDEN,
            false => StatusCode::UNAUTHORIZED,
        };
        (status, r#"{"error": {"message": "ann may not get it"}}"#)
    }));
    let strict = strict.await;
    let token = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../LICENSE");
    let odd = serve(Router::new().fallback(|| async { "hello" })).await;
    let folder = std::env::temp_dir().join(format!("roadstead-token-{}", std::process::id()));
    std::fs::write(&folder, "secret\n").expect("it can be written");
    let file = folder.display();
    let rows = [
        (format!("queue --server {nowhere}"), vec![nowhere.as_str(), "refused", "roadstead serve"]),
        (format!("queue --server {strict}"), vec!["not known there", "--token-file"]),
        (
            format!("queue --server {strict} --token-file {file}"),
            vec!["ann may not get it", "roadstead-viewer"],
        ),
        (format!("explain x --server {odd}"), vec!["is this a Roadstead scheduler?"]),
        ("queue --server ftp://x".to_owned(), vec!["--server", "http:// or https://"]),
        (
            format!("queue --server http://10.0.0.1 --token-file {file}"),
            vec!["--server", "plain HTTP to another machine"],
        ),
        (format!("queue --token-file {}", token.display()), vec!["--token-file", "it is no token"]),
        ("queue --via-cluster --token-file x".to_owned(), vec!["cannot be used with"]),
        ("queue --kubeconfig x --insecure-skip-tls-verify".to_owned(), vec!["cannot be used with"]),
        ("queue -w --limit 3".to_owned(), vec!["cannot be used with"]),
        ("queue --certificate-authority /nowhere".to_owned(), vec!["--certificate-authority"]),
        (format!("queue --place gated --server {odd}/x"), vec!["not understood"]),
    ];
    for (line, parts) in rows {
        let error = run(line.clone()).await.expect_err(&line);
        for part in parts {
            assert!(error.contains(part), "{line}: {part:?} is not in {error}");
        }
    }
    std::fs::remove_file(&folder).expect("it is there");
}
