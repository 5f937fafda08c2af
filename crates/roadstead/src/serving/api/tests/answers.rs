//! What the paths answer.

use axum::body::Body;
use http::Request;
use serde_json::json;

use super::stage::{TestStage, ask, get, router, send};
use crate::serving::shown;

#[tokio::test]
async fn the_status_tells_how_things_stand() {
    let said = get(&router(false), "/api/v1/status").await;
    assert_eq!(said.body["mode"], "run");
    assert_eq!(said.body["now"], 1005.5);
    assert_eq!(said.body["schedulers"], json!(["default-scheduler"]));
    let counts = json!({"active": 3, "backoff": 0, "unschedulable": 2, "gated": 1,
                        "inFlight": 0, "binding": 0});
    assert_eq!(said.body["counts"], counts);
    assert_eq!((&said.body["nodes"], &said.body["boundTotal"]), (&json!(2), &json!(2)));
    assert_eq!(said.body["canChange"], false);
    assert!(said.body.get("replay").is_none());
    let said = get(&router(true), "/api/v1/status").await;
    assert_eq!((&said.body["mode"], &said.body["replay"]["to"]), (&json!("serve"), &json!(2000.0)));
}

#[tokio::test]
async fn the_queue_is_paged_through_to_its_end() {
    let router = router(false);
    let (mut names, mut path) = (Vec::new(), "/api/v1/queue?sort=-priority&limit=2".to_owned());
    for _ in 0..10 {
        let page = get(&router, &path).await.body;
        assert_eq!(page["total"], 6);
        let items = page["items"].as_array().expect("there are items").clone();
        names.extend(items.iter().map(|item| item["name"].as_str().expect("a name").to_owned()));
        let Some(token) = page["continue"].as_str() else { break };
        let token = token.replace('/', "%2F").replace(':', "%3A");
        path = format!("/api/v1/queue?sort=-priority&limit=2&continue={token}");
    }
    assert_eq!(names, ["next-0", "next-1", "next-2", "held", "large", "larger"]);
}

#[tokio::test]
async fn a_pod_is_explained_as_in_words() {
    let router = router(false);
    let said = get(&router, "/api/v1/pods/default/large").await;
    assert_eq!(said.body["explanation"]["place"], "unschedulable");
    let text = said.body["text"].as_str().expect("there is text");
    assert!(text.starts_with("default/large waits for an event"), "{text}");
    assert!(text.contains("NodeResourcesFit refuses 2 of 2 nodes: Insufficient cpu"), "{text}");
    assert!(text.contains("What happened to it:"), "{text}");
    let said = get(&router, "/api/v1/pods/default/gone").await;
    assert!(said.body.get("explanation").is_none());
    assert!(
        said.body["text"].as_str().is_some_and(|text| text.starts_with("default/gone is gone."))
    );
    let said = get(&router, "/api/v1/pods/default/larg").await;
    assert_eq!(
        said.message(),
        "there is no pod default/larg; did you mean default/large or default/larger?"
    );
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_field() {
    let router = router(false);
    let rows = [
        ("/api/v1/queue?limit=0", "limit", "limit: must be between 1 and 1000, not \"0\""),
        ("/api/v1/queue?limit=1001", "limit", "limit: must be between 1 and 1000, not \"1001\""),
        ("/api/v1/queue?place=limbo", "place", "place: must be one of active, backoff,"),
        ("/api/v1/queue?sort=size", "sort", "sort: must be one of place, namespace,"),
        ("/api/v1/queue?sort=--name", "sort", "sort: must be one of"),
        ("/api/v1/queue?continue=x", "continue", "continue: must be what the last page"),
        ("/api/v1/queue?sort=name&continue=place:1/a/b", "continue", "continue: must be"),
        ("/api/v1/queue?sort=name&continue=name:1/a/b", "continue", "continue: must be"),
        ("/api/v1/queue?continue=place:/a/b", "continue", "continue: must be"),
        ("/api/v1/pods?limit=101", "limit", "limit: must be between 1 and 100"),
        ("/api/v1/nodes?sort=zone", "sort", "sort: must be one of name, cpu, memory, pods"),
        ("/api/v1/queue?search=%00", "search", "search: must have no control characters"),
    ];
    for (path, field, message) in rows {
        let said = get(&router, path).await;
        assert_eq!((said.status, &said.body["error"]["field"]), (400, &json!(field)), "{path}");
        assert!(said.message().starts_with(message), "{path}: {}", said.message());
        assert_eq!(said.body["error"]["reason"], "BadRequest");
    }
    for path in [
        "/api/v1/queue?x=1",
        "/api/v1/status?x",
        "/api/v1/queue?limit=1&limit=2",
        "/api/v1/queue?search=%ff",
        "/api/v1/pods/default/%ff",
        "/api/v1/nodes/%00",
    ] {
        let said = get(&router, path).await;
        assert_eq!((said.status, &said.body["error"]["code"]), (400, &json!(400)), "{path}");
    }
}

#[tokio::test]
async fn errors_have_one_shape_wherever_they_are() {
    let router = router(true);
    for path in ["/api", "/api/", "/api/v1", "/api/v1/nothing", "/api/v2/status", "/api/v1/status/"]
    {
        let said = get(&router, path).await;
        assert_eq!(
            (said.status, &said.body["error"]["reason"]),
            (404, &json!("NotFound")),
            "{path}"
        );
    }
    let rows = [
        ("POST", "/api/v1/status", "GET, HEAD"),
        ("PUT", "/api/v1/pods/default/web-0", "GET, HEAD, DELETE"),
        ("TRACE", "/api/v1/queue", "GET, HEAD"),
        ("GET", "/api/v1/manifests", "POST"),
    ];
    for (method, path, allow) in rows {
        let said = ask(&router, method, path, None).await;
        assert_eq!((said.status, &said.head["allow"]), (405, &allow.parse().expect("a header")));
        assert_eq!(said.body["error"]["reason"], "MethodNotAllowed", "{method} {path}");
    }
    let said = ask(&router, "POST", "/api/v1/manifests", Some(("text/plain", "x"))).await;
    let reason = &said.body["error"]["reason"];
    assert_eq!((said.status, reason), (415, &json!("UnsupportedMediaType")));
    let said = ask(&router, "POST", "/api/v1/manifests", None).await;
    assert_eq!(said.status, 415);
    for wrong in ["", "[]", "null", "{", "{} {}"] {
        let body = Some(("application/json", wrong));
        assert_eq!(ask(&router, "POST", "/api/v1/manifests", body).await.status, 400, "{wrong}");
    }
    let large = "#".repeat(crate::serving::BODY_SIZE + 1);
    let served =
        router.clone().layer(axum::extract::DefaultBodyLimit::max(crate::serving::BODY_SIZE));
    let said = ask(&served, "POST", "/api/v1/manifests", Some(("application/yaml", &large))).await;
    assert_eq!((said.status, &said.body["error"]["reason"]), (413, &json!("PayloadTooLarge")));
    let said =
        ask(&router, "POST", "/api/v1/replay", Some(("application/json", "{\"at\": 5}"))).await;
    assert_eq!((said.status, said.message()), (400, "at: must be between 1000 and 2000, not 5"));
    for wrong in ["", "{}", "{\"at\": \"x\"}", "{\"at\": 1500, \"x\": 1}", "{\"at\": null}"] {
        let said = ask(&router, "POST", "/api/v1/replay", Some(("application/json", wrong))).await;
        assert_eq!(said.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn manifests_are_taken_all_or_none() {
    let stage = TestStage::crowded(true);
    let router = shown(stage.clone());
    let yaml = "application/yaml; charset=utf-8";
    let said = ask(&router, "POST", "/api/v1/manifests", Some((yaml, "kind: Pod"))).await;
    let taken = json!({"created": ["Pod default/new"], "updated": [], "unchanged": 0});
    assert_eq!((said.status, said.body), (200, taken));
    let said = ask(&router, "POST", "/api/v1/manifests", Some((yaml, "wrong"))).await;
    assert_eq!((said.status, said.message()), (400, "line 1: this is wrong\nline 2: this too"));
    assert_eq!(stage.applied.lock().expect("nobody panicked").len(), 1);
}

#[tokio::test]
async fn a_scheduler_that_is_gone_is_said_to_be() {
    let stage = TestStage::crowded(false);
    let router = shown(stage.clone());
    *stage.is_gone.lock().expect("nobody panicked") = true;
    for path in
        ["/api/v1/status", "/api/v1/queue", "/api/v1/pods/default/large", "/api/v1/activity"]
    {
        let said = get(&router, path).await;
        let reason = &said.body["error"]["reason"];
        assert_eq!((said.status, reason), (503, &json!("Unavailable")), "{path}");
    }
}

#[tokio::test]
async fn everything_shown_is_kept_from_other_sites() {
    let router = router(false);
    for path in ["/", "/assets/index.html", "/assets/nothing", "/api/v1/status", "/api/v1/nothing"]
    {
        let request = Request::get(path).body(Body::empty()).expect("it is a request");
        let response = send(&router, request).await;
        let headers = response.headers();
        let policy = headers["content-security-policy"].to_str().expect("it is text");
        assert!(policy.starts_with("default-src 'self';"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["referrer-policy"], "no-referrer", "{path}");
    }
}

#[tokio::test]
async fn a_standby_answers_whoever_does_not_ask_for_the_leader() {
    let stage = TestStage::crowded(false);
    let router = shown(stage.clone());
    let asked = |leader: Option<&'static str>| {
        let mut request = Request::get("/api/v1/queue");
        if let Some(leader) = leader {
            request = request.header("x-roadstead-leader", leader);
        }
        send(&router, request.body(Body::empty()).expect("it is a request"))
    };
    for (leads, header, status) in [
        (true, None, 200),
        (true, Some("required"), 200),
        (true, Some("please"), 400),
        (false, None, 200),
        (false, Some("required"), 421),
    ] {
        *stage.leads.lock().expect("nobody panicked") = leads;
        let answer = asked(header).await;
        assert_eq!(answer.status().as_u16(), status, "{leads} {header:?}");
    }
}
