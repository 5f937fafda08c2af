//! What came of each request, told to whoever counts them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use tower::Service;

/// Hears of each request: its method, the host, and how it was answered, if it was.
pub type OnAnswer = Arc<dyn Fn(&Method, &str, Option<StatusCode>) + Send + Sync>;

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
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            on_answer(&method, &host, answer.as_ref().ok().map(Response::status));
            answer
        })
    }
}
