//! The program as people run it.

mod broken;
mod config;
mod explain;
mod scenarios;
mod sim;
mod testing;
