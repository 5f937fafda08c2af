//! The commands that ask a running scheduler through the API server of its cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use http::StatusCode;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::commands::{run, serve};
use super::stage::TestStage;
use crate::serving::shown;

/// An API server with instances of a scheduler behind its proxy, as far as the commands need one.
#[derive(Clone)]
struct Cluster {
    /// Asked in turn.
    instances: Arc<Vec<Router>>,
    asked: Arc<AtomicUsize>,
    /// How many tokens it has made.
    tokens: Arc<AtomicUsize>,
    /// The first token that the scheduler takes.
    first_good: usize,
    may_have_token: bool,
}

impl Cluster {
    fn new(stages: Vec<Arc<TestStage>>) -> Self {
        Self {
            instances: Arc::new(stages.into_iter().map(|stage| shown(stage)).collect()),
            asked: Arc::default(),
            tokens: Arc::default(),
            first_good: 1,
            may_have_token: true,
        }
    }

    fn token(&self, namespace: &str, account: &str, body: &str) -> (StatusCode, String) {
        let asked: Value = serde_json::from_str(body).expect("it is JSON");
        if (namespace, account) != ("roadstead", "roadstead-viewer") {
            let message = format!("there is no {namespace}/{account}");
            return (StatusCode::NOT_FOUND, json!({"message": message}).to_string());
        }
        assert_eq!(asked["spec"]["audiences"], json!(["roadstead"]));
        if !self.may_have_token {
            return (StatusCode::FORBIDDEN, json!({"message": "no token for you"}).to_string());
        }
        let token = format!("cay-{}", self.tokens.fetch_add(1, Ordering::Relaxed) + 1);
        (StatusCode::CREATED, json!({"status": {"token": token}}).to_string())
    }

    async fn pass_on(self, path: String, request: Request) -> Response {
        let token = request.headers().get("x-roadstead-authorization").expect("there is a token");
        let token = token.to_str().expect("it is text").strip_prefix("Bearer cay-");
        let token: usize = token.expect("it is ours").parse().expect("it is numbered");
        if token < self.first_good {
            let problem = json!({"error": {"message": "nobody knows it"}});
            return (StatusCode::UNAUTHORIZED, problem.to_string()).into_response();
        }
        let query = request.uri().query().map_or(String::new(), |query| format!("?{query}"));
        let mut forwarded = Request::get(format!("/{path}{query}"));
        if let Some(leader) = request.headers().get("x-roadstead-leader") {
            forwarded = forwarded.header("x-roadstead-leader", leader);
        }
        let forwarded = forwarded.body(Body::empty()).expect("it is a request");
        let turn = self.asked.fetch_add(1, Ordering::Relaxed) % self.instances.len();
        let Ok(answer) = self.instances[turn].clone().oneshot(forwarded).await;
        answer
    }

    /// Asks it with a kubeconfig; what is printed, or said to be wrong.
    async fn ask(&self, name: &str, line: &str) -> Result<String, String> {
        let (api, proxy) = (self.clone(), self.clone());
        let token = move |Path((namespace, account)): Path<(String, String)>, body: String| async move {
            api.token(&namespace, &account, &body)
        };
        let proxy = move |Path(path): Path<String>, request: Request| proxy.pass_on(path, request);
        let proxied = "/api/v1/namespaces/roadstead/services/https:roadstead:10259/proxy/{*path}";
        let server = serve(
            Router::new()
                .route(
                    "/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
                    post(token),
                )
                .route(proxied, any(proxy)),
        );
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, current-context: a, \
             clusters: [{{name: a, cluster: {{server: \"{}\"}}}}], \
             users: [{{name: a, user: {{}}}}], \
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]}}",
            server.await
        );
        let file = format!("roadstead-kubeconfig-{}-{name}", std::process::id());
        let file = std::env::temp_dir().join(file);
        std::fs::write(&file, kubeconfig).expect("it can be written");
        let said = run(format!("{line} --kubeconfig {}", file.display())).await;
        std::fs::remove_file(&file).expect("it is there");
        said
    }
}

fn standby() -> Arc<TestStage> {
    let stage = TestStage::crowded(false);
    *stage.leads.lock().expect("nobody panicked") = false;
    stage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduler_in_a_cluster_is_asked_through_its_api_server() {
    let cluster = Cluster::new(vec![TestStage::crowded(false)]);
    let out = cluster.ask("fine", "explain held").await.expect("it answers");
    assert!(out.starts_with("default/held is held by SchedulingGates"), "{out}");

    let closed = Cluster { may_have_token: false, ..cluster };
    let error = closed.ask("closed", "explain held").await.expect_err("there is no token");
    for part in ["no token for you", "serviceaccounts/token", "services/proxy", "rolebinding look"]
    {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_refused_is_replaced_once() {
    let cluster = Cluster::new(vec![TestStage::crowded(false)]);
    let late = Cluster { first_good: 2, ..cluster.clone() };
    let out = late.ask("second", "queue --place gated").await.expect("it answers");
    assert!(out.contains("held"), "{out}");
    assert_eq!(late.tokens.load(Ordering::Relaxed), 2);

    let never = Cluster { first_good: usize::MAX, ..cluster };
    let error = never.ask("never", "queue").await.expect_err("no token is good");
    assert!(error.contains("nobody knows it; its token is new"), "{error}");
    assert_eq!(never.tokens.load(Ordering::Relaxed), 4, "two more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_instances_the_one_answers_that_leads() {
    let cluster = Cluster::new(vec![standby(), standby(), TestStage::crowded(false)]);
    let out = cluster.ask("one-leads", "queue -o json").await.expect("it answers");
    assert!(out.contains("next-0"), "{out}");
    assert_eq!(cluster.asked.load(Ordering::Relaxed), 3);
    let cluster = Cluster::new(vec![standby(), standby()]);
    let error = cluster.ask("none-leads", "queue").await.expect_err("nobody leads");
    assert!(error.contains("no instance leads that answers"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_is_named_is_asked_as_it_is() {
    let server = serve(shown(standby())).await;
    let out = run(format!("queue --place gated --server {server}")).await.expect("it answers");
    assert!(out.contains("held"), "{out}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_not_there_is_told_with_the_way_out() {
    let cluster = Cluster::new(vec![TestStage::crowded(false)]);
    let line = "queue --namespace-of-scheduler ../other";
    let error = cluster.ask("elsewhere", line).await.expect_err("there is none");
    assert!(error.contains("there is no ../other/roadstead-viewer"), "{error}");
    assert!(error.contains("--namespace-of-scheduler and --service"), "{error}");
}
