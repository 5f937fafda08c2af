//! The endpoints as clients see them: real TLS on loopback, and an API server made up.

mod access;
mod certificates;
mod clients;
mod paths;
mod testing;

pub(in crate::serving) use testing::FakeScheduler;
