//! Ports that are open, and on which nothing is served yet.
//!
//! Whatever may be wrong with the options of the endpoints is told here, before anything else is
//! begun that would leave traces.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use axum::middleware;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::authentication::Authentication;
use super::authorities::Authorities;
use super::authorization::Authorization;
use super::certificate::Certificate;
use super::guard::{self, Guard};
use super::listening::{Limits, Listening};
use super::reviews::Reviews;
use super::{RENEWAL, Served, Serving, ServingError, ServingOptions, router, tls};

/// Open ports. Dropped, they are closed.
pub(crate) struct Ports {
    secure: Option<(TcpListener, Arc<Guard>, TlsAcceptor)>,
    insecure: Option<TcpListener>,
    /// Keeps certificates and authorities fresh.
    renewal: JoinSet<()>,
    limits: Limits,
}

impl Ports {
    /// Opens the ports that the options ask for. The cluster is asked who asks and whether they
    /// may; without one, only what is always allowed is answered on the secure port. It is to be
    /// called in a Tokio runtime.
    pub(crate) async fn open(
        options: &ServingOptions,
        cluster: Option<Client>,
    ) -> Result<Self, ServingError> {
        Self::open_within(options, cluster, Limits::default()).await
    }

    pub(super) async fn open_within(
        options: &ServingOptions,
        cluster: Option<Client>,
        limits: Limits,
    ) -> Result<Self, ServingError> {
        let mut ports = Self { secure: None, insecure: None, renewal: JoinSet::new(), limits };
        if options.secure_port != 0 {
            let (guard, tls) = ports.protect(options, cluster).await?;
            let address = SocketAddr::new(options.bind_address, options.secure_port);
            ports.secure = Some((bind("secure-port", address).await?, guard, tls));
        }
        if let Some(address) = options.insecure_loopback_port {
            ports.insecure = Some(bind("insecure-loopback-port", address).await?);
        }
        Ok(ports)
    }

    /// Opens a port of this machine alone, for plain HTTP.
    pub(crate) async fn on_loopback(address: SocketAddr) -> Result<Self, ServingError> {
        let insecure = Some(bind("port", address).await?);
        let (renewal, limits) = (JoinSet::new(), Limits::default());
        Ok(Self { secure: None, insecure, renewal, limits })
    }

    /// Serves on them from now on, in the runtime that this is called in.
    pub(crate) fn serve(self, served: Served) -> Serving {
        let Self { secure, insecure, renewal, limits } = self;
        let router = router(served);
        let (stop, stopping) = watch::channel(false);
        let mut serving = Serving {
            secure: None,
            insecure: None,
            stop,
            listeners: JoinSet::new(),
            _renewal: renewal,
        };
        if let Some((listener, guard, tls)) = secure {
            serving.secure = listener.local_addr().ok();
            let router = router.clone().layer(middleware::from_fn_with_state(guard, guard::secure));
            let listening = Listening { listener, tls: Some(tls), router, limits };
            serving.listeners.spawn(listening.serve(stopping.clone()));
        }
        if let Some(listener) = insecure {
            serving.insecure = listener.local_addr().ok();
            let router = router.layer(middleware::from_fn(guard::insecure));
            let listening = Listening { listener, tls: None, router, limits };
            serving.listeners.spawn(listening.serve(stopping));
        }
        serving
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
        self.renewal.spawn(async move {
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

async fn bind(flag: &'static str, address: SocketAddr) -> Result<TcpListener, ServingError> {
    listen(address).await.map_err(|error| {
        let problem = format!("cannot listen on {address}: {error}; choose another port");
        ServingError::flag(flag, problem)
    })
}

/// An unspecified address means every family, as it does for kube-scheduler.
async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    if address.ip().is_unspecified() && address.is_ipv4() {
        let both = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), address.port());
        match TcpListener::bind(both).await {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {}
            bound => return bound,
        }
    }
    TcpListener::bind(address).await
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
