//! The HTTP endpoints of a running scheduler: health, metrics, configuration, and what other parts
//! of the program add.
//!
//! They are served over TLS. Who asks is found out, and whether they may, by asking the API server,
//! as kube-scheduler does. Plain HTTP is there for people on the same machine, by an option of its
//! own that can name no other address than loopback.

mod answers;
pub(crate) mod api;
mod authentication;
mod authorities;
mod authorization;
mod certificate;
mod endpoints;
mod error;
mod expiring;
mod features;
mod guard;
mod health;
mod listening;
mod options;
mod page;
mod ports;
mod process;
mod requests;
mod reviews;
mod source;
mod stalling;
mod subject;
#[cfg(test)]
mod tests;
mod tls;
mod user;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use tokio::sync::watch;
use tokio::task::JoinSet;

use api::Stage;
use endpoints::Shown;

pub(crate) use error::ServingError;
pub(crate) use health::Health;
pub(crate) use options::ServingOptions;
pub(crate) use ports::Ports;
pub(crate) use process::ProcessMetrics;
pub(crate) use source::{Answer, Source, Unavailable};

/// The API of a scheduler, and the page that shows it.
pub(crate) fn shown(stage: Arc<dyn Stage>) -> Router {
    api::routes(stage).merge(page::routes()).layer(middleware::map_response(page::protect))
}

/// The ports of a running scheduler. Dropped, it closes them at once.
pub(crate) struct Serving {
    secure: Option<SocketAddr>,
    insecure: Option<SocketAddr>,
    stop: watch::Sender<bool>,
    listeners: JoinSet<()>,
    /// Keeps certificates and authorities fresh.
    _renewal: JoinSet<()>,
}

/// What is served.
pub(crate) struct Served {
    /// Has the scheduler's metrics and configuration.
    pub(crate) source: Arc<dyn Source>,
    /// What probes are told.
    pub(crate) health: Arc<Health>,
    /// Metrics of the process.
    pub(crate) process: Arc<ProcessMetrics>,
    /// Other routes, under the same authorisation.
    pub(crate) more: Router,
}

impl Serving {
    /// Where HTTPS is served.
    pub(crate) fn secure_address(&self) -> Option<SocketAddr> {
        self.secure
    }

    /// Where plain HTTP is served.
    pub(crate) fn insecure_address(&self) -> Option<SocketAddr> {
        self.insecure
    }

    /// Takes no more connections, lets answers under way end for at most five seconds, and closes
    /// the ports.
    pub(crate) async fn shutdown(mut self) {
        // Nobody listens if there is no port.
        let _ = self.stop.send(true);
        while self.listeners.join_next().await.is_some() {}
    }
}

fn router(served: Served) -> Router {
    let Served { source, health, process, more } = served;
    endpoints::routes(Shown { source, health, process })
        .merge(more)
        .fallback(|| async { answers::not_found() })
        .layer(DefaultBodyLimit::max(BODY_SIZE))
}

/// How much of a request's body a handler takes.
const BODY_SIZE: usize = 1024 * 1024;

/// For how long the API server is waited for when it is asked about a request.
const REVIEW_TIME: Duration = Duration::from_secs(10);

/// How often files and the cluster are read again.
const RENEWAL: Duration = Duration::from_secs(60);
