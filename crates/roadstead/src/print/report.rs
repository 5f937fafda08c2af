//! The page with plots over time.

use std::fs;
use std::path::Path;

use roadstead_sim::{Outcome, report};

use crate::error::Error;

/// Writes the page of a run.
pub(crate) fn report(outcome: &Outcome, file: &Path) -> Result<(), Error> {
    fs::write(file, report::html(outcome))
        .map_err(|error| Error::Unwritable { file: file.to_string_lossy().into_owned(), error })
}
