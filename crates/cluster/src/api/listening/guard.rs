//! Keeps out web pages: a browser on this machine reaches loopback, whoever wrote the page.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderName, Request};

use super::super::status::Refusal;

/// Refuses a request that names this machine otherwise than as itself, as after a rebinding of a
/// foreign name, and one that a page from another place sent.
pub(super) fn check<B>(request: &Request<B>) -> Result<(), Refusal> {
    let text = |name: HeaderName| request.headers().get(name).map(|value| value.to_str().ok());
    // A target in absolute form counts for more than the header.
    let named = request.uri().authority().map(Authority::as_str);
    let host = named.or(text(HOST).flatten()).unwrap_or_default();
    if !is_loopback(host) {
        return Err(forbidden(&format!(
            "the host `{host}` is not this machine; ask for 127.0.0.1, [::1] or localhost"
        )));
    }
    if let Some(origin) = text(ORIGIN)
        && origin.and_then(|origin| origin.strip_prefix("http://")) != Some(host)
    {
        return Err(forbidden("web pages from other places are not answered"));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn forbidden(why: &str) -> Refusal {
    Refusal::new(403, "Forbidden", why)
}
