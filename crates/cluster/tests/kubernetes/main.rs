//! The adapter to a real cluster, against the API of the cluster in memory.

mod connecting;
mod failing;
mod listing;
mod random;
mod relisting;
mod testing;
