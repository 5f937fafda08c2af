//! A scheduler with a plugin of its own. All that it takes to register one is a line.
//!
//! ```sh
//! cargo run -p roadstead-example-gpu-keeper -- sim --config examples/gpu-keeper/scheduler.yaml examples/shop
//! ```

mod gpu_keeper;

use std::process::ExitCode;

use roadstead_scheduler::Registry;
use roadstead_scheduler::config::Point;

use gpu_keeper::GpuKeeper;

fn main() -> ExitCode {
    let mut registry = Registry::default();
    registry.add("GpuKeeper", [Point::Filter, Point::Score], GpuKeeper::extensions);
    roadstead::run(&registry)
}
