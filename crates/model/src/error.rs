//! What is wrong with an API object, and in which field.

use std::fmt;

/// An API object that cannot be understood: the path of the field, and what is wrong with it.
///
/// Prints as `spec.containers[0].resources.requests[cpu]: …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    path: String,
    message: String,
}

impl ModelError {
    /// An error whose field is still to be said, from the inside out, by [`at`](Self::at).
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into() }
    }

    /// The same error, seen from the object that holds the field `segment`.
    pub(crate) fn at(mut self, segment: impl fmt::Display) -> Self {
        self.path = match self.path.as_str() {
            "" => segment.to_string(),
            path if path.starts_with('[') => format!("{segment}{path}"),
            path => format!("{segment}.{path}"),
        };
        self
    }

    /// The field, as a path from the object's root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What is wrong with the field.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for ModelError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_grows_from_the_inside_out() {
        let error =
            ModelError::new("no number").at("[cpu]").at("requests").at("containers[2]").at("spec");
        assert_eq!(error.to_string(), "spec.containers[2].requests[cpu]: no number");
        assert_eq!(error.path(), "spec.containers[2].requests[cpu]");
        assert_eq!(error.message(), "no number");
    }
}
