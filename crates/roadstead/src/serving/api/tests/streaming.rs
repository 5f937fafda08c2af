//! Streams.

use std::time::Duration;

use axum::body::Body;
use http::Request;
use serde_json::Value;

use super::stage::{TestStage, get, next, send};
use crate::serving::shown;

async fn open(router: &axum::Router) -> Body {
    let request = Request::get("/api/v1/stream").body(Body::empty()).expect("it is a request");
    let response = send(router, request).await;
    assert_eq!(response.status().as_u16(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

async fn message(body: &mut Body) -> Value {
    let part = tokio::time::timeout(Duration::from_secs(20), next(body)).await;
    let part = part.expect("it comes in time").expect("it goes on");
    let text = String::from_utf8(part).expect("it is text");
    let data = text.strip_prefix("event: activity\ndata: ").expect("it is of that kind");
    serde_json::from_str(data.trim_end()).expect("it is JSON")
}

fn seconds(message: &Value) -> (u64, usize) {
    let series = &message["series"];
    let samples = series["samples"].as_array().expect("there are samples").len();
    (series["start"].as_u64().expect("it is a number"), samples)
}

#[tokio::test(start_paused = true)]
async fn a_client_is_sent_every_second_once_however_slow_it_is() {
    let stage = TestStage::crowded(false);
    let router = shown(stage.clone());
    let mut quick = open(&router).await;
    let first = message(&mut quick).await;
    assert_eq!(seconds(&first), (1000, 5));
    assert_eq!(first["counts"]["active"], 3);
    let mut slow = open(&router).await;
    assert_eq!(seconds(&message(&mut slow).await), (1000, 5));

    let mut told = 1005;
    for _ in 0..20 {
        stage.later(Duration::from_secs(2));
        // A sample later at the latest.
        for _ in 0..2 {
            let (start, samples) = seconds(&message(&mut quick).await);
            assert_eq!(start, told);
            told += samples as u64;
        }
    }
    assert_eq!(told, 1045);
    let mut caught_up = 1005;
    for _ in 0..3 {
        let (start, samples) = seconds(&message(&mut slow).await);
        assert_eq!(start, caught_up);
        caught_up += samples as u64;
    }
    assert_eq!(caught_up, 1045, "what it missed came with the latest");
}

#[tokio::test(start_paused = true)]
async fn a_stream_lives_through_a_scheduler_that_does_not_answer() {
    let stage = TestStage::crowded(false);
    let router = shown(stage.clone());
    let mut body = open(&router).await;
    message(&mut body).await;
    *stage.is_gone.lock().expect("nobody panicked") = true;
    let mut text = String::new();
    for _ in 0..3 {
        text = String::from_utf8(next(&mut body).await.expect("it goes on")).expect("it is text");
    }
    assert_eq!(text, ": still here\n\n");
    *stage.is_gone.lock().expect("nobody panicked") = false;
    message(&mut body).await;
}

#[tokio::test(start_paused = true)]
async fn there_are_so_many_streams_and_no_more() {
    let router = shown(TestStage::crowded(false));
    let mut bodies = Vec::new();
    for _ in 0..64 {
        bodies.push(open(&router).await);
    }
    let said = get(&router, "/api/v1/stream").await;
    assert_eq!(said.status, 503);
    bodies.pop();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut another = open(&router).await;
    message(&mut another).await;
}
