//! A Roadstead scheduler and a cluster in memory, run in virtual time.

mod timeline;

pub use timeline::{Timeline, Uneventful};
