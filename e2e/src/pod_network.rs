//! Pods' addresses without pods: the way from the API server to what runs on loopback.
//!
//! The API server proxies to no address of loopback. It can be told to reach pods through an HTTP
//! proxy, though: this is one, which takes connections to made-up addresses elsewhere. It listens
//! on a socket file, because v1.36.4 panics on the URL of a proxy without TLS.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::failure::{Outcome, While};

/// A proxy that knows what made-up addresses stand for.
pub(crate) struct PodNetwork {
    socket: PathBuf,
    routes: Routes,
    task: JoinHandle<()>,
}

/// Ports of loopback by the address and port that stands for each.
type Routes = Arc<Mutex<BTreeMap<String, u16>>>;

impl PodNetwork {
    /// Listens on a socket in `directory`, and knows no address yet.
    pub(crate) fn start(directory: &Path) -> Outcome<PodNetwork> {
        let socket = directory.join("pods.sock");
        let listener = UnixListener::bind(&socket).during(socket.display())?;
        let routes = Routes::default();
        let task = tokio::spawn(accept(listener, Arc::clone(&routes)));
        Ok(PodNetwork { socket, routes, task })
    }

    /// From now on, `pod`, an address with a port, stands for a port of loopback.
    pub(crate) fn route(&self, pod: &str, port: u16) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.insert(pod.to_owned(), port);
    }

    /// What tells the API server to reach pods this way.
    pub(crate) fn egress_selector(&self) -> Value {
        json!({
            "apiVersion": "apiserver.k8s.io/v1beta1",
            "kind": "EgressSelectorConfiguration",
            "egressSelections": [{
                "name": "cluster",
                "connection": {
                    "proxyProtocol": "HTTPConnect",
                    "transport": {"uds": {"udsName": self.socket}},
                },
            }],
        })
    }
}

impl Drop for PodNetwork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: UnixListener, routes: Routes) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let routes = Arc::clone(&routes);
        // A side that goes away in the midst of something is no failure of the network's.
        tokio::spawn(async move { connect(stream, routes).await.ok() });
    }
}

/// `CONNECT 10.1.0.1:10259 HTTP/1.1`, and from then on whatever either side sends.
async fn connect(mut stream: UnixStream, routes: Routes) -> Outcome {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > LONGEST_HEAD {
            return Err("too long a head".into());
        }
        // One at a time: what follows the head is not ours.
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let pod = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let port = {
        let routes = routes.lock().unwrap_or_else(PoisonError::into_inner);
        pod.and_then(|pod| routes.get(pod).copied())
    };
    let upstream = match port {
        Some(port) => TcpStream::connect(("127.0.0.1", port)).await.ok(),
        None => None,
    };
    let Some(mut upstream) = upstream else {
        return Ok(stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await?);
    };
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    copy_bidirectional(&mut stream, &mut upstream).await?;
    Ok(())
}

const LONGEST_HEAD: usize = 8192;
