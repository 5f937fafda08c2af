//! The cluster in memory on a port, driven with a real `kubectl`.
//!
//! Where there is no `kubectl`, every test says so and checks nothing.

#![allow(
    clippy::disallowed_methods,
    reason = "another program is driven here: it has the system's clock, and is waited for"
)]

mod changing;
mod describing;
mod discovery;
mod listening;
mod nodes;
mod rollouts;
mod tables;
mod testing;
mod watching;
