//! The Kubernetes API of an embedded cluster, in process.
//!
//! [`ApiService`] takes HTTP requests and gives HTTP responses, with no server and no socket in
//! between: whatever takes a `tower` service as its transport, `kube::Client::new` for one, works
//! on the cluster as on a real one. It answers get, list, watch, create, update, patch, delete and
//! deletecollection for every kind that the cluster keeps, the subresources `status`, `binding`,
//! `eviction`, `scale` and `resize`, discovery, access reviews, and the health endpoints, and it
//! prints tables as `kubectl get` asks for them. It reads JSON and protobuf and writes JSON. Errors
//! are `Status` objects as an API server gives them. What it does not do it refuses: server-side
//! apply, and answers in protobuf.
//!
//! With the feature `listen`, `listening` serves it on a loopback port, for a real `kubectl`.
//!
//! It starts no thread and has no timer. Controllers and kubelets work as far as the clock says
//! before and after each request, and in [`SharedCluster::tick`], which also lets watches notice
//! that their time is over.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use roadstead_cluster::api::SharedCluster;
//! use roadstead_cluster::embedded::{Cluster, Config};
//! use roadstead_queue::Time;
//!
//! let seconds = Arc::new(AtomicU64::new(0));
//! let clock = Arc::clone(&seconds);
//! let cluster = SharedCluster::new(Cluster::new(Config::default()), move || {
//!     Time::from_secs(clock.load(Ordering::Relaxed))
//! });
//! let service = cluster.service();
//! // let client = kube::Client::new(service, "default");
//! seconds.store(60, Ordering::Relaxed);
//! let next = cluster.tick();
//! assert_eq!(next, None, "there is nothing to do in an empty cluster");
//! # drop(service);
//! ```

mod accepting;
mod body;
mod core_events;
mod discovery;
pub mod faults;
#[cfg(feature = "listen")]
pub mod listening;
mod listing;
mod openapi;
mod patching;
mod protobuf;
mod query;
mod reviewing;
mod routing;
mod selection;
mod shared;
mod sleepers;
mod status;
mod strategic;
mod strictness;
mod subresources;
mod tables;
mod verbs;
mod watching;

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};

use self::accepting::Form;
pub use self::body::ApiBody;
use self::query::Query;
use self::routing::{Route, Subresource, Target};
pub use self::shared::SharedCluster;
use self::status::Refusal;

/// The API of a cluster, as a service that takes requests and gives responses.
///
/// Cloning one is cheap: the clones work on the same cluster.
#[derive(Clone, Debug)]
pub struct ApiService {
    cluster: SharedCluster,
}

impl ApiService {
    pub(self) fn new(cluster: SharedCluster) -> Self {
        Self { cluster }
    }
}

impl<B> tower_service::Service<Request<B>> for ApiService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let cluster = self.cluster.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let answer = match Limited::new(body, LARGEST_BODY).collect().await {
                Ok(body) => answer(&cluster, &parts, &body.to_bytes()),
                Err(error) => Err(Refusal::unreadable(&*error)),
            };
            Ok(answer.unwrap_or_else(|refusal| refusal.response()))
        })
    }
}

/// As an API server's own limit for JSON.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// A request whose meaning is known.
struct Call<'a> {
    target: Target,
    query: Query,
    form: Form,
    content_type: &'a str,
    body: &'a [u8],
}

type Answer = Result<Response<ApiBody>, Refusal>;

fn answer(cluster: &SharedCluster, parts: &Parts, body: &Bytes) -> Answer {
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let content_type = header(http::header::CONTENT_TYPE).unwrap_or("application/json");
    let content_type = content_type.split(';').next().unwrap_or_default().trim();
    let is_read = parts.method == Method::GET;
    let route = Route::of(parts.uri.path());
    let also = match &route {
        Some(Route::Objects(target)) if is_read && target.subresource.is_none() => {
            Some(Form::Table)
        }
        Some(Route::Groups { .. }) => Some(Form::Aggregated),
        _ => None,
    };
    let accept = header(http::header::ACCEPT);
    if let (Some(Route::OldOpenApi), true) = (&route, is_read) {
        return Ok(body::old_openapi());
    }
    let form = Form::of(accept, also).ok_or_else(Refusal::not_acceptable)?;
    let target = match route {
        Some(Route::Objects(target)) => target,
        Some(Route::Text(text)) if is_read => return Ok(body::text(text)),
        Some(Route::Document(document)) if is_read => {
            return Ok(body::json(200, &document()));
        }
        Some(Route::Groups { plain, aggregated }) if is_read => {
            return Ok(match form {
                Form::Aggregated => body::aggregated(&aggregated()),
                _ => body::json(200, &plain()),
            });
        }
        Some(Route::Review) if parts.method == Method::POST => {
            return reviewing::review(&verbs::read_body(content_type, body)?);
        }
        Some(_) => return Err(Refusal::method_not_allowed()),
        None => return Err(Refusal::no_such_path()),
    };
    let query = Query::parse(parts.uri.query().unwrap_or_default())?;
    let call = Call { target, query, form, content_type, body };
    dispatch(cluster, &parts.method, &call)
}

fn dispatch(cluster: &SharedCluster, method: &Method, call: &Call<'_>) -> Answer {
    let Target { name, subresource, .. } = &call.target;
    match (method, name, subresource) {
        (&Method::GET, _, None) if call.query.watch => watching::watch(cluster, call),
        (&Method::GET, None, None) => listing::list(cluster, call),
        (&Method::GET, Some(_), None | Some(Subresource::Status)) => verbs::get(cluster, call),
        (&Method::GET, Some(_), Some(Subresource::Resize)) => verbs::get(cluster, call),
        (&Method::POST, None, None) if call.target.takes_namespace() => {
            verbs::create(cluster, call)
        }
        (&Method::PUT, Some(_), None | Some(Subresource::Status | Subresource::Resize)) => {
            verbs::update(cluster, call)
        }
        (&Method::PATCH, Some(_), None | Some(Subresource::Status | Subresource::Resize)) => {
            verbs::patch(cluster, call)
        }
        (&Method::DELETE, Some(_), None) => verbs::delete(cluster, call),
        (&Method::DELETE, None, None) if call.target.takes_namespace() => {
            verbs::delete_collection(cluster, call)
        }
        (&Method::POST, _, Some(Subresource::Binding)) => subresources::bind(cluster, call),
        (&Method::POST, Some(_), Some(Subresource::Eviction)) => subresources::evict(cluster, call),
        (&Method::GET, Some(_), Some(Subresource::Scale)) => subresources::scale(cluster, call),
        (&Method::PUT | &Method::PATCH, Some(_), Some(Subresource::Scale)) => {
            subresources::set_scale(cluster, call, method == Method::PATCH)
        }
        _ => Err(Refusal::method_not_allowed()),
    }
}
