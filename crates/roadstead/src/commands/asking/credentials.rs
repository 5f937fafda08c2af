//! How it is said who asks.

use std::path::PathBuf;
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName};
use http::{HeaderValue, Method, Request};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{AskError, Asking, encode};

/// Where tokens come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Credentials {
    /// It is not said who asks.
    None,
    /// A file, in which another token may be later.
    File(PathBuf),
    /// The account that may look; the API server makes tokens of it that live for minutes.
    Account { namespace: String, name: String },
}

/// A token that was taken.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) header: HeaderName,
    pub(super) value: HeaderValue,
    taken: Instant,
}

impl Token {
    fn new(header: HeaderName, value: HeaderValue) -> Self {
        Self { header, value, taken: Instant::now() }
    }
}

impl Asking {
    /// Takes a token if there is none, or none that will last for another answer.
    pub(super) async fn keep_token(&mut self) -> Result<(), AskError> {
        let is_account = matches!(self.credentials, Credentials::Account { .. });
        match &self.token {
            Some(token) if !is_account || token.taken.elapsed() < RENEWAL => Ok(()),
            _ => self.take_token().await,
        }
    }

    /// Takes another token in place of one that was refused; `false` if there is no other.
    pub(super) async fn replace_token(&mut self) -> Result<bool, AskError> {
        let refused = self.token.take();
        self.take_token().await?;
        let value = |token: &Option<Token>| token.as_ref().map(|token| token.value.clone());
        Ok(value(&self.token) != value(&refused))
    }

    async fn take_token(&mut self) -> Result<(), AskError> {
        self.token = match self.credentials.clone() {
            Credentials::None => None,
            Credentials::File(file) => {
                let wrong = |problem: String| {
                    let problem = format!("{}: {problem}", file.display());
                    AskError::Flag { flag: "token-file", problem }
                };
                let text = std::fs::read_to_string(&file);
                let text = text.map_err(|error| wrong(format!("cannot read: {error}")))?;
                Some(Token::new(AUTHORIZATION, bearer(&text).map_err(wrong)?))
            }
            Credentials::Account { namespace, name } => {
                let token = self.request_token(&namespace, &name).await?;
                let value = bearer(&token).map_err(|error| self.garbled(error))?;
                Some(Token::new(FORWARDED, value))
            }
        };
        Ok(())
    }

    /// The API server keeps `Authorization` to itself, so the token of an account travels in a
    /// header of its own.
    async fn request_token(&self, namespace: &str, account: &str) -> Result<String, AskError> {
        let wanted = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"audiences": [AUDIENCE], "expirationSeconds": LIFE.as_secs()},
        });
        let (namespace, account) = (encode(namespace), encode(account));
        let uri = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let request = Request::builder().method(Method::POST).uri(uri);
        let request = request.header("content-type", "application/json");
        let body = Body::from(wanted.to_string().into_bytes());
        let request = request.body(body).map_err(|error| self.unreachable(&error))?;
        let (status, text) = self.send(request).await?;
        let document: Value = serde_json::from_slice(&text).unwrap_or_default();
        if !status.is_success() {
            return Err(self.refusal(status, &document));
        }
        let token = document["status"]["token"].as_str();
        token.map(str::to_owned).ok_or_else(|| self.garbled("there is no token in it"))
    }
}

fn bearer(token: &str) -> Result<HeaderValue, String> {
    let token = token.trim();
    if token.is_empty() {
        return Err("there is no token in it".to_owned());
    }
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| "it is no token: it has characters that no token has".to_owned())?;
    value.set_sensitive(true);
    Ok(value)
}

/// Who a token is meant for.
const AUDIENCE: &str = "roadstead";
const FORWARDED: HeaderName = HeaderName::from_static("x-roadstead-authorization");

/// The shortest life that an API server gives a token.
const LIFE: Duration = Duration::from_secs(600);
/// Long before its end: clocks differ, and a look of many pages lasts.
const RENEWAL: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use kube::{Client, Config};
    use tokio::net::TcpListener;

    use super::super::Way;
    use super::*;

    #[tokio::test]
    async fn a_token_is_replaced_long_before_it_ends() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let api = Router::new().fallback(move || async move {
            let number = counted.fetch_add(1, Ordering::Relaxed) + 1;
            json!({"status": {"token": format!("token-{number}")}}).to_string()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move { axum::serve(listener, api).await });
        let client = Client::try_from(Config::new(url.parse().expect("it is a URL")));
        let way = Way::ThroughCluster { namespace: "a".to_owned(), viewer: "b".to_owned() };
        let client = client.expect("it needs nothing");
        let mut asking = Asking::new(client, String::new(), String::new(), way);
        asking.credentials =
            Credentials::Account { namespace: "a".to_owned(), name: "b".to_owned() };

        for (passes, tokens) in [(0, 1), (299, 1), (2, 2), (299, 2), (2, 3)] {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(passes)).await;
            // What is asked over a real connection must not time out in time that does not pass.
            tokio::time::resume();
            asking.keep_token().await.expect("there is one");
            assert_eq!(made.load(Ordering::Relaxed), tokens, "after {passes} s");
        }
    }

    #[test]
    fn an_empty_file_has_no_token() {
        assert_eq!(bearer(" \n"), Err("there is no token in it".to_owned()));
        assert_eq!(bearer("abc\n"), Ok(HeaderValue::from_static("Bearer abc")));
    }
}
