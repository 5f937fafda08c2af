//! TLS: versions, suites, and the certificates that clients show.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme,
    SupportedProtocolVersion,
};

use super::certificate::Certificate;
use super::error::ServingError;
use super::options::ServingOptions;

/// The algorithms to use: those that the options name, or all.
pub(super) fn provider(options: &ServingOptions) -> Result<Arc<CryptoProvider>, ServingError> {
    let mut provider = rustls::crypto::ring::default_provider();
    if options.tls_cipher_suites.is_empty() {
        return Ok(Arc::new(provider));
    }
    let name = |suite: &rustls::SupportedCipherSuite| {
        suite.suite().as_str().unwrap_or_default().replace("TLS13_", "TLS_")
    };
    let known: Vec<_> = provider.cipher_suites.iter().map(name).collect();
    // Go's name for what IANA calls …_SHA256.
    let canonical = |asked: &str| {
        known
            .iter()
            .find(|known| known.trim_end_matches("_SHA256") == asked.trim_end_matches("_SHA256"))
    };
    let mut asked = Vec::new();
    for suite in &options.tls_cipher_suites {
        match canonical(suite) {
            Some(known) => asked.push(known.clone()),
            None => {
                let known = known.join(", ");
                return Err(ServingError::flag(
                    "tls-cipher-suites",
                    format!("{suite} is unknown or not safe; known are {known}"),
                ));
            }
        }
    }
    // As with kube-scheduler, those of TLS 1.3 are not for choosing.
    provider.cipher_suites.retain(|suite| suite.tls13().is_some() || asked.contains(&name(suite)));
    Ok(Arc::new(provider))
}

/// What every connection begins with.
pub(super) fn server(
    options: &ServingOptions,
    provider: Arc<CryptoProvider>,
    certificate: Arc<Certificate>,
) -> Result<ServerConfig, ServingError> {
    let versions: &[&SupportedProtocolVersion] = match options.tls_min_version.as_str() {
        "VersionTLS12" => &[&rustls::version::TLS12, &rustls::version::TLS13],
        "VersionTLS13" => &[&rustls::version::TLS13],
        other => {
            return Err(ServingError::flag(
                "tls-min-version",
                format!("{other} is not supported; expected VersionTLS12 or VersionTLS13"),
            ));
        }
    };
    let clients = Arc::new(AnyClient { algorithms: provider.signature_verification_algorithms });
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| ServingError::flag("tls-cipher-suites", error.to_string()))?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(certificate);
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

/// Asks clients for a certificate and lets them have any, or none.
///
/// That they hold its key is verified here. Whose it is depends on authorities that change while
/// the connection lasts, so it is verified for every request: see `authorities.rs`.
#[derive(Debug)]
struct AnyClient {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
