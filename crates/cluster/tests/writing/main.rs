//! The writing side of a real cluster, on the cluster in memory: what each command does, what is
//! survived, what goes first, and who may write at all.

mod binding;
mod drain;
mod electors;
mod events;
mod evicting;
mod lanes;
mod leases;
mod statuses;
mod testing;
mod volumes;
