//! The API as clients see it, over a scheduler that is really there.

mod answers;
mod commands;
mod described;
mod listings;
mod schema;
mod stage;
mod streaming;
mod through_cluster;
mod trial;
