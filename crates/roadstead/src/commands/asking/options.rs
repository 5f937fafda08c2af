//! Where the scheduler is that is asked, and as whom.

use std::path::PathBuf;

use http::Uri;
use kube::Client;
use roadstead_cluster::kubernetes::{ConnectOptions, connect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::credentials::Credentials;
use super::{AskError, Asking, Way, encode};

/// The options of commands that ask a running scheduler.
#[derive(clap::Args)]
#[command(next_help_heading = "The scheduler")]
pub(crate) struct Server {
    /// The address of the scheduler; $ROADSTEAD_SERVER or http://127.0.0.1:10260 if omitted.
    #[arg(long, value_name = "URL", conflicts_with_all = CLUSTER)]
    server: Option<String>,
    /// A file of the authorities that vouch for the scheduler's certificate, in PEM.
    #[arg(long, value_name = "FILE", conflicts_with_all = CLUSTER)]
    certificate_authority: Option<PathBuf>,
    /// Believe any certificate: whoever is in between can read the token.
    #[arg(long, conflicts_with = "certificate_authority", conflicts_with_all = CLUSTER)]
    insecure_skip_tls_verify: bool,
    /// A file with a token of the cluster, to say who asks. It is read again when the token is
    /// refused.
    #[arg(long, value_name = "FILE", conflicts_with_all = CLUSTER)]
    token_file: Option<PathBuf>,
    /// Ask through the API server of the cluster that the scheduler runs in, as `kubectl` reaches
    /// it.
    #[arg(long)]
    via_cluster: bool,
    /// The kubeconfig of that cluster; implies --via-cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; implies --via-cluster.
    #[arg(long, value_name = "NAME")]
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
        let origin = match (&self.server, &named) {
            (None, Some(_)) => " (of $ROADSTEAD_SERVER)",
            _ => "",
        };
        let address = self.server.clone().or(named).unwrap_or_else(|| DEFAULT.to_owned());
        let address = address.trim_end_matches('/').to_owned();
        let wrong = |problem: &str| {
            let problem = format!("{address}{origin}: {problem}; expected a URL such as {DEFAULT}");
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
        if self.token_file.is_some() && is_plain && !is_loopback(&uri) {
            return Err(wrong("a token is not sent over plain HTTP to another machine; use https"));
        }
        let client = Client::try_from(config).map_err(|error| AskError::Unreachable {
            address: address.clone(),
            problem: error.to_string(),
        })?;
        let mut asking = Asking::new(client, address, String::new(), Way::Directly);
        if let Some(file) = &self.token_file {
            asking.credentials = Credentials::File(file.clone());
        }
        asking.keep_token().await?;
        Ok(asking)
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
        let address = format!("service {namespace}/{service}");
        let prefix = format!(
            "/api/v1/namespaces/{}/services/https:{}:{PORT}/proxy",
            encode(namespace),
            encode(service)
        );
        let (namespace, viewer) = (namespace.clone(), format!("{service}-viewer"));
        let way = Way::ThroughCluster { namespace: namespace.clone(), viewer: viewer.clone() };
        let mut asking = Asking::new(client, address, prefix, way);
        asking.credentials = Credentials::Account { namespace, name: viewer };
        asking.keep_token().await?;
        Ok(asking)
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

/// Where the API server says who asks, and vouches for itself.
const CLUSTER: [&str; 3] = ["via_cluster", "kubeconfig", "context"];
const DEFAULT: &str = "http://127.0.0.1:10260";
const PORT: u16 = 10259;
