//! What came of each request, told to whoever counts them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use tokio::time::Instant;
use tower::Service;

/// Hears of each request.
pub type OnAnswer = Arc<dyn Fn(&Answered<'_>) + Send + Sync>;

/// A request to an API server, and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// Its method.
    pub method: &'a Method,
    /// The server.
    pub host: &'a str,
    /// How it was answered, if it was.
    pub status: Option<StatusCode>,
    /// How long it took until the answer began, or until there was known to be none. A watch goes
    /// on after it, and has no such time.
    pub took: Option<Duration>,
    /// How long it had to wait for the rate of requests, if that is limited for such requests.
    pub waited: Option<Duration>,
}

/// What a request has with it that had to wait for the rate of requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throttled(pub(super) Duration);

/// A service whose answers are told.
#[derive(Clone)]
pub(super) struct Counting<S> {
    pub(super) inner: S,
    pub(super) host: Arc<str>,
    pub(super) on_answer: OnAnswer,
}

impl<S, A, B> Service<Request<A>> for Counting<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let (method, host) = (request.method().clone(), Arc::clone(&self.host));
        let on_answer = Arc::clone(&self.on_answer);
        let waited = request.extensions().get().map(|Throttled(waited)| *waited);
        let is_watch = request.uri().query().is_some_and(is_watch);
        let began = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let status = answer.as_ref().ok().map(Response::status);
            let took = (!is_watch).then(|| began.elapsed());
            on_answer(&Answered { method: &method, host: &host, status, took, waited });
            answer
        })
    }
}

fn is_watch(query: &str) -> bool {
    query.split('&').any(|part| matches!(part, "watch" | "watch=1" | "watch=true"))
}
