//! What a plugin answers.

use std::borrow::Cow;
use std::fmt;

/// Why a plugin does not simply say yes.
///
/// Success has no status: plugins return `Ok`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: Code,
    reasons: Reasons,
    plugin: &'static str,
}

/// Most refusals have one reason: a node that is refused should cost no allocation.
#[derive(Clone, Debug)]
enum Reasons {
    One(Reason),
    Several(Vec<Reason>),
}

impl Reasons {
    fn as_slice(&self) -> &[Reason] {
        match self {
            Self::One(reason) => std::slice::from_ref(reason),
            Self::Several(reasons) => reasons,
        }
    }
}

impl PartialEq for Reasons {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Reasons {}

/// A reason in the words that users see.
pub type Reason = Cow<'static, str>;

/// What kind of no it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// Something went wrong.
    Error,
    /// The pod cannot go there; it might if other pods went.
    Unschedulable,
    /// The pod cannot go there, whoever else goes.
    UnschedulableAndUnresolvable,
    /// The pod waits for something in particular, and is then tried without backoff.
    Pending,
}

impl Code {
    /// Whether it means that the pod was rejected, and nothing went wrong.
    #[must_use]
    pub fn is_rejection(self) -> bool {
        self != Self::Error
    }

    /// The code's name in Kubernetes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "Error",
            Self::Unschedulable => "Unschedulable",
            Self::UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
            Self::Pending => "Pending",
        }
    }
}

impl Status {
    /// The pod cannot go there; it might if other pods went.
    #[must_use]
    pub fn unschedulable(reason: impl Into<Reason>) -> Self {
        Self::one(Code::Unschedulable, reason.into())
    }

    /// The pod cannot go there, whoever else goes.
    #[must_use]
    pub fn unresolvable(reason: impl Into<Reason>) -> Self {
        Self::one(Code::UnschedulableAndUnresolvable, reason.into())
    }

    /// Something went wrong.
    #[must_use]
    pub fn error(reason: impl Into<Reason>) -> Self {
        Self::one(Code::Error, reason.into())
    }

    /// A status with several reasons.
    #[must_use]
    pub fn new(code: Code, reasons: Vec<Reason>) -> Self {
        Self { code, reasons: Reasons::Several(reasons), plugin: "" }
    }

    fn one(code: Code, reason: Reason) -> Self {
        Self { code, reasons: Reasons::One(reason), plugin: "" }
    }

    /// The same, from this plugin. The framework does it for whatever a plugin returns.
    #[must_use]
    pub fn from_plugin(self, plugin: &'static str) -> Self {
        Self { plugin, ..self }
    }

    /// The same, saying where it went wrong. A rejection says what it says.
    #[must_use]
    pub(crate) fn with_context(self, context: impl FnOnce() -> String) -> Self {
        if self.code.is_rejection() {
            return self;
        }
        let text = format!("{}: {self}", context());
        Self { reasons: Reasons::One(text.into()), ..self }
    }

    /// What kind of no it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// The reasons, in the plugin's order.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        self.reasons.as_slice()
    }

    /// Who says so; empty where no single plugin does.
    #[must_use]
    pub fn plugin(&self) -> &'static str {
        self.plugin
    }

    /// All reasons in one line.
    #[must_use]
    pub fn message(&self) -> String {
        self.reasons().join(", ")
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}
