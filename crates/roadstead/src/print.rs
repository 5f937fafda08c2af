//! What the program prints, apart from what it does.

mod comparison;
mod manifests;
mod pods;
mod report;
mod summary;
mod words;

pub(crate) use comparison::comparison;
pub(crate) use manifests::manifests;
pub(crate) use pods::pods;
pub(crate) use report::{check_report, report};
pub(crate) use summary::summary;
pub(crate) use words::{bar, count, duration, number};
