//! The port itself: who may come in, and how it ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use roadstead_cluster::api::SharedCluster;
use roadstead_cluster::api::listening::{ListenError, Listener};
use roadstead_cluster::embedded::{Cluster, Config};
use roadstead_queue::Time;

use crate::testing::{NODES, Server};

#[test]
fn only_this_machine_is_answered() {
    let server = Server::listen("hosts", NODES);
    let port = server.address.port();
    let table = [
        ("Host: 127.0.0.1:PORT", 200),
        ("Host: localhost:PORT", 200),
        ("Host: [::1]:PORT", 200),
        ("Host: harbour.example:PORT", 403),
        ("Host: 127.0.0.1.harbour.example", 403),
        ("Host: 10.0.0.1:PORT", 403),
        ("Host: ", 403),
        ("Connection: close", 403),
        ("Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT", 200),
        ("Host: 127.0.0.1:PORT\r\nOrigin: http://harbour.example", 403),
        ("Host: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:1", 403),
        ("Host: 127.0.0.1:PORT\r\nOrigin: null", 403),
    ];
    for (head, expected) in table {
        let head = head.replace("PORT", &port.to_string());
        let request = format!("GET /api/v1/nodes HTTP/1.1\r\n{head}\r\nConnection: close\r\n\r\n");
        let answer = ask(server.address, &request);
        let code = answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok());
        assert_eq!(code, Some(expected), "{head}: {answer}");
    }
}

#[test]
fn other_addresses_are_not_listened_on() {
    let cluster = SharedCluster::new(Cluster::new(Config::default()), || Time::ZERO);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let address: SocketAddr = address.parse().unwrap();
            let error = Listener::bind(address, &cluster).await.unwrap_err();
            assert!(matches!(error, ListenError::NotLoopback(given) if given == address));
            assert!(error.to_string().contains("use 127.0.0.1 or ::1"), "{error}");
        }
        let first = Listener::bind(([127, 0, 0, 1], 0).into(), &cluster).await.unwrap();
        let error = Listener::bind(first.address(), &cluster).await.unwrap_err();
        assert!(matches!(error, ListenError::Refused { .. }), "{error}");
    });
}

#[test]
fn a_server_that_stops_ends_its_watches() {
    let mut server = Server::listen("stopping", NODES);
    let mut watch = TcpStream::connect(server.address).unwrap();
    watch.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!("Host: {}\r\n\r\n", server.address);
    watch.write_all(format!("GET /api/v1/nodes?watch=1 HTTP/1.1\r\n{head}").as_bytes()).unwrap();
    let mut seen = [0; 4096];
    let length = watch.read(&mut seen).unwrap();
    assert!(String::from_utf8_lossy(&seen[..length]).starts_with("HTTP/1.1 200"));
    server.stop();
    let mut rest = Vec::new();
    watch.read_to_end(&mut rest).expect("the connection ends, and not by an error");
    let rest = String::from_utf8(rest).unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "the body has its end: {rest}");
    assert!(TcpStream::connect(server.address).is_err(), "nobody listens any more");
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
