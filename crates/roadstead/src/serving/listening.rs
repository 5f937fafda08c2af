//! Listens, and serves every connection on a task of its own.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::guard::Peer;
use super::stalling::Stalling;

/// A port with what is served on it.
pub(super) struct Listening {
    pub(super) listener: TcpListener,
    /// Plain HTTP without it.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) router: Router,
    pub(super) limits: Limits,
}

/// Tells what lasts that the server stops. Put among the extensions of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopping(Option<watch::Receiver<bool>>);

impl Stopping {
    /// Waits until the server stops; for ever where none says so.
    pub(super) async fn stopped(mut self) {
        match &mut self.0 {
            Some(stop) => stopped(stop).await,
            None => std::future::pending().await,
        }
    }
}

/// What a client may take. The times bound one that is slow or dead; the number bounds what all
/// of them take together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) connections: usize,
    pub(super) handshake: Duration,
    /// For the head of a request, and between two requests.
    pub(super) head: Duration,
    /// For a write that the other side does not take.
    pub(super) write: Duration,
    /// For what is under way when the server stops.
    pub(super) shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(32),
            write: Duration::from_secs(30),
            shutdown: Duration::from_secs(5),
        }
    }
}

impl Listening {
    /// Serves until told to stop; then lets what is under way end, for a while.
    pub(super) async fn serve(self, mut stop: watch::Receiver<bool>) {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            // A full house leaves newcomers in the kernel's queue, which is bounded too.
            let accepted = async {
                let place = places.clone().acquire_owned().await;
                (place, self.listener.accept().await)
            };
            tokio::select! {
                () = stopped(&mut stop) => break,
                Some(_) = connections.join_next() => {}
                (place, accepted) = accepted => match accepted {
                    Ok((stream, _)) => {
                        let (tls, router, stop) = (self.tls.clone(), self.router.clone(), stop.clone());
                        let limits = self.limits;
                        connections.spawn(async move {
                            let _place = place;
                            open(stream, tls, router, limits, stop).await;
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        // Out of file descriptors, most likely: it lasts.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(self.listener);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(self.limits.shutdown, all).await.is_err() {
            connections.shutdown().await;
        }
    }
}

/// A server that is gone has stopped too.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn open(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: Limits,
    stop: watch::Receiver<bool>,
) {
    // Answers are written whole; waiting for more of them only makes them late.
    let _ = stream.set_nodelay(true);
    let stream = Stalling::new(stream, limits.write);
    let Some(tls) = tls else {
        return serve(stream, Peer::default(), router, limits, stop).await;
    };
    match tokio::time::timeout(limits.handshake, tls.accept(stream)).await {
        Ok(Ok(stream)) => {
            let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let owned = certificates.iter().map(|certificate| certificate.clone().into_owned());
            let peer = Peer(owned.collect());
            serve(stream, peer, router, limits, stop).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
        Err(_) => tracing::debug!("TLS handshake took too long"),
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Peer,
    router: Router,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let stopping = Stopping(Some(stop.clone()));
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        request.extensions_mut().insert(stopping.clone());
        let answer = router.clone().oneshot(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_SIZE)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended early");
    }
}

/// Tokens and forwarded groups fit; a head that does not is answered with 431.
const HEAD_SIZE: usize = 64 * 1024;
