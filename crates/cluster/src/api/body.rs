//! Responses, and their bodies.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body::{Frame, SizeHint};
use serde_json::Value;

use super::watching::WatchStream;

/// The body of a response: a document, or the events of a watch as they happen.
pub struct ApiBody(Content);

enum Content {
    Whole(Bytes),
    Watch(Box<WatchStream>),
}

impl http_body::Body for ApiBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut self.0 {
            Content::Whole(bytes) if bytes.is_empty() => None,
            Content::Whole(bytes) => Some(std::mem::take(bytes)),
            Content::Watch(watch) => std::task::ready!(watch.poll_events(cx)),
        };
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Watch(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for ApiBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Content::Whole(bytes) => f.debug_tuple("ApiBody").field(bytes).finish(),
            Content::Watch(_) => f.write_str("ApiBody(watch)"),
        }
    }
}

pub(super) fn json(code: u16, document: &Value) -> Response<ApiBody> {
    written(code, document.to_string().into())
}

/// A response of JSON that is written already.
pub(super) fn written(code: u16, text: Bytes) -> Response<ApiBody> {
    response(code, "application/json", Content::Whole(text))
}

/// Discovery of all at once, which says in its type that it is.
pub(super) fn aggregated(document: &Value) -> Response<ApiBody> {
    let media = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    response(200, media, Content::Whole(document.to_string().into()))
}

/// The description of the API that `kubectl` falls back to when the newer one does not have a kind:
/// one without kinds, for it to go on and say that there is no such kind. It takes it in one form
/// only.
pub(super) fn old_openapi() -> Response<ApiBody> {
    // `swagger: "2.0"` and an empty `info`, as gnostic's `openapi.v2.Document`.
    let document = b"\x0a\x032.0\x12\x00";
    let media = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    response(200, media, Content::Whole(Bytes::from_static(document)))
}

pub(super) fn text(text: &'static str) -> Response<ApiBody> {
    response(200, "text/plain; charset=utf-8", Content::Whole(Bytes::from_static(text.as_bytes())))
}

pub(super) fn events(watch: WatchStream) -> Response<ApiBody> {
    response(200, "application/json", Content::Watch(Box::new(watch)))
}

fn response(code: u16, media: &'static str, content: Content) -> Response<ApiBody> {
    let mut response = Response::new(ApiBody(content));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::OK);
    let media = http::HeaderValue::from_static(media);
    response.headers_mut().insert(http::header::CONTENT_TYPE, media);
    response
}
