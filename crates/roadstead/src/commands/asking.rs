//! Asking a scheduler that runs somewhere.

mod options;

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, HeaderName};
use http::{HeaderValue, Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

pub(crate) use options::Server;

/// The way to a scheduler.
pub(crate) struct Asking {
    client: Client,
    /// Where it is, as people are told.
    address: String,
    /// What stands before every path.
    prefix: String,
    /// How it is said who asks.
    token: Option<(HeaderName, HeaderValue)>,
    way: Way,
}

/// How the scheduler is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    Directly,
    /// Through the API server, to a service of this namespace.
    ThroughCluster {
        namespace: String,
    },
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AskError {
    #[error("--{flag}: {problem}")]
    Flag { flag: &'static str, problem: String },
    #[error(
        "cannot reach a scheduler at {address}: {problem}; start one with `roadstead serve` or \
         `roadstead run --insecure-loopback-port 10260`, or say where one is with --server, or with \
         --via-cluster if it runs in a cluster"
    )]
    Unreachable { address: String, problem: String },
    #[error("cannot reach the API server: {0}")]
    NoCluster(String),
    #[error("{address}: who asks is not known there: {message}; give a token with --token-file")]
    Unauthorized { address: String, message: String },
    #[error(
        "{address}: {message}; whoever asks needs the ClusterRole roadstead-viewer: `kubectl create \
         clusterrolebinding look --clusterrole=roadstead-viewer --user=NAME`"
    )]
    Forbidden { address: String, message: String },
    #[error(
        "{message}; to ask through the cluster takes the right to create serviceaccounts/token and \
         to get services/proxy in namespace {namespace}"
    )]
    ForbiddenByCluster { namespace: String, message: String },
    #[error("{0}")]
    NotFound(String),
    #[error("{address}: {message} (HTTP {status})")]
    Failed { address: String, status: StatusCode, message: String },
    #[error("{address}: the answer is not understood: {problem}; is this a Roadstead scheduler?")]
    Garbled { address: String, problem: String },
}

impl Asking {
    /// The document at a path under `/api/v1/`, with these parameters.
    pub(crate) async fn get(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Value, AskError> {
        let mut uri = format!("{}/api/v1/{path}", self.prefix);
        for (number, (name, value)) in parameters.iter().enumerate() {
            let before = if number == 0 { '?' } else { '&' };
            uri.push_str(&format!("{before}{name}={}", encode(value)));
        }
        let mut request = Request::get(uri).header(ACCEPT, "application/json");
        if let Some((name, value)) = &self.token {
            request = request.header(name, value);
        }
        let request = request.body(Body::empty()).map_err(|error| self.unreachable(&error))?;
        let (status, text) = self.send(request).await?;
        let document: Value = serde_json::from_slice(&text).unwrap_or_default();
        if status.is_success() {
            return match document {
                Value::Null => Err(self.garbled("it is no JSON")),
                document => Ok(document),
            };
        }
        Err(self.refusal(status, &document))
    }

    pub(crate) fn garbled(&self, problem: impl ToString) -> AskError {
        AskError::Garbled { address: self.address.clone(), problem: problem.to_string() }
    }

    async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Vec<u8>), AskError> {
        let answer = async {
            let response =
                self.client.send(request).await.map_err(|error| self.unreachable(&error))?;
            let status = response.status();
            let text = response.into_body().collect_bytes().await;
            Ok((status, text.map_err(|error| self.unreachable(&error))?.to_vec()))
        };
        let answered = tokio::time::timeout(PATIENCE, answer).await;
        answered.unwrap_or_else(|_| {
            let problem = format!("no answer in {} seconds", PATIENCE.as_secs());
            Err(AskError::Unreachable { address: self.address.clone(), problem })
        })
    }

    fn refusal(&self, status: StatusCode, document: &Value) -> AskError {
        let address = self.address.clone();
        let own = document["error"]["message"].as_str();
        // The API server, or whatever else stands in the way, has words of its own.
        let message = own.or(document["message"].as_str()).unwrap_or("no reason was given");
        let message = message.to_owned();
        match (status, &self.way) {
            (StatusCode::UNAUTHORIZED, _) => AskError::Unauthorized { address, message },
            (StatusCode::FORBIDDEN, Way::ThroughCluster { namespace }) if own.is_none() => {
                AskError::ForbiddenByCluster { namespace: namespace.clone(), message }
            }
            (StatusCode::FORBIDDEN, _) => AskError::Forbidden { address, message },
            (StatusCode::NOT_FOUND, _) if own.is_some() => AskError::NotFound(message),
            _ => AskError::Failed { address, status, message },
        }
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> AskError {
        // What went wrong at the bottom says more than that something did.
        let mut deepest = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        match &self.way {
            Way::Directly => AskError::Unreachable {
                address: self.address.clone(),
                problem: deepest.to_string(),
            },
            Way::ThroughCluster { .. } => AskError::NoCluster(deepest.to_string()),
        }
    }

    /// Gets a token for the account that may look, which lives for minutes. The API server keeps
    /// `Authorization` to itself, so it travels in a header of its own.
    async fn take_token(&mut self, namespace: &str, account: &str) -> Result<(), AskError> {
        let wanted = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [AUDIENCE], "expirationSeconds": TOKEN_SECONDS},
        });
        let uri = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = Request::builder().method(Method::POST).uri(uri);
        let request = request.header("content-type", "application/json");
        let body = Body::from(wanted.to_string().into_bytes());
        let request = request.body(body).map_err(|error| self.unreachable(&error))?;
        let (status, text) = self.send(request).await?;
        let document: Value = serde_json::from_slice(&text).unwrap_or_default();
        if !status.is_success() {
            return Err(self.refusal(status, &document));
        }
        let token = document["status"]["token"].as_str();
        let token = token.ok_or_else(|| self.garbled("there is no token in it"))?;
        self.token = Some((FORWARDED, bearer(token).map_err(|error| self.garbled(error))?));
        Ok(())
    }
}

fn bearer(token: &str) -> Result<HeaderValue, String> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
        .map_err(|_| "it is no token: it has characters that no token has".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Percent-encodes all but what every part of a URL may have.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Who a token is meant for.
const AUDIENCE: &str = "roadstead";
const FORWARDED: HeaderName = HeaderName::from_static("x-roadstead-authorization");
const TOKEN_SECONDS: u32 = 600;
const PATIENCE: Duration = Duration::from_secs(20);
const DIRECT: HeaderName = AUTHORIZATION;
