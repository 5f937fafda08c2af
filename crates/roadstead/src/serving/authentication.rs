//! Who asks, by certificate, by a proxy's word, or by token.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use rustls::pki_types::CertificateDer;

use super::authorities::{Authorities, Headers, Proxies};
use super::expiring::Expiring;
use super::reviews::Reviews;
use super::user::User;

/// Finds out who asks, as components of Kubernetes do: whoever says nothing is anonymous, whoever
/// says something wrong is refused.
pub(super) struct Authentication {
    authorities: Arc<Authorities>,
    tokens: Option<Api<TokenReview>>,
    known: Expiring<String, Option<User>>,
    good_for: Duration,
    reviews: Reviews,
}

impl Authentication {
    pub(super) fn new(
        authorities: Arc<Authorities>,
        cluster: Option<Client>,
        good_for: Duration,
        reviews: Reviews,
    ) -> Self {
        let tokens = cluster.map(Api::all);
        Self { authorities, tokens, known: Expiring::new(), good_for, reviews }
    }

    /// Who sends a request with these headers on a connection with these certificates. An error is
    /// for the log: the client is told nothing of it.
    pub(super) async fn user(
        &self,
        headers: &HeaderMap,
        certificates: &[CertificateDer<'_>],
    ) -> Result<User, String> {
        let trusted = self.authorities.current();
        let mut problem = None;
        if !certificates.is_empty() {
            if let Some(proxies) = &trusted.proxies {
                match by_proxy(proxies, headers, certificates) {
                    Ok(Some(user)) => return Ok(user.authenticated()),
                    Ok(None) => {}
                    Err(error) => problem = Some(error),
                }
            }
            if let Some(clients) = &trusted.clients {
                match clients.verify(certificates) {
                    Ok(subject) => {
                        if let Some(name) = subject.common_name.filter(|name| !name.is_empty()) {
                            return Ok(User::new(name, subject.organizations).authenticated());
                        }
                    }
                    Err(error) => problem = Some(error),
                }
            }
        }
        if let (Some(token), Some(tokens)) = (bearer(headers), &self.tokens) {
            return match self.by_token(tokens, token).await? {
                Some(user) => Ok(user.authenticated()),
                None => Err("invalid bearer token".to_owned()),
            };
        }
        problem.map_or_else(|| Ok(User::anonymous()), Err)
    }

    /// Whose token this is, by the cluster's word; `None` if it is nobody's.
    async fn by_token(
        &self,
        tokens: &Api<TokenReview>,
        token: &str,
    ) -> Result<Option<User>, String> {
        if let Some(known) = self.known.get(&token.to_owned(), Instant::now()) {
            return Ok(known);
        }
        // Whoever may talk to the API server with it may ask here too; others say that they mean us.
        let user = match self.review(tokens, token, None).await {
            Ok(Some(user)) => Some(user),
            first => match self.review(tokens, token, Some(vec![AUDIENCE.to_owned()])).await {
                Ok(Some(user)) => Some(user),
                // The first says why.
                _ => first?,
            },
        };
        self.known.put(token.to_owned(), user.clone(), Instant::now(), self.good_for);
        Ok(user)
    }

    /// Whose token this is, if it is meant for these.
    async fn review(
        &self,
        tokens: &Api<TokenReview>,
        token: &str,
        audiences: Option<Vec<String>>,
    ) -> Result<Option<User>, String> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: audiences.clone() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let parameters = PostParams::default();
        let asked = self.reviews.ask(tokens.create(&parameters, &review)).await?;
        let status = asked.status.unwrap_or_default();
        if let Some(error) = status.error.filter(|error| !error.is_empty()) {
            return Err(error);
        }
        // An authenticator that does not know of audiences says nothing of them.
        let meant = status.audiences.unwrap_or_default();
        let is_for_us = audiences.is_none_or(|ours| ours.iter().any(|our| meant.contains(our)));
        let user = status.user.filter(|_| is_for_us && status.authenticated == Some(true));
        Ok(user.map(|user| User {
            name: user.username.unwrap_or_default(),
            uid: user.uid.unwrap_or_default(),
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        }))
    }
}

/// Whom a proxy asks for. `None` if it does not say.
fn by_proxy(
    proxies: &Proxies,
    headers: &HeaderMap,
    certificates: &[CertificateDer<'_>],
) -> Result<Option<User>, String> {
    let subject = proxies.authority.verify(certificates)?;
    let name = subject.common_name.unwrap_or_default();
    if !proxies.allowed_names.is_empty() && !proxies.allowed_names.contains(&name) {
        return Err(format!("subject with cn={name} is not in the allowed list"));
    }
    Ok(named_in(&proxies.headers, headers))
}

fn named_in(names: &Headers, headers: &HeaderMap) -> Option<User> {
    let first = |names: &[String]| names.iter().find_map(|name| values(headers, name).next());
    let mut user = User::new(first(&names.username)?, Vec::new());
    user.uid = first(&names.uid).unwrap_or_default();
    user.groups = names.group.iter().flat_map(|name| values(headers, name)).collect();
    for prefix in &names.extra_prefix {
        let prefix = prefix.to_ascii_lowercase();
        for name in headers.keys() {
            // Names of headers are in lower case here.
            if let Some(key) = name.as_str().strip_prefix(&prefix) {
                let extra = user.extra.entry(unescape(key)).or_default();
                extra.extend(values(headers, name.as_str()));
            }
        }
    }
    Some(user)
}

fn values(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.filter(|value| !value.is_empty()).map(str::to_owned).collect::<Vec<_>>().into_iter()
}

/// A key of extra information, whose bytes may be written as `%2f`; as it is if that does not
/// read.
fn unescape(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return key.to_owned();
        };
        bytes.push(byte);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

/// The token of a request. Proxies such as the API server's keep `Authorization` to themselves:
/// behind one a token travels in a header of its own.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    [AUTHORIZATION, FORWARDED].iter().find_map(|name| {
        let (scheme, token) = headers.get(name)?.to_str().ok()?.trim().split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    })
}

const FORWARDED: HeaderName = HeaderName::from_static("x-roadstead-authorization");
/// Whom tokens are meant for that are meant for us alone.
const AUDIENCE: &str = "roadstead";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_names_the_user_in_headers() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-remote-user", "ann"),
            ("x-remote-group", "dev"),
            ("x-remote-group", "ops"),
            ("x-remote-extra-example.com%2ftenant", "north"),
            ("x-remote-extra-odd%zz", "1"),
        ] {
            headers.append(name, value.parse().expect("it is a value"));
        }
        let names = Headers {
            username: vec!["X-Remote-User".to_owned()],
            uid: vec!["X-Remote-Uid".to_owned()],
            group: vec!["X-Remote-Group".to_owned()],
            extra_prefix: vec!["X-Remote-Extra-".to_owned()],
        };
        let user = named_in(&names, &headers).expect("it is named");
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", ""));
        assert_eq!(user.groups, ["dev", "ops"]);
        assert_eq!(user.extra["example.com/tenant"], ["north"]);
        assert_eq!(user.extra["odd%zz"], ["1"]);
        assert_eq!(named_in(&names, &HeaderMap::new()), None);
    }
}
