//! The program as people run it.

mod asking;
mod broken;
mod config;
mod explain;
mod replay;
mod scenarios;
mod serve;
mod served;
mod sim;
mod terminal;
mod testing;
