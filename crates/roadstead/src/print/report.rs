//! The page with plots over time.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use roadstead_sim::{Outcome, report};

use crate::error::Error;

/// Writes the page of a run.
pub(crate) fn report(outcome: &Outcome, file: &Path) -> Result<(), Error> {
    fs::write(file, report::html(outcome)).map_err(|error| unwritable(file, error))
}

/// Whether the page of a run can be written there: a run may take long, and leave a recording.
pub(crate) fn check_report(file: &Path) -> Result<(), Error> {
    let is_new = !file.exists();
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.map_err(|error| unwritable(file, error))?;
    if is_new {
        fs::remove_file(file).map_err(|error| unwritable(file, error))?;
    }
    Ok(())
}

fn unwritable(file: &Path, error: io::Error) -> Error {
    Error::Unwritable { file: file.to_string_lossy().into_owned(), error }
}
