//! The cluster in memory, in the words of those who use one.

mod api;
mod applying;
mod binding;
mod eviction;
mod loading;
mod manifests;
mod random;
mod testing;
mod volumes;
mod workloads;
