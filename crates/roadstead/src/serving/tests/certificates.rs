//! Certificates of servers, of clients and of proxies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use serde_json::json;

use super::testing::{FakeApi, Harbour, Identity, connect, options_of};
use crate::serving::certificate::Certificate;
use crate::serving::listening::Limits;
use crate::serving::tls;

/// An authority of certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut parameters = CertificateParams::new([]).expect("there are no names");
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key is made");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("it is signed"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a client or a server, and its key.
    fn signs(&self, user: &str, group: Option<&str>) -> (rcgen::Certificate, KeyPair) {
        let mut parameters =
            CertificateParams::new(["localhost".to_owned()]).expect("it is a name");
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            parameters.distinguished_name.push(DnType::OrganizationName, group);
        }
        parameters.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().expect("a key is made");
        (parameters.signed_by(&key, &self.0).expect("it is signed"), key)
    }

    fn identity(&self, user: &str, group: Option<&str>) -> Identity {
        let (certificate, key) = self.signs(user, group);
        Identity { chain: vec![certificate.der().clone()], key: key.into() }
    }
}

fn folder(test: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("roadstead-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(name);
    std::fs::write(&file, text).expect("the file can be written");
    file.display().to_string()
}

#[tokio::test]
async fn without_a_certificate_one_is_made_for_this_host() {
    let harbour = Harbour::open("").await;
    let stream = connect(harbour.address(), None).await.expect("it connects");
    let shown = stream.get_ref().1.peer_certificates().expect("it shows one")[0].clone();
    let read = webpki::EndEntityCert::try_from(&shown).expect("it reads");
    for name in ["localhost", "127.0.0.1"] {
        let name = rustls::pki_types::ServerName::try_from(name).expect("it is a name");
        read.verify_is_valid_for_subject_name(&name).expect("it is for this host");
    }
}

#[tokio::test]
async fn a_given_certificate_is_shown_and_read_again() {
    let (folder, authority) = (folder("given"), Authority::new("authority"));
    let (first, first_key) = authority.signs("first", None);
    let certificate = write(&folder, "tls.crt", &first.pem());
    let key = write(&folder, "tls.key", &first_key.serialize_pem());
    let options = format!("--tls-cert-file {certificate} --tls-private-key-file {key}");
    let harbour = Harbour::open(&options).await;
    let stream = connect(harbour.address(), None).await.expect("it connects");
    let shown = stream.get_ref().1.peer_certificates().expect("it shows one")[0].clone();
    assert_eq!(&shown, first.der());

    let options = options_of(&options);
    let provider = tls::provider(&options).expect("the options are right");
    let kept = Certificate::new(&options, provider).expect("the files are right");
    write(&folder, "tls.crt", "half wri");
    kept.reload();
    assert_eq!(&kept.der(), first.der(), "what does not read leaves it as it was");
    let (second, second_key) = authority.signs("second", None);
    write(&folder, "tls.crt", &second.pem());
    write(&folder, "tls.key", &second_key.serialize_pem());
    kept.reload();
    assert_eq!(&kept.der(), second.der());
}

#[test]
fn a_directory_keeps_the_certificate_that_was_made() {
    let folder = folder("kept");
    let options = options_of(&format!("--cert-dir {}/certs", folder.display()));
    let provider = tls::provider(&options).expect("the options are right");
    let made = Certificate::new(&options, provider.clone()).expect("it is made");
    let kept = Certificate::new(&options, provider).expect("it is read");
    assert_eq!(made.der(), kept.der());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let key = std::fs::metadata(folder.join("certs/roadstead.key")).expect("it is there");
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn what_is_wrong_with_files_and_names_is_told_with_its_option() {
    let folder = folder("wrong");
    let (one, two) = (Authority::new("one"), Authority::new("two"));
    let (certificate, _) = one.signs("server", None);
    let (_, other_key) = two.signs("server", None);
    let certificate = write(&folder, "a.crt", &certificate.pem());
    let key = write(&folder, "a.key", &other_key.serialize_pem());
    let empty = write(&folder, "empty", "");
    let rows = [
        (
            format!("--tls-cert-file {certificate} --tls-private-key-file {key}"),
            "--tls-cert-file: ",
        ),
        (format!("--tls-cert-file {empty} --tls-private-key-file {key}"), "no certificate in it"),
        (
            format!("--tls-cert-file {certificate} --tls-private-key-file nowhere"),
            "--tls-private-key-file: nowhere: cannot read",
        ),
        (format!("--client-ca-file {empty}"), "--client-ca-file: "),
        (
            "--requestheader-client-ca-file nowhere".to_owned(),
            "--requestheader-client-ca-file: nowhere: cannot read",
        ),
        (
            "--tls-min-version VersionTLS10".to_owned(),
            "--tls-min-version: VersionTLS10 is not supported",
        ),
        (
            "--tls-cipher-suites TLS_RSA_WITH_RC4_128_SHA".to_owned(),
            "--tls-cipher-suites: TLS_RSA_WITH_RC4_128_SHA is unknown",
        ),
        (
            "--authentication-kubeconfig nowhere".to_owned(),
            "--authentication-kubeconfig: nowhere: ",
        ),
        ("--cert-dir /proc/nowhere".to_owned(), "--cert-dir: cannot write to /proc/nowhere"),
    ];
    for (options, expected) in rows {
        let opened = Harbour::within(&options, Arc::default(), Limits::default()).await;
        let error = opened.err().unwrap_or_else(|| panic!("{options} is wrong")).to_string();
        assert!(error.contains(expected), "{options}: {error}");
    }
}

#[tokio::test]
async fn a_port_in_use_is_told_with_its_option() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let port = taken.local_addr().expect("it is bound").port();
    for (options, flag) in [
        (format!("--secure-port {port}"), "--secure-port"),
        (format!("--insecure-loopback-port {port}"), "--insecure-loopback-port"),
    ] {
        let opened = Harbour::within(&options, Arc::default(), Limits::default()).await;
        let error = opened.err().expect("the port is taken").to_string();
        let expected = format!("{flag}: cannot listen on 127.0.0.1:{port}: ");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn a_client_certificate_is_a_user_with_groups() {
    let (folder, ours, others) =
        (folder("clients"), Authority::new("ours"), Authority::new("others"));
    let file = write(&folder, "ca.crt", &ours.pem());
    let harbour = Harbour::open(&format!("--client-ca-file {file}")).await;
    let ask = async |identity: &Identity, path: &str| {
        harbour.ask_as(Some(identity), "GET", path, "").await
    };
    let ann = ours.identity("ann", Some("ops"));
    assert_eq!(ask(&ann, "/metrics").await.status, 200);
    let asked = harbour.api.last_access_review.lock().expect("nobody panicked").clone();
    assert_eq!(asked["user"], "ann");
    assert_eq!(asked["groups"], json!(["ops", "system:authenticated"]));

    assert_eq!(ask(&ours.identity("bob", None), "/metrics").await.status, 403);
    assert_eq!(ask(&ours.identity("root", Some("system:masters")), "/metrics").await.status, 200);
    assert_eq!(ask(&others.identity("ann", None), "/metrics").await.status, 401);
    assert_eq!(ask(&others.identity("root", Some("system:masters")), "/livez").await.status, 401);

    let identity = others.identity("x", None);
    let token = "Authorization: Bearer ann\r\n";
    let said = harbour.ask_as(Some(&identity), "GET", "/metrics", token).await;
    assert_eq!(said.status, 200, "a token stands for itself");
}

#[tokio::test]
async fn a_proxy_that_the_cluster_publishes_may_name_the_user() {
    let (clients, proxies) = (Authority::new("clients"), Authority::new("proxies"));
    let api = Arc::new(FakeApi::default());
    *api.published.lock().expect("nobody panicked") = Some(json!({
        "client-ca-file": clients.pem(),
        "requestheader-client-ca-file": proxies.pem(),
        "requestheader-allowed-names": "[\"front-proxy-client\"]",
        "requestheader-username-headers": "[\"X-Remote-User\"]",
        "requestheader-group-headers": "[\"X-Remote-Group\"]",
        "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
    }));
    let strict = "--authentication-tolerate-lookup-failure=false";
    let harbour = Harbour::within(strict, api, Limits::default()).await;
    let harbour = harbour.unwrap_or_else(|error| panic!("{error}"));
    let ann = "X-Remote-User: ann\r\nX-Remote-Group: dev\r\nX-Remote-Extra-Scopes: read\r\n";

    let proxy = proxies.identity("front-proxy-client", None);
    assert_eq!(harbour.ask_as(Some(&proxy), "GET", "/metrics", ann).await.status, 200);
    let asked = harbour.api.last_access_review.lock().expect("nobody panicked").clone();
    assert_eq!(asked["user"], "ann");
    assert_eq!(asked["groups"], json!(["dev", "system:authenticated"]));
    assert_eq!(asked["extra"], json!({"scopes": ["read"]}));

    let other = proxies.identity("somebody", None);
    assert_eq!(harbour.ask_as(Some(&other), "GET", "/metrics", ann).await.status, 401);
    let client = clients.identity("bob", None);
    let said = harbour.ask_as(Some(&client), "GET", "/metrics", ann).await;
    assert_eq!(said.status, 403, "a client is itself, whatever it writes in headers");
    let said = harbour.ask_as(None, "GET", "/metrics", ann).await;
    assert_eq!(said.status, 403, "headers alone name nobody");
}
