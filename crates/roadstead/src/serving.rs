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
mod guard;
mod health;
mod listening;
mod options;
mod page;
mod process;
mod reviews;
mod source;
mod stalling;
mod subject;
#[cfg(test)]
mod tests;
mod tls;
mod user;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use api::Stage;
use authentication::Authentication;
use authorities::Authorities;
use authorization::Authorization;
use certificate::Certificate;
use endpoints::Shown;
use guard::Guard;
use listening::{Limits, Listening};
use reviews::Reviews;

pub(crate) use error::ServingError;
pub(crate) use health::Health;
pub(crate) use options::ServingOptions;
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
    /// The cluster that is asked who asks and whether they may. Without one, only what is always
    /// allowed is answered on the secure port.
    pub(crate) cluster: Option<Client>,
    /// Other routes, under the same authorisation.
    pub(crate) more: Router,
}

impl Serving {
    /// Opens the ports that the options ask for. It is to be called in a Tokio runtime, which
    /// serves them from then on.
    pub(crate) async fn start(
        options: &ServingOptions,
        served: Served,
    ) -> Result<Self, ServingError> {
        Self::start_within(options, served, Limits::default()).await
    }

    async fn start_within(
        options: &ServingOptions,
        served: Served,
        limits: Limits,
    ) -> Result<Self, ServingError> {
        let Served { source, health, process, cluster, more } = served;
        let router = endpoints::routes(Shown { source, health, process })
            .merge(more)
            .fallback(|| async { answers::not_found() })
            .layer(DefaultBodyLimit::max(BODY_SIZE));
        let (stop, stopping) = watch::channel(false);
        let mut serving = Self {
            secure: None,
            insecure: None,
            stop,
            listeners: JoinSet::new(),
            _renewal: JoinSet::new(),
        };
        if options.secure_port != 0 {
            let (guard, tls) = serving.protect(options, cluster).await?;
            let router = router.clone().layer(middleware::from_fn_with_state(guard, guard::secure));
            let address = SocketAddr::new(options.bind_address, options.secure_port);
            let listening =
                Listening::bind("secure-port", address, Some(tls), router, limits).await?;
            serving.secure = listening.address().ok();
            serving.listeners.spawn(listening.serve(stopping.clone()));
        }
        if let Some(address) = options.insecure_loopback_port {
            let router = router.layer(middleware::from_fn(guard::insecure));
            let flag = "insecure-loopback-port";
            let listening = Listening::bind(flag, address, None, router, limits).await?;
            serving.insecure = listening.address().ok();
            serving.listeners.spawn(listening.serve(stopping));
        }
        Ok(serving)
    }

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

    /// What stands before the handlers of the secure port, and below them.
    async fn protect(
        &mut self,
        options: &ServingOptions,
        cluster: Option<Client>,
    ) -> Result<(Arc<Guard>, TlsAcceptor), ServingError> {
        let provider = tls::provider(options)?;
        let certificate = Arc::new(Certificate::new(options, provider.clone())?);
        let server = tls::server(options, provider.clone(), certificate.clone())?;

        let asked = match &options.authentication_kubeconfig {
            Some(file) => Some(connect("authentication-kubeconfig", file).await?),
            None => cluster.clone(),
        };
        let authorities = Authorities::new(options, asked.clone(), provider).await?;
        let authorities = Arc::new(authorities);
        let reviews = Reviews::new();
        let good_for = options.authentication_token_webhook_cache_ttl;
        let authentication =
            Authentication::new(authorities.clone(), asked, good_for, reviews.clone());
        let asked = match &options.authorization_kubeconfig {
            Some(file) => Some(connect("authorization-kubeconfig", file).await?),
            None => cluster,
        };
        let authorization = Authorization::new(options, asked, reviews);
        self._renewal.spawn(async move {
            loop {
                tokio::time::sleep(RENEWAL).await;
                certificate.reload();
                authorities.reload().await;
            }
        });
        let guard = Arc::new(Guard { authentication, authorization });
        Ok((guard, TlsAcceptor::from(Arc::new(server))))
    }
}

/// A client of the cluster that a kubeconfig names.
async fn connect(flag: &'static str, file: &Path) -> Result<Client, ServingError> {
    let wrong =
        |problem: String| ServingError::flag(flag, format!("{}: {problem}", file.display()));
    let read = Kubeconfig::read_from(file).map_err(|error| wrong(error.to_string()))?;
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(error.to_string()))?;
    Client::try_from(config).map_err(|error| wrong(error.to_string()))
}

/// How much of a request's body a handler takes.
const BODY_SIZE: usize = 1024 * 1024;

/// For how long the API server is waited for when it is asked about a request.
const REVIEW_TIME: Duration = Duration::from_secs(10);

/// How often files and the cluster are read again.
const RENEWAL: Duration = Duration::from_secs(60);
