//! The Kubernetes API of the cluster in memory, as a real client speaks it.

mod faults;
mod patching;
mod reading;
mod subresources;
mod testing;
mod watching;
mod writing;
