//! Documents that people write, read so that everything wrong with one is told at once.
//!
//! [`Node::parse`] gives a tree that knows the place of everything; [`decode()`] reads a value from
//! it without stopping at what does not fit; checks that come later know only paths, such as
//! `profiles[0].schedulerName`, and [`Problems::located`] finds their lines. The configuration and
//! the scenarios of a simulation are read this way.
//!
//! ```
//! use roadstead_scheduler::document::{DocumentError, Duration, Node, Problems, decode};
//! use serde::Deserialize;
//!
//! #[derive(Default, Deserialize)]
//! #[serde(default)]
//! struct Tide {
//!     harbour: String,
//!     every: Duration,
//! }
//!
//! let text = "harbor: Tallinn\nevery: soon\n";
//! let problems = Problems::default();
//! let (document, _) = Node::parse(text);
//! let document = document.expect("it is YAML");
//! let _: Tide = decode(&document, "", &problems);
//! let error = DocumentError::new("tide.yaml", text, problems.located(Some(&document)));
//! assert_eq!(
//!     error.to_string(),
//!     "error: unknown field \"harbor\"\n \
//!       --> tide.yaml:1:1\n\
//!      1 | harbor: Tallinn\n  \
//!        | ^^^^^^ did you mean `harbour`?\n\
//!      \n\
//!      error: every: Invalid value: \"soon\": time: invalid duration \"soon\"\n \
//!       --> tide.yaml:2:8\n\
//!      2 | every: soon\n  \
//!        |        ^^^^"
//! );
//! ```

mod decode;
mod duration;
mod problem;
mod tree;

pub use decode::decode;
pub use duration::Duration;
pub use problem::{DocumentError, Problem, Problems, did_you_mean, nearest};
pub use tree::{Key, Node, Spot, SyntaxError, Tree};
