//! Scenarios: read, refused, played.

mod broken;
mod documents;
mod playing;
