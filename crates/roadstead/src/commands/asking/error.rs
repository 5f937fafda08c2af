//! Why a scheduler gave no answer.

use http::StatusCode;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum AskError {
    #[error("--{flag}: {problem}")]
    Flag { flag: &'static str, problem: String },
    #[error(
        "cannot reach a scheduler at {address}: {problem}; start one with `roadstead serve` or \
         `roadstead run --insecure-loopback-port 10260`, or say where one is with --server, or with \
         --via-cluster if it runs in a cluster"
    )]
    Unreachable { address: String, problem: String },
    #[error(
        "{address}: its certificate is not trusted: {problem}; name the file of the authority that \
         signed it with --certificate-authority, or believe any with --insecure-skip-tls-verify"
    )]
    Untrusted { address: String, problem: String },
    #[error("cannot reach the API server: {0}")]
    NoCluster(String),
    #[error("{address}: no answer in {seconds} seconds")]
    Late { address: String, seconds: u64 },
    #[error("{address}: who asks is not known there: {message}; {way_out}")]
    Unauthorized { address: String, message: String, way_out: &'static str },
    #[error(
        "{address}: {message}; whoever asks needs the ClusterRole {role}: `kubectl create \
         clusterrolebinding look --clusterrole={role} {subject}`"
    )]
    Forbidden { address: String, message: String, role: String, subject: String },
    #[error(
        "{message}; to ask through the cluster takes the right to create serviceaccounts/token and \
         to get services/proxy in namespace {namespace}: `kubectl -n {namespace} create rolebinding \
         look --role={role} --user=NAME`"
    )]
    ForbiddenByCluster { namespace: String, role: String, message: String },
    #[error(
        "{message}; if the scheduler runs elsewhere, say where with --namespace-of-scheduler and \
         --service; deploy/ has what asking through the cluster takes"
    )]
    NotInCluster { message: String },
    #[error("{address}: no instance leads that answers: {message}")]
    NoLeader { address: String, message: String },
    #[error("{0}")]
    NotFound(String),
    #[error("{address}: {message} (HTTP {status})")]
    Failed { address: String, status: StatusCode, message: String },
    #[error("{address}: the answer is not understood: {problem}; is this a Roadstead scheduler?")]
    Garbled { address: String, problem: String },
}

impl AskError {
    /// Whether whoever was answered before may well be answered again, without doing anything: the
    /// scheduler starts anew, another one takes the lead, or the API server is away. That it does
    /// not know who asks is among them: a scheduler that cannot ask the API server says so too.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::NoCluster(_)
            | Self::Late { .. }
            | Self::NoLeader { .. }
            | Self::Unauthorized { .. } => true,
            Self::Failed { status, .. } => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            _ => false,
        }
    }
}
