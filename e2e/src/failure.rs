//! What goes wrong in a case: a sentence for whoever reads the output.

use std::error::Error;
use std::fmt::Display;

/// What a step of a case comes to.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Says what was being done when something failed.
pub(crate) trait While<T> {
    /// Puts `doing` before the error.
    fn during(self, doing: impl Display) -> Outcome<T>;
}

impl<T, E: Display> While<T> for Result<T, E> {
    fn during(self, doing: impl Display) -> Outcome<T> {
        self.map_err(|error| format!("{doing}: {error}").into())
    }
}

/// Fails with `message` unless `held`.
pub(crate) fn check(held: bool, message: impl FnOnce() -> String) -> Outcome {
    if held { Ok(()) } else { Err(message().into()) }
}
