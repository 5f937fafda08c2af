//! Certificates of our own making: an authority, a server, and those who call it.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use serde_json::json;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::failure::{Outcome, While};

/// A certificate authority, and the directory into which it writes what it signs.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: PathBuf,
}

/// Who calls: the common name is the user, the organisation the group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum User {
    /// The harness itself.
    Admin,
    /// A scheduler, with the rights that a cluster gives its scheduler and no more.
    Scheduler,
    /// The service account of the manifests in `deploy/`.
    Account,
    /// Somebody with no rights but those that a case gives them.
    Onlooker,
}

impl Authority {
    /// Makes an authority, a server's certificate for loopback, a key for service accounts and a
    /// certificate for each user.
    pub(crate) fn create(directory: &Path) -> Outcome<Authority> {
        fs::create_dir_all(directory).during(directory.display())?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "roadstead-e2e");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let authority = Authority { issuer, directory: directory.to_owned() };

        authority.write("ca.crt", &authority.issuer.pem())?;
        let accounts = KeyPair::generate()?;
        authority.write("accounts.key", &accounts.serialize_pem())?;
        authority.write("accounts.pub", &accounts.public_key_pem())?;
        let (certificate, key) = authority.sign_server()?;
        authority.write("server.crt", &certificate.pem())?;
        authority.write("server.key", &key.serialize_pem())?;
        for user in [User::Admin, User::Scheduler, User::Account, User::Onlooker] {
            authority.sign_client(user)?;
        }
        Ok(authority)
    }

    /// Where the file `name` is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Writes the kubeconfig with which `user` calls the server at `url`, under `name`.
    pub(crate) fn kubeconfig(&self, name: &str, user: User, url: &str) -> Outcome<PathBuf> {
        let file = user.file();
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
            "clusters": [{"name": "e2e", "cluster": {
                "server": url,
                "certificate-authority": self.path("ca.crt"),
            }}],
            "users": [{"name": "e2e", "user": {
                "client-certificate": self.path(&format!("{file}.crt")),
                "client-key": self.path(&format!("{file}.key")),
            }}],
        });
        self.write(name, &config.to_string())?;
        Ok(self.path(name))
    }

    /// What a server of ours on loopback needs to pass for the API server.
    pub(crate) fn server_config(&self) -> Outcome<ServerConfig> {
        let (certificate, key) = self.sign_server()?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn sign_server(&self) -> Outcome<(rcgen::Certificate, KeyPair)> {
        let names = ["127.0.0.1".to_owned(), "localhost".to_owned()];
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }

    fn sign_client(&self, user: User) -> Outcome {
        let mut params = CertificateParams::default();
        match user {
            User::Admin => {
                params.distinguished_name.push(DnType::CommonName, "e2e-admin");
                params.distinguished_name.push(DnType::OrganizationName, "system:masters");
            }
            User::Scheduler => {
                params.distinguished_name.push(DnType::CommonName, "system:kube-scheduler");
            }
            User::Account => {
                let name = "system:serviceaccount:roadstead:roadstead";
                params.distinguished_name.push(DnType::CommonName, name);
            }
            User::Onlooker => {
                params.distinguished_name.push(DnType::CommonName, "onlooker");
            }
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let file = user.file();
        self.write(&format!("{file}.crt"), &certificate.pem())?;
        self.write(&format!("{file}.key"), &key.serialize_pem())
    }

    fn write(&self, name: &str, text: &str) -> Outcome {
        let path = self.path(name);
        fs::write(&path, text).during(path.display())
    }
}

impl User {
    fn file(self) -> &'static str {
        match self {
            User::Admin => "admin",
            User::Scheduler => "scheduler",
            User::Account => "account",
            User::Onlooker => "onlooker",
        }
    }
}
