//! The Kubernetes API of the cluster in memory, as a real client speaks it.

mod events;
mod faults;
mod patching;
mod protobuf;
mod reading;
mod subresources;
mod tables;
mod testing;
mod watching;
mod writing;
