//! The options of the endpoints, under kube-scheduler's names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use roadstead_scheduler::config;

/// How the endpoints are served, and who may ask them.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Secure serving")]
pub(crate) struct ServingOptions {
    /// The IP address on which to listen for --secure-port. An unspecified address (0.0.0.0 or ::)
    /// means all interfaces and address families.
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub(crate) bind_address: IpAddr,

    /// The port on which to serve HTTPS with authentication and authorization; 0 serves none.
    #[arg(long, value_name = "PORT", default_value_t = 10259)]
    pub(crate) secure_port: u16,

    /// Serve plain HTTP too, to anybody on this machine and without authentication: a port of
    /// 127.0.0.1, or a loopback address with a port.
    #[arg(long, value_name = "[IP:]PORT", value_parser = loopback)]
    pub(crate) insecure_loopback_port: Option<SocketAddr>,

    /// The directory where the certificate (roadstead.crt) and its key (roadstead.key) are; they
    /// are made there if they are not. Without it, a self-signed certificate is kept in memory.
    /// Ignored if --tls-cert-file and --tls-private-key-file are given.
    #[arg(long, value_name = "DIR")]
    pub(crate) cert_dir: Option<PathBuf>,

    /// File containing the x509 certificate for HTTPS, with those of its authorities after it. It
    /// is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    pub(crate) tls_cert_file: Option<PathBuf>,

    /// File containing the x509 private key matching --tls-cert-file.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    pub(crate) tls_private_key_file: Option<PathBuf>,

    /// Minimum TLS version supported: VersionTLS12 or VersionTLS13.
    #[arg(long, value_name = "VERSION", default_value = "VersionTLS12")]
    pub(crate) tls_min_version: String,

    /// Comma-separated list of cipher suites for the server, by their IANA names. If omitted, all
    /// that are safe.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tls_cipher_suites: Vec<String>,

    /// Kubeconfig of the cluster that is asked about tokens; the scheduler's own if omitted.
    #[arg(long, value_name = "FILE", help_heading = AUTHENTICATION)]
    pub(crate) authentication_kubeconfig: Option<PathBuf>,

    /// If false, missing authentication configuration is looked up in the cluster.
    #[arg(
        long, value_name = "BOOL", default_value_t = false, help_heading = AUTHENTICATION,
        action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) authentication_skip_lookup: bool,

    /// If true, failures to look up missing authentication configuration from the cluster are not
    /// considered fatal. Note that this can result in authentication that treats all requests as
    /// anonymous.
    #[arg(
        long, value_name = "BOOL", default_value_t = true, help_heading = AUTHENTICATION,
        action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) authentication_tolerate_lookup_failure: bool,

    /// The duration to cache what the cluster says of a token.
    #[arg(
        long, value_name = "DURATION", default_value = "10s", value_parser = duration,
        help_heading = AUTHENTICATION
    )]
    pub(crate) authentication_token_webhook_cache_ttl: Duration,

    /// If set, any request presenting a client certificate signed by one of the authorities in the
    /// client-ca-file is authenticated with an identity corresponding to the CommonName of the
    /// client certificate.
    #[arg(long, value_name = "FILE", help_heading = AUTHENTICATION)]
    pub(crate) client_ca_file: Option<PathBuf>,

    /// Root certificate bundle to use to verify client certificates on incoming requests before
    /// trusting usernames in headers specified by --requestheader-username-headers.
    #[arg(long, value_name = "FILE", help_heading = AUTHENTICATION)]
    pub(crate) requestheader_client_ca_file: Option<PathBuf>,

    /// List of client certificate common names to allow to provide usernames in headers. If empty,
    /// any client certificate validated by the authorities in --requestheader-client-ca-file is
    /// allowed.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = AUTHENTICATION)]
    pub(crate) requestheader_allowed_names: Vec<String>,

    /// List of request headers to inspect for usernames.
    #[arg(
        long, value_name = "NAMES", value_delimiter = ',', default_value = "x-remote-user",
        help_heading = AUTHENTICATION
    )]
    pub(crate) requestheader_username_headers: Vec<String>,

    /// List of request headers to inspect for UIDs.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = AUTHENTICATION)]
    pub(crate) requestheader_uid_headers: Vec<String>,

    /// List of request headers to inspect for groups.
    #[arg(
        long, value_name = "NAMES", value_delimiter = ',', default_value = "x-remote-group",
        help_heading = AUTHENTICATION
    )]
    pub(crate) requestheader_group_headers: Vec<String>,

    /// List of request header prefixes to inspect.
    #[arg(
        long, value_name = "PREFIXES", value_delimiter = ',', default_value = "x-remote-extra-",
        help_heading = AUTHENTICATION
    )]
    pub(crate) requestheader_extra_headers_prefix: Vec<String>,

    /// Kubeconfig of the cluster that is asked who may do what; the scheduler's own if omitted.
    #[arg(long, value_name = "FILE", help_heading = AUTHORIZATION)]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,

    /// A list of HTTP paths to skip during authorization, i.e. these are authorized without
    /// contacting the cluster. One that ends in * stands for all that begin so.
    #[arg(
        long, value_name = "PATHS", value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez", help_heading = AUTHORIZATION
    )]
    pub(crate) authorization_always_allow_paths: Vec<String>,

    /// The duration to cache 'authorized' answers of the cluster.
    #[arg(
        long, value_name = "DURATION", default_value = "10s", value_parser = duration,
        help_heading = AUTHORIZATION
    )]
    pub(crate) authorization_webhook_cache_authorized_ttl: Duration,

    /// The duration to cache 'unauthorized' answers of the cluster.
    #[arg(
        long, value_name = "DURATION", default_value = "10s", value_parser = duration,
        help_heading = AUTHORIZATION
    )]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: Duration,
}

const AUTHENTICATION: &str = "Authentication";
const AUTHORIZATION: &str = "Authorization";

/// Reads where to serve plain HTTP. There is no way to ask for another interface: what is not
/// encrypted and asks for no name stays on the machine.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = match text.parse::<u16>() {
        Ok(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        Err(_) => text
            .parse::<SocketAddr>()
            .map_err(|_| "expected a port, or a loopback address and a port".to_owned())?,
    };
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err(format!(
        "{} is not a loopback address, and plain HTTP is served on no other; use --bind-address \
         and --secure-port",
        address.ip()
    ))
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = config::Duration::parse(text)?;
    duration.to_std().ok_or_else(|| "must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: ServingOptions,
    }

    fn parse(line: &str) -> Result<ServingOptions, String> {
        let words = std::iter::once("roadstead").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.options).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_said_is_kube_schedulers_default() {
        let options = parse("").expect("nothing is needed");
        assert_eq!(options.secure_port, 10259);
        assert_eq!(options.bind_address, IpAddr::from([0, 0, 0, 0]));
        assert_eq!(options.insecure_loopback_port, None);
        assert!(options.authentication_tolerate_lookup_failure);
        assert!(!options.authentication_skip_lookup);
        assert_eq!(options.authorization_always_allow_paths, ["/healthz", "/readyz", "/livez"]);
        assert_eq!(options.authentication_token_webhook_cache_ttl, Duration::from_secs(10));
    }

    #[test]
    fn switches_are_written_as_go_writes_them() {
        let options = parse(
            "--authentication-skip-lookup --authentication-tolerate-lookup-failure=false \
             --authorization-webhook-cache-authorized-ttl 1m30s",
        );
        let options = options.expect("it is right");
        assert!(options.authentication_skip_lookup);
        assert!(!options.authentication_tolerate_lookup_failure);
        assert_eq!(options.authorization_webhook_cache_authorized_ttl, Duration::from_secs(90));
    }

    #[test]
    fn plain_http_stays_on_the_machine() {
        let rows = [
            ("10251", "127.0.0.1:10251"),
            ("127.0.0.2:1", "127.0.0.2:1"),
            ("[::1]:10251", "[::1]:10251"),
        ];
        for (text, address) in rows {
            let options = parse(&format!("--insecure-loopback-port {text}")).expect(text);
            assert_eq!(options.insecure_loopback_port, Some(address.parse().expect(address)));
        }
        for text in ["0.0.0.0:10251", "10.0.0.1:80", "[::]:10251"] {
            let error = parse(&format!("--insecure-loopback-port {text}")).expect_err(text);
            assert!(error.contains("--insecure-loopback-port"), "{error}");
            assert!(error.contains("is not a loopback address"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_option() {
        let rows = [
            ("--secure-port 70000", "--secure-port"),
            ("--bind-address here", "--bind-address"),
            ("--tls-cert-file a.crt", "--tls-private-key-file"),
            ("--tls-private-key-file a.key", "--tls-cert-file"),
            ("--authentication-token-webhook-cache-ttl 10", "missing unit"),
            ("--authorization-webhook-cache-unauthorized-ttl=-1s", "must not be negative"),
            ("--insecure-loopback-port x", "expected a port"),
        ];
        for (line, part) in rows {
            let error = parse(line).expect_err(line);
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
