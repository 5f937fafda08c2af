//! Stands between scheduler and API server, passes everything on, and misbehaves when told to.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING,
};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::certificates::Authority;
use crate::failure::{Outcome, While};

/// A server that passes for the API server.
pub(crate) struct Proxy {
    address: SocketAddr,
    cut: watch::Sender<u64>,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    upstream: Client,
    random: Mutex<fastrand::Rng>,
    fault_percent: AtomicU32,
    counts: Counts,
}

/// What the proxy has done so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Writes that were passed on and answered.
    pub(crate) passed: AtomicUsize,
    /// Writes answered with 409, 429 or 500.
    pub(crate) refused: AtomicUsize,
    /// Writes never answered.
    pub(crate) unanswered: AtomicUsize,
    /// Connections that were cut.
    pub(crate) cut: AtomicUsize,
}

impl Proxy {
    /// Listens on loopback, and passes on what comes with the rights of `upstream`.
    pub(crate) async fn start(
        authority: &Authority,
        upstream: Client,
        seed: u64,
    ) -> Outcome<Proxy> {
        let acceptor = TlsAcceptor::from(Arc::new(authority.server_config()?));
        let listener = TcpListener::bind("127.0.0.1:0").await.during("the proxy cannot listen")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream,
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            fault_percent: AtomicU32::new(0),
            counts: Counts::default(),
        });
        let (cut, cuts) = watch::channel(0);
        let task = tokio::spawn(accept(listener, acceptor, Arc::clone(&shared), cuts));
        Ok(Proxy { address, cut, shared, task })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Cuts every connection there is, in the midst of whatever it carries.
    pub(crate) fn cut_connections(&self) {
        self.cut.send_modify(|cuts| *cuts += 1);
    }

    /// From now on, this part of all writes goes wrong.
    pub(crate) fn set_fault_percent(&self, percent: u32) {
        self.shared.fault_percent.store(percent, Ordering::Relaxed);
    }

    /// What it has done so far.
    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut_connections();
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
    cuts: watch::Receiver<u64>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
        let mut cuts = cuts.clone();
        cuts.mark_unchanged();
        tokio::spawn(async move {
            tokio::select! {
                () = serve(stream, acceptor, Arc::clone(&shared)) => {}
                _ = cuts.changed() => {
                    shared.counts.cut.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
}

async fn serve(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>) {
    // A caller that goes away in the midst of something is no failure of the proxy's.
    let _ = stream.set_nodelay(true);
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

/// What is done to a write.
enum Fault {
    None,
    /// Answered without being passed on.
    Refuse(StatusCode, &'static str),
    /// Passed on, and answered as if it had failed.
    Belie,
    /// Never answered, whether passed on or not.
    Silence {
        pass_on: bool,
    },
}

/// An error ends the connection without an answer: that is what hyper does with it.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Outcome<Response<Body>> {
    let is_write = request.method() != Method::GET && !request.uri().path().contains("reviews");
    let fault = if is_write { shared.draw() } else { Fault::None };
    let counts = &shared.counts;
    match fault {
        Fault::None => {
            let response = shared.pass_on(request).await?;
            if is_write {
                counts.passed.fetch_add(1, Ordering::Relaxed);
            }
            Ok(response)
        }
        Fault::Refuse(code, reason) => {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            refusal(code, reason)
        }
        Fault::Belie => {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            shared.pass_on(request).await?.into_body().collect().await?;
            refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError")
        }
        Fault::Silence { pass_on } => {
            counts.unanswered.fetch_add(1, Ordering::Relaxed);
            if pass_on {
                shared.pass_on(request).await?.into_body().collect().await?;
            }
            Err("told not to answer".into())
        }
    }
}

impl Shared {
    fn draw(&self) -> Fault {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        if random.u32(0..100) >= self.fault_percent.load(Ordering::Relaxed) {
            return Fault::None;
        }
        match random.u32(0..6) {
            0 => Fault::Refuse(StatusCode::CONFLICT, "Conflict"),
            1 => Fault::Refuse(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests"),
            2 => Fault::Refuse(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
            3 => Fault::Belie,
            4 => Fault::Silence { pass_on: true },
            _ => Fault::Silence { pass_on: false },
        }
    }

    async fn pass_on(&self, request: Request<Incoming>) -> Outcome<Response<Body>> {
        let (mut parts, body) = request.into_parts();
        strip(&mut parts.headers);
        let body = body.collect().await?.to_bytes();
        let response = self.upstream.send(Request::from_parts(parts, Body::from(body))).await?;
        let (mut parts, body) = response.into_parts();
        strip(&mut parts.headers);
        // It may be that of the other protocol version.
        parts.version = http::Version::HTTP_11;
        Ok(Response::from_parts(parts, body))
    }
}

/// Takes away what belongs to one connection and not to the message.
fn strip(headers: &mut HeaderMap) {
    for name in [HOST, CONNECTION, TRANSFER_ENCODING, CONTENT_LENGTH] {
        headers.remove(name);
    }
}

fn refusal(code: StatusCode, reason: &str) -> Outcome<Response<Body>> {
    let status = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": "the proxy was told to refuse this",
        "reason": reason,
        "code": code.as_u16(),
    });
    let mut response = Response::builder().status(code).header(CONTENT_TYPE, "application/json");
    if code == StatusCode::TOO_MANY_REQUESTS {
        response = response.header(RETRY_AFTER, "1");
    }
    Ok(response.body(Body::from(status.to_string().into_bytes()))?)
}
