//! Why the endpoints could not be opened.

/// What is wrong with the options of the endpoints, or with what they name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServingError {
    /// An option does not work.
    #[error("--{flag}: {problem}")]
    Flag {
        /// The option, without dashes.
        flag: &'static str,
        /// What is wrong, and the way out.
        problem: String,
    },
    /// What the cluster knows of authentication is needed and cannot be had.
    #[error(
        "cannot look up ConfigMap kube-system/extension-apiserver-authentication: {0}; \
         bind the Role extension-apiserver-authentication-reader of kube-system to this account, \
         or set --authentication-tolerate-lookup-failure=true or --authentication-skip-lookup=true"
    )]
    Lookup(String),
}

impl ServingError {
    pub(super) fn flag(flag: &'static str, problem: impl Into<String>) -> Self {
        Self::Flag { flag, problem: problem.into() }
    }
}
