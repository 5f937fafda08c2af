//! Bodies that end when the server stops: a watch has no end of its own.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use super::super::ApiBody;

pub(super) struct UntilStopped {
    body: ApiBody,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl UntilStopped {
    pub(super) fn new(body: ApiBody, stopped: watch::Receiver<bool>) -> Self {
        Self { body, stopped: Box::pin(super::until(stopped)) }
    }
}

impl Body for UntilStopped {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // What there is to say is said; only who would wait hears that it is over.
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Pending => self.stopped.as_mut().poll(cx).map(|()| None),
            ready => ready,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
