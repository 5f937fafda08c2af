//! The way to an API server.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::header::{HeaderValue, USER_AGENT};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

use super::counting::{Counting, OnAnswer};

/// Which API server, and as whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// A kubeconfig file. Without one, and without a context, a program that runs in a cluster
    /// uses its service account; any other uses the files of `$KUBECONFIG`, or `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig, instead of its current one.
    pub context: Option<String>,
    /// The URL of the API server, instead of the one that the above says.
    pub master: Option<String>,
}

/// Why there is no way to an API server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The kubeconfig that was named cannot be used.
    #[error("kubeconfig `{}`: {problem}", file.display())]
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// There is neither a service account nor a kubeconfig that can be used.
    #[error(
        "no way to a cluster is known: {problem}; this is no pod with a service account either \
         (KUBERNETES_SERVICE_HOST is not set): name a file with --kubeconfig"
    )]
    Nothing {
        /// What is wrong with the default kubeconfig.
        problem: String,
    },
    /// The service account of the pod cannot be used.
    #[error(
        "the service account of this pod cannot be used: {0}; check that the pod mounts its \
         token (automountServiceAccountToken), or name a file with --kubeconfig"
    )]
    ServiceAccount(InClusterError),
    /// `master` is no URL.
    #[error("--master `{url}`: {problem}; expected a URL such as https://10.0.0.1:6443")]
    Master {
        /// What was given.
        url: String,
        /// What is wrong.
        problem: String,
    },
    /// The credentials, certificates or proxy cannot be used.
    #[error("the credentials for {server} cannot be used: {problem}")]
    Credentials {
        /// The URL of the API server.
        server: String,
        /// What is wrong.
        problem: String,
    },
}

/// Makes a client of an API server. It says `roadstead/VERSION` of itself, and repeats no request by
/// itself: who asks knows whether asking twice is safe. Nothing is asked yet.
///
/// It speaks HTTP/1.1, one request a connection at a time, and keeps connections for later
/// requests. A peer that has silently gone is noticed within a minute.
///
/// # Errors
/// What is wrong with the credentials, where, and what to do.
pub async fn connect(options: &ConnectOptions) -> Result<Client, ConnectError> {
    connect_and_tell(options, Arc::new(|_| ())).await
}

/// The same, with a client that tells what comes of each request.
///
/// # Errors
/// As above.
pub async fn connect_and_tell(
    options: &ConnectOptions,
    on_answer: OnAnswer,
) -> Result<Client, ConnectError> {
    let mut config = configure(options).await?;
    config.default_retry = false;
    config.disable_compression = true;
    config.headers.push((USER_AGENT, HeaderValue::from_static(OURSELVES)));
    let server = config.cluster_url.to_string();
    build(&config, on_answer).map_err(|problem| ConnectError::Credentials { server, problem })
}

async fn configure(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let server = options.master.as_deref().map(parse_url).transpose()?;
    let is_in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let selected = KubeConfigOptions { context: options.context.clone(), ..Default::default() };
    let found = match &options.kubeconfig {
        Some(file) => read_kubeconfig(file, &selected).await,
        None if options.context.is_none() && is_in_cluster => {
            Config::incluster().map_err(ConnectError::ServiceAccount)
        }
        None => Config::from_kubeconfig(&selected)
            .await
            .map_err(|error| ConnectError::Nothing { problem: explain(&error) }),
    };
    match (found, server) {
        (Ok(mut config), server) => {
            config.cluster_url = server.unwrap_or(config.cluster_url);
            Ok(config)
        }
        // As of a server that asks nobody who they are.
        (Err(ConnectError::Nothing { .. }), Some(server)) if options.context.is_none() => {
            Ok(Config::new(server))
        }
        (Err(error), _) => Err(error),
    }
}

async fn read_kubeconfig(
    file: &Path,
    selected: &KubeConfigOptions,
) -> Result<Config, ConnectError> {
    let failed = |problem| ConnectError::Kubeconfig { file: file.to_owned(), problem };
    let kubeconfig = Kubeconfig::read_from(file).map_err(|error| failed(explain(&error)))?;
    let contexts: Vec<_> = kubeconfig.contexts.iter().map(|named| named.name.clone()).collect();
    let contexts = match &*contexts {
        [] => "it has no contexts".to_owned(),
        names => format!("it has these contexts: {}", names.join(", ")),
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, selected).await;
    config.map_err(|error| match error {
        KubeconfigError::LoadContext(_) | KubeconfigError::CurrentContextNotSet => {
            failed(format!("{}; {contexts}", explain(&error)))
        }
        error => failed(explain(&error)),
    })
}

fn explain(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(cause, path) => {
            format!("`{}` cannot be read: {cause}", path.display())
        }
        KubeconfigError::CurrentContextNotSet => {
            "it has no current context: choose one with --context".to_owned()
        }
        KubeconfigError::LoadContext(name) => {
            format!("it has no context `{name}`: choose another with --context")
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            format!("its context means the cluster `{name}`, which it does not have")
        }
        KubeconfigError::MissingClusterUrl => {
            "the cluster has no `server`: add its URL, or give one with --master".to_owned()
        }
        other => other.to_string(),
    }
}

fn parse_url(url: &str) -> Result<http::Uri, ConnectError> {
    let failed = |problem: String| ConnectError::Master { url: url.to_owned(), problem };
    let parsed: http::Uri = url.parse().map_err(|error| failed(format!("{error}")))?;
    match (parsed.scheme_str(), parsed.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => Ok(parsed),
        _ => Err(failed("it has no scheme or no host".to_owned())),
    }
}

/// As kube makes its clients, but with a transport that notices dead peers and does not hold small
/// requests back, and without the lines that it logs for every request.
fn build(config: &Config, on_answer: OnAnswer) -> Result<Client, String> {
    if let Some(proxy) = &config.proxy_url {
        return Err(format!("it is behind the proxy {proxy}, and proxies are not supported"));
    }
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
    let tls = config.rustls_https_connector_with_connector(tcp).map_err(|e| e.to_string())?;
    let http: HttpClient<_, Body> = HttpClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .build(tls);
    let headers = config.extra_headers_layer().map_err(|error| error.to_string())?;
    let auth = config.auth_layer().map_err(|error| error.to_string())?;
    let host: Arc<str> = config.cluster_url.authority().map_or("", |it| it.as_str()).into();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(auth)
        .layer(headers)
        .map_err(BoxError::from)
        .service(Counting { inner: http, host, on_answer });
    Ok(Client::new(service, config.default_namespace.clone()))
}

const OURSELVES: &str = concat!("roadstead/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// After half a minute of silence a peer is asked whether it is there, three times within half a
/// minute. A read timeout would cut watches that have nothing to say.
const KEEPALIVE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// Shorter than the 90 seconds after which an API server closes a connection: it is not used again
/// in the moment when it is closed.
const POOL_IDLE: Duration = Duration::from_secs(60);
