//! A server to ask, a client to ask with, and an API server behind it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use clap::Parser;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::serving::listening::Limits;
use crate::serving::{
    Answer, Health, Ports, ProcessMetrics, Served, Serving, ServingError, ServingOptions, Source,
    Unavailable,
};

/// A server with what stands around it.
pub(super) struct Harbour {
    pub(super) serving: Serving,
    pub(super) health: Arc<Health>,
    pub(super) api: Arc<FakeApi>,
    pub(super) scheduler: Arc<FakeScheduler>,
}

impl Harbour {
    /// Serves on free ports, with further options.
    pub(super) async fn open(options: &str) -> Self {
        Self::within(options, Arc::new(FakeApi::default()), Limits::default())
            .await
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) async fn within(
        options: &str,
        api: Arc<FakeApi>,
        limits: Limits,
    ) -> Result<Self, ServingError> {
        let options = options_of(options);
        let (health, scheduler) = (Arc::new(Health::new()), Arc::new(FakeScheduler::default()));
        let served = Served {
            source: scheduler.clone(),
            health: health.clone(),
            process: Arc::new(ProcessMetrics::default()),
            more: Router::new()
                .route("/more", axum::routing::get(|| async { "more" }))
                .route("/large", axum::routing::get(|| async { "x".repeat(64 << 20) })),
        };
        let cluster = Some(api.clone().client());
        let serving = Ports::open_within(&options, cluster, limits).await?.serve(served);
        Ok(Self { serving, health, api, scheduler })
    }

    pub(super) fn address(&self) -> SocketAddr {
        let port = self.serving.secure_address().expect("it serves HTTPS").port();
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Asks over TLS with a token, or without one if it is empty.
    pub(super) async fn get(&self, path: &str, token: &str) -> Said {
        self.ask("GET", path, token).await
    }

    pub(super) async fn ask(&self, method: &str, path: &str, token: &str) -> Said {
        let token = match token {
            "" => String::new(),
            token => format!("Authorization: Bearer {token}\r\n"),
        };
        self.ask_as(None, method, path, &token).await
    }

    /// Asks over TLS with a certificate and headers.
    pub(super) async fn ask_as(
        &self,
        identity: Option<&Identity>,
        method: &str,
        path: &str,
        headers: &str,
    ) -> Said {
        let stream = connect(self.address(), identity).await.expect("it connects");
        exchange(stream, method, path, headers).await
    }
}

/// The options of a command line, on a free port of loopback unless it says otherwise.
pub(super) fn options_of(line: &str) -> ServingOptions {
    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ServingOptions,
    }
    let port = free_port().to_string();
    let mut words = vec!["roadstead", "--bind-address", "127.0.0.1"];
    if !line.contains("--secure-port") {
        words.extend(["--secure-port", &port]);
    }
    words.extend(line.split_whitespace());
    Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).options
}

/// A port that was free a moment ago.
pub(super) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound").port()
}

/// A client's certificate with its key.
pub(super) struct Identity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

pub(super) async fn connect(
    address: SocketAddr,
    identity: Option<&Identity>,
) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let anyone = Arc::new(AnyServer(provider.signature_verification_algorithms));
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("there are versions")
        .dangerous()
        .with_custom_certificate_verifier(anyone);
    let config = match identity {
        Some(Identity { chain, key }) => builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .expect("the certificate is right"),
        None => builder.with_no_client_auth(),
    };
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("it is a name");
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// What a server answered.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Said {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("it is JSON")
    }
}

/// One request, and everything until the server closes.
pub(super) async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    method: &str,
    path: &str,
    headers: &str,
) -> Said {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("the request is sent");
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let read = tokio::time::timeout(Duration::from_secs(20), read).await;
    read.expect("it answers in time").expect("the answer is read");
    let answer = String::from_utf8(answer).expect("it is text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("there is a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Said {
        status: status.expect("there is a status"),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

/// A scheduler that has little to say.
#[derive(Default)]
pub(in crate::serving) struct FakeScheduler {
    pub(super) resets: AtomicUsize,
    pub(super) is_gone: AtomicBool,
}

impl FakeScheduler {
    fn answer<T: Send + 'static>(&self, answer: T) -> Answer<T> {
        let is_gone = self.is_gone.load(Ordering::SeqCst);
        Box::pin(async move {
            if is_gone {
                Err(Unavailable("the scheduler has stopped".to_owned()))
            } else {
                Ok(answer)
            }
        })
    }
}

impl Source for FakeScheduler {
    fn metrics(&self) -> Answer<String> {
        self.answer("scheduler_pending_pods{queue=\"active\"} 3\n".to_owned())
    }

    fn reset_metrics(&self) -> Answer<()> {
        self.resets.fetch_add(1, Ordering::SeqCst);
        self.answer(())
    }

    fn resource_metrics(&self) -> Answer<String> {
        self.answer("kube_pod_resource_request{pod=\"web\"} 1\n".to_owned())
    }

    fn configuration(&self) -> Value {
        json!({"kind": "KubeSchedulerConfiguration"})
    }
}

/// An API server that knows two users: `ann`, who may get everything, and `bob`, who may not. Their
/// tokens are their names.
#[derive(Default)]
pub(super) struct FakeApi {
    pub(super) token_reviews: AtomicUsize,
    pub(super) access_reviews: AtomicUsize,
    pub(super) last_access_review: Mutex<Value>,
    pub(super) is_down: AtomicBool,
    /// The data of the ConfigMap extension-apiserver-authentication, if it may be read.
    pub(super) published: Mutex<Option<Value>>,
}

impl FakeApi {
    fn client(self: Arc<Self>) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let api = self.clone();
            async move {
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect_bytes().await.expect("it is whole");
                let (status, answer) = api.answer(&path, &body);
                let answer = Response::builder()
                    .status(status)
                    .body(Body::from(answer.to_string().into_bytes()));
                Ok::<_, std::convert::Infallible>(answer.expect("it is an answer"))
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, path: &str, body: &[u8]) -> (u16, Value) {
        if self.is_down.load(Ordering::SeqCst) {
            return (500, failure(500, "InternalError"));
        }
        let asked = || serde_json::from_slice::<Value>(body).expect("it is JSON");
        match path {
            "/apis/authentication.k8s.io/v1/tokenreviews" => {
                self.token_reviews.fetch_add(1, Ordering::SeqCst);
                let mut review = asked();
                let token = review["spec"]["token"].as_str().unwrap_or_default().to_owned();
                review["status"] = match token.as_str() {
                    "ann" | "bob" => {
                        json!({"authenticated": true, "user": {"username": token, "groups": ["dev"]}})
                    }
                    // A token that is meant for us alone.
                    "cay" if review["spec"]["audiences"] == json!(["roadstead"]) => json!({
                        "authenticated": true, "user": {"username": "ann", "groups": ["dev"]},
                        "audiences": ["roadstead"],
                    }),
                    "cay" => json!({"authenticated": false, "error": "it is for others"}),
                    _ => json!({"authenticated": false}),
                };
                (201, review)
            }
            "/apis/authorization.k8s.io/v1/subjectaccessreviews" => {
                self.access_reviews.fetch_add(1, Ordering::SeqCst);
                let mut review = asked();
                *self.last_access_review.lock().expect("nobody panicked") = review["spec"].clone();
                let allowed = review["spec"]["user"] == "ann"
                    && review["spec"]["nonResourceAttributes"]["verb"] != "delete";
                review["status"] = json!({"allowed": allowed});
                (201, review)
            }
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication" => {
                match &*self.published.lock().expect("nobody panicked") {
                    Some(data) => (200, json!({"metadata": {"name": "x"}, "data": data})),
                    None => (403, failure(403, "Forbidden")),
                }
            }
            other => panic!("nobody should ask for {other}"),
        }
    }
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "message": "no", "reason": reason, "code": code})
}

/// Takes any server for the right one: what it shows is looked at by tests.
#[derive(Debug)]
struct AnyServer(rustls::crypto::WebPkiSupportedAlgorithms);

impl rustls::client::danger::ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.supported_schemes()
    }
}
