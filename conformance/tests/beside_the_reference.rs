//! Roadstead's queue beside the reference, which has no index and no classes: the same items
//! move, whatever happens, and what the queue promises of itself holds after every step.

use roadstead_conformance::{Reference, Roadstead, compare, from_seed};

/// More of them, for a long run: `ROADSTEAD_OPERATIONS=100000000 cargo test --release -p
/// roadstead-conformance --test beside_the_reference`.
const OPERATIONS: &str = "ROADSTEAD_OPERATIONS";

#[test]
fn a_million_operations_leave_both_in_the_same_state() {
    let wanted: usize = match std::env::var(OPERATIONS) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{OPERATIONS} is not a number: {text}")),
        Err(_) => 1_000_000,
    };
    let mut operations = 0;
    let mut seed = 0;
    while operations < wanted {
        // Short ones meet the beginnings of things, long ones fill the places.
        let length = if seed % 4 == 0 { 600 } else { 120 };
        let sequence = from_seed(seed, length);
        if let Some(divergence) = compare::<Reference, Roadstead>(&sequence) {
            panic!("seed {seed}, {length} operations:\n{divergence}");
        }
        operations += sequence.ops.len();
        seed += 1;
    }
    assert!(operations >= wanted);
}
