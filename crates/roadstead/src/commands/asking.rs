//! Asking a scheduler that runs somewhere.

mod credentials;
mod error;
mod options;

use std::io;
use std::time::Duration;

use http::header::{ACCEPT, HeaderName};
use http::{Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use self::credentials::{Credentials, Token};
pub(crate) use self::error::AskError;
pub(crate) use self::options::Server;

/// The way to a scheduler.
pub(crate) struct Asking {
    client: Client,
    /// Where it is, as people are told.
    address: String,
    /// What stands before every path.
    prefix: String,
    credentials: Credentials,
    token: Option<Token>,
    way: Way,
    /// Whether only the instance that schedules is to answer.
    wants_leader: bool,
}

/// How the scheduler is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    Directly,
    /// Through the API server, to a service of this namespace, which hands each request to any of
    /// its instances.
    ThroughCluster {
        namespace: String,
        /// The role, and the account, that may look.
        viewer: String,
    },
}

impl Asking {
    fn new(client: Client, address: String, prefix: String, way: Way) -> Self {
        let credentials = Credentials::None;
        Self { client, address, prefix, credentials, token: None, way, wants_leader: true }
    }

    /// The document at a path under `/api/v1/`, with these parameters.
    ///
    /// A token that is refused is replaced once. Where many instances may answer, they are asked
    /// until the one does that leads; who names one that does not lead is told so.
    pub(crate) async fn get(
        &mut self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Value, AskError> {
        let mut uri = format!("{}/api/v1/{path}", self.prefix);
        for (number, (name, value)) in parameters.iter().enumerate() {
            let before = if number == 0 { '?' } else { '&' };
            uri.push_str(&format!("{before}{name}={}", encode(value)));
        }
        self.keep_token().await?;
        let mut tokens = 1;
        let mut standbys = 0;
        loop {
            match self.ask(&uri).await {
                Err(AskError::Unauthorized { .. })
                    if tokens < MOST_TOKENS && self.replace_token().await? =>
                {
                    tokens += 1;
                }
                Err(AskError::NoLeader { message, .. })
                    if self.way == Way::Directly && self.wants_leader =>
                {
                    let address = &self.address;
                    eprintln!("warning: {address}: {message}; this is what it knows itself");
                    self.wants_leader = false;
                }
                Err(AskError::NoLeader { .. }) if standbys < MOST_STANDBYS => {
                    standbys += 1;
                    tokio::time::sleep(BETWEEN_INSTANCES).await;
                }
                answer => return answer,
            }
        }
    }

    pub(crate) fn garbled(&self, problem: impl ToString) -> AskError {
        AskError::Garbled { address: self.address.clone(), problem: problem.to_string() }
    }

    async fn ask(&self, uri: &str) -> Result<Value, AskError> {
        let mut request = Request::get(uri).header(ACCEPT, "application/json");
        if self.wants_leader {
            request = request.header(LEADER, "required");
        }
        if let Some(token) = &self.token {
            request = request.header(&token.header, &token.value);
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
            Err(AskError::Late { address: self.address.clone(), seconds: PATIENCE.as_secs() })
        })
    }

    fn refusal(&self, status: StatusCode, document: &Value) -> AskError {
        let address = self.address.clone();
        let own = document["error"]["message"].as_str();
        // The API server, or whatever else stands in the way, has words of its own.
        let message = own.or(document["message"].as_str()).unwrap_or("no reason was given");
        let message = message.to_owned();
        match (status, &self.way) {
            (StatusCode::MISDIRECTED_REQUEST, _) => AskError::NoLeader { address, message },
            (StatusCode::UNAUTHORIZED, way) => {
                let way_out = match (way, own) {
                    (Way::Directly, _) => "give a token with --token-file",
                    (_, Some(_)) => "its token is new: does the scheduler reach the API server?",
                    (_, None) => "does the kubeconfig still hold?",
                };
                AskError::Unauthorized { address, message, way_out }
            }
            (StatusCode::FORBIDDEN, Way::Directly) => {
                let (role, subject) = ("roadstead-viewer".to_owned(), "--user=NAME".to_owned());
                AskError::Forbidden { address, message, role, subject }
            }
            (StatusCode::FORBIDDEN, Way::ThroughCluster { namespace, viewer }) => {
                let (namespace, role) = (namespace.clone(), viewer.clone());
                match own {
                    Some(_) => {
                        let subject = format!("--serviceaccount={namespace}:{role}");
                        AskError::Forbidden { address, message, role, subject }
                    }
                    None => AskError::ForbiddenByCluster { namespace, role, message },
                }
            }
            (StatusCode::NOT_FOUND, _) if own.is_some() => AskError::NotFound(message),
            (StatusCode::NOT_FOUND, Way::ThroughCluster { .. }) => {
                AskError::NotInCluster { message }
            }
            _ => AskError::Failed { address, status, message },
        }
    }

    fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> AskError {
        // What went wrong at the bottom says more than that something did.
        let mut deepest = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        let (address, problem) = (self.address.clone(), deepest.to_string());
        match &self.way {
            Way::ThroughCluster { .. } => AskError::NoCluster(problem),
            Way::Directly if is_about_certificate(deepest) => {
                AskError::Untrusted { address, problem }
            }
            Way::Directly => AskError::Unreachable { address, problem },
        }
    }
}

/// An error of TLS comes as one of input and output, or as one in another, of which it does not
/// count as the source.
fn is_about_certificate(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut inner = error;
    while let Some(wrapped) = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        inner = wrapped;
    }
    matches!(inner.downcast_ref(), Some(rustls::Error::InvalidCertificate(_)))
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

const LEADER: HeaderName = HeaderName::from_static("x-roadstead-leader");
const PATIENCE: Duration = Duration::from_secs(20);
/// Of a request.
const MOST_TOKENS: u32 = 2;
/// Each is chosen at random: of two instances, one in a million questions finds no leader.
const MOST_STANDBYS: u32 = 20;
const BETWEEN_INSTANCES: Duration = Duration::from_millis(50);
