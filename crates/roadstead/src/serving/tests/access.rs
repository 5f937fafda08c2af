//! Who gets in.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;

use super::testing::{FakeApi, Harbour};
use crate::serving::listening::Limits;

#[tokio::test]
async fn the_cluster_says_who_a_token_is_and_what_they_may() {
    let harbour = Harbour::open("").await;
    assert_eq!(harbour.get("/metrics", "ann").await.status, 200);
    let asked = harbour.api.last_access_review.lock().expect("nobody panicked").clone();
    assert_eq!(
        asked,
        json!({
            "user": "ann", "groups": ["dev", "system:authenticated"],
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        })
    );

    let said = harbour.get("/metrics", "bob").await;
    assert_eq!(said.status, 403);
    assert_eq!(
        said.json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "forbidden: User \"bob\" cannot get path \"/metrics\"",
            "reason": "Forbidden", "details": {}, "code": 403,
        })
    );
    assert_eq!(harbour.ask("DELETE", "/metrics", "ann").await.status, 403);
    assert_eq!(harbour.scheduler.resets.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_cluster_is_asked_about_the_api_by_a_name_that_is_not_everybodys() {
    let harbour = Harbour::open("").await;
    let said = harbour.get("/api/v1/queue", "bob").await;
    assert_eq!(said.status, 403);
    assert_eq!(said.json()["error"]["message"], "bob may not get /roadstead/api/v1/queue");
    let asked = harbour.api.last_access_review.lock().expect("nobody panicked").clone();
    assert_eq!(asked["nonResourceAttributes"]["path"], "/roadstead/api/v1/queue");
}

#[tokio::test]
async fn a_wrong_token_is_refused_everywhere() {
    let harbour = Harbour::open("").await;
    for path in ["/metrics", "/livez"] {
        let said = harbour.get(path, "forged").await;
        assert_eq!(said.status, 401);
        assert_eq!(said.json()["message"], "Unauthorized");
    }
}

#[tokio::test]
async fn a_token_may_be_meant_for_this_program_and_come_through_a_proxy() {
    let harbour = Harbour::open("").await;
    for header in ["Authorization", "X-Roadstead-Authorization"] {
        for (token, status) in [("ann", 200), ("cay", 200), ("bob", 403), ("forged", 401)] {
            let headers = format!("{header}: Bearer {token}\r\n");
            let said = harbour.ask_as(None, "GET", "/metrics", &headers).await;
            assert_eq!(said.status, status, "{header}: {token}");
        }
    }
    let both = "Authorization: Bearer forged\r\nX-Roadstead-Authorization: Bearer ann\r\n";
    assert_eq!(harbour.ask_as(None, "GET", "/metrics", both).await.status, 401);
}

#[tokio::test]
async fn whoever_says_nothing_is_anonymous() {
    let harbour = Harbour::open("").await;
    let said = harbour.get("/metrics", "").await;
    assert_eq!(said.status, 403);
    let message = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    assert_eq!(said.json()["message"], message);
    let asked = harbour.api.last_access_review.lock().expect("nobody panicked").clone();
    assert_eq!(asked["groups"], json!(["system:unauthenticated"]));
    assert_eq!(harbour.api.token_reviews.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn answers_are_remembered_whichever_they_are() {
    let harbour = Harbour::open("").await;
    for _ in 0..3 {
        for (token, status) in [("ann", 200), ("bob", 403), ("forged", 401)] {
            assert_eq!(harbour.get("/metrics", token).await.status, status);
        }
    }
    let reviews = harbour.api.token_reviews.load(Ordering::SeqCst);
    assert_eq!(reviews, 4, "one a token, and one more for one that is nobody's");
    assert_eq!(harbour.api.access_reviews.load(Ordering::SeqCst), 2, "one a user");
    harbour.get("/configz", "ann").await;
    assert_eq!(harbour.api.access_reviews.load(Ordering::SeqCst), 3, "another path");
}

#[tokio::test]
async fn answers_that_may_not_be_remembered_are_asked_for_each_time() {
    let ttl = "--authentication-token-webhook-cache-ttl 0s \
               --authorization-webhook-cache-authorized-ttl 0s";
    let harbour = Harbour::open(ttl).await;
    for _ in 0..2 {
        assert_eq!(harbour.get("/metrics", "ann").await.status, 200);
    }
    assert_eq!(harbour.api.token_reviews.load(Ordering::SeqCst), 2);
    assert_eq!(harbour.api.access_reviews.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn paths_can_be_open_to_all() {
    let harbour = Harbour::open("--authorization-always-allow-paths /configz,/metrics/*").await;
    assert_eq!(harbour.get("/configz", "").await.status, 200);
    assert_eq!(harbour.get("/metrics/slis", "").await.status, 200);
    assert_eq!(harbour.get("/metrics", "").await.status, 403);
    assert_eq!(harbour.get("/livez", "").await.status, 403, "the list was replaced");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_lets_nobody_in_but_probes() {
    let harbour = Harbour::open("").await;
    harbour.api.is_down.store(true, Ordering::SeqCst);
    assert_eq!(harbour.get("/livez", "").await.status, 200);
    assert_eq!(harbour.get("/metrics", "ann").await.status, 401);
    let said = harbour.get("/metrics", "").await;
    assert_eq!(said.status, 500);
    assert!(said.body.starts_with("Internal Server Error: \"/metrics\": "), "{}", said.body);
    harbour.api.is_down.store(false, Ordering::SeqCst);
    assert_eq!(harbour.get("/metrics", "ann").await.status, 200, "failures are not remembered");
}

#[tokio::test]
async fn a_lookup_that_fails_ends_the_program_only_where_that_is_asked_for() {
    let strict = "--authentication-tolerate-lookup-failure=false";
    let open = async |options: &str| {
        Harbour::within(options, Arc::new(FakeApi::default()), Limits::default()).await
    };
    let error = open(strict).await.err().expect("the ConfigMap may not be read").to_string();
    assert!(error.contains("extension-apiserver-authentication"), "{error}");
    assert!(error.contains("--authentication-tolerate-lookup-failure=true"), "{error}");
    assert!(open(&format!("{strict} --authentication-skip-lookup")).await.is_ok());
}
