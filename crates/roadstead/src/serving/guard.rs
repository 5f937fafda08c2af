//! Stands before every handler: lets through who may ask.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, HOST, ORIGIN};
use http::{HeaderValue, Method, StatusCode};
use rustls::pki_types::CertificateDer;

use super::answers;
use super::api::Problem;
use super::authentication::Authentication;
use super::authorization::{Authorization, Decision, non_resource_url};
use super::user::User;

/// The certificates that the client of a connection showed; none if it showed none. Put among the
/// extensions of its requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Peer(pub(super) Arc<[CertificateDer<'static>]>);

/// Who asks, and whether they may.
pub(super) struct Guard {
    pub(super) authentication: Authentication,
    pub(super) authorization: Authorization,
}

/// For the secure port.
pub(super) async fn secure(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().cloned().unwrap_or_default();
    let user = match guard.authentication.user(request.headers(), &peer.0).await {
        Ok(user) => user,
        Err(error) => {
            tracing::debug!(%error, "unable to authenticate a request");
            let message = "the token or certificate is nobody's that the API server knows";
            return refused(&request, StatusCode::UNAUTHORIZED, message, answers::unauthorized);
        }
    };
    let path = request.uri().path();
    if !guard.authorization.is_always_allowed(path) {
        let verb = request.method().as_str().to_ascii_lowercase();
        let url = non_resource_url(path);
        match guard.authorization.decide(&user, &verb, &url).await {
            Ok(Decision::Allowed) => {}
            Ok(Decision::Denied(reason)) => {
                let message = format!("{} may not {verb} {url}", user.name);
                return refused(&request, StatusCode::FORBIDDEN, &message, || {
                    answers::forbidden(&user, &verb, path, &reason)
                });
            }
            Err(error) => {
                tracing::warn!(%error, path, "unable to authorize a request");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                let message = "the API server did not say whether that is allowed";
                return refused(&request, status, message, || {
                    answers::internal_error(path, &error)
                });
            }
        }
    }
    request.extensions_mut().insert(user);
    bounded(request, next).await
}

/// For the port of loopback: whoever is on the machine may ask everything. A page of another site
/// that a browser on this machine shows may not, though it can have its name point here.
pub(super) async fn insecure(mut request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().host()).unwrap_or_default();
    if !is_local(host) {
        let message = "plain HTTP is for localhost, 127.0.0.1 and [::1] by these names";
        let plain = || answers::plain(StatusCode::FORBIDDEN, format!("403: {message}\n"));
        return refused(&request, StatusCode::FORBIDDEN, message, plain);
    }
    request.extensions_mut().insert(User::unsecured());
    bounded(request, next).await
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// A handler must begin its answer in time; the answer itself may last. A page of another site may
/// look, as far as its browser lets it, and change nothing.
async fn bounded(request: Request, next: Next) -> Response {
    if is_foreign(&request) {
        let message = "a page of another site may not do this";
        let plain = || answers::plain(StatusCode::FORBIDDEN, format!("403: {message}\n"));
        return refused(&request, StatusCode::FORBIDDEN, message, plain);
    }
    let late = refused(&request, StatusCode::GATEWAY_TIMEOUT, "no answer in time", || {
        answers::plain(StatusCode::GATEWAY_TIMEOUT, "504: no answer in time\n")
    });
    let Ok(mut response) = tokio::time::timeout(HANDLER_TIME, next.run(request)).await else {
        return late;
    };
    let cached = HeaderValue::from_static("no-cache, private");
    response.headers_mut().entry(CACHE_CONTROL).or_insert(cached);
    response
}

/// Whether a browser says that a page of another site wants something changed.
fn is_foreign(request: &Request) -> bool {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return false;
    }
    let Some(origin) = request.headers().get(ORIGIN) else { return false };
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(|authority| authority.as_str()));
    match (origin, host) {
        (Some((_, origin)), Some(host)) => !origin.eq_ignore_ascii_case(host),
        _ => true,
    }
}

/// A refusal, in the shape of what was asked.
fn refused(
    request: &Request,
    status: StatusCode,
    message: &str,
    otherwise: impl FnOnce() -> Response,
) -> Response {
    let path = request.uri().path();
    if path == "/api" || path.starts_with("/api/") {
        return Problem::new(status, message).into_response();
    }
    otherwise()
}

const HANDLER_TIME: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn pages_of_other_sites_change_nothing() {
        let rows = [
            ("GET", "https://evil.example", false),
            ("HEAD", "https://evil.example", false),
            ("POST", "", false),
            ("POST", "http://127.0.0.1:10260", false),
            ("DELETE", "http://127.0.0.1:10260", false),
            ("POST", "http://127.0.0.1:10261", true),
            ("POST", "http://127.0.0.1", true),
            ("DELETE", "https://evil.example", true),
            ("OPTIONS", "https://evil.example", true),
            ("POST", "null", true),
        ];
        for (method, origin, expected) in rows {
            let mut request = Request::builder().method(method).header(HOST, "127.0.0.1:10260");
            if !origin.is_empty() {
                request = request.header(ORIGIN, origin);
            }
            let request = request.body(Body::empty()).expect("it is a request");
            assert_eq!(is_foreign(&request), expected, "{method} {origin}");
        }
    }

    #[test]
    fn only_this_machines_own_names_are_local() {
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:10251", "127.1.2.3", "[::1]:1", "[::1]"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["", "example.com", "localhost.example.com:80", "10.0.0.1", "127.0.0.1.nip.io"]
        {
            assert!(!is_local(host), "{host}");
        }
    }
}
