//! The program as people run it.

mod broken;
mod config;
mod scenarios;
mod sim;
mod testing;
