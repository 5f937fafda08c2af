//! The certificate that the server shows: given, kept in a directory, or made up.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::error::ServingError;
use super::options::ServingOptions;

/// The certificate in use. One that was given is read again when its files change, so that one
/// which runs out can be replaced under a running scheduler.
#[derive(Debug)]
pub(super) struct Certificate {
    current: RwLock<Arc<CertifiedKey>>,
    files: Option<Pair>,
    provider: Arc<CryptoProvider>,
}

#[derive(Clone, Debug)]
struct Pair {
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    pub(super) fn new(
        options: &ServingOptions,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, ServingError> {
        let given = options.tls_cert_file.clone().zip(options.tls_private_key_file.clone());
        let files = match (given, &options.cert_dir) {
            (Some((certificate, key)), _) => Some(Pair { certificate, key }),
            (None, Some(folder)) => Some(Pair::kept_in(folder)?),
            (None, None) => None,
        };
        let current = match &files {
            Some(files) => files.read(&provider)?,
            None => {
                let (certificate, key) = self_signed()?;
                certified(certificate.as_bytes(), key.as_bytes(), &provider)
                    .map_err(|problem| ServingError::flag("cert-dir", problem))?
            }
        };
        Ok(Self { current: RwLock::new(Arc::new(current)), files, provider })
    }

    /// Reads the files again. What is wrong with them leaves the certificate as it was: they may
    /// be half written.
    pub(super) fn reload(&self) {
        let Some(files) = &self.files else { return };
        match files.read(&self.provider) {
            Ok(read) => {
                let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
                if current.cert != read.cert {
                    tracing::info!(file = %files.certificate.display(), "certificate changed");
                    *current = Arc::new(read);
                }
            }
            Err(error) => tracing::warn!(%error, "certificate not renewed"),
        }
    }

    #[cfg(test)]
    pub(super) fn der(&self) -> CertificateDer<'static> {
        self.current.read().expect("nobody panicked").cert[0].clone()
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Pair {
    /// The pair of a directory, which is made if it is not there.
    fn kept_in(folder: &Path) -> Result<Self, ServingError> {
        let pair =
            Self { certificate: folder.join("roadstead.crt"), key: folder.join("roadstead.key") };
        if pair.certificate.exists() && pair.key.exists() {
            return Ok(pair);
        }
        let (certificate, key) = self_signed()?;
        fs::create_dir_all(folder)
            .and_then(|()| write_private(&pair.key, &key))
            .and_then(|()| fs::write(&pair.certificate, certificate))
            .map_err(|error| {
                let folder = folder.display();
                ServingError::flag("cert-dir", format!("cannot write to {folder}: {error}"))
            })?;
        Ok(pair)
    }

    fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, ServingError> {
        let read = |flag, path: &Path| {
            fs::read(path).map_err(|error| {
                ServingError::flag(flag, format!("{}: cannot read: {error}", path.display()))
            })
        };
        let certificate = read("tls-cert-file", &self.certificate)?;
        let key = read("tls-private-key-file", &self.key)?;
        certified(&certificate, &key, provider).map_err(|problem| {
            let file = self.certificate.display();
            ServingError::flag("tls-cert-file", format!("{file}: {problem}"))
        })
    }
}

fn certified(
    certificate: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<CertifiedKey, String> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("not a certificate in PEM: {error}"))?;
    if chain.is_empty() {
        return Err("no certificate in it; expected PEM".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key)
        .map_err(|error| format!("its key is not a private key in PEM: {error}"))?;
    CertifiedKey::from_der(chain, key, provider)
        .map_err(|error| format!("it and its key do not work together: {error}"))
}

/// A certificate and its key in PEM, for this host by every name that is used on it: valid for a
/// year, as kube-scheduler's.
fn self_signed() -> Result<(String, String), ServingError> {
    let refused = |error: rcgen::Error| {
        ServingError::flag("cert-dir", format!("cannot make a self-signed certificate: {error}"))
    };
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let host = host.trim();
    // A host may have a name that is none in a certificate.
    if !host.is_empty() && CertificateParams::new([host.to_owned()]).is_ok() {
        names.push(host.to_owned());
    }
    let mut parameters = CertificateParams::new(names).map_err(refused)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    parameters.not_before = epoch + now.saturating_sub(HOUR);
    parameters.not_after = epoch + now + 365 * 24 * HOUR;
    parameters.distinguished_name.push(DnType::CommonName, format!("{host}@{}", now.as_secs()));
    parameters.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(refused)?;
    let certificate = parameters.self_signed(&key).map_err(refused)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

const HOUR: Duration = Duration::from_secs(3600);

/// Writes a file that only its owner reads, from the first moment on.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
