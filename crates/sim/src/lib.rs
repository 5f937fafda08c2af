//! A Roadstead scheduler and a cluster in memory, run in virtual time.

mod input;
mod random;
mod scenario;
mod timeline;

pub use input::{Input, InputError};
pub use scenario::{API_VERSION, KIND, Play, ReadFile, Scenario};
pub use timeline::{Timeline, Uneventful};
