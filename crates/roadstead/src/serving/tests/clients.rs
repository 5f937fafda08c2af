//! Clients that are slow, dead or many.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::testing::{Harbour, connect, free_port};
use crate::serving::listening::Limits;

/// So short that a test can wait for it.
fn hasty() -> Limits {
    let short = Duration::from_millis(200);
    Limits { handshake: short, head: short, write: short, ..Limits::default() }
}

#[tokio::test]
async fn slow_clients_keep_nobody_waiting_and_are_cut() {
    let harbour = Harbour::within("", Arc::default(), hasty()).await;
    let harbour = harbour.unwrap_or_else(|error| panic!("{error}"));
    // One says nothing, one begins a handshake, one begins a request.
    let mut silent = TcpStream::connect(harbour.address()).await.expect("it connects");
    let mut half = TcpStream::connect(harbour.address()).await.expect("it connects");
    half.write_all(&[0x16, 3, 1]).await.expect("it is sent");
    let mut slow = connect(harbour.address(), None).await.expect("it connects");
    slow.write_all(b"GET /livez HTTP/1.1\r\nHost: loc").await.expect("it is sent");

    assert_eq!(harbour.get("/livez", "").await.status, 200);

    let mut rest = Vec::new();
    for stream in [&mut silent, &mut half] {
        let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest));
        // A reset is an end too.
        let _ = ended.await.expect("it is cut");
    }
    let ended = tokio::time::timeout(Duration::from_secs(10), slow.read_to_end(&mut rest));
    let _ = ended.await.expect("it is cut");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_cut() {
    let port = free_port();
    let options = format!("--insecure-loopback-port {port}");
    let limits = Limits { connections: 1, ..hasty() };
    let harbour = Harbour::within(&options, Arc::default(), limits).await;
    let harbour = harbour.unwrap_or_else(|error| panic!("{error}"));
    let address = harbour.serving.insecure_address().expect("it serves plain HTTP");
    let mut deaf = TcpStream::connect(address).await.expect("it connects");
    deaf.write_all(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it is sent");

    // There is one place: another is served only once the first is cut.
    let stream = TcpStream::connect(address).await.expect("it connects");
    let said = super::testing::exchange(stream, "GET", "/livez", "").await;
    assert_eq!(said.status, 200);
    drop(deaf);
}

#[tokio::test]
async fn what_is_under_way_ends_before_the_ports_close() {
    let limits = Limits { shutdown: Duration::from_millis(300), ..Limits::default() };
    let harbour = Harbour::within("", Arc::default(), limits).await;
    let harbour = harbour.unwrap_or_else(|error| panic!("{error}"));
    let address = harbour.address();
    let mut idle = connect(address, None).await.expect("it connects");
    idle.write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it is sent");
    let mut head = [0; 15];
    idle.read_exact(&mut head).await.expect("it answers");
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let mut stuck = connect(address, None).await.expect("it connects");
    stuck.write_all(b"GET /livez HTTP/1.1\r\n").await.expect("it is sent");

    let began = Instant::now();
    harbour.serving.shutdown().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
}
