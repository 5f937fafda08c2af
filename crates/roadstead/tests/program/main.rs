//! The program as people run it.

mod broken;
mod config;
mod sim;
mod testing;
