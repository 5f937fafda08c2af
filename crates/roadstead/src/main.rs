//! A Kubernetes scheduler that shows what waits, why, and what would wake it.

fn main() {}
