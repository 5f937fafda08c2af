//! One request and what came of it.

use std::cell::Cell;
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::Instant;

use super::super::counting::Throttled;
use super::super::election::Leadership;

/// What came of a request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// It was done.
    Done,
    /// It was not done, and the server says why.
    Refused(Refusal),
    /// Nobody knows: the connection was lost, it took too long, or the server failed at it.
    Unclear(String),
    /// It was not sent: we do not lead.
    Withheld,
}

/// Why the server did not do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) message: String,
    /// When to come again, for 429.
    pub(super) retry_after: Option<Duration>,
}

impl Refusal {
    pub(super) fn is_not_found(&self) -> bool {
        self.code == 404
    }

    pub(super) fn is_throttled(&self) -> bool {
        self.code == 429
    }

    pub(super) fn is_conflict(&self) -> bool {
        self.code == 409
    }

    /// Whether there is such an object already.
    pub(super) fn is_taken(&self) -> bool {
        self.is_conflict() && self.message.contains("already exists")
    }

    /// Whether the object that was meant is no more, and another one has its name. Patches and
    /// deletions say it in different words.
    pub(super) fn is_of_another(&self) -> bool {
        let says = |words| self.message.contains(words);
        self.is_conflict() && (says("UID in precondition") || says("UID in the precondition"))
    }
}

/// A request that changes something.
#[derive(Clone, Debug)]
pub(super) struct WriteRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

pub(super) const JSON: &str = "application/json";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// The answer to most writes is the object, which nobody reads: its metadata are enough.
const SMALL: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Sends a request that changes something, if we lead, and only as long as we do.
pub(super) async fn write(
    client: &Client,
    leadership: &Leadership,
    timeout: Duration,
    request: &WriteRequest,
) -> Reply {
    let now = Instant::now();
    if !leadership.may_write(now.into_std()) {
        return Reply::Withheld;
    }
    let limit = now + timeout;
    let end = leadership.until().map_or(limit, |until| limit.min(Instant::from_std(until)));
    // The server gives up when we do: a request that arrives late is not done much later.
    let seconds = timeout.as_secs().max(1);
    let separator = if request.path.contains('?') { '&' } else { '?' };
    let built = Request::builder()
        .method(request.method.clone())
        .uri(format!("{}{separator}timeout={seconds}s", request.path))
        .header(header::CONTENT_TYPE, request.content_type)
        .header(header::ACCEPT, SMALL)
        .body(Body::from(request.body.clone()));
    let mut built = match built {
        Ok(built) => built,
        Err(error) => return malformed(&error),
    };
    tell_wait(&mut built);
    let exchange = async {
        match client.send(built).await {
            Ok(response) if response.status().is_success() => {
                // The status line says it all. The rest is read for the connection to be free.
                let mut body = response.into_body();
                while let Some(Ok(_)) = body.frame().await {}
                Reply::Done
            }
            Ok(response) => refused(response).await,
            Err(error) => Reply::Unclear(words(&error)),
        }
    };
    let late = || Reply::Unclear(format!("no answer within {timeout:?}"));
    until(end, exchange).await.unwrap_or_else(late)
}

/// Reads an object.
pub(super) async fn read(client: &Client, timeout: Duration, path: &str) -> Result<Value, Reply> {
    let built = Request::builder().uri(path).header(header::ACCEPT, JSON).body(Body::empty());
    let mut built = built.map_err(|error| malformed(&error))?;
    tell_wait(&mut built);
    let exchange = async {
        let response = client.send(built).await.map_err(|e| Reply::Unclear(words(&e)))?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        let unreadable = |error: &dyn Error| Reply::Unclear(error.to_string());
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| unreadable(&*error))?.to_bytes();
        serde_json::from_slice(&body).map_err(|error| unreadable(&error))
    };
    let late = || Err(Reply::Unclear(format!("no answer within {timeout:?}")));
    until(Instant::now() + timeout, exchange).await.unwrap_or_else(late)
}

async fn refused(response: Response<Body>) -> Reply {
    let status = response.status();
    let seconds = |value: &header::HeaderValue| value.to_str().ok()?.trim().parse::<u64>().ok();
    let header = response.headers().get(header::RETRY_AFTER).and_then(seconds);
    let body = Limited::new(response.into_body(), LARGEST).collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    // Proxies and the server's own doorkeepers answer in plain text.
    let said = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let message = match said.get("message").and_then(Value::as_str) {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => plain(status, &body),
    };
    if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT {
        return Reply::Unclear(message);
    }
    let detail = said.pointer("/details/retryAfterSeconds").and_then(Value::as_u64);
    let retry_after = header.or(detail).map(|seconds| Duration::from_secs(seconds.min(LONGEST)));
    Reply::Refused(Refusal { code: status.as_u16(), message, retry_after })
}

fn plain(status: StatusCode, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(256)]).trim().to_owned();
    if text.is_empty() { format!("the server answered {status}") } else { text }
}

fn malformed(error: &http::Error) -> Reply {
    let message = format!("no request can be made of this: {error}");
    Reply::Refused(Refusal { code: 400, message, retry_after: None })
}

/// Runs until its time is over. The clock is looked at before each piece of work, not after it: a
/// process that was stopped in the middle sends nothing when it goes on too late.
async fn until<F: Future>(end: Instant, work: F) -> Option<F::Output> {
    let mut work = pin!(work);
    let mut alarm = pin!(tokio::time::sleep_until(end));
    std::future::poll_fn(|cx| {
        if Instant::now() >= end || alarm.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    })
    .await
}

/// An error with what it came from.
fn words(error: &kube::Error) -> String {
    let mut text = match error {
        kube::Error::Service(source) => source.to_string(),
        kube::Error::HyperError(source) => source.to_string(),
        other => other.to_string(),
    };
    let mut source = error.source().and_then(Error::source);
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

tokio::task_local! {
    /// How long the next request of this task had to wait for the rate, until it is told.
    pub(super) static WAITED: Cell<Option<Duration>>;
}

/// The next request had to wait so long for the rate.
pub(super) fn note_wait(waited: Duration) {
    // Outside of a task of the writer nobody wants to know.
    let _ = WAITED.try_with(|next| next.set(Some(waited)));
}

/// Has the request say how long it had to wait, for who counts requests.
fn tell_wait(request: &mut Request<Body>) {
    if let Ok(Some(waited)) = WAITED.try_with(Cell::take) {
        request.extensions_mut().insert(Throttled(waited));
    }
}

/// No answer that we read is larger.
const LARGEST: usize = 4 * 1024 * 1024;

/// The longest that we let a server make us wait, in seconds.
const LONGEST: u64 = 60;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tower::{BoxError, service_fn};

    use super::*;
    use crate::kubernetes::counting::{Answered, Counting};

    type Told = Arc<Mutex<Vec<(Method, Option<u16>, bool, Option<Duration>)>>>;

    /// A client whose server answers everything, except what is not to be found.
    fn client(told: &Told) -> Client {
        let server = service_fn(async |request: Request<Body>| {
            let status = if request.uri().path() == "/none" { 404 } else { 201 };
            Ok::<_, BoxError>(Response::builder().status(status).body(Body::empty())?)
        });
        let told = Arc::clone(told);
        let on_answer = Arc::new(move |answered: &Answered<'_>| {
            let code = answered.status.map(|status| status.as_u16());
            let is_timed = answered.took.is_some();
            let row = (answered.method.clone(), code, is_timed, answered.waited);
            told.lock().unwrap().push(row);
        });
        Client::new(Counting { inner: server, host: "server".into(), on_answer }, "default")
    }

    #[tokio::test]
    async fn a_request_tells_once_how_long_it_waited_for_the_rate() {
        let told = Told::default();
        let client = client(&told);
        let waited = Duration::from_millis(70);
        let request = WriteRequest {
            method: Method::POST,
            path: "/some".to_owned(),
            content_type: JSON,
            body: Vec::new(),
        };
        let (leadership, timeout) = (Leadership::always(), Duration::from_secs(5));
        let writes = async {
            for _ in 0..2 {
                let reply = write(&client, &leadership, timeout, &request).await;
                assert!(matches!(reply, Reply::Done), "{reply:?}");
            }
            note_wait(Duration::ZERO);
            assert!(read(&client, timeout, "/none").await.is_err());
        };
        WAITED.scope(Cell::new(Some(waited)), writes).await;
        let watch = Request::get("/api/v1/pods?limit=1&watch=true").body(Body::empty()).unwrap();
        client.send(watch).await.unwrap();
        assert_eq!(
            *told.lock().unwrap(),
            [
                (Method::POST, Some(201), true, Some(waited)),
                (Method::POST, Some(201), true, None),
                (Method::GET, Some(404), true, Some(Duration::ZERO)),
                (Method::GET, Some(201), false, None),
            ]
        );
    }
}
