//! The program as people run it.

mod broken;
mod config;
mod explain;
mod replay;
mod scenarios;
mod serve;
mod sim;
mod testing;
