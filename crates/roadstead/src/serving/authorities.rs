//! Whose word is taken for who a client is: the authorities of client certificates and of front
//! proxies, from files or from the cluster.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;

use super::error::ServingError;
use super::options::ServingOptions;
use super::subject::Subject;

/// The authorities in force.
pub(super) struct Authorities {
    current: RwLock<Arc<Trusted>>,
    options: ServingOptions,
    cluster: Option<Client>,
    provider: Arc<CryptoProvider>,
}

/// Who is trusted with what.
#[derive(Debug, Default)]
pub(super) struct Trusted {
    /// May say who the holder of a certificate is.
    pub(super) clients: Option<Authority>,
    /// May let a proxy say who it asks for.
    pub(super) proxies: Option<Proxies>,
}

/// Certificates of authorities that others are verified with.
#[derive(Debug)]
pub(super) struct Authority(Arc<dyn ClientCertVerifier>);

/// Proxies before this server, such as the API server itself, and the headers in which they name
/// the user.
#[derive(Debug)]
pub(super) struct Proxies {
    pub(super) authority: Authority,
    /// The common names of their certificates; any if empty.
    pub(super) allowed_names: Vec<String>,
    pub(super) headers: Headers,
}

/// Where a proxy says who it asks for.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    pub(super) username: Vec<String>,
    pub(super) uid: Vec<String>,
    pub(super) group: Vec<String>,
    pub(super) extra_prefix: Vec<String>,
}

impl Authorities {
    /// Reads files and asks the cluster for what they leave open.
    pub(super) async fn new(
        options: &ServingOptions,
        cluster: Option<Client>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ServingError> {
        let cluster = cluster.filter(|_| !options.authentication_skip_lookup);
        let authorities =
            Self { current: RwLock::default(), options: options.clone(), cluster, provider };
        let mut trusted = authorities.read_files()?;
        if let Err(error) = authorities.look_up(&mut trusted).await {
            if !options.authentication_tolerate_lookup_failure {
                return Err(error);
            }
            tracing::warn!(%error, "requests by client certificate are treated as anonymous");
        }
        authorities.put(trusted);
        Ok(authorities)
    }

    pub(super) fn current(&self) -> Arc<Trusted> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads everything again: authorities are replaced now and then. What cannot be read leaves
    /// them as they are.
    pub(super) async fn reload(&self) {
        let read = async {
            let mut trusted = self.read_files()?;
            self.look_up(&mut trusted).await?;
            Ok::<_, ServingError>(trusted)
        };
        match read.await {
            Ok(trusted) => self.put(trusted),
            Err(error) => tracing::debug!(%error, "authorities not renewed"),
        }
    }

    fn put(&self, trusted: Trusted) {
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(trusted);
    }

    fn read_files(&self) -> Result<Trusted, ServingError> {
        let options = &self.options;
        let mut trusted = Trusted::default();
        if let Some(file) = &options.client_ca_file {
            trusted.clients = Some(self.authority_in("client-ca-file", file)?);
        }
        if let Some(file) = &options.requestheader_client_ca_file {
            trusted.proxies = Some(Proxies {
                authority: self.authority_in("requestheader-client-ca-file", file)?,
                allowed_names: options.requestheader_allowed_names.clone(),
                headers: Headers {
                    username: options.requestheader_username_headers.clone(),
                    uid: options.requestheader_uid_headers.clone(),
                    group: options.requestheader_group_headers.clone(),
                    extra_prefix: options.requestheader_extra_headers_prefix.clone(),
                },
            });
        }
        Ok(trusted)
    }

    fn authority_in(&self, flag: &'static str, file: &Path) -> Result<Authority, ServingError> {
        let wrong = |problem| ServingError::flag(flag, format!("{}: {problem}", file.display()));
        let text = std::fs::read(file).map_err(|error| wrong(format!("cannot read: {error}")))?;
        Authority::parse(&text, &self.provider).map_err(wrong)
    }

    /// Fills in what the API server publishes for servers such as this.
    async fn look_up(&self, trusted: &mut Trusted) -> Result<(), ServingError> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        if trusted.clients.is_some() && trusted.proxies.is_some() {
            return Ok(());
        }
        let maps: Api<ConfigMap> = Api::namespaced(cluster.clone(), "kube-system");
        let found = maps.get("extension-apiserver-authentication");
        let found = tokio::time::timeout(super::REVIEW_TIME, found)
            .await
            .map_err(|_| ServingError::Lookup("the API server did not answer".to_owned()))?
            .map_err(|error| ServingError::Lookup(error.to_string()))?;
        let data = found.data.unwrap_or_default();
        let authority = |key: &str| {
            let text = data.get(key).filter(|text| !text.is_empty());
            let read = |text: &String| Authority::parse(text.as_bytes(), &self.provider);
            text.map(read)
                .transpose()
                .map_err(|problem| ServingError::Lookup(format!("{key}: {problem}")))
        };
        let list = |key: &str| match data.get(key).filter(|text| !text.is_empty()) {
            Some(text) => serde_json::from_str::<Vec<String>>(text)
                .map_err(|error| ServingError::Lookup(format!("{key}: {error}"))),
            None => Ok(Vec::new()),
        };
        if trusted.clients.is_none() {
            trusted.clients = authority("client-ca-file")?;
        }
        if trusted.proxies.is_none()
            && let Some(authority) = authority("requestheader-client-ca-file")?
        {
            trusted.proxies = Some(Proxies {
                authority,
                allowed_names: list("requestheader-allowed-names")?,
                headers: Headers {
                    username: list("requestheader-username-headers")?,
                    uid: list("requestheader-uid-headers")?,
                    group: list("requestheader-group-headers")?,
                    extra_prefix: list("requestheader-extra-headers-prefix")?,
                },
            });
        }
        Ok(())
    }
}

impl Authority {
    fn parse(pem: &[u8], provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| format!("not PEM: {error}"))?;
            roots.add(certificate).map_err(|error| format!("not an authority: {error}"))?;
        }
        WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone())
            .build()
            .map(Self)
            .map_err(|error| format!("no certificate of an authority: {error}"))
    }

    /// Whose certificate this is, by this authority's word: the first of the chain, with those
    /// between after it.
    pub(super) fn verify(&self, chain: &[CertificateDer<'_>]) -> Result<Subject, String> {
        let (certificate, between) = chain.split_first().ok_or("no certificate")?;
        self.0
            .verify_client_cert(certificate, between, UnixTime::now())
            .map_err(|error| format!("verifying the client's certificate failed: {error}"))?;
        let read = webpki::EndEntityCert::try_from(certificate)
            .map_err(|error| format!("reading the client's certificate failed: {error}"))?;
        Subject::parse(read.subject())
            .ok_or_else(|| "the subject of the client's certificate does not read".to_owned())
    }
}
