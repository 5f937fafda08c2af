//! The page that shows a scheduler, out of the program itself.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::answers;
use super::api::Problem;

/// A file of the page.
struct File {
    name: &'static str,
    content: &'static [u8],
}

/// Names the files of `assets`, each once.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File { name: $name, content: include_bytes!(concat!("../../assets/", $name)) }),*]
    };
}

const FILES: &[File] = files![
    "api.js",
    "app.js",
    "changes.js",
    "dom.js",
    "harbour-layout.js",
    "harbour.js",
    "icon.svg",
    "index.html",
    "live.js",
    "log.js",
    "manifests.js",
    "moves.js",
    "node.js",
    "nodes.js",
    "pane.js",
    "panels.css",
    "place.js",
    "plot-scales.js",
    "plots.js",
    "pod.js",
    "reasons.js",
    "replay.js",
    "search.js",
    "style.css",
    "theme.js",
    "timeline.js",
    "wakeups.js",
    "words.js",
];

pub(super) fn routes() -> Router {
    Router::new()
        .route(
            "/",
            get(|headers: HeaderMap| async move { show("index.html", &headers) }).fallback(refuse),
        )
        .route("/assets/{file}", get(asset).fallback(refuse))
}

async fn refuse() -> Problem {
    Problem::method_not_allowed("GET, HEAD", "the page takes GET, HEAD only")
}

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    show(&name, &headers)
}

fn show(name: &str, headers: &HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.name == name) else {
        return answers::not_found();
    };
    let tag = file.tag();
    let is_known = headers.get_all(IF_NONE_MATCH).iter().any(|known| known == tag.as_str());
    let content = if is_known { &[][..] } else { file.content };
    let mut response = Response::new(Body::from(content));
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.kind()));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// A page of another site shows nothing of ours, and ours runs nothing of theirs.
pub(super) async fn protect(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'";

impl File {
    fn kind(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            Some("png") => "image/png",
            Some("woff2") => "font/woff2",
            _ => "application/octet-stream",
        }
    }

    /// Changes with the content.
    fn tag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_page_is_in_the_program_and_of_a_known_kind() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");
        let found = std::fs::read_dir(folder).expect("the folder is there");
        let found = found.map(|file| file.expect("it reads").file_name());
        let found: BTreeSet<_> = found.map(|name| name.to_string_lossy().into_owned()).collect();
        let named: BTreeSet<_> = FILES.iter().map(|file| file.name.to_owned()).collect();
        assert_eq!(named, found);
        for file in FILES {
            assert_ne!(file.kind(), "application/octet-stream", "{}", file.name);
        }
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let first = show("index.html", &HeaderMap::new());
        let tag = first.headers()[ETAG].clone();
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, tag);
        assert_eq!(show("index.html", &headers).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(show("../Cargo.toml", &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
    }
}
