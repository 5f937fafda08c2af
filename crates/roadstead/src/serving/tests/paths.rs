//! What each path answers.

use std::sync::atomic::Ordering;

use tokio::net::TcpStream;

use super::testing::{Harbour, exchange, free_port};

#[tokio::test]
async fn health_is_told_as_other_components_tell_it() {
    let harbour = Harbour::open("").await;
    for path in ["/healthz", "/livez"] {
        let said = harbour.get(path, "").await;
        assert_eq!((said.status, said.body.as_str()), (200, "ok"), "{path}");
        assert!(said.head.contains("content-type: text/plain; charset=utf-8"), "{}", said.head);
        assert!(said.head.contains("cache-control: no-cache, private"), "{}", said.head);
    }
    let said = harbour.get("/livez?verbose", "").await;
    assert_eq!(said.body, "[+]ping ok\nlivez check passed\n");
}

#[tokio::test]
async fn the_process_is_ready_from_the_first_lists_until_it_stops() {
    let harbour = Harbour::open("").await;
    let said = harbour.get("/readyz", "").await;
    let waiting =
        "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n";
    assert_eq!((said.status, said.body.as_str()), (500, waiting));

    let said = harbour.get("/readyz?exclude=sched-handler-sync&verbose", "").await;
    let excluded = "[+]shutdown ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n";
    assert_eq!((said.status, said.body.as_str()), (200, excluded));

    harbour.health.on_handlers_synced();
    assert_eq!(harbour.get("/readyz", "").await.body, "ok");

    harbour.health.on_shutdown();
    let said = harbour.get("/readyz", "").await;
    assert_eq!(said.status, 500);
    assert!(said.body.starts_with("[-]shutdown failed: reason withheld\n"), "{}", said.body);
}

#[tokio::test]
async fn a_single_check_tells_its_reason_to_who_may_know() {
    let harbour = Harbour::open("").await;
    let path = "/readyz/sched-handler-sync";
    assert_eq!(harbour.get(path, "").await.status, 403);
    let said = harbour.get(path, "ann").await;
    let why = "internal server error: waiting for handlers to sync\n";
    assert_eq!((said.status, said.body.as_str()), (500, why));
    assert_eq!(harbour.get("/readyz/shutdown", "ann").await.body, "ok");
    assert_eq!(harbour.get("/readyz/ping", "ann").await.status, 404);
}

#[tokio::test]
async fn how_checks_went_is_counted() {
    let harbour = Harbour::open("").await;
    harbour.get("/readyz", "").await;
    harbour.health.on_handlers_synced();
    harbour.get("/readyz", "").await;
    let text = harbour.get("/metrics/slis", "ann").await.body;
    for line in [
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.",
        "# TYPE kubernetes_healthchecks_total counter",
        "kubernetes_healthcheck{name=\"sched-handler-sync\",type=\"readyz\"} 1",
        "kubernetes_healthchecks_total{name=\"sched-handler-sync\",status=\"error\",type=\"readyz\"} 1",
        "kubernetes_healthchecks_total{name=\"shutdown\",status=\"success\",type=\"readyz\"} 2",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
}

#[tokio::test]
async fn metrics_are_the_schedulers_and_the_processs() {
    let harbour = Harbour::open("").await;
    let said = harbour.get("/metrics", "ann").await;
    assert_eq!(said.status, 200);
    let kind = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(said.head.contains(kind), "{}", said.head);
    for part in ["scheduler_pending_pods{queue=\"active\"} 3\n", "\nroadstead_build_info{"] {
        assert!(said.body.contains(part), "{part} is not in\n{}", said.body);
    }
    let said = harbour.get("/metrics/resources", "ann").await;
    assert_eq!(said.body, "kube_pod_resource_request{pod=\"web\"} 1\n");
}

#[tokio::test]
async fn a_scheduler_that_is_gone_is_said_to_be() {
    let harbour = Harbour::open("").await;
    harbour.scheduler.is_gone.store(true, Ordering::SeqCst);
    for path in ["/metrics", "/metrics/resources"] {
        let said = harbour.get(path, "ann").await;
        assert_eq!((said.status, said.body.as_str()), (503, "503: the scheduler has stopped\n"));
    }
    assert_eq!(harbour.get("/livez", "").await.status, 200);
}

#[tokio::test]
async fn the_configuration_in_force_is_shown() {
    let harbour = Harbour::open("").await;
    let said = harbour.get("/configz", "ann").await;
    assert!(said.head.contains("content-type: application/json"), "{}", said.head);
    assert_eq!(said.json()["componentconfig"]["kind"], "KubeSchedulerConfiguration");
}

#[tokio::test]
async fn other_routes_stand_beside_and_what_is_nowhere_is_not_found() {
    let harbour = Harbour::open("").await;
    assert_eq!(harbour.get("/more", "ann").await.body, "more");
    assert_eq!(harbour.get("/more", "").await.status, 403);
    let said = harbour.get("/nowhere", "ann").await;
    assert_eq!((said.status, said.body.as_str()), (404, "404 page not found\n"));
    assert_eq!(harbour.get("/nowhere", "").await.status, 403);
    assert_eq!(harbour.ask("POST", "/metrics", "ann").await.status, 405);
}

#[tokio::test]
async fn plain_http_is_for_this_machine_by_its_own_name() {
    let port = free_port();
    let harbour = Harbour::open(&format!("--insecure-loopback-port {port}")).await;
    let address = harbour.serving.insecure_address().expect("it serves plain HTTP");
    assert_eq!(address.to_string(), format!("127.0.0.1:{port}"));
    let ask = async |method: &str, headers: &str| {
        let stream = TcpStream::connect(address).await.expect("it connects");
        exchange(stream, method, "/metrics", headers).await
    };
    assert_eq!(ask("GET", "").await.status, 200);
    let said = ask("DELETE", "").await;
    assert_eq!((said.status, said.body.as_str()), (200, "metrics reset\n"));
    assert_eq!(harbour.scheduler.resets.load(Ordering::SeqCst), 1);
    assert_eq!(harbour.api.access_reviews.load(Ordering::SeqCst), 0, "nobody is asked");

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = TcpStream::connect(address).await.expect("it connects");
    let rebound = b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    stream.write_all(rebound).await.expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it is read");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}
