//! The Kubernetes API of an embedded cluster, in process.
//!
//! [`ApiService`] takes HTTP requests and gives HTTP responses, with no server and no socket in
//! between: whatever takes a `tower` service as its transport, `kube::Client::new` for one, works
//! on the cluster as on a real one. It answers get, list, watch, create, update, patch, delete and
//! deletecollection for every kind that the cluster keeps, the subresources `status`, `binding`,
//! `eviction`, `scale` and `resize`, discovery, and the health endpoints. Errors are `Status`
//! objects as an API server gives them. What it does not do it refuses: server-side apply,
//! protobuf, tables.
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

mod body;
mod discovery;
pub mod faults;
mod listing;
mod patching;
mod query;
mod routing;
mod selection;
mod shared;
mod sleepers;
mod status;
mod strategic;
mod subresources;
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
    content_type: &'a str,
    body: &'a [u8],
}

type Answer = Result<Response<ApiBody>, Refusal>;

fn answer(cluster: &SharedCluster, parts: &Parts, body: &Bytes) -> Answer {
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if header(http::header::ACCEPT).is_some_and(|accept| !takes_json(accept)) {
        return Err(Refusal::not_acceptable());
    }
    let target = match Route::of(parts.uri.path()) {
        Some(Route::Objects(target)) => target,
        Some(Route::Text(text)) if parts.method == Method::GET => return Ok(body::text(text)),
        Some(Route::Document(document)) if parts.method == Method::GET => {
            return Ok(body::json(200, &document()));
        }
        Some(_) => return Err(Refusal::method_not_allowed()),
        None => return Err(Refusal::no_such_path()),
    };
    let content_type = header(http::header::CONTENT_TYPE).unwrap_or("application/json");
    let content_type = content_type.split(';').next().unwrap_or_default().trim();
    let query = Query::parse(parts.uri.query().unwrap_or_default())?;
    let call = Call { target, query, content_type, body };
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

/// Whether a client that says this takes plain JSON, among other things. Those who would rather
/// have a table or protobuf say so before it.
fn takes_json(accept: &str) -> bool {
    accept.split(',').any(|part| {
        let mut words = part.split(';').map(str::trim);
        let media = words.next().unwrap_or_default();
        let as_other = words.any(|word| word.starts_with("as="));
        matches!(media, "application/json" | "application/*" | "*/*" | "") && !as_other
    })
}
