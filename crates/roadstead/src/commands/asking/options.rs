//! Where the scheduler is that is asked, and as whom.

use std::path::PathBuf;

use http::Uri;
use kube::Client;
use roadstead_cluster::kubernetes::{ConnectOptions, connect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::{AskError, Asking, DIRECT, Way, bearer};

/// The options of commands that ask a running scheduler.
#[derive(clap::Args)]
#[command(next_help_heading = "The scheduler")]
pub(crate) struct Server {
    /// The address of the scheduler; $ROADSTEAD_SERVER or http://127.0.0.1:10260 if omitted.
    #[arg(long, value_name = "URL", conflicts_with = "via_cluster")]
    server: Option<String>,
    /// A file of the authorities that vouch for the scheduler's certificate, in PEM.
    #[arg(long, value_name = "FILE")]
    certificate_authority: Option<PathBuf>,
    /// Believe any certificate: whoever is in between can read the token.
    #[arg(long, conflicts_with = "certificate_authority")]
    insecure_skip_tls_verify: bool,
    /// A file with a token of the cluster, to say who asks.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Ask through the API server of the cluster that the scheduler runs in, as `kubectl` reaches
    /// it.
    #[arg(long)]
    via_cluster: bool,
    /// The kubeconfig of that cluster; implies --via-cluster.
    #[arg(long, value_name = "FILE", conflicts_with = "server")]
    kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; implies --via-cluster.
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    context: Option<String>,
    /// The namespace that the scheduler runs in.
    #[arg(long, value_name = "NAMESPACE", default_value = "roadstead")]
    namespace_of_scheduler: String,
    /// The scheduler's service; the account SERVICE-viewer is the one that may look.
    #[arg(long, value_name = "NAME", default_value = "roadstead")]
    service: String,
}

impl Server {
    /// The way to it. Nothing is sent to the scheduler yet.
    pub(crate) async fn connect(&self) -> Result<Asking, AskError> {
        if self.via_cluster || self.kubeconfig.is_some() || self.context.is_some() {
            return self.through_cluster().await;
        }
        let named = std::env::var("ROADSTEAD_SERVER").ok().filter(|named| !named.is_empty());
        let address = self.server.clone().or(named).unwrap_or_else(|| DEFAULT.to_owned());
        let address = address.trim_end_matches('/').to_owned();
        let wrong = |problem: &str| {
            let problem = format!("{address}: {problem}; expected a URL such as {DEFAULT}");
            AskError::Flag { flag: "server", problem }
        };
        let uri: Uri = address.parse().map_err(|_| wrong("is no URL"))?;
        let is_plain = match uri.scheme_str() {
            Some("http") => true,
            Some("https") => false,
            _ => return Err(wrong("must begin with http:// or https://")),
        };
        let mut config = kube::Config::new(uri.clone());
        config.default_retry = false;
        config.accept_invalid_certs = self.insecure_skip_tls_verify;
        if let Some(file) = &self.certificate_authority {
            config.root_cert = Some(authorities(file)?);
        }
        let token = self.token()?;
        if token.is_some() && is_plain && !is_loopback(&uri) {
            return Err(wrong("a token is not sent over plain HTTP to another machine; use https"));
        }
        let client = Client::try_from(config).map_err(|error| AskError::Unreachable {
            address: address.clone(),
            problem: error.to_string(),
        })?;
        Ok(Asking {
            client,
            address,
            prefix: String::new(),
            token: token.map(|token| (DIRECT, token)),
            way: Way::Directly,
        })
    }

    async fn through_cluster(&self) -> Result<Asking, AskError> {
        let options = ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            master: None,
        };
        let client =
            connect(&options).await.map_err(|error| AskError::NoCluster(error.to_string()))?;
        let (namespace, service) = (&self.namespace_of_scheduler, &self.service);
        let mut asking = Asking {
            client,
            address: format!("service {namespace}/{service}"),
            prefix: format!("/api/v1/namespaces/{namespace}/services/https:{service}:{PORT}/proxy"),
            token: None,
            way: Way::ThroughCluster { namespace: namespace.clone() },
        };
        asking.take_token(namespace, &format!("{service}-viewer")).await?;
        Ok(asking)
    }

    fn token(&self) -> Result<Option<http::HeaderValue>, AskError> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let wrong = |problem: String| {
            let problem = format!("{}: {problem}", file.display());
            AskError::Flag { flag: "token-file", problem }
        };
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        bearer(&text).map(Some).map_err(wrong)
    }
}

fn authorities(file: &std::path::Path) -> Result<Vec<Vec<u8>>, AskError> {
    let wrong = |problem: String| {
        let problem = format!("{}: {problem}", file.display());
        AskError::Flag { flag: "certificate-authority", problem }
    };
    let found = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let found: Result<Vec<_>, _> = found.map(|one| one.map(|one| one.to_vec())).collect();
    match found.map_err(|error| wrong(error.to_string()))? {
        none if none.is_empty() => Err(wrong("there is no certificate in it".to_owned())),
        some => Ok(some),
    }
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

const DEFAULT: &str = "http://127.0.0.1:10260";
const PORT: u16 = 10259;
