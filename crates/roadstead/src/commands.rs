//! The commands, one file each.

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sim;
